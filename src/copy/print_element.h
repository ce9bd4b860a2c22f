// SPDX-License-Identifier: Apache-2.0
// One element as text, for sentences that name it.
#pragma once
#include "anyarray/descriptor.h"
#include "src/core/text_writer.h"

namespace anyarray {

/// "[3, 1]" for an element by its number in C order.
void print_index(const Descriptor& d, std::int64_t number, TextWriter& text) noexcept;

/// Where and how one element lies that any array of the host holds: it may be one of several that fill whole bytes.
struct OneElement {
  Descriptor desc;       ///< one dimension
  std::int64_t extent;   ///< desc.shape points here
  std::int64_t stride;   ///< and desc.strides, if there are any, here
  std::int64_t skipped;  ///< elements of `desc` before it, at most 7
};
void find_element(const Descriptor& d, std::int64_t number, OneElement* out) noexcept;

/// The value of a number of one lane, a time (its ticks) or text. False for everything else.
bool print_element(const OneElement& one, TextWriter& text) noexcept;

}  // namespace anyarray
