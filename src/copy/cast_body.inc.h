// SPDX-License-Identifier: Apache-2.0
// The casts of one instruction set. Included by cast_<isa>.cpp inside a namespace of its own, after what this
// instruction set does in its own way: `lanes` (how many 32-bit numbers a vector holds), the vector types, load_bytes
// and others below. A number goes through a vector of one of five types: I32, F32, and I64, U64, F64, which are two
// registers. No include here, and nothing used from outside: see isa.h.

template <class V>
ANYARRAY_INLINE V load(const char* p) noexcept {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
ANYARRAY_INLINE void store(char* p, V v) noexcept {
  __builtin_memcpy(p, &v, sizeof v);
}
/// One register after the other: GCC takes the two of a struct through the stack.
template <class T>
ANYARRAY_INLINE Two<T> load_two(const char* p) noexcept {
  using Half = Vector<T, lanes / 2>;
  return {load<Half>(p), load<Half>(p + sizeof(Half))};
}
template <class T>
ANYARRAY_INLINE void store(char* p, Two<T> v) noexcept {
  store(p, v.lo);
  store(p + sizeof v.lo, v.hi);
}
template <class To, class T>
ANYARRAY_INLINE Two<To> converted(Two<T> v) noexcept {
  return {__builtin_convertvector(v.lo, Vector<To, lanes / 2>), __builtin_convertvector(v.hi, Vector<To, lanes / 2>)};
}
template <class To, class V>
ANYARRAY_INLINE Two<To> widened(V v) noexcept {
  return {__builtin_convertvector(low_half(v), Vector<To, lanes / 2>),
          __builtin_convertvector(high_half(v), Vector<To, lanes / 2>)};
}
ANYARRAY_INLINE I32 splat(std::int32_t v) noexcept { return I32{} + v; }
ANYARRAY_INLINE F32 as_float(I32 v) noexcept { return reinterpret_cast<F32>(v); }
ANYARRAY_INLINE I32 bits_of(F32 v) noexcept { return reinterpret_cast<I32>(v); }
ANYARRAY_INLINE I32 choose(I32 mask, I32 a, I32 b) noexcept { return mask ? a : b; }

// --- to integers: the low bits of what x86-64 makes of a float one by one ---

ANYARRAY_INLINE I32 low32(I32 v) noexcept { return v; }
ANYARRAY_INLINE I32 low32(I64 v) noexcept { return low_parts(v.lo, v.hi); }
ANYARRAY_INLINE I32 low32(U64 v) noexcept { return low_parts(v.lo, v.hi); }
#if defined(ANYARRAY_ISA_X86)
ANYARRAY_INLINE I32 low32(F32 v) noexcept { return __builtin_convertvector(v, I32); }
ANYARRAY_INLINE I32 low32(F64 v) noexcept {
  return joined(__builtin_convertvector(v.lo, HalfI32), __builtin_convertvector(v.hi, HalfI32));
}
ANYARRAY_INLINE I64 whole64(F64 v) noexcept { return converted<std::int64_t>(v); }
ANYARRAY_INLINE I64 whole64(F32 v) noexcept { return widened<std::int64_t>(v); }
#else
ANYARRAY_INLINE I32 low32(F32 v) noexcept {
  const I32 fits = (v >= -0x1p31f) & (v < 0x1p31f);
  return choose(fits, __builtin_convertvector(as_float(bits_of(v) & fits), I32), splat(INT32_MIN));
}
ANYARRAY_INLINE HalfI64 whole64(HalfF64 v) noexcept {
  const HalfI64 fits = reinterpret_cast<HalfI64>((v >= -0x1p63) & (v < 0x1p63));
  const HalfF64 kept = reinterpret_cast<HalfF64>(reinterpret_cast<HalfI64>(v) & fits);
  return fits ? __builtin_convertvector(kept, HalfI64) : HalfI64{} + INT64_MIN;
}
ANYARRAY_INLINE I64 whole64(F64 v) noexcept { return {whole64(v.lo), whole64(v.hi)}; }
ANYARRAY_INLINE I64 whole64(F32 v) noexcept { return whole64(widened<double>(v)); }
ANYARRAY_INLINE HalfI32 low32(HalfI64 whole) noexcept {
  const HalfI64 fits = (whole >= INT32_MIN) & (whole <= INT32_MAX);
  return __builtin_convertvector(fits ? whole : HalfI64{} + INT32_MIN, HalfI32);
}
ANYARRAY_INLINE I32 low32(F64 v) noexcept { return joined(low32(whole64(v.lo)), low32(whole64(v.hi))); }
#endif

ANYARRAY_INLINE I64 to_i64(I32 v) noexcept { return widened<std::int64_t>(v); }
ANYARRAY_INLINE I64 to_i64(I64 v) noexcept { return v; }
ANYARRAY_INLINE I64 to_i64(U64 v) noexcept { return converted<std::int64_t>(v); }
ANYARRAY_INLINE I64 to_i64(F32 v) noexcept { return whole64(v); }
ANYARRAY_INLINE I64 to_i64(F64 v) noexcept { return whole64(v); }

/// Of floats alone: 2**63 and more are there, 2**64 and more are 0, all else is what int64 makes of it.
ANYARRAY_INLINE HalfI64 to_u64(HalfF64 v, HalfI64 small, HalfI64 large) noexcept {
  const HalfI64 is_large = reinterpret_cast<HalfI64>(v >= 0x1p63);
  const HalfI64 is_too_large = reinterpret_cast<HalfI64>(v >= 0x1p64);
  return ((is_large & (large ^ INT64_MIN)) | (~is_large & small)) & ~is_too_large;
}
ANYARRAY_INLINE I64 to_u64(F64 v) noexcept {
  const I64 small = whole64(v);
  const I64 large = whole64(F64{v.lo - 0x1p63, v.hi - 0x1p63});
  return {to_u64(v.lo, small.lo, large.lo), to_u64(v.hi, small.hi, large.hi)};
}
ANYARRAY_INLINE I64 to_u64(F32 v) noexcept { return to_u64(widened<double>(v)); }

// --- to floats ---

ANYARRAY_INLINE F32 to_f32(I32 v) noexcept { return __builtin_convertvector(v, F32); }
ANYARRAY_INLINE F32 to_f32(F32 v) noexcept { return v; }
template <class T>
ANYARRAY_INLINE F32 to_f32(Two<T> v) noexcept {
  return joined(__builtin_convertvector(v.lo, HalfF32), __builtin_convertvector(v.hi, HalfF32));
}
ANYARRAY_INLINE F64 to_f64(I32 v) noexcept { return widened<double>(v); }
ANYARRAY_INLINE F64 to_f64(F32 v) noexcept { return widened<double>(v); }
template <class T>
ANYARRAY_INLINE F64 to_f64(Two<T> v) noexcept {
  return converted<double>(v);
}
ANYARRAY_INLINE F64 to_f64(F64 v) noexcept { return v; }

#if !defined(ANYARRAY_CAST_OWN_ODD)
ANYARRAY_INLINE HalfI64 magnitude_of(HalfF64 v) noexcept { return reinterpret_cast<HalfI64>(v) & INT64_MAX; }
ANYARRAY_INLINE HalfI64 is_number(HalfF64 v) noexcept { return magnitude_of(v) <= 0x7ff0000000000000; }
/// float64 to float32, so that rounding what comes out to at most 22 bits is right: the last bit tells that bits were
/// lost.
ANYARRAY_INLINE F32 to_odd_f32(F64 v) noexcept {
  const F32 near = to_f32(v);
  const F64 back = to_f64(near);
  const I32 inexact = low_parts((v.lo != back.lo) & is_number(v.lo), (v.hi != back.hi) & is_number(v.hi));
  const I32 away = low_parts(magnitude_of(back.lo) > magnitude_of(v.lo), magnitude_of(back.hi) > magnitude_of(v.hi));
  const I32 bits = bits_of(near);
  return as_float(choose(inexact, (bits + away) | 1, bits));
}
#endif

// --- floats of 16 bits and less, in the low bits of I32 ---

constexpr int ieee = 0, fn = 1, fnuz = 2, finite = 3, powers = 4;
template <int exponent_bits, int mantissa_bits, int exponent_bias, int top_codes>
struct Format {
  static constexpr int e = exponent_bits, m = mantissa_bits, bias = exponent_bias, top = top_codes;
  static constexpr std::int32_t all = (1 << (e + m)) - 1;  ///< of exponent and mantissa
  static constexpr std::int32_t infinity = ((1 << e) - 1) << m;
};
template <int i>
struct Narrow;
template <>
struct Narrow<0> : Format<3, 4, 3, ieee> {};
template <>
struct Narrow<1> : Format<4, 3, 7, ieee> {};
template <>
struct Narrow<2> : Format<4, 3, 11, fnuz> {};
template <>
struct Narrow<3> : Format<4, 3, 7, fn> {};
template <>
struct Narrow<4> : Format<4, 3, 8, fnuz> {};
template <>
struct Narrow<5> : Format<5, 2, 15, ieee> {};
template <>
struct Narrow<6> : Format<5, 2, 16, fnuz> {};
template <>
struct Narrow<7> : Format<8, 0, 127, powers> {};
template <>
struct Narrow<8> : Format<2, 3, 1, finite> {};
template <>
struct Narrow<9> : Format<3, 2, 3, finite> {};
template <>
struct Narrow<10> : Format<2, 1, 1, finite> {};
using HalfFormat = Format<5, 10, 15, ieee>;

/// Exponent and mantissa of the nearest, ties to even; past the largest finite one it is more than that.
template <class F>
ANYARRAY_INLINE I32 rounded(I32 magnitude) noexcept {
  constexpr int cut = 23 - F::m;
  constexpr std::int32_t magic = (127 + 24 - F::bias - F::m) << 23;  // the last bit of such a float is the least code
  const U32 bits = reinterpret_cast<U32>(magnitude);
  constexpr std::uint32_t half = (1u << (cut - 1)) - 1 - (static_cast<std::uint32_t>(127 - F::bias) << 23);
  const I32 normal = reinterpret_cast<I32>((bits + ((bits >> cut) & 1) + half) >> cut);
  const I32 subnormal = bits_of(as_float(magnitude) + as_float(splat(magic))) - magic;
  return choose(magnitude < ((128 - F::bias) << 23), subnormal, normal);
}

template <class F>
ANYARRAY_INLINE I32 encoded(F32 v) noexcept {
  const I32 bits = bits_of(v);
  const I32 magnitude = bits & INT32_MAX;
  const I32 is_nan = magnitude > 0x7f800000;
  if constexpr (F::top == powers) {
    const I32 is_small = magnitude < (1 << 23);
    const U32 raised = reinterpret_cast<U32>(magnitude) + 0x400000u + reinterpret_cast<U32>(is_small);
    const I32 code = reinterpret_cast<I32>(raised >> 23);
    return choose((bits <= 0) | (bits >= 0x7f400000), splat(255), code);
  } else {
    const I32 sign = reinterpret_cast<I32>(reinterpret_cast<U32>(bits) >> (31 - F::e - F::m)) & (F::all + 1);
    const I32 code = rounded<F>(magnitude);
    if constexpr (F::top == fnuz) {
      const I32 signed_code = choose(code == 0, code, code | sign);
      return choose(code > F::all, splat(F::all + 1), signed_code);
    } else if constexpr (F::top == ieee) {
      return choose(is_nan, splat(F::infinity | 1 << (F::m - 1)), at_most(code, F::infinity)) | sign;
    } else if constexpr (F::top == fn) {
      return at_most(code, F::all) | sign;
    } else {
      const I32 number = at_most(code, F::all) | sign;
      return choose(is_nan, sign ^ (F::all + 1), number);
    }
  }
}

/// The code of float16, where NaN keep their payload.
ANYARRAY_INLINE I32 with_payload(I32 code, F32 v) noexcept {
  const I32 bits = bits_of(v);
  const I32 payload = (bits >> 13) & 0x3ff;
  const I32 nan = choose(payload == 0, splat(1), payload) | 0x7c00 | ((bits >> 16) & 0x8000);
  return choose((bits & INT32_MAX) > 0x7f800000, nan, code);
}

template <class F>
ANYARRAY_INLINE F32 decoded(I32 code) noexcept {
  if constexpr (F::top == powers) {
    const I32 normal = choose(code == 255, splat(0x7fc00000), code << 23);
    return as_float(choose(code == 0, splat(0x400000), normal));
  } else {
    const I32 magnitude = code & F::all;
    const I32 sign = (code << (31 - F::e - F::m)) & INT32_MIN;
    const I32 normal = (magnitude << (23 - F::m)) + ((127 - F::bias) << 23);
    const F32 scale = as_float(splat((128 - F::bias - F::m) << 23));
    I32 found = choose(magnitude < (1 << F::m), bits_of(__builtin_convertvector(magnitude, F32) * scale), normal);
    if constexpr (F::top == ieee) {
      // NaN of float16 keep their payload, those of narrower ones have none.
      const I32 nan = F::m == 10 ? 0x7f800000 | (magnitude << (23 - F::m)) : splat(0x7fc00000);
      found = choose(magnitude > F::infinity, nan, choose(magnitude == F::infinity, splat(0x7f800000), found));
    } else if constexpr (F::top == fn) {
      found = choose(magnitude == F::all, splat(0x7fc00000), found);
    } else if constexpr (F::top == fnuz) {
      found = choose((code & (2 * F::all + 1)) == F::all + 1, splat(0x7fc00000), found);
    }
    return as_float(found | sign);
  }
}

ANYARRAY_INLINE I32 nearest_brain(F32 v) noexcept {
  const U32 bits = reinterpret_cast<U32>(v);
  return reinterpret_cast<I32>((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
ANYARRAY_INLINE I32 brain_of(F32 v) noexcept {
  const I32 bits = bits_of(v);
  return choose((bits & INT32_MAX) > 0x7f800000, ((bits >> 16) & 0x8000) | 0x7fc0, nearest_brain(v));
}

// --- numbers in memory ---

#if defined(ANYARRAY_CAST_WITHOUT_F16C)
ANYARRAY_INLINE F32 load_halves(const char* p) noexcept { return decoded<HalfFormat>(load_words<std::uint16_t>(p)); }
ANYARRAY_INLINE I32 nearest_halves(F32 v) noexcept { return encoded<HalfFormat>(v); }
ANYARRAY_INLINE void store_nearest_halves(char* p, F32 v) noexcept { store_words(p, nearest_halves(v)); }
#else
ANYARRAY_INLINE F32 load_halves(const char* p) noexcept {
  const F32 v = widened_halves(p);  // which quiets NaN
  return any_nan(v) ? decoded<HalfFormat>(load_words<std::uint16_t>(p)) : v;
}
#endif
/// NaN keep the upper bits of their payload.
ANYARRAY_INLINE void store_halves(char* p, F32 v) noexcept {
  if (!any_nan(v)) return store_nearest_halves(p, v);
  store_words(p, with_payload(nearest_halves(v), v));
}
ANYARRAY_INLINE HalfI64 payload_of(HalfF64 v) noexcept { return (reinterpret_cast<HalfI64>(v) >> 42) & 0x3ff; }
/// The same of float64, which `v` is in float32, but that NaN were quieted on the way.
ANYARRAY_INLINE void store_halves(char* p, F32 v, F64 wide) noexcept {
  if (!any_nan(v)) return store_nearest_halves(p, v);
  const I32 payload = low_parts(payload_of(wide.lo), payload_of(wide.hi));
  const I32 nan = choose(payload == 0, splat(1), payload) | 0x7c00 | ((bits_of(v) >> 16) & 0x8000);
  store_words(p, choose(v != v, nan, nearest_halves(v)));
}

template <NumberType from>
ANYARRAY_INLINE auto take(const char* p) noexcept {
  if constexpr (from == NumberType::boolean) {
    return (load_bytes<std::uint8_t>(p) != 0) & 1;
  } else if constexpr (from == NumberType::i8) {
    return load_bytes<std::int8_t>(p);
  } else if constexpr (from == NumberType::u8) {
    return load_bytes<std::uint8_t>(p);
  } else if constexpr (from == NumberType::i16) {
    return load_words<std::int16_t>(p);
  } else if constexpr (from == NumberType::u16) {
    return load_words<std::uint16_t>(p);
  } else if constexpr (from == NumberType::i32) {
    return load<I32>(p);
  } else if constexpr (from == NumberType::u32) {
    return widened<std::int64_t>(load<Vector<std::uint32_t, lanes>>(p));
  } else if constexpr (from == NumberType::i64) {
    return load_two<std::int64_t>(p);
  } else if constexpr (from == NumberType::u64) {
    return load_two<std::uint64_t>(p);
  } else if constexpr (from == NumberType::f16) {
    return load_halves(p);
  } else if constexpr (from == NumberType::f32) {
    return load<F32>(p);
  } else if constexpr (from == NumberType::f64) {
    return load_two<double>(p);
  } else {
    return as_float(load_words<std::uint16_t>(p) << 16);
  }
}

ANYARRAY_INLINE I32 is_true(I32 v) noexcept { return (v != 0) & 1; }
ANYARRAY_INLINE I32 is_true(F32 v) noexcept { return (v != 0) & 1; }
template <class T>
ANYARRAY_INLINE I32 is_true(Two<T> v) noexcept {
  return low_parts(v.lo != 0, v.hi != 0) & 1;
}
template <class V>
constexpr bool is_float = false;
template <>
constexpr bool is_float<F32> = true;
template <>
constexpr bool is_float<F64> = true;

template <NumberType to, class V>
ANYARRAY_INLINE void put(char* p, V v) noexcept {
  if constexpr (to == NumberType::boolean) {
    store_bytes(p, is_true(v));
  } else if constexpr (to == NumberType::i8 || to == NumberType::u8) {
    store_bytes(p, low32(v));
  } else if constexpr (to == NumberType::i16 || to == NumberType::u16) {
    store_words(p, low32(v));
  } else if constexpr (to == NumberType::i32) {
    store(p, low32(v));
  } else if constexpr (to == NumberType::u32) {
    if constexpr (is_float<V>) {
      store(p, low32(whole64(v)));
    } else {
      store(p, low32(v));
    }
  } else if constexpr (to == NumberType::i64) {
    store(p, to_i64(v));
  } else if constexpr (to == NumberType::u64) {
    if constexpr (is_float<V>) {
      store(p, to_u64(v));
    } else {
      store(p, to_i64(v));
    }
  } else if constexpr (to == NumberType::f16) {
    if constexpr (std::is_same_v<V, F64>) {
      store_halves(p, to_odd_f32(v), v);
    } else if constexpr (is_float<V>) {
      store_halves(p, v);
    } else {
      store_nearest_halves(p, to_f32(v));
    }
  } else if constexpr (to == NumberType::f32) {
    store(p, to_f32(v));
  } else if constexpr (to == NumberType::f64) {
    store(p, to_f64(v));
  } else {
    const F32 near = to_f32(v);
    store_words(p, is_float<V> && any_nan(near) ? brain_of(near) : nearest_brain(near));
  }
}

// --- the loops ---

template <NumberType from, NumberType to>
void cast(char* out, const char* in, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += lanes) put<to>(out + i * size_of<to>, take<from>(in + i * size_of<from>));
}

/// NaN of float16 keep their payload in float64, and aren't quieted, as they would be on the way through float32.
ANYARRAY_INLINE HalfF64 with_payload(HalfF64 v, HalfI32 bits) noexcept {
  const HalfI64 wide = __builtin_convertvector(bits, HalfI64);
  const HalfI64 sign = (wide >> 31) & INT64_MIN;
  const HalfI64 is_nan = (wide & INT32_MAX) > 0x7f800000;
  return reinterpret_cast<HalfF64>(is_nan ? ((wide & 0x7fffff) << 29) | sign | 0x7ff0000000000000
                                          : reinterpret_cast<HalfI64>(v));
}
template <>
void cast<NumberType::f16, NumberType::f64>(char* out, const char* in, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += lanes) {
    const F32 v = load_halves(in + 2 * i);
    F64 wide = to_f64(v);
    if (any_nan(v)) {
      wide = {with_payload(wide.lo, low_half(bits_of(v))), with_payload(wide.hi, high_half(bits_of(v)))};
    }
    store(out + 8 * i, wide);
  }
}
/// NaN of bfloat16 lose their payload: ml_dtypes rounds them once more.
template <>
void cast<NumberType::bf16, NumberType::f16>(char* out, const char* in, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += lanes) {
    store_halves(out + 2 * i, as_float(brain_of(take<NumberType::bf16>(in + 2 * i)) << 16));
  }
}

/// Without a detour through 32 bits.
template <>
void cast<NumberType::i8, NumberType::boolean>(char* out, const char* in, std::int64_t n, std::uint64_t) noexcept {
  using Bytes = Vector<std::uint8_t, kernel_step>;
  for (std::int64_t i = 0; i < n; i += kernel_step) {
    store(out + i, reinterpret_cast<Bytes>(load<Bytes>(in + i) != 0) & 1);
  }
}

template <int i>
void decode(char* out, const char* in, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t k = 0; k < n; k += lanes) store(out + 4 * k, decoded<Narrow<i>>(load_bytes<std::uint8_t>(in + k)));
}
template <int i>
void encode(char* out, const char* in, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t k = 0; k < n; k += lanes) store_bytes(out + k, encoded<Narrow<i>>(load<F32>(in + 4 * k)));
}

