// SPDX-License-Identifier: Apache-2.0
// Elements moved as they are, or with their bytes turned round: any layout to any other. Kernels for special layouts
// and machines stand behind this function.
#pragma once
#include <cstddef>

#include "src/copy/axes.h"

namespace anyarray {

/// What is moved.
struct Moved {
  std::size_t size;      ///< bytes of an element, at least 1
  std::size_t turn = 1;  ///< > 1: bytes of the units, which fill an element, whose byte order is turned on the way
};

/// Moves each element. Preconditions: no extent is 0; both sides can be read and written there, and share no byte.
void move_elements(char* to, const char* from, const Axis* axes, int n, Moved what) noexcept;

}  // namespace anyarray
