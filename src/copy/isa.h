// SPDX-License-Identifier: Apache-2.0
// Instruction sets: which one kernels are chosen for at run time, and how a source file is compiled for one. A kernel
// file of an instruction set includes its headers first, then puts everything between ANYARRAY_ISA_BEGIN(<names>) and
// ANYARRAY_ISA_END, in a namespace of its own, and uses no inline function or template from outside in there: the
// linker keeps one copy of those, and it could be the one that only this machine can run.
#pragma once
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#define ANYARRAY_ISA_X86 1
#define ANYARRAY_ISA_PRAGMA(text) _Pragma(#text)
#define ANYARRAY_ISA_AVX2 "avx2,f16c,fma,bmi,bmi2,lzcnt,popcnt"
#define ANYARRAY_ISA_AVX512 "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,f16c,fma,bmi,bmi2,lzcnt,popcnt"
#if defined(__clang__)
#define ANYARRAY_ISA_BEGIN(isa) \
  ANYARRAY_ISA_PRAGMA(clang attribute push(__attribute__((target(isa))), apply_to = function))
#define ANYARRAY_ISA_END ANYARRAY_ISA_PRAGMA(clang attribute pop)
#else
#define ANYARRAY_ISA_BEGIN(isa) ANYARRAY_ISA_PRAGMA(GCC push_options) ANYARRAY_ISA_PRAGMA(GCC target(isa))
#define ANYARRAY_ISA_END ANYARRAY_ISA_PRAGMA(GCC pop_options)
#endif
#endif

namespace anyarray {

/// In the order of preference: each has kernels at least as wide as the one before.
enum class Isa : std::uint8_t {
  baseline,  ///< what every machine of this architecture has: SSE2 on x86-64, NEON on 64-bit ARM
  avx2,      ///< AVX2, F16C, FMA, BMI2
  avx512,    ///< AVX-512 F, BW, DQ, VL, VBMI, and all of avx2
};
inline constexpr int isa_count = 3;

/// "baseline", "avx2", "avx512". Static storage.
const char* isa_name(Isa isa) noexcept;

/// The best that this machine has and the environment variable ANYARRAY_ISA (read once) doesn't rule out.
Isa best_isa() noexcept;

/// Lets kernels be chosen for `isa` from now on, or for the best there is below it; gives what was chosen. For tests,
/// which compare the kernels of all.
Isa choose_isa(Isa isa) noexcept;

/// What kernels are chosen for.
Isa chosen_isa() noexcept;

}  // namespace anyarray
