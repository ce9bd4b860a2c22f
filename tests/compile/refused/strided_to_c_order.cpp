// SPDX-License-Identifier: Apache-2.0
// says: (no viable conversion|conversion from .*view<.*requested)
#include <anyarray/view.h>

float first(anyarray::view<const float, 1, anyarray::c_order> x) {
#ifdef REFUSED
  const anyarray::view<const float, 1> any = x;
  const anyarray::view<const float, 1, anyarray::c_order> y = any;
#else
  const anyarray::view<const float, 1> y = x;
#endif
  return y[0];
}
