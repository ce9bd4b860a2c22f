// SPDX-License-Identifier: Apache-2.0
#include "src/copy/cast_text.h"

#include "src/copy/axes.h"
#include "src/copy/cast_walk.h"
#include "src/copy/move.h"

namespace anyarray {
namespace {

std::int64_t character_size(DType d) noexcept { return d.code == TypeCode::fixed_ucs4 ? 4 : 1; }

/// Moves `count` characters of each element, from so many bytes inside it; from one place where `step` is 0.
void move_characters(const Descriptor& to, std::int64_t into, const Descriptor& from, const char* source, bool filler,
                     std::int64_t count) noexcept {
  if (count == 0) return;
  const std::int64_t size = character_size(to.dtype);
  Axis axes[max_axes];
  int n = 0;
  for (int i = 0; i < from.ndim; ++i) axes[n++] = {from.shape[i], to.strides[i], filler ? 0 : from.strides[i]};
  axes[n++] = {count, size, filler ? 0 : size};
  const bool turned = size > 1 && !filler && to.dtype.swapped() != from.dtype.swapped();
  move_elements(static_cast<char*>(to.data) + into, source, axes, n,
                {static_cast<std::size_t>(size), turned ? static_cast<std::size_t>(size) : 1});
}

}  // namespace

bool has_text_cast(DType to, DType from) noexcept {
  return from.code == to.code && (to.code == TypeCode::fixed_bytes || to.code == TypeCode::fixed_ucs4);
}

void cast_text(const Descriptor& to, const Descriptor& from) noexcept {
  const std::int64_t kept = from.dtype.count < to.dtype.count ? from.dtype.count : to.dtype.count;
  static constexpr char nul[4] = {};
  move_characters(to, 0, from, static_cast<const char*>(from.data), false, kept);
  move_characters(to, kept * character_size(to.dtype), from, nul, true, std::int64_t{to.dtype.count} - kept);
}

std::int64_t first_cut(const Descriptor& from, DType to) noexcept {
  if (from.dtype.count <= to.count) return -1;
  const Walk walk = walk_of(from, 1);
  const std::int64_t size = character_size(to);
  const Side side = side_of(from, from.dtype.itemsize() * 8, false, 1, walk);
  Place at{};
  for (std::int64_t i = 0; i < walk.items; ++i) {
    const char* const text = item_at(side, walk, at, i);
    for (std::int64_t k = to.count * size; k < from.dtype.itemsize(); ++k) {
      if (text[k] != 0) return i;
    }
    advance(at, walk, 1);
  }
  return -1;
}

}  // namespace anyarray
