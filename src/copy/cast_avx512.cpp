// SPDX-License-Identifier: Apache-2.0
// Casts by AVX-512 F, BW, DQ, VL and VBMI.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "src/copy/cast_kernels.h"
#include "src/copy/isa.h"

#if defined(ANYARRAY_ISA_X86)
#include <immintrin.h>

#define ANYARRAY_INLINE static inline __attribute__((always_inline))

ANYARRAY_ISA_BEGIN(ANYARRAY_ISA_AVX512)
namespace anyarray {
namespace cast_avx512 {
namespace {

constexpr int lanes = 16;
#include "src/copy/cast_vectors.h"

ANYARRAY_INLINE I32 joined(HalfI32 lo, HalfI32 hi) noexcept {
  const __m512i low = _mm512_castsi256_si512(reinterpret_cast<__m256i>(lo));
  return reinterpret_cast<I32>(_mm512_inserti32x8(low, reinterpret_cast<__m256i>(hi), 1));
}
ANYARRAY_INLINE F32 joined(HalfF32 lo, HalfF32 hi) noexcept {
  return reinterpret_cast<F32>(joined(reinterpret_cast<HalfI32>(lo), reinterpret_cast<HalfI32>(hi)));
}
ANYARRAY_INLINE I32 at_most(I32 v, std::int32_t last) noexcept {
  return reinterpret_cast<I32>(_mm512_maskz_min_epi32(0xffff, reinterpret_cast<__m512i>(v), _mm512_set1_epi32(last)));
}
template <class T>
ANYARRAY_INLINE I32 load_bytes(const char* p) noexcept {
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<I32>(std::is_signed_v<T> ? _mm512_maskz_cvtepi8_epi32(0xffff, raw)
                                                   : _mm512_maskz_cvtepu8_epi32(0xffff, raw));
}
template <class T>
ANYARRAY_INLINE I32 load_words(const char* p) noexcept {
  const __m256i raw = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return reinterpret_cast<I32>(std::is_signed_v<T> ? _mm512_maskz_cvtepi16_epi32(0xffff, raw)
                                                   : _mm512_maskz_cvtepu16_epi32(0xffff, raw));
}
ANYARRAY_INLINE void store_bytes(char* p, I32 v) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_maskz_cvtepi32_epi8(0xffff, reinterpret_cast<__m512i>(v)));
}
ANYARRAY_INLINE void store_words(char* p, I32 v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(v)));
}
ANYARRAY_INLINE bool any(I32 mask) noexcept { return _mm512_movepi32_mask(reinterpret_cast<__m512i>(mask)) != 0; }
ANYARRAY_INLINE F32 widened_halves(const char* p) noexcept {
  return reinterpret_cast<F32>(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
ANYARRAY_INLINE I32 nearest_halves(F32 v) noexcept {
  const __m256i halves =
      _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return reinterpret_cast<I32>(_mm512_maskz_cvtepu16_epi32(0xffff, halves));
}

void stream(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_load_si512(from + i));
  }
}

#include "src/copy/cast_body.h"

}  // namespace
}  // namespace cast_avx512

const CastKernels cast_kernels_avx512 = cast_avx512::table;

}  // namespace anyarray
ANYARRAY_ISA_END
#endif
