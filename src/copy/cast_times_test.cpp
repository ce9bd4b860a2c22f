// SPDX-License-Identifier: Apache-2.0
// Times and text: the edges. That all units become what NumPy makes of them, tests/python/test_casting_rules.py shows.
#include "src/copy/cast_times.h"

#include "tests/cpp/arrays.h"

using namespace anyarray;
using namespace arrays;

namespace {

constexpr std::int64_t nat = INT64_MIN;

DType date(TimeUnit unit, std::uint32_t n = 1) { return make_time(TypeCode::datetime64, unit, n); }
DType span(TimeUnit unit, std::uint32_t n = 1) { return make_time(TypeCode::timedelta64, unit, n); }

Ints cast(Ints ticks, DType from, DType to) {
  const auto n = static_cast<std::int64_t>(ticks.size());
  return Made(Source(ticks.data(), from, {n}), to).values<std::int64_t>();
}

void test_calendar() {
  CHECK((cast({0, 1, -1, 30 * 12 + 2}, date(TimeUnit::M), date(TimeUnit::D)) == Ints{0, 31, -31, 11017}));
  CHECK((cast({11017, 11016, 0, -1}, date(TimeUnit::D), date(TimeUnit::M)) == Ints{362, 361, 0, -1}));
  CHECK((cast({-1, 0, 30}, date(TimeUnit::Y), date(TimeUnit::s)) == Ints{-31536000, 0, 946684800}));
  CHECK((cast({-1, 0, 1}, span(TimeUnit::M), span(TimeUnit::D)) == Ints{-31, 0, 30}));
  // Every day of 800 years is in the month that begins before it.
  Ints days;
  for (std::int64_t day = -150000; day < 150000; ++day) days.push_back(day);
  const Ints months = cast(days, date(TimeUnit::D), date(TimeUnit::M));
  const Ints first = cast(months, date(TimeUnit::M), date(TimeUnit::D));
  bool right = true;
  for (std::size_t i = 1; i < days.size(); ++i) {
    right &= first[i] <= days[i] && days[i] - first[i] <= 30;
    right &=
        months[i] == months[i - 1] ? first[i] == first[i - 1] : first[i] == days[i] && months[i] == months[i - 1] + 1;
  }
  CHECK(right);
}

void test_edges() {
  CHECK((cast({nat, -1, 59, 60}, span(TimeUnit::s), span(TimeUnit::m)) == Ints{nat, -1, 0, 1}));
  CHECK((cast({128, std::int64_t{5} << 56}, date(TimeUnit::ms, 10).with_swapped(true), date(TimeUnit::us)) ==
         Ints{nat, 50000}));
  // Out of range, without undefined behaviour.
  for (const std::int64_t far : {INT64_MAX, INT64_MIN + 1}) {
    for (const TimeUnit a : {TimeUnit::Y, TimeUnit::M, TimeUnit::D, TimeUnit::s, TimeUnit::as}) {
      for (const TimeUnit b : {TimeUnit::Y, TimeUnit::M, TimeUnit::W, TimeUnit::ns, TimeUnit::as}) {
        if (has_time_cast(date(b), date(a))) CHECK_EQ(cast({far}, date(a), date(b)).size(), 1u);
        if (has_time_cast(span(b), span(a))) CHECK_EQ(cast({far}, span(a), span(b)).size(), 1u);
      }
    }
  }
  CHECK(!has_time_cast(date(TimeUnit::s), span(TimeUnit::s)) && !has_time_cast(date(TimeUnit::as), date(TimeUnit::W)));
  CHECK(!has_time_cast(date(TimeUnit::generic), date(TimeUnit::s)));
  CHECK((cast({3}, span(TimeUnit::generic), span(TimeUnit::D)) == Ints{3}));
}

void test_values_that_would_change() {
  const Ints ticks = {60000, nat, 61000};
  const Source s(ticks.data(), date(TimeUnit::ms), {3});
  CHECK(Made(s, date(TimeUnit::s), Casting::same_value).status == Status::ok);
  CHECK(Made(s, date(TimeUnit::m), Casting::same_value)
            .refused(Status::mismatch, "element [2] is 61000, which datetime64[m] can't hold (it would become 1)"));
  const Ints far = {INT64_MAX / 2};
  CHECK(Made(Source(far.data(), date(TimeUnit::s), {1}), date(TimeUnit::ns), Casting::same_value)
            .refused(Status::mismatch, "element [0] is"));
}

void test_text() {
  const char text[] = "abc\0\0\0x\0y";
  const Source s(text, make_bytes(3), {3});
  const Made longer(s, make_bytes(5), Casting::safe);
  CHECK(std::memcmp(longer->data, "abc\0\0\0\0\0\0\0x\0y\0\0", 15) == 0);
  CHECK(Made(s, make_bytes(2), Casting::same_kind).refused(Status::mismatch, "by the rule same_kind"));
  CHECK(Made(s, make_bytes(2), Casting::same_value)
            .refused(Status::mismatch, "element [0] is 'abc', which S2 can't hold"));
  const char32_t wide[] = {U'ä', U'b', 0, U'\n', 0, 0};
  const Source u(wide, make_ucs4(3), {2});
  const Made turned(u, make_ucs4(2).with_swapped(true), Casting::same_value);
  CHECK(std::memcmp(turned->data, "\0\0\0\xe4\0\0\0b\0\0\0\n\0\0\0\0", 16) == 0);
  CHECK(Made(u, make_ucs4(1), Casting::same_value).refused(Status::mismatch, "is '\\xe4b', which U1"));
  CHECK(Made(u, make_ucs4(1), Casting::unsafe).values<char32_t>() == (std::vector<char32_t>{U'ä', U'\n'}));
  CHECK(Made(u, make_ucs4(0), Casting::unsafe).status == Status::ok);
}

}  // namespace

int main() {
  test_calendar();
  test_edges();
  test_values_that_would_change();
  test_text();
  return check::done();
}
