// SPDX-License-Identifier: Apache-2.0
// Casting rules and promotion, from what they promise. That they are NumPy's, pair by pair, is shown by
// tests/python/test_casting_rules.py.
#include "src/copy/rules.h"

#include "anyarray/complex.h"
#include "src/copy/cast.h"
#include "src/copy/holds.h"
#include "src/core/dtype_table.h"
#include "tests/cpp/arrays.h"

using namespace anyarray;
using namespace arrays;

namespace {

constexpr DType c32 = make_dtype(TypeCode::complex, 32);
constexpr Casting ladder[] = {Casting::no, Casting::equiv, Casting::safe, Casting::same_kind, Casting::unsafe};

/// All types of numbers, and how same_kind orders them.
std::vector<DType> all_numbers() {
  std::vector<DType> all;
  for (const DTypeRow& row : dtype_table) {
    const DType d = make_dtype(row.code, row.bits);
    Numbers numbers;
    if (!read_numbers(d, &numbers)) continue;
    all.push_back(d);
    if (has_byte_order(d)) all.push_back(d.with_swapped(true));
    if (d.bits < 8) all.push_back(d.with_padded(true));
  }
  return all;
}

/// Each rule allows what those before it do, and none more than is there.
void test_rules_are_a_ladder() {
  for (const DType from : all_numbers()) {
    for (const DType to : all_numbers()) {
      const bool there = can_cast(from, to, Casting::unsafe) != Status::unsupported;
      CHECK(there && (from.with_swapped(false) == to.with_swapped(false) || has_cast(to, from)));
      bool before = false;
      for (const Casting rule : ladder) {
        const Status s = can_cast(from, to, rule);
        CHECK(s == Status::ok || (s == Status::mismatch && !before));
        before = s == Status::ok;
      }
      CHECK_EQ(before, there);
      CHECK_EQ(can_cast(from, to, Casting::same_value) == Status::ok, there);
      CHECK_EQ(can_cast(from, to, Casting::no) == Status::ok, from == to);
      CHECK_EQ(can_cast(from, to, Casting::equiv) == Status::ok,
               from.with_swapped(false).with_padded(true) == to.with_swapped(false).with_padded(true));
    }
  }
}

void test_same_kind() {
  const std::vector<std::vector<DType>> kinds = {
      {of<bool>},
      {of<std::uint8_t>, of<std::uint64_t>, make_dtype(TypeCode::uint, 4)},
      {of<std::int8_t>, of<std::int64_t>, make_dtype(TypeCode::int_, 2).with_padded(true)},
      {f16, bf16, of<float>, of<double>, make_dtype(TypeCode::float8_e4m3fn, 8),
       make_dtype(TypeCode::float8_e8m0fnu, 8)},
      {c32, of<std::complex<float>>, of<std::complex<double>>}};
  for (std::size_t a = 0; a < kinds.size(); ++a) {
    for (std::size_t b = 0; b < kinds.size(); ++b) {
      for (const DType from : kinds[a]) {
        for (const DType to : kinds[b]) CHECK_EQ(can_cast(from, to, Casting::same_kind) == Status::ok, a <= b);
      }
    }
  }
}

void test_safe() {
  const auto safe = [](DType from, DType to) { return can_cast(from, to, Casting::safe) == Status::ok; };
  CHECK(safe(of<std::uint8_t>, bf16) && safe(of<std::int8_t>, f16) && safe(of<std::int64_t>, of<double>));
  CHECK(!safe(of<std::int16_t>, f16) && !safe(of<std::int32_t>, of<float>) && !safe(of<std::uint8_t>, of<std::int8_t>));
  CHECK(!safe(f16, bf16) && !safe(bf16, f16) && safe(bf16, of<float>) && safe(f16, c32));
  const DType e4m3 = make_dtype(TypeCode::float8_e4m3, 8), e4m3fn = make_dtype(TypeCode::float8_e4m3fn, 8);
  CHECK(safe(e4m3fn, bf16) && safe(e4m3fn, f16) && !safe(e4m3, e4m3fn));  // which has no infinity
  CHECK(safe(make_dtype(TypeCode::float4_e2m1fn, 4), e4m3fn) && !safe(of<std::int8_t>, e4m3fn));
  CHECK(safe(make_dtype(TypeCode::int_, 4), e4m3fn) && !safe(of<bool>, make_dtype(TypeCode::float8_e8m0fnu, 8)));
  CHECK(!safe(make_dtype(TypeCode::float_, 32, 2), of<double>));
}

void test_what_is_no_number() {
  const auto unsupported = [](DType from, DType to) {
    return can_cast(from, to, Casting::unsafe) == Status::unsupported &&
           can_cast(from, to, Casting::same_kind) == Status::unsupported;
  };
  CHECK(unsupported(of<float>, make_bytes(4)));
  const DType date = make_time(TypeCode::datetime64, TimeUnit::s);
  const DType span = make_time(TypeCode::timedelta64, TimeUnit::s);
  CHECK(can_cast(date, of<float>, Casting::unsafe) == Status::ok);
  CHECK(can_cast(date, of<float>, Casting::same_kind) == Status::mismatch);
  CHECK(can_cast(date, span, Casting::unsafe) == Status::ok && can_cast(span, date, Casting::safe) == Status::mismatch);
  CHECK(can_cast(of<std::int32_t>, span, Casting::safe) == Status::ok);
  CHECK(can_cast(of<std::int32_t>, date, Casting::same_kind) == Status::mismatch);
  CHECK(can_cast(of<std::uint64_t>, span, Casting::safe) == Status::mismatch);
  CHECK(can_cast(of<std::uint64_t>, span, Casting::same_kind) == Status::ok);
  CHECK(can_cast(of<float>, span, Casting::same_kind) == Status::mismatch);
  CHECK(unsupported(make_dtype(TypeCode::float_, 32, 2), of<double>));
  CHECK(unsupported(make_dtype(TypeCode::int_, 24), of<std::int32_t>));
  CHECK(unsupported(make_dtype(TypeCode::opaque_handle, 64), of<std::int64_t>));
  const DType handle = make_dtype(TypeCode::opaque_handle, 64);
  CHECK(can_cast(handle, handle, Casting::no) == Status::ok);
}

DType promoted(DType a, DType b) {
  DType out;
  DType other;
  const Status s = promote(a, b, &out);
  CHECK(promote(b, a, &other) == s);
  if (s != Status::ok) return make_void(0);
  CHECK(out == other && !out.swapped());
  return out;
}

/// What two are promoted to, both can be cast to without loss.
void test_promotion_holds_both() {
  for (const DType a : all_numbers()) {
    CHECK(promoted(a, a) == a.with_swapped(false));
    for (const DType b : all_numbers()) {
      const DType both = promoted(a, b);
      CHECK(can_cast(a, both, Casting::safe) == Status::ok && can_cast(b, both, Casting::safe) == Status::ok);
    }
  }
}

void test_promotion() {
  const DType i4 = make_dtype(TypeCode::int_, 4), u4 = make_dtype(TypeCode::uint, 4);
  CHECK(promoted(bf16, f16) == of<float>);
  CHECK(promoted(bf16, of<std::int16_t>) == of<float>);
  CHECK(promoted(make_dtype(TypeCode::float8_e4m3fn, 8), make_dtype(TypeCode::float8_e5m2, 8)) == f16);
  CHECK(promoted(make_dtype(TypeCode::float8_e8m0fnu, 8), f16) == of<float>);
  CHECK(promoted(i4, u4) == of<std::int8_t>);
  CHECK(promoted(i4, i4.with_padded(true)) == i4.with_padded(true));
  CHECK(promoted(make_dtype(TypeCode::int_, 2), make_dtype(TypeCode::uint, 2).with_padded(true)) ==
        i4.with_padded(true));
  CHECK(promoted(of<std::uint64_t>, of<std::int8_t>) == of<double>);
  CHECK(promoted(of<float>.with_swapped(true), of<std::int64_t>) == of<double>);
  CHECK(promoted(c32, of<std::int16_t>) == of<std::complex<float>>);
  CHECK(promoted(make_dtype(TypeCode::float_, 16, 2), make_dtype(TypeCode::int_, 16, 2)) ==
        make_dtype(TypeCode::float_, 32, 2));
  CHECK(promoted(make_dtype(TypeCode::float_, 16, 2), f16) == make_void(0));
  CHECK(promoted(make_bytes(3), make_bytes(5)) == make_bytes(5));
  CHECK(promoted(make_bytes(7), make_ucs4(5)) == make_ucs4(7));
  CHECK(promoted(make_void(3), make_void(3)) == make_void(3));
  CHECK(promoted(make_bytes(3), of<std::int8_t>) == make_void(0));
}

void test_promotion_of_times() {
  const auto date = [](TimeUnit unit, std::uint32_t n = 1) { return make_time(TypeCode::datetime64, unit, n); };
  const auto span = [](TimeUnit unit, std::uint32_t n = 1) { return make_time(TypeCode::timedelta64, unit, n); };
  const DType none = make_void(0);
  CHECK(promoted(date(TimeUnit::s), date(TimeUnit::ms)) == date(TimeUnit::ms));
  CHECK(promoted(span(TimeUnit::s, 3), span(TimeUnit::s, 2)) == span(TimeUnit::s));
  CHECK(promoted(span(TimeUnit::m), span(TimeUnit::s, 24)) == span(TimeUnit::s, 12));
  CHECK(promoted(span(TimeUnit::Y), span(TimeUnit::M, 8)) == span(TimeUnit::M, 4));
  CHECK(promoted(date(TimeUnit::Y), date(TimeUnit::s, 7)) == date(TimeUnit::s));
  CHECK(promoted(date(TimeUnit::M), date(TimeUnit::W)) == date(TimeUnit::D));
  CHECK(promoted(span(TimeUnit::M), span(TimeUnit::D)) == none);
  CHECK(promoted(span(TimeUnit::s), date(TimeUnit::s)) == none);
  CHECK(promoted(date(TimeUnit::h), date(TimeUnit::as)) == none);
  CHECK(promoted(span(TimeUnit::generic), span(TimeUnit::M)) == span(TimeUnit::M));
  CHECK(promoted(date(TimeUnit::s).with_swapped(true), date(TimeUnit::s)) == date(TimeUnit::s));
}

}  // namespace

int main() {
  test_rules_are_a_ladder();
  test_same_kind();
  test_safe();
  test_what_is_no_number();
  test_promotion_holds_both();
  test_promotion();
  test_promotion_of_times();
  return check::done();
}
