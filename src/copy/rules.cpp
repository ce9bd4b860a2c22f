// SPDX-License-Identifier: Apache-2.0
#include "src/copy/rules.h"

#include "src/core/dtype_table.h"
#include "src/copy/cast.h"

namespace anyarray {
namespace {

/// The kinds in the order in which same_kind lets numbers go.
int kind_of(DType d) noexcept {
  switch (d.code) {
    case TypeCode::bool_:
      return 0;
    case TypeCode::uint:
      return 1;
    case TypeCode::int_:
      return 2;
    case TypeCode::complex:
      return 4;
    default:
      return 3;
  }
}

bool is_number(DType d) noexcept { return d.code <= TypeCode::complex_long_double && d.code != TypeCode::opaque_handle; }

}  // namespace

/// Bytes whose order a swap turns: 1 where there is nothing to turn.
std::size_t swap_unit(DType d) noexcept {
  if (!has_byte_order(d) || d.code == TypeCode::interned) return 1;
  if (d.is_time()) return 8;
  return (d.is_complex() ? d.bits / 2u : d.bits) / 8u;
}
bool differ_in_order_alone(DType a, DType b) noexcept { return a.with_swapped(false) == b.with_swapped(false); }

Status can_cast(DType from, DType to, Casting casting) noexcept {
  if (differ_in_order_alone(from, to)) return Status::ok;
  if (is_number(from) && is_number(to) && casting == Casting::same_kind && kind_of(from) > kind_of(to)) {
    return Status::mismatch;
  }
  return has_cast(to, from) ? Status::ok : Status::unsupported;
}

}  // namespace anyarray
