// SPDX-License-Identifier: Apache-2.0
// says: an index is an integer
#include <anyarray/view.h>

float middle(anyarray::view<const float, 1> x) {
#ifdef REFUSED
  return x(0.5 * static_cast<double>(x.size()));
#else
  return x(x.size() / 2);
#endif
}
