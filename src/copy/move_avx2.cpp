// SPDX-License-Identifier: Apache-2.0
// Move kernels for AVX2, which permutes the bytes of each 16 of a register.
#include "src/copy/move_kernels.h"

#if defined(ANYARRAY_ISA_X86)
#include <immintrin.h>

ANYARRAY_ISA_BEGIN(ANYARRAY_ISA_AVX2)
namespace anyarray {
namespace move_avx2 {

constexpr int vector_bytes = 32;

#include "src/copy/move_vectors.inc.h"

template <class V>
ANYARRAY_INLINE V load_lanes(const char* p, std::int64_t step) {
  if constexpr (sizeof(V) == 16) {
    return load<V>(p);
  } else {
    const __m256i v = _mm256_castsi128_si256(load<__m128i>(p));
    return reinterpret_cast<V>(_mm256_inserti128_si256(v, load<__m128i>(p + step), 1));
  }
}
template <class V>
ANYARRAY_INLINE void store_past_cache(char* p, const V& v) {
  if constexpr (sizeof(V) == 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
  } else {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
  }
}

#include "src/copy/move_tiles.inc.h"

/// Whether a cache line begins there, or none ever does where an element begins.
template <int size>
ANYARRAY_INLINE bool at_line(const char* p) {
  const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(p) & 63;
  return over == 0 || over % size != 0;
}

/// Elements `step` bytes apart, of at most `lanes` * 16 bytes for each 16 of the target, all of which is read.
template <int size, int lanes>
void gather_near(const Tile& t) noexcept {
  constexpr int count = 16 / size;
  const std::int64_t step = t.from_d;
  const std::int64_t length = step < 0 ? -step : step;
  __m256i idx[lanes];
  {
    struct Bytes {
      std::uint16_t element[16] = {};
      std::uint16_t rest[16] = {};
      constexpr Bytes() {
        for (int b = 0; b < 16; ++b) {
          element[b] = static_cast<std::uint16_t>(b / size);
          rest[b] = static_cast<std::uint16_t>(b % size);
        }
      }
    };
    static constexpr Bytes bytes;
    __m256i element = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.element));
    if (step < 0) element = _mm256_sub_epi16(_mm256_set1_epi16(count - 1), element);
    __m256i at = _mm256_mullo_epi16(element, _mm256_set1_epi16(static_cast<short>(length)));
    at = _mm256_add_epi16(at, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes.rest)));
    const __m128i low = _mm_packus_epi16(_mm256_castsi256_si128(at), _mm256_extracti128_si256(at, 1));
#pragma GCC unroll 8
    for (int i = 0; i < lanes; ++i) {  // what isn't in this lane gets a high bit, which makes 0
      const __m128i in_lane = _mm_sub_epi8(low, _mm_set1_epi8(static_cast<char>(i * 16)));
      const __m128i above = _mm_adds_epu8(in_lane, _mm_set1_epi8(0x70));
      idx[i] = _mm256_broadcastsi128_si256(_mm_or_si128(in_lane, above));
    }
  }
  // Backwards, what is read for 16 bytes begins at the last of the elements and may reach beyond the first of all;
  // forwards it may reach beyond the last. Those elements go one by one.
  const std::int64_t extent = (t.nd - 1) * length + size;
  const std::int64_t back = step < 0 ? (count - 1) * length : 0;
  const std::int64_t window = lanes * 16 + (step < 0 ? 0 : count * length);
  for (std::int64_t a = 0; a < t.na; ++a) {
    Tile rest = t;
    rest.na = 1;
    rest.to += a * t.to_a;
    rest.from += a * t.from_a;
    const char* const low = step < 0 ? rest.from - (t.nd - 1) * length : rest.from;
    const char* const high = low + extent;
    while (rest.nd >= 2 * count &&
           ((step < 0 && high - (rest.from - back) < window) || (t.stream && !at_line<size>(rest.to)))) {
      __builtin_memcpy(rest.to, rest.from, size);
      rest.to += size;
      rest.from += step;
      --rest.nd;
    }
    for (; rest.nd >= 2 * count && high - (rest.from - back) >= window; rest.nd -= 2 * count) {
      const char* const p = rest.from - back;
      __m256i v = _mm256_shuffle_epi8(load_lanes<__m256i>(p, count * step), idx[0]);
#pragma GCC unroll 8
      for (int i = 1; i < lanes; ++i) {
        v = _mm256_or_si256(v, _mm256_shuffle_epi8(load_lanes<__m256i>(p + i * 16, count * step), idx[i]));
      }
      if (t.stream && (reinterpret_cast<std::uintptr_t>(rest.to) & 31) == 0) {
        store_past_cache(rest.to, v);
      } else {
        store(rest.to, v);
      }
      rest.to += 32;
      rest.from += step * 2 * count;
    }
    move_each<size>(rest);
  }
}

