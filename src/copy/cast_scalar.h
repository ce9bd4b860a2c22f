// SPDX-License-Identifier: Apache-2.0
// The steps of casts that need no vectors, or are too rare for them. Kernels as in cast_kernels.h.
#pragma once
#include "src/copy/cast_kernels.h"

namespace anyarray {

/// Moves items of `arg` bytes.
void move_items(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

/// Packed items, little bit order, to a byte each and back; for 1, 2, 4 and 6 bits. Null for others.
Kernel unpack_of(int bits) noexcept;
Kernel pack_of(int bits) noexcept;

/// Bytes that keep as many low bits as `arg` says; extend_sign() fills up with the highest of these.
void keep_low(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;
void extend_sign(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

/// The first of two numbers of so many bytes each; such a number and a 0 after it.
Kernel first_of(int bytes) noexcept;
Kernel with_zero(int bytes) noexcept;

/// Whether a complex of such parts isn't 0.
Kernel is_nonzero(NumberType part) noexcept;

/// long double from and to each number; what fills its bytes up is 0.
Kernel from_extended(NumberType to) noexcept;
Kernel to_extended(NumberType from) noexcept;
void is_nonzero_extended(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

}  // namespace anyarray
