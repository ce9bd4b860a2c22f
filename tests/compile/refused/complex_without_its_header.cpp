// SPDX-License-Identifier: Apache-2.0
// says: T isn't an element type.*anyarray/complex\.h
#include <complex>

#ifndef REFUSED
#include <anyarray/complex.h>
#endif
#include <anyarray/view.h>

std::int64_t size(anyarray::view<const std::complex<float>, 1> x) { return x.size(); }
