// SPDX-License-Identifier: Apache-2.0
// says: of one element type that isn.t const, of a known rank, on the host
#include <anyarray/array.h>

#ifdef REFUSED
using Array = anyarray::array<float>;
#else
using Array = anyarray::array<float, 1>;
#endif

bool made() { return Array::make({3}).ok(); }
