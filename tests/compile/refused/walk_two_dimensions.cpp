// SPDX-License-Identifier: Apache-2.0
// says: (begin|iterat)
#include <anyarray/ranges.h>

float sum(anyarray::view<const float, 2> x) {
  float total = 0;
#ifdef REFUSED
  for (const float value : x) total += value;
#else
  for (const float value : anyarray::elements(x)) total += value;
#endif
  return total;
}
