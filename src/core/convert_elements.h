// SPDX-License-Identifier: Apache-2.0
// The loops behind copies: any two descriptors of one shape. Kernels for special layouts and types belong behind
// this function. Includes copy.h alone.
#pragma once
#include "anyarray/copy.h"

namespace anyarray {

/// Writes the elements of `from` to `to`, converted where the dtypes differ. Preconditions: validate() passes for both,
/// the host can read and write them, can_cast() says ok (unsafe), the shapes are equal, and they share no byte.
void convert_elements(const Descriptor& to, const Descriptor& from) noexcept;

}  // namespace anyarray
