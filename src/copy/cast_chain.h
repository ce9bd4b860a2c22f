// SPDX-License-Identifier: Apache-2.0
// What a pair of element types is turned by: kernels one after the other, each of which reads what the one before
// wrote.
#pragma once
#include <cstddef>

#include "anyarray/dtype.h"
#include "src/copy/cast_kernels.h"

namespace anyarray {

/// One kernel after the other, over items that lie without gaps, in the machine's byte order.
struct Chain {
  static constexpr int most = 6;

  int steps = 0;
  Kernel run[most];
  std::uint64_t arg[most];
  std::int32_t bits[most + 1];  ///< of an item before each step and after the last; below 8: packed, little bit order
  std::int64_t items;           ///< in an element: lanes, or the parts of these where both types are complex
  bool packed_from, packed_to;  ///< items begin at any bit
};

/// How numbers are turned; false where they can't be. The types may differ in byte order, which isn't looked at; not in
/// nothing but that.
bool find_chain(DType to, DType from, Chain* out) noexcept;

/// An item's bytes before the first step, and after the last, where they aren't packed.
inline std::int64_t bytes_from(const Chain& c) noexcept { return c.bits[0] / 8; }
inline std::int64_t bytes_to(const Chain& c) noexcept { return c.bits[c.steps] / 8; }

/// One step over any number of items. Writes the bytes of these alone; of the last one that packed items fill in part,
/// the bits of others stay.
void run_step(const Chain& c, int step, char* to, const char* from, std::int64_t n) noexcept;

/// Room for what lies between steps.
struct Between {
  static constexpr std::int64_t size = 8192;
  alignas(64) char between[2][size];
};
/// And for two blocks more.
struct Scratch : Between {
  alignas(64) char source[size];
  alignas(64) char target[size];
};
/// How many items all steps turn at once: a multiple of kernel_step, and no more than fit into a part of Scratch.
std::int64_t chain_block(const Chain& c) noexcept;

/// The steps from `first` on up to `last`, that one not included, over a block.
void run_steps(const Chain& c, int first, int last, char* to, const char* from, std::int64_t n, Between& room) noexcept;

}  // namespace anyarray
