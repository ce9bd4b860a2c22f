// SPDX-License-Identifier: Apache-2.0
#include "src/copy/cast_time.h"

#include <cstring>
#include <numeric>

#include "src/copy/ticks.h"

namespace anyarray {
namespace {

constexpr std::int64_t not_a_time = INT64_MIN;
constexpr std::int64_t days_of_400_years = 146097;

/// Arithmetic that wraps.
std::int64_t product(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t floor_of(std::int64_t v, std::int64_t divisor) noexcept { return v / divisor - (v % divisor < 0 ? 1 : 0); }

/// As ticks_in(), as far as NumPy counts.
std::int64_t ticks_of_unit(TimeUnit coarse, TimeUnit fine) noexcept {
  const std::int64_t ticks = ticks_in(coarse, fine);
  return ticks < std::int64_t{1} << 56 ? ticks : 0;
}

/// One tick of `coarse` in ticks of `fine`, as a fraction that can't be reduced.
bool find_factor(TimeUnit coarse, TimeUnit fine, std::int64_t* multiply, std::int64_t* divide) noexcept {
  *divide = 1;
  if (is_calendar(coarse) == is_calendar(fine)) {
    *multiply = ticks_of_unit(coarse, fine);
    return *multiply != 0;
  }
  *divide = (coarse == TimeUnit::Y ? 400 : 4800) * (fine == TimeUnit::W ? 7 : 1);
  const std::int64_t day = fine == TimeUnit::W ? 1 : ticks_of_unit(TimeUnit::D, fine);
  const std::int64_t common = std::gcd(day, *divide);
  *divide /= common;
  return day != 0 && !__builtin_mul_overflow(days_of_400_years, day / common, multiply);
}

// --- the calendar ---

struct Month {
  std::int64_t year;
  std::int64_t month;  ///< from 0
};

constexpr int days_before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};

bool is_leap(std::int64_t year) noexcept { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

/// Days from 1970 to the first of a month.
std::int64_t days_to(Month m) noexcept {
  const std::int64_t before = sum(m.year, -1);  // 1969 years before 1970 had 477 leap days
  const std::int64_t leap_days = floor_of(before, 4) - floor_of(before, 100) + floor_of(before, 400) - 477;
  const std::int64_t days = sum(product(sum(m.year, -1970), 365), leap_days);
  return sum(days, days_before[m.month] + (m.month > 1 && is_leap(m.year) ? 1 : 0));
}

/// The month of a day: from the first of the 400 years that it is in, which all have as many days.
Month month_of(std::int64_t days) noexcept {
  const std::int64_t era = floor_of(days, days_of_400_years);
  std::int64_t day = days - era * days_of_400_years;
  std::int64_t year = 1970 + day / 365;  // or the one before
  if (days_to({year, 0}) > day) --year;
  day -= days_to({year, 0});
  std::int64_t month = 11;
  while (days_before[month] + (month > 1 && is_leap(year) ? 1 : 0) > day) --month;
  return {year + era * 400, month};
}

Month month_of_ticks(std::int64_t v, TimeUnit unit) noexcept {
  if (unit == TimeUnit::Y) return {sum(1970, v), 0};
  if (unit == TimeUnit::M) return {sum(1970, floor_of(v, 12)), v - 12 * floor_of(v, 12)};
  return month_of(unit == TimeUnit::W ? product(v, 7) : floor_of(v, ticks_in(TimeUnit::D, unit)));
}

std::int64_t ticks_of_month(Month m, TimeUnit unit) noexcept {
  const std::int64_t years = sum(m.year, -1970);
  if (unit == TimeUnit::Y) return years;
  if (unit == TimeUnit::M) return sum(product(years, 12), m.month);
  const std::int64_t days = days_to(m);
  return unit == TimeUnit::W ? floor_of(days, 7) : product(days, ticks_in(TimeUnit::D, unit));
}

std::int64_t load(const char* p) noexcept {
  std::int64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

}  // namespace

bool find_ticks(DType to, DType from, Ticks* out) noexcept {
  const TimeUnit a = from.unit();
  const TimeUnit b = to.unit();
  *out = {1, 1, TimeUnit::none, TimeUnit::none, std::int64_t{from.count}, std::int64_t{to.count}};
  if (a == TimeUnit::generic || b == TimeUnit::generic) return a == TimeUnit::generic;
  const bool found =
      a <= b ? find_factor(a, b, &out->multiply, &out->divide) : find_factor(b, a, &out->divide, &out->multiply);
  if (!found || __builtin_mul_overflow(out->multiply, out->from_count, &out->multiply) ||
      __builtin_mul_overflow(out->divide, out->to_count, &out->divide)) {
    return false;
  }
  const std::int64_t common = std::gcd(out->multiply, out->divide);
  out->multiply /= common;
  out->divide /= common;
  if (from.code == TypeCode::datetime64 && (is_calendar(a) || is_calendar(b))) {
    out->from = a;
    out->to = b;
  }
  return true;
}

void turn_ticks(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept {
  const Ticks& ticks = *reinterpret_cast<const Ticks*>(arg);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t v = load(from + 8 * i);
    if (v != not_a_time) {
      const std::int64_t down = v < 0 ? ticks.divide - 1 : 0;
      v = sum(product(v, ticks.multiply), -down);
      if (ticks.divide != 1) v /= ticks.divide;
    }
    std::memcpy(to + 8 * i, &v, sizeof v);
  }
}

void turn_dates(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept {
  const Ticks& ticks = *reinterpret_cast<const Ticks*>(arg);
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t v = load(from + 8 * i);
    if (v != not_a_time) {
      const Month month = month_of_ticks(product(v, ticks.from_count), ticks.from);
      v = floor_of(ticks_of_month(month, ticks.to), ticks.to_count);
    }
    std::memcpy(to + 8 * i, &v, sizeof v);
  }
}

}  // namespace anyarray
