// SPDX-License-Identifier: Apache-2.0
// says: const ones as non-const
#include <anyarray/mdspan_cuda.h>

#ifdef REFUSED
using Element = float;
#else
using Element = const float;
#endif

bool fits(anyarray::view<const float, 1> x) {
  return static_cast<bool>(anyarray::as_mdspan<cuda::std::mdspan<Element, cuda::std::dextents<int, 1>>>(x));
}
