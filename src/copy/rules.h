// SPDX-License-Identifier: Apache-2.0
// What is known of a pair of element types before anything is copied.
#pragma once
#include <cstddef>

#include "anyarray/copy.h"

namespace anyarray {

/// Whether the types are one but for the order of their bytes: elements are then moved.
bool differ_in_order_alone(DType a, DType b) noexcept;

/// Bytes whose order a swap turns: 1 where there is nothing to turn.
std::size_t swap_unit(DType d) noexcept;

}  // namespace anyarray
