// SPDX-License-Identifier: Apache-2.0
// The work behind all copies: from any descriptor to any other of its shape, moved or cast.
#pragma once
#include "anyarray/copy.h"

namespace anyarray {

/// Writes the elements of `from` to `to`, converted where the dtypes differ. Preconditions: validate() passes for both,
/// the host can read and write them, can_cast() says ok (unsafe), the shapes are equal, and they share no byte.
void convert_elements(const Descriptor& to, const Descriptor& from) noexcept;

/// The same into new memory that nobody has written yet. The kernel clears its pages when they are first touched, which
/// leaves them in the cache: what is dense is written there, and not past it.
void fill_elements(const Descriptor& to, const Descriptor& from) noexcept;

/// The first element of `from`, by its number in C order, that would have another value in `to`; -1 where each keeps
/// it. Preconditions: has_conversion(); the host can read.
std::int64_t first_changed_value(const Descriptor& from, DType to) noexcept;

}  // namespace anyarray
