// SPDX-License-Identifier: Apache-2.0
// datetime64 and timedelta64 as the objects that NumPy's tolist() gives: dates, datetimes and timedeltas where
// Python's types can hold them, otherwise the ticks as an int; None for NaT.
#include "src/python/state.h"

namespace anyarray {
namespace {

constexpr std::int64_t not_a_time = INT64_MIN;
constexpr std::int64_t microseconds_a_day = 86'400'000'000;

/// Microseconds of a unit from days down; 0 for those that aren't whole microseconds.
std::int64_t microseconds_of(TimeUnit u) noexcept {
  switch (u) {
    case TimeUnit::W:
      return 7 * microseconds_a_day;
    case TimeUnit::D:
      return microseconds_a_day;
    case TimeUnit::h:
      return 3'600'000'000;
    case TimeUnit::m:
      return 60'000'000;
    case TimeUnit::s:
      return 1'000'000;
    case TimeUnit::ms:
      return 1'000;
    case TimeUnit::us:
      return 1;
    default:
      return 0;
  }
}

/// Days since 1970-01-01 of a proleptic Gregorian date.
std::int64_t days_from_civil(std::int64_t y, int month, int day) noexcept {
  y -= month <= 2 ? 1 : 0;
  const std::int64_t era = (y >= 0 ? y : y - 399) / 400;
  const std::int64_t year_of_era = y - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

void civil_from_days(std::int64_t days, std::int64_t* year, int* month, int* day) noexcept {
  days += 719468;
  const std::int64_t era = (days >= 0 ? days : days - 146096) / 146097;
  const std::int64_t day_of_era = days - era * 146097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t m = (5 * day_of_year + 2) / 153;
  *day = static_cast<int>(day_of_year - (153 * m + 2) / 5 + 1);
  *month = static_cast<int>(m < 10 ? m + 3 : m - 9);
  *year = year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

/// a - floor_div(a, b) * b for positive b, without that product, which can overflow.
std::int64_t floor_rest(std::int64_t a, std::int64_t b) noexcept {
  const std::int64_t rest = a % b;
  return rest < 0 ? rest + b : rest;
}

PyObject* ticks_object(std::int64_t ticks) noexcept { return PyLong_FromLongLong(ticks); }

/// A class of the standard datetime module. New reference.
PyObject* call_datetime(const char* name, PyObject* args) noexcept {
  Ref owned(args);
  Ref datetime(PyImport_ImportModule("datetime"));
  Ref type(datetime ? PyObject_GetAttrString(datetime.get(), name) : nullptr);
  return owned && type ? PyObject_CallObject(type.get(), owned.get()) : nullptr;
}

PyObject* date_object(std::int64_t days, std::int64_t ticks) noexcept {
  std::int64_t year = 0;
  int month = 0, day = 0;
  civil_from_days(days, &year, &month, &day);
  if (year < 1 || year > 9999) return ticks_object(ticks);
  return call_datetime("date", Py_BuildValue("(iii)", static_cast<int>(year), month, day));
}

}  // namespace

PyObject* datetime_to_object(DType d, std::int64_t ticks) noexcept {
  const TimeUnit unit = d.unit();
  if (ticks == not_a_time || unit == TimeUnit::generic) Py_RETURN_NONE;
  if (unit >= TimeUnit::ns) return ticks_object(ticks);
  std::int64_t value = 0;
  if (__builtin_mul_overflow(ticks, std::int64_t{d.count}, &value)) return ticks_object(ticks);
  if (unit == TimeUnit::Y || unit == TimeUnit::M) {
    const std::int64_t months = unit == TimeUnit::Y ? 0 : floor_rest(value, 12);
    const std::int64_t years = unit == TimeUnit::Y ? value : floor_div(value, 12);
    if (years < 1 - 1970 || years > 9999 - 1970) return ticks_object(ticks);
    return date_object(days_from_civil(1970 + years, static_cast<int>(months) + 1, 1), ticks);
  }
  const std::int64_t scale = microseconds_of(unit);
  constexpr std::int64_t far = 4'000'000;  // days; beyond the years of Python's dates
  if (unit <= TimeUnit::D) {
    const std::int64_t days_a_unit = scale / microseconds_a_day;
    if (value < -far || value > far) return ticks_object(ticks);
    return date_object(value * days_a_unit, ticks);
  }
  const std::int64_t units_a_day = microseconds_a_day / scale;
  const std::int64_t days = floor_div(value, units_a_day);
  const std::int64_t micros = floor_rest(value, units_a_day) * scale;
  std::int64_t year = 0;
  int month = 0, day = 0;
  if (days < -far || days > far) return ticks_object(ticks);
  civil_from_days(days, &year, &month, &day);
  if (year < 1 || year > 9999) return ticks_object(ticks);
  const auto seconds = static_cast<int>(micros / 1'000'000);
  return call_datetime("datetime",
                       Py_BuildValue("(iiiiiii)", static_cast<int>(year), month, day, seconds / 3600, seconds / 60 % 60,
                                     seconds % 60, static_cast<int>(micros % 1'000'000)));
}

PyObject* timedelta_to_object(DType d, std::int64_t ticks) noexcept {
  if (ticks == not_a_time) Py_RETURN_NONE;
  const std::int64_t scale = d.unit() == TimeUnit::generic ? 0 : microseconds_of(d.unit());
  std::int64_t value = 0;
  if (scale == 0 || __builtin_mul_overflow(ticks, std::int64_t{d.count}, &value)) return ticks_object(ticks);
  constexpr std::int64_t far = 999'999'999;  // days of a timedelta
  std::int64_t days = 0, rest = 0;           // rest in microseconds
  if (scale >= microseconds_a_day) {
    if (__builtin_mul_overflow(value, scale / microseconds_a_day, &days)) return ticks_object(ticks);
  } else {
    const std::int64_t units_a_day = microseconds_a_day / scale;
    days = floor_div(value, units_a_day);
    rest = floor_rest(value, units_a_day) * scale;
  }
  if (days < -far || days > far) return ticks_object(ticks);
  return call_datetime("timedelta",
                       Py_BuildValue("(LLL)", static_cast<long long>(days), static_cast<long long>(rest / 1'000'000),
                                     static_cast<long long>(rest % 1'000'000)));
}

}  // namespace anyarray
