// SPDX-License-Identifier: Apache-2.0
// Move kernels for what every machine of an architecture has: registers of 16 bytes. Bytes aren't permuted there: SSE2
// can't, and elements one by one keep up with memory where they aren't tiny.
#include <cstring>

#include "src/copy/move_kernels.h"
#include "src/copy/reversed.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace anyarray {
namespace move_baseline {

constexpr int vector_bytes = 16;

#include "src/copy/move_vectors.inc.h"

template <class V>
ANYARRAY_INLINE V load_lanes(const char* p, std::int64_t) {
  return load<V>(p);
}
template <class V>
ANYARRAY_INLINE void store_past_cache(char* p, const V& v) {
#if defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
#else
  store(p, v);
#endif
}

#include "src/copy/move_tiles.inc.h"

template <int size, int... i>
ANYARRAY_INLINE Vector<size, 16> backwards(Vector<size, 16> v, Numbers<i...>) {
  return __builtin_shufflevector(v, v, (16 / size - 1 - i)...);
}
/// Elements next to each other in the opposite order.
template <int size>
void gather(const Tile& t) noexcept {
  constexpr int count = 16 / size;
  if (t.from_d == 0) return fill<size>(t);
  if (count < 2 || t.from_d != -size || t.nd < count) return move_each<size>(t);
  for (std::int64_t a = 0; a < t.na; ++a) {
    char* const to = t.to + a * t.to_a;
    const char* const from = t.from + a * t.from_a + size;
    for (std::int64_t d = 0;;) {
      using V = Vector<size == 16 ? 8 : size, 16>;
      store(to + d * size, backwards<size == 16 ? 8 : size>(load<V>(from - (d + count) * size),
                                                            typename Count<16 / (size == 16 ? 8 : size)>::type()));
      if (d + count == t.nd) break;
      d = d + 2 * count > t.nd ? t.nd - count : d + count;
    }
  }
}

void stream(char* to, const char* from, std::size_t bytes) noexcept {
#if defined(__SSE2__)
  const std::size_t head = (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63;
  if (bytes >= head + 64) {
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
      for (int i = 0; i < 64; i += 16) store_past_cache(to + i, load<Vector<8, 16>>(from + i));
    }
  }
#endif
  std::memcpy(to, from, bytes);
}

template <int unit>
void turn_each(char* to, const char* from, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; i += unit) {
    Unsigned<unit> v;
    std::memcpy(&v, from + i, unit);
    v = reversed(v);
    std::memcpy(to + i, &v, unit);
  }
}
void turn(char* to, const char* from, std::size_t bytes, std::size_t unit, bool) noexcept {
  if (unit == 2) return turn_each<2>(to, from, bytes);
  if (unit == 4) return turn_each<4>(to, from, bytes);
  if (unit == 8) return turn_each<8>(to, from, bytes);
  for (std::size_t i = 0; i < bytes; i += 16) {
    std::uint64_t v[2];
    std::memcpy(v, from + i, 16);
    const std::uint64_t turned[2] = {reversed(v[1]), reversed(v[0])};
    std::memcpy(to + i, turned, 16);
  }
}

void fence() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace move_baseline

const MoveKernels move_kernels_baseline = {
    ANYARRAY_BY_SIZE(move_baseline::transpose),
    ANYARRAY_BY_SIZE(move_baseline::gather),
    ANYARRAY_BY_SIZE(move_baseline::transpose),
    ANYARRAY_BY_SIZE(move_baseline::transpose),
    ANYARRAY_BY_SIZE(move_baseline::move_each),
    move_baseline::move_any,
    move_baseline::stream,
    move_baseline::turn,
    move_baseline::fence,
    {1, 1, 1, 1, 0},
    {0, 0, 0, 0, 0},
};

const MoveKernels& move_kernels() noexcept {
#if defined(ANYARRAY_ISA_X86)
  switch (chosen_isa()) {
    case Isa::avx512:
      return move_kernels_avx512;
    case Isa::avx2:
      return move_kernels_avx2;
    default:
      break;
  }
#endif
  return move_kernels_baseline;
}

}  // namespace anyarray
