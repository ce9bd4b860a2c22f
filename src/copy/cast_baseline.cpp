// SPDX-License-Identifier: Apache-2.0
// Casts by what every machine of the architecture has, in the compiler's own vectors, and the choice among all.
#include <cstdint>
#include <type_traits>
#include <utility>

#include "src/copy/cast_kernels.h"
#include "src/copy/isa.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define ANYARRAY_INLINE static inline __attribute__((always_inline))

namespace anyarray {
namespace cast_baseline {
namespace {

constexpr int lanes = 4;
#include "src/copy/cast_vectors.inc.h"

template <class V, class W>
ANYARRAY_INLINE V both(W lo, W hi) noexcept {
  return __builtin_shufflevector(lo, hi, 0, 1, 2, 3);
}
ANYARRAY_INLINE I32 joined(HalfI32 lo, HalfI32 hi) noexcept { return both<I32>(lo, hi); }
ANYARRAY_INLINE F32 joined(HalfF32 lo, HalfF32 hi) noexcept { return both<F32>(lo, hi); }
ANYARRAY_INLINE I32 at_most(I32 v, std::int32_t last) noexcept { return v > last ? I32{} + last : v; }

template <class T>
ANYARRAY_INLINE I32 load_as(const char* p) noexcept {
  Vector<T, lanes> v;
  __builtin_memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, I32);
}
template <class T>
ANYARRAY_INLINE void store_as(char* p, I32 v) noexcept {
  const auto low = __builtin_convertvector(v, Vector<T, lanes>);
  __builtin_memcpy(p, &low, sizeof low);
}
template <class T>
ANYARRAY_INLINE I32 load_bytes(const char* p) noexcept {
#if defined(__SSE2__)  // compilers take the bytes one by one
  std::int32_t raw;
  __builtin_memcpy(&raw, p, sizeof raw);
  const __m128i bytes = _mm_cvtsi32_si128(raw);
  const __m128i words = _mm_unpacklo_epi8(bytes, bytes);
  const __m128i wide = _mm_unpacklo_epi16(words, words);
  return reinterpret_cast<I32>(std::is_signed_v<T> ? _mm_srai_epi32(wide, 24) : _mm_srli_epi32(wide, 24));
#else
  return load_as<T>(p);
#endif
}
template <class T>
ANYARRAY_INLINE I32 load_words(const char* p) noexcept {
  return load_as<T>(p);
}
ANYARRAY_INLINE void store_words(char* p, I32 v) noexcept { store_as<std::int16_t>(p, v); }
ANYARRAY_INLINE void store_bytes(char* p, I32 v) noexcept {
#if defined(__SSE2__)
  const __m128i low = reinterpret_cast<__m128i>(v & 0xff);
  const __m128i words = _mm_packs_epi32(low, low);
  const std::int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  __builtin_memcpy(p, &bytes, sizeof bytes);
#else
  store_as<std::int8_t>(p, v);
#endif
}
ANYARRAY_INLINE bool any_nan(F32 v) noexcept {
  const I32 mask = v != v;
  std::int64_t parts[2];
  __builtin_memcpy(parts, &mask, sizeof mask);
  return (parts[0] | parts[1]) != 0;
}

void stream(char* to, std::int64_t step, const char* from, std::int64_t rows, std::int64_t bytes) noexcept {
  for (; rows > 0; --rows, to += step, from += bytes) {
#if defined(__SSE2__)
    for (std::int64_t i = 0; i < bytes; i += 16) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_load_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
#else
    __builtin_memcpy(to, from, static_cast<std::size_t>(bytes));
#endif
  }
}

#define ANYARRAY_CAST_WITHOUT_F16C
#include "src/copy/cast_body.inc.h"

}  // namespace
}  // namespace cast_baseline

const CastKernels cast_kernels_baseline = cast_baseline::table;

const CastKernels& cast_kernels() noexcept {
#if defined(ANYARRAY_ISA_X86)
  const Isa isa = chosen_isa();
  if (isa == Isa::avx512) return cast_kernels_avx512;
  if (isa == Isa::avx2) return cast_kernels_avx2;
#endif
  return cast_kernels_baseline;
}

}  // namespace anyarray
