// SPDX-License-Identifier: Apache-2.0
// The table of element types (dtype_rows.h), and the order of their bytes.
#pragma once
#include "anyarray/dtype_rows.h"

namespace anyarray {

/// Whether bytes can be in another order in such an element at all.
constexpr bool has_byte_order(DType d) noexcept {
  return d.is_complex() ? d.bits > 16 : d.code != TypeCode::fixed_bytes && d.code != TypeCode::void_ && d.bits > 8;
}

inline constexpr bool little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
/// The order characters of PEP 3118 and of type strings on this machine.
inline constexpr char native_order = little_endian ? '<' : '>';
inline constexpr char swapped_order = little_endian ? '>' : '<';

}  // namespace anyarray
