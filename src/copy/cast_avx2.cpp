// SPDX-License-Identifier: Apache-2.0
// Casts by AVX2 and F16C.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "src/copy/cast_kernels.h"
#include "src/copy/isa.h"

#if defined(ANYARRAY_ISA_X86)
#include <immintrin.h>

#define ANYARRAY_INLINE static inline __attribute__((always_inline))

ANYARRAY_ISA_BEGIN(ANYARRAY_ISA_AVX2)
namespace anyarray {
namespace cast_avx2 {
namespace {

constexpr int lanes = 8;
#include "src/copy/cast_vectors.inc.h"

ANYARRAY_INLINE I32 joined(HalfI32 lo, HalfI32 hi) noexcept {
  return reinterpret_cast<I32>(_mm256_set_m128i(reinterpret_cast<__m128i>(hi), reinterpret_cast<__m128i>(lo)));
}
ANYARRAY_INLINE F32 joined(HalfF32 lo, HalfF32 hi) noexcept {
  return reinterpret_cast<F32>(_mm256_set_m128(reinterpret_cast<__m128>(hi), reinterpret_cast<__m128>(lo)));
}
ANYARRAY_INLINE I32 at_most(I32 v, std::int32_t last) noexcept {
  return reinterpret_cast<I32>(_mm256_min_epi32(reinterpret_cast<__m256i>(v), _mm256_set1_epi32(last)));
}
template <class T>
ANYARRAY_INLINE I32 load_bytes(const char* p) noexcept {
  const __m128i raw = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<I32>(std::is_signed_v<T> ? _mm256_cvtepi8_epi32(raw) : _mm256_cvtepu8_epi32(raw));
}
template <class T>
ANYARRAY_INLINE I32 load_words(const char* p) noexcept {
  const __m128i raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return reinterpret_cast<I32>(std::is_signed_v<T> ? _mm256_cvtepi16_epi32(raw) : _mm256_cvtepu16_epi32(raw));
}
/// The low bytes of each number, next to each other in the low bytes of both halves.
ANYARRAY_INLINE __m128i packed(I32 v, __m256i order) noexcept {
  const __m256i parts = _mm256_shuffle_epi8(reinterpret_cast<__m256i>(v), order);
  return _mm_or_si128(_mm256_castsi256_si128(parts), _mm256_extracti128_si256(parts, 1));
}
ANYARRAY_INLINE void store_bytes(char* p, I32 v) noexcept {
  const __m256i order = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                         -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), packed(v, order));
}
ANYARRAY_INLINE void store_words(char* p, I32 v) noexcept {
  const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                         -1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 4, 5, 8, 9, 12, 13);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), packed(v, order));
}
ANYARRAY_INLINE bool any_nan(F32 v) noexcept { return _mm256_movemask_ps(reinterpret_cast<__m256>(v != v)) != 0; }
ANYARRAY_INLINE F32 widened_halves(const char* p) noexcept {
  return reinterpret_cast<F32>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
ANYARRAY_INLINE __m128i halves_of(F32 v) noexcept {
  return _mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ANYARRAY_INLINE I32 nearest_halves(F32 v) noexcept {
  return reinterpret_cast<I32>(_mm256_cvtepu16_epi32(halves_of(v)));
}
ANYARRAY_INLINE void store_nearest_halves(char* p, F32 v) noexcept {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), halves_of(v));
}

void stream(char* to, std::int64_t step, const char* from, std::int64_t rows, std::int64_t bytes) noexcept {
  for (; rows > 0; --rows, to += step, from += bytes) {
    for (std::int64_t i = 0; i < bytes; i += 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm256_load_si256(reinterpret_cast<const __m256i*>(from + i)));
    }
  }
}

#include "src/copy/cast_body.inc.h"

}  // namespace
}  // namespace cast_avx2

const CastKernels cast_kernels_avx2 = cast_avx2::table;

}  // namespace anyarray
ANYARRAY_ISA_END
#endif
