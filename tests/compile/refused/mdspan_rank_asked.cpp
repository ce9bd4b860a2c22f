// SPDX-License-Identifier: Apache-2.0
// says: the view and the mdspan have different ranks
#include <anyarray/mdspan_cuda.h>

#ifdef REFUSED
using Extents = cuda::std::dextents<int, 3>;
#else
using Extents = cuda::std::dextents<int, 2>;
#endif

bool fits(anyarray::view<const float, 2> x) {
  return static_cast<bool>(anyarray::as_mdspan<cuda::std::mdspan<const float, Extents>>(x));
}
