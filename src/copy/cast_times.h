// SPDX-License-Identifier: Apache-2.0
// Dates and spans from one unit to another, as NumPy casts them: what is between two ticks goes to the earlier one,
// what is out of range wraps, NaT stays. Dates follow the calendar; a span of months is so many days on average.
#pragma once
#include "anyarray/descriptor.h"

namespace anyarray {

/// Whether both are dates or both are spans, of units that 64 bits can tell one from the other. Spans without a unit
/// are those of any; dates aren't.
bool has_time_cast(DType to, DType from) noexcept;

/// Preconditions: has_time_cast(); those of convert_elements(); size isn't 0.
void cast_times(const Descriptor& to, const Descriptor& from) noexcept;

/// The first element, by its number in C order, that would be another time in `to`; -1 where there is none.
std::int64_t first_changed_time(const Descriptor& from, DType to) noexcept;

}  // namespace anyarray
