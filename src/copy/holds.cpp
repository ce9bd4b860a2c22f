// SPDX-License-Identifier: Apache-2.0
#include "src/copy/holds.h"

#include <cfloat>

#include "src/core/dtype_table.h"
#include "src/core/narrow_float.h"

namespace anyarray {
namespace {

void put_float(Numbers& n, int digits, int lowest, int highest) noexcept {
  n.digits = static_cast<std::int16_t>(digits);
  n.lowest = static_cast<std::int16_t>(lowest);
  n.highest = static_cast<std::int16_t>(highest);
  n.negative = n.zero = n.infinity = n.nan = true;
}

bool put_ieee(Numbers& n, unsigned bits) noexcept {
  if (bits == 16) {
    put_float(n, 11, -24, 15);
  } else if (bits == 32) {
    put_float(n, FLT_MANT_DIG, FLT_MIN_EXP - FLT_MANT_DIG, FLT_MAX_EXP - 1);
  } else {
    put_float(n, DBL_MANT_DIG, DBL_MIN_EXP - DBL_MANT_DIG, DBL_MAX_EXP - 1);
  }
  return bits == 16 || bits == 32 || bits == 64;
}

void put_narrow(Numbers& n, const FloatFormat& f) noexcept {
  const int lowest = 1 - f.bias - f.mantissa_bits;
  // The codes of the largest exponent aren't numbers in `ieee`.
  const int highest = (1 << f.exponent_bits) - 1 - f.bias - (f.top == Top::ieee ? 1 : 0);
  put_float(n, f.mantissa_bits + 1, lowest, highest);
  n.infinity = f.top == Top::ieee;
  n.nan = f.top != Top::finite;
}

}  // namespace

bool read_numbers(DType d, Numbers* out) noexcept {
  Numbers& n = *out;
  n = {NumberKind::real, 0, 0, 0, false, true, false, false, d.count};
  const unsigned bits = d.bits;
  const bool power = bits != 0 && (bits & (bits - 1)) == 0;
  switch (d.code) {
    case TypeCode::bool_:
      n.kind = NumberKind::boolean;
      n.digits = 1;
      return bits == 8;
    case TypeCode::uint:
      n.kind = NumberKind::uint;
      n.digits = static_cast<std::int16_t>(bits);
      return power && bits <= 64;
    case TypeCode::int_:
      n.kind = NumberKind::int_;
      n.digits = static_cast<std::int16_t>(bits - 1);
      n.negative = true;
      return power && bits <= 64;
    case TypeCode::float_:
      return put_ieee(n, bits);
    case TypeCode::complex:
      n.kind = NumberKind::complex;
      return put_ieee(n, bits / 2);
    case TypeCode::complex_long_double:
      n.kind = NumberKind::complex;
      [[fallthrough]];
    case TypeCode::long_double:
      put_float(n, LDBL_MANT_DIG, LDBL_MIN_EXP - LDBL_MANT_DIG, LDBL_MAX_EXP - 1);
      return find_row(d) != nullptr;
    case TypeCode::bfloat:
      put_float(n, 8, -133, 127);
      return bits == 16;
    case TypeCode::float8_e8m0fnu:
      n.digits = 1;
      n.lowest = -127;
      n.highest = 127;
      n.zero = false;
      n.nan = true;
      return bits == 8;
    default:
      if (const FloatFormat* f = narrow_format(d); f != nullptr) {
        put_narrow(n, *f);
        return bits == 1u + f->exponent_bits + f->mantissa_bits;
      }
      return false;
  }
}

bool holds(const Numbers& a, const Numbers& b) noexcept {
  if (a.lanes != b.lanes || a.kind < b.kind) return false;
  if (b.negative && !a.negative) return false;
  if ((b.zero && !a.zero) || (b.infinity && !a.infinity) || (b.nan && !a.nan)) return false;
  if (a.kind <= NumberKind::int_) return a.digits >= b.digits;
  if (b.kind <= NumberKind::int_) {
    // The lowest int is a power of two: it takes one digit and the exponent alone.
    const int top = b.kind == NumberKind::int_ ? b.digits : b.digits - 1;
    return (a.digits >= b.digits || a.digits >= DBL_MANT_DIG) && a.highest >= top && a.lowest <= 0;
  }
  return a.digits >= b.digits && a.lowest <= b.lowest && a.highest >= b.highest;
}

}  // namespace anyarray
