// SPDX-License-Identifier: Apache-2.0
// How a cast of arrays of any strides is cut into blocks, in which order they are done, and what moves one together.
#pragma once
#include "src/copy/cast_layouts.h"
#include "src/copy/move_kernels.h"

namespace anyarray {

/// Of a block on each side, at most.
inline constexpr std::int64_t block_bytes = std::int64_t{16} << 10;

/// Which cast is how done. Elements are what is moved: an item, or a few that lie next to each other on both sides.
struct CastPlan {
  const CastJob* job;
  char* to;
  const char* from;
  const MoveKernels* moves;
  const CastKernels* casts;
  TileKernel kernel;     ///< what moves elements together; null: they are cast from where they lie, along d
  std::int64_t items;    ///< of an element
  std::int64_t in, out;  ///< bytes of an element
  int n;
  int a, d;                     ///< along which the source and the target lie densest; a < 0: both along d
  bool stream;                  ///< past the caches, which couldn't hold the target
  std::int64_t tile_ahead;      ///< see Tile
  bool ahead;                   ///< see Ahead
  std::int64_t tile_a, tile_d;  ///< see cast_tiles(); 0: blocks aren't made of tiles
  Axis axes[max_axes];
  std::int64_t block[max_axes];  ///< elements of a block along each axis
  std::int64_t shift[max_axes];  ///< elements that the first block lacks
  std::int64_t blocks[max_axes];
  int order[max_axes];  ///< the axes, the outermost loop over blocks first
  std::int64_t count;   ///< of all blocks
  std::int64_t total;   ///< of all elements
};

/// Fills a plan for the axes of cast_boxes().
void plan_cast(CastPlan* out, const CastJob& job, char* to, const char* from, const Axis* axes, int n) noexcept;

}  // namespace anyarray
