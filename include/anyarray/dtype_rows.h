// SPDX-License-Identifier: Apache-2.0
// The one table of element types: names, type-string kinds, PEP 3118 letters and what DLPack can say. Names,
// signatures, type strings and every codec read these rows; nothing else lists them. Constants alone; includes dtype.h
// and <cfloat>.
#pragma once
#include <cfloat>
#include <cstdint>

#include "anyarray/dtype.h"

namespace anyarray {

/// One element type of one lane, in the machine's byte order.
struct DTypeRow {
  const char* name;
  TypeCode code;
  std::uint16_t bits;
  char kind;             ///< of a type string ("f" in "<f4"; its size is bits / 8); 0 where there is none
  const char* native;    ///< PEP 3118 letters under '@' as NumPy writes them; null where there are none
  const char* standard;  ///< the same under '=', '<' and '>'; null where there is no standard size
  bool dlpack;           ///< whether DLPack has a code for it
};

/// Whether long double is a type of its own (it is double under MSVC and on Apple's ARM).
inline constexpr bool has_long_double = LDBL_MANT_DIG != DBL_MANT_DIG;
inline constexpr std::uint16_t long_double_bits = sizeof(long double) * 8;

inline constexpr DTypeRow dtype_table[] = {
    {"bool", TypeCode::bool_, 8, 'b', "?", "?", true},
    {"int1", TypeCode::int_, 1, 0, nullptr, nullptr, true},
    {"int2", TypeCode::int_, 2, 0, nullptr, nullptr, true},
    {"int4", TypeCode::int_, 4, 0, nullptr, nullptr, true},
    {"int8", TypeCode::int_, 8, 'i', "b", "b", true},
    {"int16", TypeCode::int_, 16, 'i', "h", "h", true},
    {"int32", TypeCode::int_, 32, 'i', "i", "i", true},
    {"int64", TypeCode::int_, 64, 'i', sizeof(long) == 8 ? "l" : "q", "q", true},
    {"uint1", TypeCode::uint, 1, 0, nullptr, nullptr, true},
    {"uint2", TypeCode::uint, 2, 0, nullptr, nullptr, true},
    {"uint4", TypeCode::uint, 4, 0, nullptr, nullptr, true},
    {"uint8", TypeCode::uint, 8, 'u', "B", "B", true},
    {"uint16", TypeCode::uint, 16, 'u', "H", "H", true},
    {"uint32", TypeCode::uint, 32, 'u', "I", "I", true},
    {"uint64", TypeCode::uint, 64, 'u', sizeof(long) == 8 ? "L" : "Q", "Q", true},
    {"float16", TypeCode::float_, 16, 'f', "e", "e", true},
    {"float32", TypeCode::float_, 32, 'f', "f", "f", true},
    {"float64", TypeCode::float_, 64, 'f', "d", "d", true},
    {"complex32", TypeCode::complex, 32, 0, "Ze", "Ze", true},
    {"complex64", TypeCode::complex, 64, 'c', "Zf", "Zf", true},
    {"complex128", TypeCode::complex, 128, 'c', "Zd", "Zd", true},
    {"bfloat16", TypeCode::bfloat, 16, 0, nullptr, nullptr, true},
    {"float8_e3m4", TypeCode::float8_e3m4, 8, 0, nullptr, nullptr, true},
    {"float8_e4m3", TypeCode::float8_e4m3, 8, 0, nullptr, nullptr, true},
    {"float8_e4m3b11fnuz", TypeCode::float8_e4m3b11fnuz, 8, 0, nullptr, nullptr, true},
    {"float8_e4m3fn", TypeCode::float8_e4m3fn, 8, 0, nullptr, nullptr, true},
    {"float8_e4m3fnuz", TypeCode::float8_e4m3fnuz, 8, 0, nullptr, nullptr, true},
    {"float8_e5m2", TypeCode::float8_e5m2, 8, 0, nullptr, nullptr, true},
    {"float8_e5m2fnuz", TypeCode::float8_e5m2fnuz, 8, 0, nullptr, nullptr, true},
    {"float8_e8m0fnu", TypeCode::float8_e8m0fnu, 8, 0, nullptr, nullptr, true},
    {"float6_e2m3fn", TypeCode::float6_e2m3fn, 6, 0, nullptr, nullptr, true},
    {"float6_e3m2fn", TypeCode::float6_e3m2fn, 6, 0, nullptr, nullptr, true},
    {"float4_e2m1fn", TypeCode::float4_e2m1fn, 4, 0, nullptr, nullptr, true},
    {"opaque_handle", TypeCode::opaque_handle, 64, 0, nullptr, nullptr, true},
    {"longdouble", has_long_double ? TypeCode::long_double : TypeCode::float_, long_double_bits, 'f', "g", nullptr,
     !has_long_double},
    {"clongdouble", has_long_double ? TypeCode::complex_long_double : TypeCode::complex, 2 * long_double_bits, 'c',
     "Zg", nullptr, !has_long_double},
};

/// The row of a scalar type's lane; null for strings, times, void, interned types and widths that don't exist.
constexpr const DTypeRow* find_row(TypeCode code, unsigned bits) noexcept {
  for (const DTypeRow& row : dtype_table) {
    if (row.code == code && row.bits == bits) return &row;
  }
  return nullptr;
}
inline const DTypeRow* find_row(DType d) noexcept { return find_row(d.code, d.bits); }

/// NumPy's names of the units; index is the TimeUnit ("" for none and generic).
inline constexpr const char* time_unit_names[] = {"",   "Y",  "M",  "W",  "D",  "h",  "m", "s",
                                                  "ms", "us", "ns", "ps", "fs", "as", ""};

}  // namespace anyarray
