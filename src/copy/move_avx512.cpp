// SPDX-License-Identifier: Apache-2.0
// Move kernels for AVX-512 with VBMI, whose vpermi2b takes any bytes of 128.
#include "src/copy/move_kernels.h"

#if defined(ANYARRAY_ISA_X86)
// GCC takes the undefined operands in its own intrinsics for a mistake of the caller.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

ANYARRAY_ISA_BEGIN(ANYARRAY_ISA_AVX512)
namespace anyarray {
namespace move_avx512 {

constexpr int vector_bytes = 64;
#define ANYARRAY_MOVE_LINES 1

#include "src/copy/move_vectors.inc.h"

template <class V>
ANYARRAY_INLINE V load_lanes(const char* p, std::int64_t step) {
  if constexpr (sizeof(V) == 16) {
    return load<V>(p);
  } else if constexpr (sizeof(V) == 32) {
    const __m256i v = _mm256_castsi128_si256(load<__m128i>(p));
    return reinterpret_cast<V>(_mm256_inserti128_si256(v, load<__m128i>(p + step), 1));
  } else {
    __m512i v = _mm512_castsi128_si512(load<__m128i>(p));
    v = _mm512_inserti32x4(v, load<__m128i>(p + step), 1);
    v = _mm512_inserti32x4(v, load<__m128i>(p + 2 * step), 2);
    return reinterpret_cast<V>(_mm512_inserti32x4(v, load<__m128i>(p + 3 * step), 3));
  }
}
template <class V>
ANYARRAY_INLINE void store_past_cache(char* p, const V& v) {
  if constexpr (sizeof(V) == 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), reinterpret_cast<__m128i>(v));
  } else if constexpr (sizeof(V) == 32) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
  } else {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
  }
}

template <int size, int bytes>
ANYARRAY_INLINE void transpose_lanes(Vector<size, bytes>* r);

/// A cache line of each of 64 / size rows of the source becomes a cache line of each of as many rows of the target.
template <int size>
struct LineTile {
  static constexpr int along_a = 64 / size;
  static constexpr int along_d = 64 / size;
  static constexpr int lane_size = size < 16 ? size : 8;
  using V = Vector<lane_size, 64>;
  template <bool past_cache>
  static ANYARRAY_INLINE void move(char* to, std::int64_t to_a, const char* from, std::int64_t from_d) {
    constexpr int in_lane = 16 / size;
    V r[4 * in_lane];
#pragma GCC unroll 32
    for (int i = 0; i < 4 * in_lane; ++i) r[i] = load<V>(from + i * from_d);
#pragma GCC unroll 4
    for (int i = 0; i < 4 && in_lane > 1; ++i) transpose_lanes<lane_size, 64>(r + i * in_lane);
#pragma GCC unroll 8
    for (int k = 0; k < in_lane; ++k) {
      const __m512i r0 = reinterpret_cast<__m512i>(r[k]);
      const __m512i r1 = reinterpret_cast<__m512i>(r[k + in_lane]);
      const __m512i r2 = reinterpret_cast<__m512i>(r[k + 2 * in_lane]);
      const __m512i r3 = reinterpret_cast<__m512i>(r[k + 3 * in_lane]);
      const __m512i low01 = _mm512_shuffle_i32x4(r0, r1, 0x44);
      const __m512i high01 = _mm512_shuffle_i32x4(r0, r1, 0xee);
      const __m512i low23 = _mm512_shuffle_i32x4(r2, r3, 0x44);
      const __m512i high23 = _mm512_shuffle_i32x4(r2, r3, 0xee);
      const __m512i out[4] = {_mm512_shuffle_i32x4(low01, low23, 0x88), _mm512_shuffle_i32x4(low01, low23, 0xdd),
                              _mm512_shuffle_i32x4(high01, high23, 0x88), _mm512_shuffle_i32x4(high01, high23, 0xdd)};
#pragma GCC unroll 4
      for (int lane = 0; lane < 4; ++lane) {
        char* const p = to + (lane * in_lane + k) * to_a;
        if constexpr (past_cache) {
          store_past_cache(p, out[lane]);
        } else {
          store(p, out[lane]);
        }
      }
    }
  }
};

/// The same for bytes, whose squares are too large for registers: lines are fetched once, whatever their distance.
template <>
struct LineTile<1> {
  static constexpr int along_a = 64;
  static constexpr int along_d = 64;
  template <bool past_cache>
  static ANYARRAY_INLINE void move(char* to, std::int64_t to_a, const char* from, std::int64_t from_d) {
    alignas(64) char lines[64 * 64];
    for (int i = 0; i < 64; ++i) store(lines + i * 64, load<__m512i>(from + i * from_d));
    for (int a = 0; a < 64; a += 16) {
      Vector<1, 64> r[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) r[i] = load_lanes<Vector<1, 64>>(lines + i * 64 + a, 16 * 64);
      transpose_lanes<1, 64>(r);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        if constexpr (past_cache) {
          store_past_cache(to + (a + i) * to_a, r[i]);
        } else {
          store(to + (a + i) * to_a, r[i]);
        }
      }
    }
  }
};

