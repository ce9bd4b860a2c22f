// SPDX-License-Identifier: Apache-2.0
// Casts of items that begin at any bit, where a side at least has gaps: blocks in C order, which is how packed arrays
// lie.
#include "src/copy/cast_layouts.h"
#include "src/copy/cast_walk.h"

namespace anyarray {

void cast_bits(const CastJob& job, const Descriptor& to, const Descriptor& from) noexcept {
  const Chain& c = job.chain;
  const Walk walk = walk_of(from, c.items);
  const Side source = side_of(from, c.bits[0], c.packed_from, job.turn_from, walk);
  const Side target = side_of(to, c.bits[c.steps], c.packed_to, job.turn_to, walk);
  const bool direct = target.flat && target.turn <= 1;
  // What is read or written bit by bit needs no step for it.
  const int first_step = source.bitwise() ? 1 : 0;
  const int last_step = target.bitwise() ? c.steps - 1 : c.steps;
  Scratch scratch;
  Place at{};
  for (std::int64_t first = 0; first < walk.items; first += job.block) {
    const std::int64_t n = walk.items - first < job.block ? walk.items - first : job.block;
    const char* const block = read_items(source, walk, at, first, n, scratch.source);
    char* const made = direct ? target.data + first * target.bits / 8 : scratch.target;
    run_steps(c, first_step, last_step, made, block, n, scratch);
    if (!direct) write_items(target, walk, at, first, n, made);
    advance(at, walk, n);
  }
}

}  // namespace anyarray
