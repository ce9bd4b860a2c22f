// SPDX-License-Identifier: Apache-2.0
// Elements of one number type turned into another: any pair, any layout. Kernels for special pairs and machines stand
// behind these functions.
#pragma once
#include "anyarray/descriptor.h"

namespace anyarray {

/// Whether elements of `from` can be turned into elements of `to` at all, whatever is lost. For types that differ in
/// more than their byte order.
bool has_cast(DType to, DType from) noexcept;

/// Writes the elements of `from` to `to`. Preconditions: has_cast(); those of convert_elements(); size isn't 0.
void cast_elements(const Descriptor& to, const Descriptor& from) noexcept;

}  // namespace anyarray
