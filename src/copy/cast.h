// SPDX-License-Identifier: Apache-2.0
// Elements of one number type turned into another: any pair, any layout. Kernels for special pairs and machines stand
// behind these functions.
#pragma once
#include "anyarray/descriptor.h"

namespace anyarray {

/// Whether elements of `from` can be turned into elements of `to` at all, whatever is lost. For types that differ in
/// more than their byte order. Numbers, and the ticks of times, which are int64 to numbers of other types and to times
/// of the other kind; times to times of another unit and text are not cast here.
bool has_cast(DType to, DType from) noexcept;

/// Writes the elements of `from` to `to`. Preconditions: has_cast(); those of convert_elements(); size isn't 0.
void cast_elements(const Descriptor& to, const Descriptor& from) noexcept;

/// The first element of `from`, by its number in C order, that cast_elements() to `to` would make another number; -1
/// where each keeps its value. As NumPy's same_value: NaN are equal, and so are 0 and -0; to bool no value is lost; a
/// complex without an imaginary part is a real. Preconditions: has_cast(to, from.dtype); the host can read.
std::int64_t first_changed(const Descriptor& from, DType to) noexcept;

}  // namespace anyarray
