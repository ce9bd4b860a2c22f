// SPDX-License-Identifier: Apache-2.0
// From the number of elements along a short dimension to the kernel that is compiled for it. A move_<isa>.cpp that has
// byte permutations includes it once, inside its namespace, after it has defined
//   split_as<size, strands>, weave_as<size, strands>   for full registers, the rest by move_rest
//   most_strands                                       6 to weave_limit
// It includes nothing and uses no function from elsewhere (isa.h says why).

#define ANYARRAY_BY_STRANDS(kernel, strands)                        \
  if constexpr (size < 16) {                                        \
    switch (strands) {                                              \
      case 2:                                                       \
        return kernel<size, 2>(t);                                  \
      case 3:                                                       \
        return kernel<size, 3>(t);                                  \
      case 4:                                                       \
        return kernel<size, 4>(t);                                  \
      case 5:                                                       \
        return kernel<size, 5>(t);                                  \
      case 6:                                                       \
        return kernel<size, 6>(t);                                  \
      case 7:                                                       \
        if constexpr (most_strands >= 7) return kernel<size, 7>(t); \
        break;                                                      \
      case 8:                                                       \
        if constexpr (most_strands >= 8) return kernel<size, 8>(t); \
        break;                                                      \
      default:                                                      \
        break;                                                      \
    }                                                               \
  }                                                                 \
  transpose<size>(t);

template <int size>
void split(const Tile& t) noexcept {
  if (t.nd < vector_bytes / size) return transpose<size>(t);
  ANYARRAY_BY_STRANDS(split_as, t.na)
}
template <int size>
void weave(const Tile& t) noexcept {
  if (t.na < vector_bytes / size) return transpose<size>(t);
  ANYARRAY_BY_STRANDS(weave_as, t.nd)
}