template <class T>
ANYARRAY_INLINE T with_ends(T whole, T is_highest, T is_lowest, std::int64_t highest, std::int64_t lowest) noexcept {
  using Element = std::remove_reference_t<decltype(whole[0])>;
  const T high = T{} + static_cast<Element>(highest);
  const T low = T{} + static_cast<Element>(lowest);
  return is_highest ? high : is_lowest ? low : whole;
}
template <NumberType to>
void cast_whole(char* out, const char* in, std::int64_t n, std::uint64_t) noexcept {
  constexpr int bits = 8 * size_of<to>;
  constexpr bool is_signed = to >= NumberType::i8 && to <= NumberType::i64;
  constexpr auto highest = static_cast<std::int64_t>(~std::uint64_t{0} >> (is_signed ? 65 - bits : 64 - bits));
  constexpr std::int64_t lowest = is_signed ? -highest - 1 : 0;
  for (std::int64_t i = 0; i < n; i += lanes) {
    const F32 all = load<F32>(in + 4 * i);
    const F32 v = as_float(bits_of(all) & (all == all));
    const I32 is_highest = bits_of(v) == 0x7f800000;
    const I32 is_lowest = bits_of(v) == static_cast<std::int32_t>(0xff800000u);
    if constexpr (bits == 64) {
      const I64 whole = to == NumberType::u64 ? to_u64(v) : to_i64(v);
      const I64 high = to_i64(is_highest);
      const I64 low = to_i64(is_lowest);
      store(out + 8 * i, I64{with_ends(whole.lo, high.lo, low.lo, highest, lowest),
                             with_ends(whole.hi, high.hi, low.hi, highest, lowest)});
    } else {
      const I32 whole = to == NumberType::u32 ? low32(whole64(v)) : low32(v);
      put<to>(out + i * size_of<to>, with_ends(whole, is_highest, is_lowest, highest, lowest));
    }
  }
}

