// SPDX-License-Identifier: Apache-2.0
// says: visit\(\) is for views of any_of
#include <anyarray/view.h>

#ifdef REFUSED
using Elements = const float;
#else
using Elements = const anyarray::any_of<float, double>;
#endif

double first(anyarray::view<Elements, 1> x) {
  return x.visit([](auto v) { return static_cast<double>(v[0]); });
}
