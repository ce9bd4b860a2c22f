// SPDX-License-Identifier: Apache-2.0
// says: (no viable conversion|conversion from .*requested)
#include <anyarray/mdspan.h>

#ifdef REFUSED
using Matrix = std::mdspan<const float, std::dextents<std::int64_t, 3>>;
#else
using Matrix = std::mdspan<const float, std::dextents<std::int64_t, 2>>;
#endif

float corner(anyarray::view<const float, 2, anyarray::c_order> x) {
  const Matrix m = x.mdspan();
  return m.data_handle()[0];
}
