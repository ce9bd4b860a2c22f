// SPDX-License-Identifier: Apache-2.0
// std::complex as an element type, in a header of its own: <complex> costs more to compile than all the others.
#pragma once
#include <complex>

#include "anyarray/element.h"

namespace anyarray {

/// Of the three that the standard knows.
template <class T>
struct element<std::complex<T>, std::enable_if_t<std::is_floating_point_v<T>>> {
  static constexpr DType dtype = element<T>::dtype.code == TypeCode::long_double
                                     ? make_dtype(TypeCode::complex_long_double, 2u * element<T>::dtype.bits)
                                     : make_dtype(TypeCode::complex, 2u * element<T>::dtype.bits);
};

}  // namespace anyarray
