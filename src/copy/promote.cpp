// SPDX-License-Identifier: Apache-2.0
// The least type for two. Where one holds the other it is that one; else there is a short list to choose from.
#include "src/copy/holds.h"
#include "src/copy/ticks.h"
#include "src/core/dtype_table.h"

#include "anyarray/copy.h"

namespace anyarray {
namespace {

constexpr DType floats[] = {make_dtype(TypeCode::float_, 16), make_dtype(TypeCode::bfloat, 16),
                            make_dtype(TypeCode::float_, 32), make_dtype(TypeCode::float_, 64),
                            make_dtype(has_long_double ? TypeCode::long_double : TypeCode::float_, long_double_bits)};
constexpr DType complexes[] = {
    make_dtype(TypeCode::complex, 32), make_dtype(TypeCode::complex, 64), make_dtype(TypeCode::complex, 128),
    make_dtype(has_long_double ? TypeCode::complex_long_double : TypeCode::complex, 2 * long_double_bits)};
constexpr DType ints[] = {make_dtype(TypeCode::int_, 2),  make_dtype(TypeCode::int_, 4),
                          make_dtype(TypeCode::int_, 8),  make_dtype(TypeCode::int_, 16),
                          make_dtype(TypeCode::int_, 32), make_dtype(TypeCode::int_, 64)};

/// The first of them that holds both.
template <std::size_t count>
bool choose(const DType (&types)[count], const Numbers& a, const Numbers& b, DType* out) noexcept {
  for (DType type : types) {
    type.count = a.lanes;
    Numbers numbers;
    if (!read_numbers(type, &numbers) || !holds(numbers, a) || !holds(numbers, b)) continue;
    *out = type;
    return true;
  }
  return false;
}

bool promote_numbers(DType a, DType b, DType* out) noexcept {
  Numbers x, y;
  if (!read_numbers(a, &x) || !read_numbers(b, &y) || x.lanes != y.lanes) return false;
  if (holds(x, y)) return *out = a, true;
  if (holds(y, x)) return *out = b, true;
  const NumberKind kind = x.kind > y.kind ? x.kind : y.kind;
  if (kind == NumberKind::complex) return choose(complexes, x, y, out);
  if (kind <= NumberKind::int_ && choose(ints, x, y, out)) {
    *out = out->with_padded(out->bits < 8 && (a.padded() || b.padded()));
    return true;
  }
  return choose(floats, x, y, out);
}

bool promote_times(DType a, DType b, DType* out) noexcept {
  const bool apart =
      is_calendar(a.unit()) != is_calendar(b.unit()) && a.unit() != TimeUnit::generic && b.unit() != TimeUnit::generic;
  return a.code == b.code && !(apart && a.code == TypeCode::timedelta64) && common_ticks(a, b, out);
}

bool is_text(DType d) noexcept { return d.code == TypeCode::fixed_bytes || d.code == TypeCode::fixed_ucs4; }

bool promote_native(DType a, DType b, DType* out) noexcept {
  if (a == b) return *out = a, true;
  if (a.with_padded(true) == b.with_padded(true)) return *out = a.with_padded(true), true;
  if (a.is_time() && b.is_time()) return promote_times(a, b, out);
  if (is_text(a) && is_text(b)) {
    const std::uint32_t length = a.count > b.count ? a.count : b.count;
    return *out = a.code == b.code && a.code == TypeCode::fixed_bytes ? make_bytes(length) : make_ucs4(length), true;
  }
  return promote_numbers(a, b, out);
}

DType in_machine_order(DType d) noexcept { return d.code == TypeCode::interned ? d : d.with_swapped(false); }

}  // namespace

Status promote(DType a, DType b, DType* out) noexcept {
  DType found;
  if (!promote_native(in_machine_order(a), in_machine_order(b), &found)) return Status::mismatch;
  *out = found;
  return Status::ok;
}

}  // namespace anyarray
