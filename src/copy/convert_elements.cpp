// SPDX-License-Identifier: Apache-2.0
#include "src/copy/convert_elements.h"

#include <cstring>

#include "src/copy/cast.h"
#include "src/copy/cast_text.h"
#include "src/copy/cast_times.h"
#include "src/copy/move.h"
#include "src/copy/rules.h"
#include "src/copy/threads.h"

namespace anyarray {
namespace {

/// Packed on both sides: without gaps, and row-major. What follows the last element in its byte stays.
void move_packed(const Descriptor& to, const Descriptor& from) noexcept {
  const std::int64_t bits = from.size() * from.dtype.bits * std::int64_t{from.dtype.count};
  const Axis bytes{bits / 8, 1, 1};
  auto* const target = static_cast<unsigned char*>(to.data);
  const auto* const source = static_cast<const unsigned char*>(from.data);
  if (bytes.extent > 0) move_elements(static_cast<char*>(to.data), static_cast<const char*>(from.data), &bytes, 1, {1});
  if (bits % 8 == 0) return;
  const unsigned ours = (1u << bits % 8) - 1;
  target[bits / 8] = static_cast<unsigned char>((source[bits / 8] & ours) | (target[bits / 8] & ~ours));
}

/// From so many bytes on, pages of new memory come from the kernel.
constexpr std::int64_t new_pages = std::int64_t{4} << 20;
/// Few enough for memcpy not to write past the cache.
constexpr std::int64_t piece = std::int64_t{256} << 10;

struct Fill {
  char* to;
  const char* from;
};

void fill_part(void* what, std::int64_t begin, std::int64_t end) noexcept {
  const Fill& fill = *static_cast<const Fill*>(what);
  for (std::int64_t at = begin; at < end; at += piece) {
    std::memcpy(fill.to + at, fill.from + at, static_cast<std::size_t>(end - at < piece ? end - at : piece));
  }
}

}  // namespace

void fill_elements(const Descriptor& to, const Descriptor& from) noexcept {
  const std::int64_t bytes = from.nbytes();
  const bool dense = to.dtype == from.dtype && to.strides != nullptr && bytes >= new_pages &&
                     ((to.c_contiguous() && from.c_contiguous()) || (to.f_contiguous() && from.f_contiguous()));
  if (!dense) return convert_elements(to, from);
  Fill fill{static_cast<char*>(to.data), static_cast<const char*>(from.data)};
  in_parts(bytes, piece, 2 * bytes, fill_part, &fill);
}

void convert_elements(const Descriptor& to, const Descriptor& from) noexcept {
  if (from.size() == 0) return;
  if (!differ_in_order_alone(to.dtype, from.dtype)) {
    if (has_time_cast(to.dtype, from.dtype)) return cast_times(to, from);
    if (has_text_cast(to.dtype, from.dtype)) return cast_text(to, from);
    return cast_elements(to, from);
  }
  const std::size_t turn = to.dtype.swapped() != from.dtype.swapped() ? swap_unit(to.dtype) : 1;
  if (to.strides == nullptr) return move_packed(to, from);
  if (to.dtype.itemsize() == 0) return;
  Axis axes[max_axes];
  for (int i = 0; i < from.ndim; ++i) axes[i] = {from.shape[i], to.strides[i], from.strides[i]};
  move_elements(static_cast<char*>(to.data), static_cast<const char*>(from.data), axes, from.ndim,
                {static_cast<std::size_t>(to.dtype.itemsize()), turn});
}

std::int64_t first_changed_value(const Descriptor& from, DType to) noexcept {
  if (has_time_cast(to, from.dtype)) return first_changed_time(from, to);
  if (has_text_cast(to, from.dtype)) return first_cut(from, to);
  return first_changed(from, to);
}

}  // namespace anyarray
