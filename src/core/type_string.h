// SPDX-License-Identifier: Apache-2.0
// The grammar of type strings ("<f4", "|b1", "M8[25s]"), shared by dtype names and the array-interface codec.
// Internal to the library; includes the dtype table alone.
#pragma once
#include <cstddef>

#include "src/core/dtype_table.h"

namespace anyarray {

/// A kind letter and a size in bytes → dtype without a unit. `size` counts code points × 4 for 'U'.
Status read_kind(char kind, std::uint64_t size, bool swapped, DType* out, Reason* why) noexcept;

/// `length` bytes of a type string → dtype (see typestr::decode).
Status read_type_string(const char* text, std::size_t length, DType* out, Reason* why) noexcept;

/// Numbers by kind and size: what a type string of three characters says. No bits where there is none.
struct ShortTypes {
  DType of[26][9] = {};
  constexpr ShortTypes() noexcept {
    for (auto& kind : of) {
      for (DType& d : kind) d = make_void(0);
    }
    for (const DTypeRow& row : dtype_table) {
      if (row.kind >= 'a' && row.kind <= 'z' && row.bits % 8 == 0 && row.bits <= 64) {
        of[row.kind - 'a'][row.bits / 8] = make_dtype(row.code, row.bits);
      }
    }
  }
};
inline constexpr ShortTypes short_types;

/// "<f4", "|u1": a number of the machine's order, in three characters. False for every other type string.
inline bool read_short_type_string(const char* text, DType* out) noexcept {
  const auto kind = static_cast<unsigned>(text[1] - 'a'), size = static_cast<unsigned>(text[2] - '0');
  if ((text[0] != native_order && text[0] != '|' && text[0] != '=') || kind >= 26 || size > 8) return false;
  const DType& d = short_types.of[kind][size];
  if (d.count == 0) return false;
  *out = d;
  return true;
}

/// dtype → type string (see typestr::encode).
Status write_type_string(DType d, char* out, std::size_t size, Reason* why) noexcept;

/// "[us]", "[25s]" or nothing → unit and multiplier; `length` bytes, all of which must be used.
bool read_time_unit(const char* text, std::size_t length, TimeUnit* unit, std::uint32_t* multiplier) noexcept;

/// The inverse; "" for generic. Returns the length, as snprintf.
std::size_t write_time_unit(DType d, char* out, std::size_t size) noexcept;

/// The decimal number at `*p` (before `end`), moved past; false when there is none or it is over `limit`.
bool read_number(const char** p, const char* end, std::uint64_t limit, std::uint64_t* out) noexcept;

}  // namespace anyarray
