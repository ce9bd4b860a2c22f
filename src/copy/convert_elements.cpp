// SPDX-License-Identifier: Apache-2.0
#include "src/copy/convert_elements.h"

#include <cstring>

#include "src/copy/cast.h"
#include "src/copy/move.h"
#include "src/copy/rules.h"

namespace anyarray {

void convert_elements(const Descriptor& to, const Descriptor& from) noexcept {
  if (from.size() == 0) return;
  if (!differ_in_order_alone(to.dtype, from.dtype)) return cast_elements(to, from);
  const std::size_t turn = to.dtype.swapped() != from.dtype.swapped() ? swap_unit(to.dtype) : 1;
  if (to.strides == nullptr) {  // packed on both sides: without gaps, and row-major
    std::memcpy(to.data, from.data, static_cast<std::size_t>(from.nbytes()));
    return;
  }
  if (to.dtype.itemsize() == 0) return;
  Axis axes[max_axes];
  for (int i = 0; i < from.ndim; ++i) axes[i] = {from.shape[i], to.strides[i], from.strides[i]};
  move_elements(static_cast<char*>(to.data), static_cast<const char*>(from.data), axes, from.ndim,
                {static_cast<std::size_t>(to.dtype.itemsize()), turn});
}

}  // namespace anyarray
