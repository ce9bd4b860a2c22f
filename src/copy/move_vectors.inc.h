// SPDX-License-Identifier: Apache-2.0
// Registers as vectors of elements, for the move kernels. Each move_<isa>.cpp includes it once, inside its namespace.
// It includes nothing and uses no function from elsewhere (isa.h says why).

#define ANYARRAY_INLINE inline __attribute__((always_inline))

/// `bytes` in a register, seen as elements of a type.
template <class T, int bytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(bytes)));
};
template <int size>
struct IntegerOf;
template <>
struct IntegerOf<1> {
  using type = std::uint8_t;
};
template <>
struct IntegerOf<2> {
  using type = std::uint16_t;
};
template <>
struct IntegerOf<4> {
  using type = std::uint32_t;
};
template <>
struct IntegerOf<8> {
  using type = std::uint64_t;
};
/// `bytes` in a register as elements of `size` bytes.
template <int size, int bytes>
using Vector = typename VectorOf<typename IntegerOf<size>::type, bytes>::type;

template <class V>
ANYARRAY_INLINE V load(const char* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
ANYARRAY_INLINE void store(char* p, const V& v) {
  __builtin_memcpy(p, &v, sizeof v);
}
