// SPDX-License-Identifier: Apache-2.0
// Which values the number types have, as far as rules and promotion ask.
#pragma once
#include "anyarray/dtype.h"

namespace anyarray {

/// In the order in which same_kind lets numbers go.
enum class NumberKind : std::uint8_t { boolean, uint, int_, real, complex };

/// A number type by the values that it has. Of a complex number those of each part, of several lanes those of each.
struct Numbers {
  NumberKind kind;
  std::int16_t digits;  ///< binary: value bits of an integer, significand of a float, its leading one counted
  std::int16_t lowest;  ///< floats: the exponent of the smallest number above 0, and of the largest
  std::int16_t highest;
  bool negative;  ///< has numbers below 0
  bool zero;      ///< has a zero
  bool infinity;  ///< has infinities
  bool nan;       ///< has NaN
  std::uint32_t lanes;
};

/// False for what isn't a number.
bool read_numbers(DType d, Numbers* out) noexcept;

/// Whether each value of `b` is one of `a`; by NumPy's rule 64-bit integers count as held by floats of 64 bits and
/// more. Infinities and NaN, which some formats don't have, aren't looked at.
bool holds(const Numbers& a, const Numbers& b) noexcept;

}  // namespace anyarray
