// SPDX-License-Identifier: Apache-2.0
// A move cut into blocks, as move_plan.cpp decides, and the loop that does them. Includes move.h and move_kernels.h
// alone.
#pragma once
#include "src/copy/move.h"
#include "src/copy/move_kernels.h"

namespace anyarray {

/// What a block's buffer holds.
inline constexpr std::int64_t buffer_bytes = std::int64_t{32} << 10;
inline constexpr std::int64_t line = 64;

/// What a kernel does; `runs` are dense on both sides and need none.
enum class MoveKind : std::uint8_t { runs, any, each, gather, weave, split, transpose };

struct Plan {
  char* to;
  const char* from;
  const MoveKernels* kernels;
  MoveKind kind;
  TileKernel kernel;  ///< null for runs
  std::size_t size;
  std::size_t turn;
  int n;
  int a, d;            ///< the kernel's axes; a < 0: there is one
  bool staged;         ///< through a buffer, in which bytes are turned
  bool stream;         ///< past the cache
  bool lines;          ///< whole lines leave the buffer, wherever a row's lines begin: blocks overlap along d by one
  std::int64_t ahead;  ///< see Tile
  Axis axes[max_axes];
  std::int64_t block[max_axes];  ///< elements of a block along each axis
  std::int64_t shift[max_axes];  ///< elements that the first block lacks
  std::int64_t blocks[max_axes];
  int fused[max_axes];  ///< axes that continue a in the source, where a kernel takes them together
  int fused_count;
  int order[max_axes];  ///< the axes, the outermost loop over blocks first
};

inline std::int64_t least(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
inline std::int64_t round_up(std::int64_t n, std::int64_t unit) noexcept { return (n + unit - 1) / unit * unit; }

/// Elements that a cache line holds or touches.
inline std::int64_t line_elements(std::size_t size) noexcept {
  return (line - 1) / static_cast<std::int64_t>(size) + 1;
}

/// Does the blocks of a Plan with the numbers [begin, end), in its order.
void run_blocks(void* plan, std::int64_t begin, std::int64_t end) noexcept;

}  // namespace anyarray
