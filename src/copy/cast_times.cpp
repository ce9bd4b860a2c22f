// SPDX-License-Identifier: Apache-2.0
#include "src/copy/cast_times.h"

#include <cstring>
#include <numeric>

#include "src/copy/ticks.h"
#include "src/copy/walk.h"

namespace anyarray {
namespace {

constexpr std::int64_t nat = INT64_MIN;

std::int64_t floor_divide(std::int64_t a, std::int64_t b) noexcept { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t wrapped_product(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// Days of 1970-01-01 to the first of a month, which is counted from January 1970. Years begin in March here, so that
/// the day that not all have is their last.
std::int64_t days_of_month(std::int64_t month) noexcept {
  const std::int64_t march = wrapped_sum(month, 12 * 1970 - 2);  // from March of year 0
  const std::int64_t year = floor_divide(march, 12);
  const std::int64_t day = (153 * (march - 12 * year) + 2) / 5;
  const std::int64_t leap_days = floor_divide(year, 4) - floor_divide(year, 100) + floor_divide(year, 400);
  return wrapped_sum(wrapped_product(365, year), leap_days + day - 719468);
}

std::int64_t month_of_day(std::int64_t day) noexcept {
  constexpr std::int64_t cycle = 146097;  // days of 400 years
  const std::int64_t cycles = floor_divide(day, cycle);
  const std::int64_t rest = day % cycle;
  const std::int64_t shifted = (rest < 0 ? rest + cycle : rest) + 719468;
  const std::int64_t era = cycles + shifted / cycle;
  const std::int64_t in_era = shifted % cycle;
  const std::int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  const std::int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
  return 12 * (era * 400 + year - 1970) + (5 * in_year + 2) / 153 + 2;
}

/// Times `multiply`, by `divide`.
struct Scale {
  std::int64_t multiply;
  std::int64_t divide;
};
std::int64_t scaled(std::int64_t v, Scale by) noexcept {
  v = wrapped_product(v, by.multiply);
  return by.divide == 1 ? v : floor_divide(v, by.divide);
}

enum class Way : std::uint8_t { scale, from_months, to_months };

/// from_months: `first` gives months, `last` takes days; to_months: the other way round.
struct TimeCast {
  Way way;
  bool turn_from;
  bool turn_to;
  Scale first;
  Scale last;
};

bool find_scale(TimeUnit from, std::int64_t from_count, TimeUnit to, std::int64_t to_count, Scale* out) noexcept {
  const std::int64_t ticks = from <= to ? ticks_in(from, to) : ticks_in(to, from);
  if (ticks == 0) return false;
  std::int64_t& larger = from <= to ? from_count : to_count;
  if (__builtin_mul_overflow(larger, ticks, &larger)) return false;
  const std::int64_t common = std::gcd(from_count, to_count);
  *out = {from_count / common, to_count / common};
  return true;
}

/// A span of months is 146097 / 4800 days.
bool find_average(DType from, DType to, Scale* out) noexcept {
  Scale whole{1, 1}, days{1, 1};
  const bool up = is_calendar(from.unit());
  const DType& calendar = up ? from : to;
  const DType& other = up ? to : from;
  if (!find_scale(calendar.unit(), calendar.count, TimeUnit::M, 1, &whole) ||
      !find_scale(TimeUnit::D, 1, other.unit(), other.count, &days)) {
    return false;
  }
  std::int64_t multiply = 0;
  std::int64_t divide = 0;
  const std::int64_t shared = std::gcd(days.multiply, std::int64_t{4800});  // in ns the product has 64 bits otherwise
  if (__builtin_mul_overflow(whole.multiply * 146097, days.multiply / shared, &multiply) ||
      __builtin_mul_overflow(4800 / shared, days.divide, &divide)) {
    return false;
  }
  const std::int64_t common = std::gcd(multiply, divide);
  *out = up ? Scale{multiply / common, divide / common} : Scale{divide / common, multiply / common};
  return true;
}

bool find_cast(DType to, DType from, TimeCast* out) noexcept {
  if (!from.is_time() || from.code != to.code || from.count == 0 || to.count == 0) return false;
  *out = {Way::scale, from.swapped(), to.swapped(), {1, 1}, {1, 1}};
  if (from.unit() == TimeUnit::generic || to.unit() == TimeUnit::generic) {
    return from.code == TypeCode::timedelta64;  // a number of ticks; a date is none without a unit
  }
  if (is_calendar(from.unit()) == is_calendar(to.unit())) {
    return find_scale(from.unit(), from.count, to.unit(), to.count, &out->first);
  }
  if (from.code == TypeCode::timedelta64) return find_average(from, to, &out->first);
  const bool up = is_calendar(from.unit());
  out->way = up ? Way::from_months : Way::to_months;
  const TimeUnit middle = up ? TimeUnit::M : TimeUnit::D;
  return find_scale(from.unit(), from.count, middle, 1, &out->first) &&
         find_scale(up ? TimeUnit::D : TimeUnit::M, 1, to.unit(), to.count, &out->last);
}

std::int64_t load(const char* p, bool turn) noexcept {
  std::uint64_t raw;
  std::memcpy(&raw, p, sizeof raw);
  return static_cast<std::int64_t>(turn ? __builtin_bswap64(raw) : raw);
}

std::int64_t cast_tick(const TimeCast& c, std::int64_t v) noexcept {
  if (v == nat) return nat;
  v = scaled(v, c.first);
  if (c.way == Way::scale) return v;
  return scaled(c.way == Way::from_months ? days_of_month(v) : month_of_day(v), c.last);
}

void cast_run(const void* how, char* to, std::int64_t to_step, const char* from, std::int64_t from_step,
              std::int64_t n) noexcept {
  const TimeCast c = *static_cast<const TimeCast*>(how);
  for (; n > 0; --n, to += to_step, from += from_step) {
    auto raw = static_cast<std::uint64_t>(cast_tick(c, load(from, c.turn_from)));
    if (c.turn_to) raw = __builtin_bswap64(raw);
    std::memcpy(to, &raw, sizeof raw);
  }
}

struct ThereAndBack {
  TimeCast there;
  TimeCast back;
};

}  // namespace

bool has_time_cast(DType to, DType from) noexcept {
  TimeCast c;
  return find_cast(to, from, &c);
}

void cast_times(const Descriptor& to, const Descriptor& from) noexcept {
  TimeCast c;
  find_cast(to.dtype, from.dtype, &c);
  walk(to, from, cast_run, &c);
}

std::int64_t first_changed_time(const Descriptor& from, DType to) noexcept {
  ThereAndBack both;
  find_cast(to, from.dtype, &both.there);
  find_cast(from.dtype, to, &both.back);
  return find_first(
      from,
      [](const void* how, const char* element) noexcept {
        const auto& b = *static_cast<const ThereAndBack*>(how);
        const std::int64_t v = load(element, b.there.turn_from);
        const std::int64_t made = cast_tick(b.there, v);
        return (v == nat) == (made == nat) && cast_tick(b.back, made) == v;
      },
      &both);
}

}  // namespace anyarray
