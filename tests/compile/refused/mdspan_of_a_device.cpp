// SPDX-License-Identifier: Apache-2.0
// says: the host can't read elements of other devices
#include <anyarray/mdspan.h>

#ifdef REFUSED
using Where = anyarray::cuda;
#else
using Where = anyarray::host;
#endif

auto show(anyarray::view<const float, 2, anyarray::c_order, Where> x) { return x.mdspan(); }