// --- the table ---

constexpr bool is_integer(NumberType n) noexcept { return n >= NumberType::i8 && n <= NumberType::u64; }
constexpr int bytes_of(NumberType n) noexcept {
  constexpr int sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
  return sizes[static_cast<int>(n)];
}
/// Integers keep their low bits where they get narrower, and floats become them through int32: signs make no
/// difference.
constexpr NumberType target(NumberType from, NumberType to) noexcept {
  const bool is_low = is_integer(from) || from == NumberType::boolean || bytes_of(to) < 4;
  return is_low && to >= NumberType::u8 && to <= NumberType::u64 ? static_cast<NumberType>(static_cast<int>(to) - 4)
                                                                 : to;
}
constexpr NumberType source(NumberType from, NumberType to) noexcept {
  const bool is_unsigned = from >= NumberType::u8 && from <= NumberType::u64;
  const bool is_low = is_unsigned && (to == NumberType::boolean || (is_integer(to) && bytes_of(to) <= bytes_of(from)));
  return is_low ? static_cast<NumberType>(static_cast<int>(from) - 4) : from;
}
template <int from, int to>
constexpr Kernel kernel_of() noexcept {
  constexpr NumberType out = target(static_cast<NumberType>(from), static_cast<NumberType>(to));
  constexpr NumberType in = source(static_cast<NumberType>(from), out);
  if constexpr (in == out) {
    return nullptr;
  } else {
    return cast<in, out>;
  }
}

template <int from, int... to>
constexpr void fill_row(CastKernels& k, std::integer_sequence<int, to...>) noexcept {
  ((k.cast[from][to] = kernel_of<from, to>()), ...);
}
template <int... all, int... narrow, int... integer>
constexpr CastKernels table_of(std::integer_sequence<int, all...> numbers, std::integer_sequence<int, narrow...>,
                               std::integer_sequence<int, integer...>) noexcept {
  CastKernels k{};
  (fill_row<all>(k, numbers), ...);
  ((k.decode[narrow] = decode<narrow>), ...);
  ((k.encode[narrow] = encode<narrow>), ...);
  ((k.whole[1 + integer] = cast_whole<static_cast<NumberType>(1 + integer)>), ...);
  k.stream = stream;
  return k;
}
constexpr CastKernels table =
    table_of(std::make_integer_sequence<int, number_count>(), std::make_integer_sequence<int, narrow_count>(),
             std::make_integer_sequence<int, 8>());
