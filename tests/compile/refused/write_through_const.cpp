// SPDX-License-Identifier: Apache-2.0
// says: (read-only|const-qualified|not assignable)
#include <anyarray/view.h>

void clear(anyarray::view<float, 1> x) {
#ifdef REFUSED
  const anyarray::view<const float, 1> y = x;
#else
  const anyarray::view<float, 1> y = x;  // const is the view, not what it shows
#endif
  y[0] = 0;
}
