// SPDX-License-Identifier: Apache-2.0
// says: (use of|overload resolution selected|uses|invokes a|to).*deleted
#include <anyarray/array.h>

float first() {
#ifdef REFUSED
  const auto x = *anyarray::array<float, 1>::make({1});
#else
  const auto owner = anyarray::array<float, 1>::make({1});
  const auto x = *owner;
#endif
  return x[0];
}
