// SPDX-License-Identifier: Apache-2.0
#include "src/copy/cast_text.h"

#include <cstring>

#include "src/copy/walk.h"

namespace anyarray {
namespace {

struct TextCast {
  std::size_t kept;   ///< bytes
  std::size_t added;  ///< NUL
  std::size_t cut;
  bool turn;  ///< the bytes of code points
};

TextCast find_cast(DType to, DType from) noexcept {
  const auto room = static_cast<std::size_t>(to.itemsize());
  const auto given = static_cast<std::size_t>(from.itemsize());
  const std::size_t kept = room < given ? room : given;
  return {kept, room - kept, given - kept, to.swapped() != from.swapped()};
}

void cast_run(const void* how, char* to, std::int64_t to_step, const char* from, std::int64_t from_step,
              std::int64_t n) noexcept {
  const TextCast c = *static_cast<const TextCast*>(how);
  for (; n > 0; --n, to += to_step, from += from_step) {
    std::memcpy(to, from, c.kept);
    std::memset(to + c.kept, 0, c.added);
    if (!c.turn) continue;
    for (std::size_t i = 0; i < c.kept; i += 4) {
      std::uint32_t point;
      std::memcpy(&point, to + i, sizeof point);
      point = __builtin_bswap32(point);
      std::memcpy(to + i, &point, sizeof point);
    }
  }
}

}  // namespace

bool has_text_cast(DType to, DType from) noexcept {
  return from.code == to.code && (from.code == TypeCode::fixed_bytes || from.code == TypeCode::fixed_ucs4);
}

void cast_text(const Descriptor& to, const Descriptor& from) noexcept {
  const TextCast c = find_cast(to.dtype, from.dtype);
  walk(to, from, cast_run, &c);
}

std::int64_t first_cut(const Descriptor& from, DType to) noexcept {
  const TextCast c = find_cast(to, from.dtype);
  return find_first(
      from,
      [](const void* how, const char* element) noexcept {
        const auto& cast = *static_cast<const TextCast*>(how);
        for (std::size_t i = 0; i < cast.cut; ++i) {
          if (element[cast.kept + i] != 0) return false;
        }
        return true;
      },
      &c);
}

}  // namespace anyarray
