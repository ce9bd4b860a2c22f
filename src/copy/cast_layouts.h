// SPDX-License-Identifier: Apache-2.0
// A chain of kernels over arrays: without gaps, in boxes of any strides, and where lanes begin at any bit.
#pragma once
#include "anyarray/descriptor.h"
#include "src/copy/axes.h"
#include "src/copy/cast_chain.h"

namespace anyarray {

/// A cast with all that no layout changes.
struct CastJob {
  Chain chain;
  std::size_t turn_from;  ///< bytes whose order is turned on the way, as in Moved
  std::size_t turn_to;
  std::int64_t block;  ///< chain_block()
};

/// `n` items that lie one after the other on both sides.
void cast_flat(const CastJob& job, char* to, const char* from, std::int64_t n) noexcept;

/// Items of whole bytes along axes of any steps.
void cast_boxes(const CastJob& job, char* to, const char* from, const Axis* axes, int n) noexcept;

/// Items that begin at any bit on a side at least, in C order.
void cast_bits(const CastJob& job, const Descriptor& to, const Descriptor& from) noexcept;

}  // namespace anyarray