constexpr int near_steps[size_count] = {8, 8, 4, 2, 0};

template <int size>
void gather(const Tile& t) noexcept {
  const std::int64_t step = t.from_d;
  const std::int64_t length = step < 0 ? -step : step;
  if (step == 0) return fill<size>(t);
  constexpr int nearest = near_steps[index_of_size(size)];
  if (length > nearest * size || length < size || t.nd < 4 * 16 / size) return gather_few<size>(t);
  switch (((16 / size - 1) * length + size + 15) / 16) {
    case 1:
      return gather_near<size, 1>(t);
    case 2:
      return gather_near<size, 2>(t);
    case 3:
      return gather_near<size, 3>(t);
    case 4:
      return gather_near<size, 4>(t);
    case 5:
      return gather_near<size, 5>(t);
    case 6:
      return gather_near<size, 6>(t);
    case 7:
      return gather_near<size, 7>(t);
    default:
      return gather_near<size, 8>(t);
  }
}

template <>
void gather<16>(const Tile& t) noexcept {
  if (t.from_d == 0) return fill<16>(t);
  gather_few<16>(t);
}

/// Byte b of 16 bytes j of the target comes from byte index[j][d][b] of strand d, or from another strand.
template <int size, int strands>
struct Weave {
  alignas(16) std::uint8_t index[strands][strands][16] = {};
  constexpr Weave() {
    for (int j = 0; j < strands; ++j) {
      for (int d = 0; d < strands; ++d) {
        for (int b = 0; b < 16; ++b) {
          const int at = j * 16 + b;
          const int byte = at / (strands * size) * size + at % size;
          index[j][d][b] = static_cast<std::uint8_t>(at / size % strands == d ? byte : 0x80);
        }
      }
    }
  }
};

template <int size, int strands>
void weave_as(const Tile& t) noexcept {
  constexpr int count = 16 / size;
  static constexpr Weave<size, strands> w;
  std::int64_t a = 0;
  for (; a + 2 * count <= t.na; a += 2 * count) {
    const char* const from = t.from + a * size;
    char* const to = t.to + a * strands * size;
    __m256i r[strands];
#pragma GCC unroll 8
    for (int d = 0; d < strands; ++d) r[d] = load<__m256i>(from + d * t.from_d);
#pragma GCC unroll 8
    for (int j = 0; j < strands; ++j) {
      __m256i v = _mm256_setzero_si256();
#pragma GCC unroll 8
      for (int d = 0; d < strands; ++d) {
        const __m128i idx = load<__m128i>(reinterpret_cast<const char*>(w.index[j][d]));
        v = _mm256_or_si256(v, _mm256_shuffle_epi8(r[d], _mm256_broadcastsi128_si256(idx)));
      }
      store(to + j * 16, _mm256_castsi256_si128(v));
      store(to + (strands + j) * 16, _mm256_extracti128_si256(v, 1));
    }
  }
  move_rest<size>(t, a, 0);
}
/// Byte b of 16 bytes of strand j comes from byte index[j][i][b] of 16 bytes i of the source, or from others.
template <int size, int strands>
struct Split {
  alignas(16) std::uint8_t index[strands][strands][16] = {};
  constexpr Split() {
    for (int j = 0; j < strands; ++j) {
      for (int i = 0; i < strands; ++i) {
        for (int b = 0; b < 16; ++b) {
          const int at = (b / size * strands + j) * size + b % size;
          index[j][i][b] = static_cast<std::uint8_t>(at / 16 == i ? at % 16 : 0x80);
        }
      }
    }
  }
};

