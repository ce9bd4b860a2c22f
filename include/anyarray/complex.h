// SPDX-License-Identifier: Apache-2.0
// std::complex as an element type, in a header of its own: <complex> costs more to compile than all the others.
#pragma once
#include <complex>

#include "anyarray/element.h"

namespace anyarray {

template <class T>
struct element<std::complex<T>> {
  static constexpr DType dtype = element<T>::dtype.code == TypeCode::long_double
                                     ? make_dtype(TypeCode::complex_long_double, 2u * element<T>::dtype.bits)
                                     : make_dtype(TypeCode::complex, 2u * element<T>::dtype.bits);
};

}  // namespace anyarray
