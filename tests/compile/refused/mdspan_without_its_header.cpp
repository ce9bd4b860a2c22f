// SPDX-License-Identifier: Apache-2.0
// says: include anyarray/mdspan\.h
#include <anyarray/view.h>

auto show(anyarray::view<const float, 1> x) {
#ifdef REFUSED
  return x.mdspan();
#else
  return x.data();
#endif
}
