// SPDX-License-Identifier: Apache-2.0
// Text of the move kernels that all instruction sets have: transposes in registers and loops over elements. Each
// move_<isa>.cpp includes it once, inside its namespace, after it has defined
//   vector_bytes                 bytes of a register
//   store_past_cache(p, v)       stores a register, at an address aligned to its size
//   load_lanes<V>(p, step)       a register of which every 16 bytes come from `step` bytes further on
//   LineTile<size>               where ANYARRAY_MOVE_LINES is defined: a tile of whole cache lines in registers
// It includes nothing and uses no function from elsewhere (isa.h says why).

/// Bytes that one stream is read ahead of its use: what memory delivers in the time that an access takes.
constexpr std::int64_t far_ahead = 8192;

template <int... i>
struct Numbers {};
template <int n, int... i>
struct Count : Count<n - 1, n - 1, i...> {};
template <int... i>
struct Count<0, i...> {
  using type = Numbers<i...>;
};

/// Where element `i` comes from when the low or the high halves of each 16 bytes of two registers are interleaved.
template <int size, int bytes, bool high>
constexpr int interleaved(int i) {
  const int in_lane = 16 / size;
  const int first = i / in_lane * in_lane + i % in_lane / 2 + (high ? in_lane / 2 : 0);
  return i % 2 == 0 ? first : first + bytes / size;
}
template <int size, int bytes, bool high, int... i>
ANYARRAY_INLINE Vector<size, bytes> interleave_as(Vector<size, bytes> a, Vector<size, bytes> b, Numbers<i...>) {
  return __builtin_shufflevector(a, b, interleaved<size, bytes, high>(i)...);
}
template <int size, int bytes, bool high>
ANYARRAY_INLINE Vector<size, bytes> interleave(Vector<size, bytes> a, Vector<size, bytes> b) {
  return interleave_as<size, bytes, high>(a, b, typename Count<bytes / size>::type());
}

