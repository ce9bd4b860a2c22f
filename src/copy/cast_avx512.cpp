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
#include "src/copy/cast_vectors.inc.h"

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
ANYARRAY_INLINE bool any_nan(F32 v) noexcept {
  const __m512 all = reinterpret_cast<__m512>(v);
  return _mm512_cmp_ps_mask(all, all, _CMP_UNORD_Q) != 0;
}
ANYARRAY_INLINE F32 widened_halves(const char* p) noexcept {
  return reinterpret_cast<F32>(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
}
ANYARRAY_INLINE __m256i halves_of(F32 v) noexcept {
  return _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
ANYARRAY_INLINE I32 nearest_halves(F32 v) noexcept {
  return reinterpret_cast<I32>(_mm512_maskz_cvtepu16_epi32(0xffff, halves_of(v)));
}
ANYARRAY_INLINE void store_nearest_halves(char* p, F32 v) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), halves_of(v));
}

/// As in the body: cut, and the last bit set where something was cut off.
#define ANYARRAY_CAST_OWN_ODD
ANYARRAY_INLINE F32 to_odd_f32(F64 v) noexcept {
  const auto lo = reinterpret_cast<__m512d>(v.lo);
  const auto hi = reinterpret_cast<__m512d>(v.hi);
  const __m256 cut_lo = _mm512_maskz_cvt_roundpd_ps(0xff, lo, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const __m256 cut_hi = _mm512_maskz_cvt_roundpd_ps(0xff, hi, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  const unsigned off_lo = _mm512_cmp_pd_mask(_mm512_maskz_cvtps_pd(0xff, cut_lo), lo, _CMP_NEQ_OQ);
  const unsigned off_hi = _mm512_cmp_pd_mask(_mm512_maskz_cvtps_pd(0xff, cut_hi), hi, _CMP_NEQ_OQ);
  const auto off = static_cast<__mmask16>(off_lo | off_hi << 8);
  const auto bits =
      reinterpret_cast<__m512i>(joined(reinterpret_cast<HalfI32>(cut_lo), reinterpret_cast<HalfI32>(cut_hi)));
  return reinterpret_cast<F32>(_mm512_mask_or_epi32(bits, off, bits, _mm512_set1_epi32(1)));
}

/// Eight items of so many bits at once.
template <int bits>
void unpack(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += 8) {
    std::uint64_t v = 0;
    __builtin_memcpy(&v, from + i / 8 * bits, bits);
    v = _pdep_u64(v, 0x0101010101010101u * ((1u << bits) - 1));
    __builtin_memcpy(to + i, &v, sizeof v);
  }
}
template <int bits>
void pack(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += 8) {
    std::uint64_t v;
    __builtin_memcpy(&v, from + i, sizeof v);
    v = _pext_u64(v, 0x0101010101010101u * ((1u << bits) - 1));
    __builtin_memcpy(to + i / 8 * bits, &v, bits);
  }
}

void stream(char* to, std::int64_t step, const char* from, std::int64_t rows, std::int64_t bytes) noexcept {
  for (; rows > 0; --rows, to += step, from += bytes) {
    for (std::int64_t i = 0; i < bytes; i += 64) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_load_si512(from + i));
    }
  }
}

#include "src/copy/cast_body.inc.h"

}  // namespace
}  // namespace cast_avx512

const CastKernels cast_kernels_avx512 = cast_avx512::table;
const PackKernels pack_kernels_avx512 = {
    {cast_avx512::unpack<1>, cast_avx512::unpack<2>, cast_avx512::unpack<4>, cast_avx512::unpack<6>},
    {cast_avx512::pack<1>, cast_avx512::pack<2>, cast_avx512::pack<4>, cast_avx512::pack<6>}};

}  // namespace anyarray
ANYARRAY_ISA_END
#endif
