// SPDX-License-Identifier: Apache-2.0
// Whether the elements of a layout share bytes. Includes layout.h alone.
#include "anyarray/layout.h"

#include <algorithm>
#include <numeric>

namespace anyarray {
namespace {

struct Axis {
  std::uint64_t stride;  // its absolute value: mirroring an axis moves elements, but joins none
  std::uint64_t steps;   // extent - 1, at least 1
};

std::uint64_t magnitude(std::int64_t v) noexcept {
  return v < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v);
}

// Whether going along one axis and back along the other returns to the very same place.
bool meet(const Axis& a, const Axis& b) noexcept {
  const std::uint64_t g = std::gcd(a.stride, b.stride);
  return b.stride / g <= a.steps && a.stride / g <= b.steps;
}

}  // namespace

Overlap self_overlap(int ndim, const std::int64_t* shape, const std::int64_t* strides, std::int64_t itemsize) noexcept {
  if (itemsize <= 0) return Overlap::none;
  const auto item = static_cast<std::uint64_t>(itemsize);
  Axis axes[max_ndim];
  int n = 0;
  bool touching = false;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 0) return Overlap::none;
    if (shape[i] == 1) continue;
    axes[n] = {magnitude(strides[i]), static_cast<std::uint64_t>(shape[i]) - 1};
    touching |= axes[n].stride < item;
    ++n;
  }
  if (touching) return Overlap::some;
  std::sort(axes, axes + n, [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  // Strides nest when each steps over all that the shorter ones reach: then no two elements meet.
  std::uint64_t span = item;      // bytes from the first to the last that the axes so far reach
  std::uint64_t elements = item;  // bytes that so many elements need if they are apart
  bool nested = true;
  bool overflow = false;
  for (int i = 0; i < n; ++i) {
    nested &= axes[i].stride >= span;
    std::uint64_t reach = 0;
    overflow |= __builtin_mul_overflow(axes[i].steps, axes[i].stride, &reach);
    overflow |= __builtin_add_overflow(span, reach, &span);
    overflow |= __builtin_mul_overflow(elements, axes[i].steps + 1, &elements);
    if (overflow) return Overlap::maybe;
  }
  if (nested) return Overlap::none;
  if (elements > span) return Overlap::some;
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      if (meet(axes[i], axes[j])) return Overlap::some;
    }
  }
  return Overlap::maybe;
}

}  // namespace anyarray
