// SPDX-License-Identifier: Apache-2.0
// The numbers of an array in C order, a block at a time, whatever its layout.
#pragma once
#include "anyarray/descriptor.h"
#include "src/copy/axes.h"

namespace anyarray {

/// The extents of an array and, as the last one, the items of an element.
struct Walk {
  std::int64_t extents[max_axes];
  int n;
  std::int64_t items;  ///< in all
};
/// Where a walk stands.
struct Place {
  std::int64_t index[max_axes];
};
Walk walk_of(const Descriptor& d, std::int64_t items_of_element) noexcept;
void advance(Place& at, const Walk& walk, std::int64_t n) noexcept;

/// Where the items of an array lie.
struct Side {
  char* data;
  std::int64_t steps[max_axes];  ///< in bits where they begin at any
  std::int64_t bits;             ///< of an item
  std::size_t turn;              ///< as in Moved
  bool packed;                   ///< items begin at any bit
  bool flat;                     ///< without gaps, in C order

  bool bitwise() const noexcept { return packed && !flat; }
};
Side side_of(const Descriptor& d, std::int64_t bits, bool packed, std::size_t turn, const Walk& walk) noexcept;

/// The `n` items from number `first` on, where `at` stands, in `room` or where they are; a byte each where bitwise().
const char* read_items(const Side& s, const Walk& walk, const Place& at, std::int64_t first, std::int64_t n,
                       char* room) noexcept;
/// The other way round.
void write_items(const Side& s, const Walk& walk, const Place& at, std::int64_t first, std::int64_t n,
                 const char* in) noexcept;

}  // namespace anyarray