#include "src/copy/move_tiles.inc.h"

/// Whether a cache line begins there, or none ever does where an element begins.
template <int size>
ANYARRAY_INLINE bool at_line(const char* p) {
  const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(p) & 63;
  return over == 0 || over % size != 0;
}

/// Where the bytes of 64 come from that lie `step` apart, as a pair of registers and a byte of it.
struct Window {
  __m512i index;
  __mmask64 pair[4];
};
template <int size>
ANYARRAY_INLINE Window window_of(std::int64_t step) {
  constexpr int count = 64 / size;
  struct Bytes {
    std::uint16_t element[64];
    std::uint16_t rest[64];
  };
  static constexpr Bytes bytes = [] {
    Bytes made{};
    for (int b = 0; b < 64; ++b) {
      made.element[b] = static_cast<std::uint16_t>(b / size);
      made.rest[b] = static_cast<std::uint16_t>(b % size);
    }
    return made;
  }();
  const __m512i length = _mm512_set1_epi16(static_cast<short>(step < 0 ? -step : step));
  const __m512i low_byte = _mm512_set1_epi16(127);
  __m256i index[2];
  __mmask32 pair[2][4];
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    __m512i element = _mm512_loadu_si512(bytes.element + half * 32);
    if (step < 0) element = _mm512_sub_epi16(_mm512_set1_epi16(count - 1), element);
    const __m512i at =
        _mm512_add_epi16(_mm512_mullo_epi16(element, length), _mm512_loadu_si512(bytes.rest + half * 32));
    index[half] = _mm512_cvtepi16_epi8(_mm512_and_si512(at, low_byte));
    const __m512i number = _mm512_srli_epi16(at, 7);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      pair[half][i] = _mm512_cmpeq_epi16_mask(number, _mm512_set1_epi16(static_cast<short>(i)));
    }
  }
  Window w;
  w.index = _mm512_inserti64x4(_mm512_castsi256_si512(index[0]), index[1], 1);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) w.pair[i] = pair[0][i] | __mmask64{pair[1][i]} << 32;
  return w;
}

/// Elements `step` bytes apart, of `registers` * 64 bytes for each 64 of the target, all of which is read.
template <int size, int registers>
void gather_near(const Tile& t) noexcept {
  constexpr int count = 64 / size;
  constexpr int pairs = (registers + 1) / 2;
  const std::int64_t step = t.from_d;
  const std::int64_t length = step < 0 ? -step : step;
  const std::int64_t window = registers * 64;
  const Window w = window_of<size>(step);
  const std::int64_t next_row = t.na > 1 ? t.from_a : t.ahead;
  // Backwards, the window begins at the last of its elements and may reach beyond the first of all; forwards it may
  // reach beyond the last. Those elements go one by one.
  const std::int64_t extent = (t.nd - 1) * length + size;
  const std::int64_t back = step < 0 ? (count - 1) * length : 0;
  // What is read soon lies further along a row, in the next one, or, where they are short, some rows on.
  const std::int64_t ahead = step < 0 ? -far_ahead : far_ahead;
  const std::int64_t rows = far_ahead / extent;
  for (std::int64_t a = 0; a < t.na; ++a) {
    Tile rest = t;
    rest.na = 1;
    rest.to += a * t.to_a;
    rest.from += a * t.from_a;
    const char* const low = step < 0 ? rest.from - (t.nd - 1) * length : rest.from;
    const char* const high = low + extent;
    if (t.stream) __builtin_prefetch(rest.to + t.nd * size - 1, 1);  // part of a line, written through the cache
    while (rest.nd >= count &&
           ((step < 0 && high - (rest.from - back) < window) || (t.stream && !at_line<size>(rest.to)))) {
      __builtin_memcpy(rest.to, rest.from, size);
      rest.to += size;
      rest.from += step;
      --rest.nd;
    }
    for (; rest.nd >= count && high - (rest.from - back) >= window; rest.nd -= count) {
      const char* const p = rest.from - back;
      if (t.ahead != 0) {
        const char* soon = p + ahead;
        if (rows > 0) {
          soon = p + rows * next_row;
        } else if (soon >= high) {
          soon += next_row - extent;
        } else if (soon < low) {
          soon += next_row + extent;
        }
#pragma GCC unroll 8
        for (int i = 0; i < registers; ++i) __builtin_prefetch(soon + i * 64, 0, 2);
      }
      __m512i v = registers == 1 ? _mm512_permutexvar_epi8(w.index, load<__m512i>(p))
                                 : _mm512_permutex2var_epi8(load<__m512i>(p), w.index, load<__m512i>(p + 64));
#pragma GCC unroll 4
      for (int i = 1; i < pairs; ++i) {
        const char* const q = p + i * 128;
        const bool single = 2 * i + 1 == registers;
        const __m512i first = load<__m512i>(q);
        const __m512i more = single ? _mm512_permutexvar_epi8(w.index, first)
                                    : _mm512_permutex2var_epi8(first, w.index, load<__m512i>(q + (single ? 0 : 64)));
        v = _mm512_mask_mov_epi8(v, w.pair[i], more);
      }
      if (t.stream && (reinterpret_cast<std::uintptr_t>(rest.to) & 63) == 0) {
        store_past_cache(rest.to, v);
      } else {
        store(rest.to, v);
      }
      rest.to += 64;
      rest.from += step * count;
    }
    move_each<size>(rest);
  }
}

