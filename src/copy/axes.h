// SPDX-License-Identifier: Apache-2.0
// The dimensions of a copy: each with its extent and the steps on both sides, put into the order in which a target is
// written and joined where that is possible. The C headers alone.
#pragma once
#include <cstdint>

#include "anyarray/layout.h"

namespace anyarray {

/// One dimension of a copy. Steps may be negative or 0.
struct Axis {
  std::int64_t extent;  ///< in elements
  std::int64_t to;      ///< bytes (bits, where a cast says so) from one element of the target to the next
  std::int64_t from;    ///< the same of the source
};

/// The most there can be: those of an array, and the lanes of its elements.
inline constexpr int max_axes = max_ndim + 1;

/// The length of a step, whatever its sign.
constexpr std::uint64_t magnitude(std::int64_t step) noexcept {
  return step < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
}

/// Takes out dimensions of one element, puts the others in the order of the target's steps, the longest first, and
/// joins those that are one in both. The number that is left; 0 for a single element. Precondition: no extent is 0.
int arrange(Axis* axes, int n) noexcept;

}  // namespace anyarray
