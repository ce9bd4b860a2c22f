// SPDX-License-Identifier: Apache-2.0
// Arithmetic on shapes and byte strides that can't overflow. Dimensions of size 1 and arrays of size
// 0 place nothing: their strides never matter here.
#pragma once
#include <cstdint>

namespace anyarray {

inline constexpr int max_ndim = 64;    ///< as NumPy
inline constexpr int inline_ndim = 8;  ///< up to here nothing is allocated

/// Number of elements; false when an extent is negative or the product overflows (a zero extent
/// makes it 0 whatever the others are).
inline bool element_count(int ndim, const std::int64_t* shape, std::int64_t* out) noexcept {
  std::int64_t n = 1;
  bool overflow = false;
  bool empty = false;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] < 0) return false;
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(n, shape[i], &n);
  }
  *out = empty ? 0 : n;
  return empty || !overflow;
}

/// Row-major byte strides; false when they overflow. For an array of size 0 they are those of
/// max(extent, 1), as NumPy's, and any that overflow are wrapped: they place nothing.
inline bool c_strides(int ndim, const std::int64_t* shape, std::int64_t itemsize, std::int64_t* out) noexcept {
  std::int64_t step = itemsize;
  bool overflow = false;
  bool empty = false;
  for (int i = ndim - 1; i >= 0; --i) {
    out[i] = step;
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(step, shape[i] > 1 ? shape[i] : 1, &step);
  }
  return empty || !overflow;
}

/// Column-major byte strides, with the rules of c_strides().
inline bool f_strides(int ndim, const std::int64_t* shape, std::int64_t itemsize, std::int64_t* out) noexcept {
  std::int64_t step = itemsize;
  bool overflow = false;
  bool empty = false;
  for (int i = 0; i < ndim; ++i) {
    out[i] = step;
    empty |= shape[i] == 0;
    overflow |= __builtin_mul_overflow(step, shape[i] > 1 ? shape[i] : 1, &step);
  }
  return empty || !overflow;
}

/// Strides in elements → bytes, in place. What overflows along extents of 1 and in empty arrays places nothing and
/// becomes the itemsize; any other overflow ends it: the dimension, or -1 when all is well.
inline int strides_to_bytes(int ndim, const std::int64_t* shape, std::int64_t itemsize,
                            std::int64_t* strides) noexcept {
  bool empty = false;
  for (int i = 0; i < ndim; ++i) empty |= shape[i] == 0;
  for (int i = 0; i < ndim; ++i) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(strides[i], itemsize, &bytes)) {
      if (!empty && shape[i] != 1) return i;
      bytes = itemsize;
    }
    strides[i] = bytes;
  }
  return -1;
}

/// The bytes touched, relative to element [0, …, 0]: `low` ≤ 0 < `high`, both 0 when size is 0. False
/// when the arithmetic overflows. Precondition: extents aren't negative, itemsize ≥ 0.
inline bool byte_extent(int ndim, const std::int64_t* shape, const std::int64_t* strides, std::int64_t itemsize,
                        std::int64_t* low, std::int64_t* high) noexcept {
  std::int64_t lo = 0;
  std::int64_t hi = itemsize;
  bool overflow = false;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 0) {
      *low = *high = 0;
      return true;
    }
    std::int64_t reach = 0;
    overflow |= __builtin_mul_overflow(shape[i] - 1, strides[i], &reach);
    std::int64_t& end = reach < 0 ? lo : hi;
    overflow |= __builtin_add_overflow(end, reach, &end);
  }
  *low = lo;
  *high = hi;
  return !overflow;
}

/// Row-major without gaps.
inline bool is_c_contiguous(int ndim, const std::int64_t* shape, const std::int64_t* strides,
                            std::int64_t itemsize) noexcept {
  bool contiguous = true;
  std::int64_t step = itemsize;
  for (int i = ndim - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    contiguous &= strides[i] == step;
    if (__builtin_mul_overflow(step, shape[i], &step)) contiguous = false;
  }
  return contiguous;
}

/// Column-major without gaps.
inline bool is_f_contiguous(int ndim, const std::int64_t* shape, const std::int64_t* strides,
                            std::int64_t itemsize) noexcept {
  bool contiguous = true;
  std::int64_t step = itemsize;
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    contiguous &= strides[i] == step;
    if (__builtin_mul_overflow(step, shape[i], &step)) contiguous = false;
  }
  return contiguous;
}

/// Whether two indices can reach the same byte.
enum class Overlap : std::uint8_t {
  none,   ///< proven: every element has bytes of its own
  maybe,  ///< not proven; exact answers are NP-hard in general
  some,   ///< certain: a stride shorter than an element, more elements than room, or two axes that meet
};
/// Exact where each stride steps over all that the shorter ones reach. Polynomial. Precondition: at most max_ndim
/// dimensions, extents not negative.
Overlap self_overlap(int ndim, const std::int64_t* shape, const std::int64_t* strides, std::int64_t itemsize) noexcept;

}  // namespace anyarray
