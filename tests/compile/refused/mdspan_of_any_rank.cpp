// SPDX-License-Identifier: Apache-2.0
// says: an mdspan has a known rank, and so must the view
#include <anyarray/mdspan_cuda.h>

#ifdef REFUSED
using View = anyarray::view<const float>;
#else
using View = anyarray::view<const float, 2>;
#endif

bool fits(View x) { return static_cast<bool>(x.mdspan<anyarray::cuda_mdspan>()); }
