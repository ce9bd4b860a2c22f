// SPDX-License-Identifier: Apache-2.0
// The steps of casts that need no vectors, or are too rare for them. Kernels as in cast_kernels.h.
#pragma once
#include "src/copy/cast_kernels.h"

namespace anyarray {

/// Moves items of `arg` bytes.
void move_items(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

/// Bytes that keep as many low bits as `arg` says; extend_sign() fills up with the highest of these.
void keep_low(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;
void extend_sign(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

/// The first of two numbers of so many bytes each; such a number and a 0 after it.
Kernel first_of(int bytes) noexcept;
Kernel with_zero(int bytes) noexcept;

/// The kernel whose address `arg` is, over two items for each.
void run_twice(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

/// long double from and to each number; what fills its bytes up is 0.
Kernel from_extended(NumberType to) noexcept;
Kernel to_extended(NumberType from) noexcept;
void is_nonzero_extended(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

}  // namespace anyarray
