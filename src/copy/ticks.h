// SPDX-License-Identifier: Apache-2.0
// Units of time as rules and promotion see them. Includes dtype.h alone.
#pragma once
#include "anyarray/dtype.h"

namespace anyarray {

/// Years and months, which are no fixed number of days.
constexpr bool is_calendar(TimeUnit unit) noexcept { return unit <= TimeUnit::M; }

/// How many ticks of `fine` are one of `coarse`, a unit that isn't finer; both or neither is_calendar(). 0 where they
/// are more than 63 bits count.
std::int64_t ticks_in(TimeUnit coarse, TimeUnit fine) noexcept;

/// Whether each time that `from`, the coarser or same unit, can say is one that `to` can say. NumPy's rule: where one
/// of the two alone is_calendar(), yes. No where the numbers get too large to tell.
bool ticks_divide(DType from, DType to) noexcept;

/// The coarsest ticks of which both types' are multiples, in out's unit and multiplier; a month is so many days. False
/// where there are none.
bool common_ticks(DType a, DType b, DType* out) noexcept;

}  // namespace anyarray
