// SPDX-License-Identifier: Apache-2.0
// How a large move is cut into blocks that suit the caches, in which order they are done, and by which kernel. Includes
// move.h and move_kernels.h alone.
#pragma once
#include "src/copy/move.h"
#include "src/copy/move_kernels.h"

namespace anyarray {

/// Moves what is too much to go element by element. Preconditions: those of move_elements(); the axes are arranged,
/// there is one at least, and no step of the target is negative.
void move_blocks(char* to, const char* from, const Axis* axes, int n, Moved what) noexcept;

/// Lets targets of so many bytes and more be written past the cache, or, below 0, of those that wouldn't stay in it;
/// gives what it was. For tests, whose arrays are small.
std::int64_t stream_from(std::int64_t bytes) noexcept;

}  // namespace anyarray
