// SPDX-License-Identifier: Apache-2.0
// The casting rules, by what the types can hold. NumPy's for NumPy's types; for the others, whose rules libraries don't
// agree on, `safe` is what the word says.
#include "src/copy/rules.h"

#include "src/copy/cast.h"
#include "src/copy/cast_text.h"
#include "src/copy/cast_times.h"
#include "src/copy/holds.h"
#include "src/copy/ticks.h"
#include "src/core/dtype_table.h"

namespace anyarray {
namespace {

bool numbers_go(const Numbers& from, const Numbers& to, Casting casting) noexcept {
  if (holds(to, from)) return true;
  return casting == Casting::same_kind && from.kind <= to.kind;
}

bool times_go(DType from, DType to, Casting casting) noexcept {
  const TimeUnit a = from.unit();
  const TimeUnit b = to.unit();
  if (a == TimeUnit::generic || b == TimeUnit::generic) return a == TimeUnit::generic;
  // Months are no fixed number of days: only a date can tell.
  if (from.code == TypeCode::timedelta64 && is_calendar(a) != is_calendar(b)) return false;
  return casting == Casting::same_kind || (a <= b && ticks_divide(from, to));
}

/// Whether the rule lets text and times go.
bool others_go(DType from, DType to, Casting casting) noexcept {
  if (casting == Casting::equiv) return false;
  return from.is_time() ? times_go(from, to, casting) : from.count <= to.count;  // text keeps all of its characters
}

/// Integers are spans of time, by NumPy's rule.
bool is_span_of(DType from, const Numbers& source, DType to, Casting casting) noexcept {
  if (to.code != TypeCode::timedelta64 || from.is_time() || source.kind > NumberKind::int_) return false;
  return casting == Casting::same_kind ||
         (casting == Casting::safe && (source.kind != NumberKind::uint || from.bits < 64));
}

}  // namespace

const char* casting_name(Casting casting) noexcept {
  switch (casting) {
    case Casting::same_kind:
      return "same_kind";
    case Casting::unsafe:
      return "unsafe";
    case Casting::no:
      return "no";
    case Casting::equiv:
      return "equiv";
    case Casting::safe:
      return "safe";
    case Casting::same_value:
      return "same_value";
  }
  return "unknown";
}

std::size_t swap_unit(DType d) noexcept {
  if (!has_byte_order(d) || d.code == TypeCode::interned) return 1;
  if (d.is_time()) return 8;
  return (d.is_complex() ? d.bits / 2u : d.bits) / 8u;
}

bool differ_in_order_alone(DType a, DType b) noexcept { return a.with_swapped(false) == b.with_swapped(false); }

Status can_cast(DType from, DType to, Casting casting) noexcept {
  if (from == to) return Status::ok;
  const bool free = casting == Casting::unsafe || casting == Casting::same_value;
  const auto answer = [casting](bool goes) { return goes && casting != Casting::no ? Status::ok : Status::mismatch; };
  if (differ_in_order_alone(from, to)) return answer(true);
  Numbers source, target;
  if (!read_numbers(from, &source) || !read_numbers(to, &target)) {
    if (has_time_cast(to, from) || has_text_cast(to, from)) return answer(free || others_go(from, to, casting));
    return has_cast(to, from) ? answer(free || is_span_of(from, source, to, casting)) : Status::unsupported;
  }
  if (source.lanes != target.lanes) return Status::unsupported;
  if (from.with_swapped(false).with_padded(true) == to.with_swapped(false).with_padded(true)) return answer(true);
  return answer(free || (casting != Casting::equiv && numbers_go(source, target, casting)));
}

}  // namespace anyarray
