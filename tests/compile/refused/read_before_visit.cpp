// SPDX-License-Identifier: Apache-2.0
// says: the element type is open: visit\(\) gives it
#include <anyarray/view.h>

double first(anyarray::view<const anyarray::any_of<float, double>, 1> x) {
#ifdef REFUSED
  return x(0), 0.0;
#else
  return x.visit([](auto v) { return static_cast<double>(v[0]); });
#endif
}
