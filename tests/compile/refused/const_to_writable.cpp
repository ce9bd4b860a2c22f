// SPDX-License-Identifier: Apache-2.0
// says: (no viable conversion|conversion from .*view<const float.*requested)
#include <anyarray/view.h>

float first(anyarray::view<const float, 1> x) {
#ifdef REFUSED
  anyarray::view<float, 1> y = x;
#else
  anyarray::view<const float, 1> y = x;
#endif
  return y[0];
}
