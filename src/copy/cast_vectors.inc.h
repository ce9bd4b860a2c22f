// SPDX-License-Identifier: Apache-2.0
// Vectors of the compiler, for the files of cast kernels: included by them inside their namespaces, with `lanes`
// defined. No include here, and nothing used from outside: see isa.h.

template <class T, int n>
struct VectorOf {
  typedef T type __attribute__((vector_size(n * sizeof(T))));
};
template <class T, int n>
using Vector = typename VectorOf<T, n>::type;
using I32 = Vector<std::int32_t, lanes>;
using F32 = Vector<float, lanes>;
template <class T>
struct Two {
  Vector<T, lanes / 2> lo, hi;
};
using I64 = Two<std::int64_t>;
using U64 = Two<std::uint64_t>;
using F64 = Two<double>;
using U32 = Vector<std::uint32_t, lanes>;
using HalfI32 = Vector<std::int32_t, lanes / 2>;
using HalfF32 = Vector<float, lanes / 2>;
using HalfI64 = Vector<std::int64_t, lanes / 2>;
using HalfF64 = Vector<double, lanes / 2>;

template <NumberType number>
constexpr std::int64_t size_of =
    number == NumberType::boolean || number == NumberType::i8 || number == NumberType::u8 ? 1
    : number == NumberType::i32 || number == NumberType::u32 || number == NumberType::f32 ? 4
    : number == NumberType::i64 || number == NumberType::u64 || number == NumberType::f64 ? 8
                                                                                          : 2;

template <int offset, class V, int... i>
ANYARRAY_INLINE auto half_of(V v, std::integer_sequence<int, i...>) noexcept {
  return __builtin_shufflevector(v, v, (i + offset)...);
}
template <class V>
ANYARRAY_INLINE auto low_half(V v) noexcept {
  return half_of<0>(v, std::make_integer_sequence<int, lanes / 2>());
}
template <class V>
ANYARRAY_INLINE auto high_half(V v) noexcept {
  return half_of<lanes / 2>(v, std::make_integer_sequence<int, lanes / 2>());
}
template <class V, int... i>
ANYARRAY_INLINE I32 low_parts(V lo, V hi, std::integer_sequence<int, i...>) noexcept {
  constexpr int first = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 1;
  return __builtin_shufflevector(reinterpret_cast<I32>(lo), reinterpret_cast<I32>(hi), (2 * i + first)...);
}
/// The low 32 bits of each number.
template <class V>
ANYARRAY_INLINE I32 low_parts(V lo, V hi) noexcept {
  return low_parts(lo, hi, std::make_integer_sequence<int, lanes>());
}