/// Transposes the square matrix in each 16 bytes of the registers at `r`: they hold its rows, then its columns.
template <int size, int bytes>
ANYARRAY_INLINE void transpose_lanes(Vector<size, bytes>* r) {
  constexpr int count = 16 / size;
  Vector<size, bytes> t[count];
#pragma GCC unroll 4
  for (int stage = 1; stage < count; stage *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < count / 2; ++i) {
      t[2 * i] = interleave<size, bytes, false>(r[i], r[i + count / 2]);
      t[2 * i + 1] = interleave<size, bytes, true>(r[i], r[i + count / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) r[i] = t[i];
  }
}

/// 16 bytes of each of `bytes / size` rows of the source become as many elements of the target's rows: every 16 bytes
/// of a register hold a square of their own.
template <int element, int bytes>
struct LaneTile {
  static constexpr int size = element == 16 ? 8 : element;
  static constexpr int along_a = 16 / element;
  static constexpr int along_d = bytes / element;
  template <bool past_cache>
  static ANYARRAY_INLINE void move(char* to, std::int64_t to_a, const char* from, std::int64_t from_d) {
    Vector<size, bytes> r[along_a];
#pragma GCC unroll 16
    for (int i = 0; i < along_a; ++i) {
      r[i] = load_lanes<Vector<size, bytes>>(from + i * from_d, along_a * from_d);
    }
    if constexpr (along_a > 1) transpose_lanes<size, bytes>(r);
#pragma GCC unroll 16
    for (int i = 0; i < along_a; ++i) {
      if constexpr (past_cache) {
        store_past_cache(to + i * to_a, r[i]);
      } else {
        store(to + i * to_a, r[i]);
      }
    }
  }
};

/// The same for 8 bytes of each row.
template <int size>
struct HalfTile {
  static constexpr int along_a = 8 / size;
  static constexpr int along_d = 8 / size;
  using V = Vector<size, 16>;
  template <bool past_cache>
  static ANYARRAY_INLINE void move(char* to, std::int64_t to_a, const char* from, std::int64_t from_d) {
    constexpr int half = along_a / 2;
    V r[half];
#pragma GCC unroll 4
    for (int i = 0; i < half; ++i) {
      const Vector<8, 16> low = {load<std::uint64_t>(from + i * from_d), 0};
      const Vector<8, 16> high = {load<std::uint64_t>(from + (i + half) * from_d), 0};
      r[i] = interleave<size, 16, false>(reinterpret_cast<V>(low), reinterpret_cast<V>(high));
    }
    V t[half];
#pragma GCC unroll 4
    for (int stage = 2; stage < along_a; stage *= 2) {
#pragma GCC unroll 4
      for (int i = 0; i < half / 2; ++i) {
        t[2 * i] = interleave<size, 16, false>(r[i], r[i + half / 2]);
        t[2 * i + 1] = interleave<size, 16, true>(r[i], r[i + half / 2]);
      }
#pragma GCC unroll 4
      for (int i = 0; i < half; ++i) r[i] = t[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < half; ++i) {
      const Vector<8, 16> columns = reinterpret_cast<Vector<8, 16>>(r[i]);
      store(to + 2 * i * to_a, columns[0]);
      store(to + (2 * i + 1) * to_a, columns[1]);
    }
  }
};

#if !defined(ANYARRAY_MOVE_LINES)
/// The same for a cache line of each of 64 / size rows, by way of a buffer: registers are narrower than lines, which
/// the source should be asked for once, and which the target should get at once.
template <int size>
struct LineTile {
  static constexpr int along_a = 64 / size;
  static constexpr int along_d = 64 / size;
  using Lanes = LaneTile<size, vector_bytes>;
  using V = Vector<8, vector_bytes>;
  template <bool past_cache>
  static ANYARRAY_INLINE void move(char* to, std::int64_t to_a, const char* from, std::int64_t from_d) {
    alignas(64) char lines[along_a * 64];
    for (int d = 0; d < along_d; d += Lanes::along_d) {
      for (int a = 0; a < along_a; a += Lanes::along_a) {
        Lanes::template move<false>(lines + a * 64 + d * size, 64, from + a * size + d * from_d, from_d);
      }
    }
    for (int a = 0; a < along_a; ++a) {
#pragma GCC unroll 4
      for (int i = 0; i < 64; i += vector_bytes) {
        if constexpr (past_cache) {
          store_past_cache(to + a * to_a + i, load<V>(lines + a * 64 + i));
        } else {
          store(to + a * to_a + i, load<V>(lines + a * 64 + i));
        }
      }
    }
  }
};
#endif

/// Covers a tile with register tiles T, the last ones of a row or column overlapping those before. False where the tile
/// is too small for one. The register tiles that share cache lines of the source follow each other.
template <int size, class T>
ANYARRAY_INLINE bool cover(const Tile& t) {
  if (t.na < T::along_a || t.nd < T::along_d) return false;
  constexpr std::int64_t line = 64 / size > T::along_a ? 64 / size : T::along_a;
  const bool past_cache = t.stream && T::along_d * size == 64 && t.to_a % 64 == 0;
  for (std::int64_t a_line = 0; a_line < t.na; a_line += line) {
    const std::int64_t a_end = t.na - a_line < line ? t.na : a_line + line;
    for (std::int64_t d = 0;;) {
      for (std::int64_t a = a_line; a < a_end; a += T::along_a) {
        const std::int64_t at = a + T::along_a > t.na ? t.na - T::along_a : a;
        char* const to = t.to + at * t.to_a + d * size;
        const char* const from = t.from + at * size + d * t.from_d;
        if (t.ahead != 0 && a == a_line) {
          for (int i = 0; i < T::along_d; ++i) __builtin_prefetch(from + i * t.from_d + t.ahead, 0, 2);
        }
        if (past_cache && reinterpret_cast<std::uintptr_t>(to) % 64 == 0) {
          T::template move<true>(to, t.to_a, from, t.from_d);
        } else {
          T::template move<false>(to, t.to_a, from, t.from_d);
        }
      }
      if (d + T::along_d == t.nd) break;
      d += T::along_d;
      if (d + T::along_d > t.nd) d = t.nd - T::along_d;
    }
  }
  return true;
}

void stream(char* to, const char* from, std::size_t bytes) noexcept;

template <int bytes>
struct Array {
  char data[bytes];
};

/// Few rows of the source at a time: as many as stay in the first cache, whatever their distance.
constexpr std::int64_t rows_at_once = 8;

template <int size>
void move_each(const Tile& t) noexcept {
  const std::int64_t to_d = t.to_d;
  const std::int64_t from_d = t.from_d;
  if (t.na > 1 && t.nd >= 2 * rows_at_once) {
    Tile part = t;
    for (std::int64_t d = 0; d < t.nd; d += rows_at_once) {
      part.nd = t.nd - d < rows_at_once ? t.nd - d : rows_at_once;
      move_each<size>(part);
      part.to += rows_at_once * to_d;
      part.from += rows_at_once * from_d;
    }
    return;
  }
  for (std::int64_t a = 0; a < t.na; ++a) {
    char* to = t.to + a * t.to_a;
    const char* from = t.from + a * t.from_a;
    std::int64_t d = t.nd;
    for (; d >= 4; d -= 4, to += 4 * to_d, from += 4 * from_d) {
      __builtin_memcpy(to, from, size);
      __builtin_memcpy(to + to_d, from + from_d, size);
      __builtin_memcpy(to + 2 * to_d, from + 2 * from_d, size);
      __builtin_memcpy(to + 3 * to_d, from + 3 * from_d, size);
    }
    for (; d > 0; --d, to += to_d, from += from_d) __builtin_memcpy(to, from, size);
  }
}

/// All but the first `a` elements along a and the first `d` along d, one of which is 0.
template <int size>
void move_rest(Tile t, std::int64_t a, std::int64_t d) noexcept {
  t.to += a * t.to_a + d * t.to_d;
  t.from += a * t.from_a + d * t.from_d;
  t.na -= a;
  t.nd -= d;
  move_each<size>(t);
}

/// One element of the source for each row of the target, which is dense.
template <int size>
void fill(const Tile& t) noexcept {
  constexpr int count = vector_bytes / size;
  if (t.nd < count) return move_each<size>(t);
  for (std::int64_t a = 0; a < t.na; ++a) {
    char* const to = t.to + a * t.to_a;
    const char* const from = t.from + a * t.from_a;
    using V = Vector<(size < 16 ? size : 8), vector_bytes>;
    V v;
    if constexpr (size < 16) {
      typename IntegerOf<size>::type element;
      __builtin_memcpy(&element, from, size);
      v = V{} + element;
    } else {
      v = load_lanes<V>(from, 0);
    }
    std::int64_t d = 0;
    const std::uintptr_t over = reinterpret_cast<std::uintptr_t>(to) % vector_bytes;
    if (over != 0 && over % size == 0) {  // whole lines from here on
      store(to, v);
      d = static_cast<std::int64_t>((vector_bytes - over) / size);
    }
    for (; d + count <= t.nd; d += count) {
      if (t.stream && over % size == 0) {
        store_past_cache(to + d * size, v);
      } else {
        store(to + d * size, v);
      }
    }
    if (d < t.nd) store(to + (t.nd - count) * size, v);
  }
}

/// The bytes of each unit of 16 bytes in the opposite order, as an index for byte permutations.
inline const char* turned_index(std::size_t unit) noexcept {
  struct Table {
    char of[4][16] = {};
    constexpr Table() {
      for (int k = 0; k < 4; ++k) {
        const int unit = 2 << k;
        for (int b = 0; b < 16; ++b) of[k][b] = static_cast<char>(b - b % unit + unit - 1 - b % unit);
      }
    }
  };
  static constexpr Table table;
  return table.of[unit == 2 ? 0 : unit == 4 ? 1 : unit == 8 ? 2 : 3];
}

/// Elements of `low` to `2 * low` bytes: two moves that overlap.
template <int low>
void move_halves(const Tile& t) noexcept {
  const std::size_t last = t.size - low;
  for (std::int64_t a = 0; a < t.na; ++a) {
    char* to = t.to + a * t.to_a;
    const char* from = t.from + a * t.from_a;
    for (std::int64_t d = 0; d < t.nd; ++d, to += t.to_d, from += t.from_d) {
      Array<low> first;
      Array<low> second;
      __builtin_memcpy(&first, from, low);
      __builtin_memcpy(&second, from + last, low);
      __builtin_memcpy(to, &first, low);
      __builtin_memcpy(to + last, &second, low);
    }
  }
}

/// Elements of more than 64 bytes. Of those that follow soon the first lines are asked for, where memory is read: what
/// is fetched ahead by itself begins a few lines late in each.
inline void move_rows(const Tile& t) noexcept {
  const auto size = static_cast<std::int64_t>(t.size);
  const std::int64_t soon = t.ahead != 0 ? far_ahead / 2 / size + 1 : 0;
  const std::int64_t asked = size < 1024 ? size : 1024;
  for (std::int64_t a = 0; a < t.na; ++a) {
    char* to = t.to + a * t.to_a;
    const char* from = t.from + a * t.from_a;
    for (std::int64_t d = 0; d < t.nd; ++d, to += t.to_d, from += t.from_d) {
      if (soon != 0 && (d + soon < t.nd || a + 1 < t.na)) {
        const char* const next = from + soon * t.from_d + (d + soon < t.nd ? 0 : t.from_a - t.nd * t.from_d);
        for (std::int64_t i = 0; i < asked; i += 64) __builtin_prefetch(next + i, 0, 2);
      }
      // Lines that rows share are better written through the cache.
      if (t.stream && (size >= 1024 || (reinterpret_cast<std::uintptr_t>(to) | t.size) % 64 == 0)) {
        stream(to, from, t.size);
        continue;
      }
      if (size > 2048) {
        __builtin_memcpy(to, from, t.size);
        continue;
      }
      std::int64_t i = 0;
      for (; i + 256 <= size; i += 256) __builtin_memcpy(to + i, from + i, 256);
      for (; i + 64 <= size; i += 64) __builtin_memcpy(to + i, from + i, 64);
      if (i < size) __builtin_memcpy(to + size - 64, from + size - 64, 64);
    }
  }
}

void move_any(const Tile& t) noexcept {
  switch (t.size) {
    case 1:
      return move_each<1>(t);
    case 3:
      return move_each<3>(t);
    case 6:
      return move_each<6>(t);
    case 12:
      return move_each<12>(t);
    case 24:
      return move_each<24>(t);
    case 32:
      return move_each<32>(t);
    default:
      break;
  }
  if (t.size <= 4) return move_halves<2>(t);
  if (t.size <= 8) return move_halves<4>(t);
  if (t.size <= 16) return move_halves<8>(t);
  if (t.size <= 32) return move_halves<16>(t);
  if (t.size <= 64) return move_halves<32>(t);
  move_rows(t);
}

template <int size>
void transpose(const Tile& t) noexcept {
  if (vector_bytes == 64 || t.stream || t.ahead != 0) {
    if (cover<size, LineTile<size>>(t)) return;
  }
  if (cover<size, LaneTile<size, vector_bytes>>(t)) return;
  if constexpr (vector_bytes > 32) {
    if (cover<size, LaneTile<size, 32>>(t)) return;
  }
  if constexpr (vector_bytes > 16) {
    if (cover<size, LaneTile<size, 16>>(t)) return;
  }
  if constexpr (size <= 2) {
    if (cover<size, HalfTile<size>>(t)) return;
  }
  move_each<size>(t);
}

/// Elements too few for permutations, or too far apart.
template <int size>
void gather_few(const Tile& t) noexcept {
  if (t.from_a == size && t.na > 1) return transpose<size>(t);
  move_each<size>(t);
}