template <int size>
void gather(const Tile& t) noexcept {
  const std::int64_t step = t.from_d;
  const std::int64_t length = step < 0 ? -step : step;
  if (step == 0) return fill<size>(t);
  if (length > weave_limit * size || length < size || t.nd < 2 * 64 / size) return gather_few<size>(t);
  switch (((64 / size - 1) * length + size + 63) / 64) {
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

/// Byte b of register j of the target comes from byte index[j][b] of a pair of strands; the pair is one that in_pair[j]
/// says.
template <int size, int strands>
struct Weave {
  alignas(64) std::uint8_t index[strands][64] = {};
  __mmask64 in_pair[strands][(strands + 1) / 2] = {};
  constexpr Weave() {
    for (int j = 0; j < strands; ++j) {
      for (int b = 0; b < 64; ++b) {
        const int at = j * 64 + b;
        const int strand = at / size % strands;
        index[j][b] = static_cast<std::uint8_t>(at / (strands * size) * size + at % size + strand % 2 * 64);
        in_pair[j][strand / 2] |= __mmask64{1} << b;
      }
    }
  }
};

template <int size, int strands>
void weave_as(const Tile& t) noexcept {
  constexpr int count = 64 / size;
  constexpr int pairs = (strands + 1) / 2;
  static constexpr Weave<size, strands> w;
  std::int64_t a = 0;
  if (t.stream) {
    Tile head = t;
    for (; a < t.na && a < count && !at_line<size>(t.to + a * t.to_a); ++a) {
    }
    head.na = a;
    move_each<size>(head);
  }
  for (; a + count <= t.na; a += count) {
    const char* const from = t.from + a * size;
    char* const to = t.to + a * strands * size;
    __m512i r[strands];
#pragma GCC unroll 8
    for (int d = 0; d < strands; ++d) r[d] = load<__m512i>(from + d * t.from_d);
    const bool past_cache = t.stream && (reinterpret_cast<std::uintptr_t>(to) & 63) == 0;
#pragma GCC unroll 8
    for (int j = 0; j < strands; ++j) {
      const __m512i idx = _mm512_load_si512(w.index[j]);
      __m512i v = _mm512_permutex2var_epi8(r[0], idx, r[1]);
#pragma GCC unroll 4
      for (int pair = 1; pair < pairs; ++pair) {
        const __m512i more =
            2 * pair + 1 == strands
                ? _mm512_permutexvar_epi8(idx, r[2 * pair])
                : _mm512_permutex2var_epi8(r[2 * pair], idx, r[2 * pair + 1 < strands ? 2 * pair + 1 : 0]);
        v = _mm512_mask_mov_epi8(v, w.in_pair[j][pair], more);
      }
      if (past_cache) {
        store_past_cache(to + j * 64, v);
      } else {
        store(to + j * 64, v);
      }
    }
  }
  move_rest<size>(t, a, 0);
}
/// Byte b of strand j comes from byte index[j][b] of a pair of the source's registers; the pair is one that in_pair[j]
/// says.
template <int size, int strands>
struct Split {
  alignas(64) std::uint8_t index[strands][64] = {};
  __mmask64 in_pair[strands][(strands + 1) / 2] = {};
  constexpr Split() {
    for (int j = 0; j < strands; ++j) {
      for (int b = 0; b < 64; ++b) {
        const int at = (b / size * strands + j) * size + b % size;
        index[j][b] = static_cast<std::uint8_t>(at % 128);
        in_pair[j][at / 128] |= __mmask64{1} << b;
      }
    }
  }
};

template <int size, int strands>
void split_as(const Tile& t) noexcept {
  constexpr int count = 64 / size;
  constexpr int pairs = (strands + 1) / 2;
  static constexpr Split<size, strands> s;
  std::int64_t d = 0;
  if (t.stream && t.to_a % 64 == 0) {
    Tile head = t;
    for (; d < t.nd && d < count && !at_line<size>(t.to + d * size); ++d) {
    }
    head.nd = d;
    move_each<size>(head);
  }
  for (; d + count <= t.nd; d += count) {
    const char* const from = t.from + d * strands * size;
    char* const to = t.to + d * size;
    __m512i r[strands];
#pragma GCC unroll 8
    for (int i = 0; i < strands; ++i) r[i] = load<__m512i>(from + i * 64);
    const bool past_cache =
        t.stream && ((reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(t.to_a)) & 63) == 0;
#pragma GCC unroll 8
    for (int j = 0; j < strands; ++j) {
      const __m512i idx = _mm512_load_si512(s.index[j]);
      __m512i v = _mm512_permutex2var_epi8(r[0], idx, r[1]);
#pragma GCC unroll 4
      for (int pair = 1; pair < pairs; ++pair) {
        const bool single = 2 * pair + 1 == strands;
        const __m512i more = single ? _mm512_permutexvar_epi8(idx, r[2 * pair])
                                    : _mm512_permutex2var_epi8(r[2 * pair], idx, r[single ? 0 : 2 * pair + 1]);
        v = _mm512_mask_mov_epi8(v, s.in_pair[j][pair], more);
      }
      if (past_cache) {
        store_past_cache(to + j * t.to_a, v);
      } else {
        store(to + j * t.to_a, v);
      }
    }
  }
  move_rest<size>(t, 0, d);
}

constexpr int most_strands = 8;

#include "src/copy/move_strands.inc.h"

/// The first `bytes` of a register, at most 63.
ANYARRAY_INLINE __mmask64 first(std::size_t bytes) { return (__mmask64{1} << bytes) - 1; }

void stream(char* to, const char* from, std::size_t bytes) noexcept {
  const std::size_t head = (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63;
  if (bytes >= head + 64) {  // a store of no bytes would fetch its line all the same
    if (head > 0) _mm512_mask_storeu_epi8(to, first(head), _mm512_maskz_loadu_epi8(first(head), from));
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= 256; bytes -= 256, to += 256, from += 256) {
      const __m512i r[4] = {load<__m512i>(from), load<__m512i>(from + 64), load<__m512i>(from + 128),
                            load<__m512i>(from + 192)};
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) store_past_cache(to + i * 64, r[i]);
    }
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) store_past_cache(to, load<__m512i>(from));
  }
  if (bytes >= 64) {  // less than a line and what is before it
    store(to, load<__m512i>(from));
    to += 64;
    from += 64;
    bytes -= 64;
  }
  if (bytes > 0) _mm512_mask_storeu_epi8(to, first(bytes), _mm512_maskz_loadu_epi8(first(bytes), from));
}

