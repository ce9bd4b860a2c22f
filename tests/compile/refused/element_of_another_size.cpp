// SPDX-License-Identifier: Apache-2.0
// says: must be as large as T
#include <anyarray/view.h>

struct Half {
#ifdef REFUSED
  std::uint32_t bits;
#else
  std::uint16_t bits;
#endif
};
template <>
struct anyarray::element<Half> {
  static constexpr DType dtype = make_dtype(TypeCode::bfloat, 16);
};

std::int64_t size(anyarray::view<const Half, 1> x) { return x.size(); }
