// SPDX-License-Identifier: Apache-2.0
// Dates and spans of time from one unit to another, as NumPy's astype does it.
#pragma once
#include "anyarray/dtype.h"
#include "src/copy/cast_kernels.h"

namespace anyarray {

/// What ticks of one type are in those of another: `multiply / divide` of them, rounded down; of dates with a unit of
/// the calendar, what the calendar says.
struct Ticks {
  std::int64_t multiply, divide;
  TimeUnit from, to;  ///< `none`, where the calendar isn't asked
  std::int64_t from_count, to_count;
};

/// False for units between which NumPy doesn't convert: the numbers would get too large, or one is missing. Both are
/// datetime64, or timedelta64, where a year is 365.2425 days.
bool find_ticks(DType to, DType from, Ticks* out) noexcept;

/// `arg` is the address of Ticks. NaT stays; what overflows wraps, as NumPy's does where no calendar is asked.
void turn_ticks(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;
void turn_dates(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept;

}  // namespace anyarray
