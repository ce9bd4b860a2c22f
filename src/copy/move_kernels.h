// SPDX-License-Identifier: Apache-2.0
// The inner loops of moves: a table of them for each instruction set, made of the same text as far as that goes
// (move_tiles.inc.h). Includes isa.h and the C headers alone.
//
// Measured on Zen 4: from memory all three transpose at the rate of memcpy (SSE2 within 1.2 times), since what counts
// is that lines are read once, ahead of time, and written whole. In the caches AVX-512 moves 1.3 to 2.3 times what AVX2
// does (f32: 160 against 90 GB/s), and AVX2 1.5 to 2 times what SSE2 does; short dimensions and small steps need byte
// permutations, without which (baseline) they take 2 to 20 times as long.
#pragma once
#include <cstddef>
#include <cstdint>

#include "src/copy/isa.h"

namespace anyarray {

/// A part of a move in two dimensions: element (a, d) goes from `from + a * from_a + d * from_d` to
/// `to + a * to_a + d * to_d`.
struct Tile {
  char* to;
  const char* from;
  std::int64_t to_a, to_d;
  std::int64_t from_a, from_d;
  std::int64_t na, nd;
  std::size_t size;    ///< bytes of an element
  std::int64_t ahead;  ///< steps in the source to what is read soon, of one row the next; 0: nothing that is known
  bool stream;         ///< whole cache lines of the target may go past the cache; fence() at the end
};

/// Writes every element of a tile and nothing else, and reads nothing outside its elements but gaps between them.
using TileKernel = void (*)(const Tile& tile) noexcept;

/// Sizes of elements, as powers of two, that have kernels of their own: 1, 2, 4, 8, 16.
inline constexpr int size_count = 5;
inline constexpr int index_of_size(std::size_t size) noexcept {
  return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : size == 16 ? 4 : -1;
}

/// Up to so many elements along a short dimension are split or woven by permutations.
inline constexpr int weave_limit = 8;

struct MoveKernels {
  /// Dense along d in the target, along a in the source: to_d and from_a are the size.
  TileKernel transpose[size_count];
  /// Dense along d in the target, any step in the source.
  TileKernel gather[size_count];
  /// The elements along d, weave_limit at most, lie beside each other in the target and those along a follow them;
  /// dense along a in the source. Not for 16 bytes.
  TileKernel weave[size_count];
  /// The other way round: the elements along a, weave_limit at most, lie beside each other in the source and those
  /// along d follow them; dense along d in the target.
  TileKernel split[size_count];
  /// Any steps.
  TileKernel each[size_count];
  /// Any steps and sizes.
  TileKernel any;
  /// Bytes, which don't overlap, past the cache as far as they fill lines.
  void (*stream)(char* to, const char* from, std::size_t bytes) noexcept;
  /// Bytes whose units (2, 4, 8, 16 bytes) are turned; in place where both are one. Past the cache where asked for.
  void (*turn)(char* to, const char* from, std::size_t bytes, std::size_t unit, bool stream) noexcept;
  /// Makes what went past the cache visible to other threads.
  void (*fence)() noexcept;
  /// Steps, in elements, that gather takes with permutations, by size: beyond, a tile goes element by element.
  int near[size_count];
  /// Elements along d, at most, that weave is faster for than transpose is, by size.
  int strands[size_count];
};

/// The functions of a template for each size that has kernels of its own.
#define ANYARRAY_BY_SIZE(kernel) {kernel<1>, kernel<2>, kernel<4>, kernel<8>, kernel<16>}

extern const MoveKernels move_kernels_baseline;
#if defined(ANYARRAY_ISA_X86)
extern const MoveKernels move_kernels_avx2;
extern const MoveKernels move_kernels_avx512;
#endif

/// Those of the instruction set that is chosen.
const MoveKernels& move_kernels() noexcept;

}  // namespace anyarray
