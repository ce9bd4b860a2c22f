// SPDX-License-Identifier: Apache-2.0
// Text of a fixed length in room of another.
#pragma once
#include "anyarray/descriptor.h"

namespace anyarray {

/// Whether both are bytes, or both code points: what one holds is then cut at the end, or filled up with NUL.
bool has_text_cast(DType to, DType from) noexcept;
void cast_text(const Descriptor& to, const Descriptor& from) noexcept;

/// The first element, in C order, of which a character is cut off; -1 where there is none.
std::int64_t first_cut(const Descriptor& from, DType to) noexcept;

}  // namespace anyarray
