// SPDX-License-Identifier: Apache-2.0
// says: the host can't read elements of other devices
#include <anyarray/view.h>

#ifdef REFUSED
using Where = anyarray::cuda;
#else
using Where = anyarray::host;
#endif

float corner(anyarray::view<const float, 2, anyarray::strided, Where> x) { return x(0, 0); }