void turn(char* to, const char* from, std::size_t bytes, std::size_t unit, bool past_cache) noexcept {
  const __m512i idx = _mm512_broadcast_i32x4(load<__m128i>(turned_index(unit)));
  const std::size_t head = (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63;
  if (past_cache && head % unit == 0 && bytes >= head + 64) {
    if (head > 0) {
      const __m512i v = _mm512_maskz_loadu_epi8(first(head), from);
      _mm512_mask_storeu_epi8(to, first(head), _mm512_shuffle_epi8(v, idx));
    }
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
      store_past_cache(to, _mm512_shuffle_epi8(load<__m512i>(from), idx));
    }
  }
  for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
    store(to, _mm512_shuffle_epi8(load<__m512i>(from), idx));
  }
  if (bytes > 0) {
    const __m512i v = _mm512_maskz_loadu_epi8(first(bytes), from);
    _mm512_mask_storeu_epi8(to, first(bytes), _mm512_shuffle_epi8(v, idx));
  }
}

void fence() noexcept { _mm_sfence(); }

}  // namespace move_avx512

const MoveKernels move_kernels_avx512 = {
    ANYARRAY_BY_SIZE(move_avx512::transpose),
    ANYARRAY_BY_SIZE(move_avx512::gather),
    ANYARRAY_BY_SIZE(move_avx512::weave),
    ANYARRAY_BY_SIZE(move_avx512::split),
    ANYARRAY_BY_SIZE(move_avx512::move_each),
    move_avx512::move_any,
    move_avx512::stream,
    move_avx512::turn,
    move_avx512::fence,
    {8, 8, 8, 4, 0},
    {8, 8, 8, 4, 0},
};

}  // namespace anyarray
ANYARRAY_ISA_END
#endif
