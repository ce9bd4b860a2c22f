// SPDX-License-Identifier: Apache-2.0
// The loops that turn numbers into others, one after the other in memory and in the machine's byte order: a table of
// them for each instruction set, all of one body (cast_body.inc.h). The C headers alone.
#pragma once
#include <cstdint>

namespace anyarray {

/// Numbers that each have a loop to each other.
enum class NumberType : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, bf16 };
inline constexpr int number_count = 13;

/// Floats of at most 8 bits, a byte each, in the order of their TypeCodes: they come from float32 and become it.
inline constexpr int narrow_count = 11;

/// Turns `n` numbers; n is a multiple of kernel_step. `arg` is the kernel's own.
using Kernel = void (*)(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;
inline constexpr std::int64_t kernel_step = 16;

/// Moves rows of `bytes`, a multiple of 64, past the caches to multiples of 64, `step` apart; `from`, a multiple of 64
/// too, has one after the other.
using LineKernel = void (*)(char* to, std::int64_t step, const char* from, std::int64_t rows,
                            std::int64_t bytes) noexcept;

struct CastKernels {
  Kernel cast[number_count][number_count];  ///< [from][to]; null where nothing changes
  Kernel decode[narrow_count];              ///< to float32
  Kernel encode[narrow_count];              ///< of float32
  Kernel whole[number_count];  ///< float32 that were narrow, to integers: NaN become 0, infinities the last there is
  LineKernel stream;
};

extern const CastKernels cast_kernels_baseline;
extern const CastKernels cast_kernels_avx2;
extern const CastKernels cast_kernels_avx512;

/// Packed items, little bit order, to a byte each and back.
struct PackKernels {
  Kernel unpack[4];  ///< of 1, 2, 4 and 6 bits
  Kernel pack[4];
};
extern const PackKernels pack_kernels;
/// By instructions that were slow on some machines with AVX2.
extern const PackKernels pack_kernels_avx512;

/// Those of chosen_isa().
const CastKernels& cast_kernels() noexcept;

}  // namespace anyarray