template <int size, int strands>
void split_as(const Tile& t) noexcept {
  constexpr int count = 32 / size;
  static constexpr Split<size, strands> s;
  std::int64_t d = 0;
  for (; d + count <= t.nd; d += count) {
    const char* const from = t.from + d * strands * size;
    char* const to = t.to + d * size;
    __m256i r[strands];
#pragma GCC unroll 8
    for (int i = 0; i < strands; ++i) r[i] = load_lanes<__m256i>(from + i * 16, strands * 16);
#pragma GCC unroll 8
    for (int j = 0; j < strands; ++j) {
      __m256i v = _mm256_setzero_si256();
#pragma GCC unroll 8
      for (int i = 0; i < strands; ++i) {
        const __m128i idx = load<__m128i>(reinterpret_cast<const char*>(s.index[j][i]));
        v = _mm256_or_si256(v, _mm256_shuffle_epi8(r[i], _mm256_broadcastsi128_si256(idx)));
      }
      store(to + j * t.to_a, v);
    }
  }
  move_rest<size>(t, 0, d);
}

constexpr int most_strands = 6;

#include "src/copy/move_strands.inc.h"

void stream(char* to, const char* from, std::size_t bytes) noexcept {
  const std::size_t head = (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63;
  if (bytes >= head + 64) {
    __builtin_memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
      const __m256i low = load<__m256i>(from);
      const __m256i high = load<__m256i>(from + 32);
      store_past_cache(to, low);
      store_past_cache(to + 32, high);
    }
  }
  __builtin_memcpy(to, from, bytes);
}

void turn(char* to, const char* from, std::size_t bytes, std::size_t unit, bool past_cache) noexcept {
  const __m256i idx = _mm256_broadcastsi128_si256(load<__m128i>(turned_index(unit)));
  const std::size_t head = (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63;
  // Whole units up to a cache line, if they end there.
  if (past_cache && head % unit == 0 && bytes >= head + 64) {
    if (head > 0) turn(to, from, head, unit, false);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
      const __m256i low = _mm256_shuffle_epi8(load<__m256i>(from), idx);
      const __m256i high = _mm256_shuffle_epi8(load<__m256i>(from + 32), idx);
      store_past_cache(to, low);
      store_past_cache(to + 32, high);
    }
  }
  for (; bytes >= 32; bytes -= 32, to += 32, from += 32) {
    store(to, _mm256_shuffle_epi8(load<__m256i>(from), idx));
  }
  if (bytes >= 16) {
    store(to, _mm_shuffle_epi8(load<__m128i>(from), _mm256_castsi256_si128(idx)));
    to += 16;
    from += 16;
    bytes -= 16;
  }
  char rest[16];
  for (std::size_t i = 0; i < bytes; ++i) rest[i] = from[(i & ~(unit - 1)) + unit - 1 - i % unit];
  __builtin_memcpy(to, rest, bytes);
}

void fence() noexcept { _mm_sfence(); }

}  // namespace move_avx2

const MoveKernels move_kernels_avx2 = {
    ANYARRAY_BY_SIZE(move_avx2::transpose),
    ANYARRAY_BY_SIZE(move_avx2::gather),
    ANYARRAY_BY_SIZE(move_avx2::weave),
    ANYARRAY_BY_SIZE(move_avx2::split),
    ANYARRAY_BY_SIZE(move_avx2::move_each),
    move_avx2::move_any,
    move_avx2::stream,
    move_avx2::turn,
    move_avx2::fence,
    {8, 8, 4, 2, 0},
    {6, 6, 4, 3, 0},
};

}  // namespace anyarray
ANYARRAY_ISA_END
#endif
