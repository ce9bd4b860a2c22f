// SPDX-License-Identifier: Apache-2.0
// The work behind all copies: from any descriptor to any other of its shape, moved or cast.
#pragma once
#include "anyarray/copy.h"

namespace anyarray {

/// Writes the elements of `from` to `to`, converted where the dtypes differ. Preconditions: validate() passes for both,
/// the host can read and write them, can_cast() says ok (unsafe), the shapes are equal, and they share no byte.
void convert_elements(const Descriptor& to, const Descriptor& from) noexcept;

}  // namespace anyarray
