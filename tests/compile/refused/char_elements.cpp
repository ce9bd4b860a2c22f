// SPDX-License-Identifier: Apache-2.0
// says: T isn't an element type.*instead of char
#include <anyarray/view.h>

#ifdef REFUSED
using Byte = char;
#else
using Byte = unsigned char;
#endif

std::int64_t size(anyarray::view<const Byte, 1> x) { return x.size(); }
