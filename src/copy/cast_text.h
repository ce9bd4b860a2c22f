// SPDX-License-Identifier: Apache-2.0
// Text of one length to another: NUL follow it where it gets longer, and what is too much goes where it gets shorter.
#pragma once
#include "anyarray/descriptor.h"

namespace anyarray {

/// Whether both are bytes, or both code points.
bool has_text_cast(DType to, DType from) noexcept;

/// Preconditions: has_text_cast(); those of convert_elements(); size isn't 0.
void cast_text(const Descriptor& to, const Descriptor& from) noexcept;

/// The first element, by its number in C order, that would lose characters; -1 where there is none.
std::int64_t first_cut(const Descriptor& from, DType to) noexcept;

}  // namespace anyarray
