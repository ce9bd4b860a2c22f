// SPDX-License-Identifier: Apache-2.0
// What typed views are made of: where elements lie, how one dimension is walked, what happens to an index that is out
// of bounds. For view.h alone.
#pragma once
#include "anyarray/element.h"
#include "anyarray/request.h"

#if defined(ANYARRAY_CHECK_BOUNDS)
#include <cstdio>
#endif

namespace anyarray {

/// In place of a rank: any number of dimensions.
inline constexpr int dynamic_rank = -1;

namespace detail {

#if defined(ANYARRAY_CHECK_BOUNDS)
[[noreturn]] __attribute__((noinline, cold)) inline void stop(const char* format, std::int64_t given,
                                                              std::int64_t limit, int dimension) noexcept {
  std::fprintf(stderr, format, static_cast<long long>(given), static_cast<long long>(limit), dimension);
  std::fputc('\n', stderr);
  std::fflush(stderr);
  __builtin_trap();
}
constexpr void check_index(std::int64_t index, std::int64_t extent, int dimension) noexcept {
  if (index < 0 || index >= extent) {
    stop("anyarray::view: index %lld is out of bounds: the extent is %lld in dimension %d", index, extent, dimension);
  }
}
constexpr void check_count(std::int64_t given, int rank) noexcept {
  if (given != rank) stop("anyarray::view: %lld indices were given, the view has %lld dimensions", given, rank, 0);
}
#else
constexpr void check_index(std::int64_t, std::int64_t, int) noexcept {}
constexpr void check_count(std::int64_t, int) noexcept {}
#endif

/// Products of extents, which don't overflow where there are elements, and mean nothing where there are none.
constexpr std::int64_t wrapping_product(std::int64_t a, std::int64_t b) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// See layout_elements.
inline bool can_walk(const Descriptor& d, std::int64_t size, std::size_t alignment) noexcept {
  if (d.size() == 0) return true;
  if (reinterpret_cast<std::uintptr_t>(d.data) % alignment != 0) return false;
  for (int i = 0; d.strides != nullptr && i < d.ndim; ++i) {
    if (d.shape[i] > 1 && d.strides[i] % size != 0) return false;
  }
  return d.strides != nullptr || d.ndim == 0;
}

/// The step in units of `unit` bytes, a constant: a shift where it is a power of two, which a division of numbers that
/// may be negative isn't.
template <std::size_t unit>
constexpr std::int64_t in_units(std::int64_t bytes) noexcept {
  if constexpr (unit == 1) {
    return bytes;
  } else if constexpr ((unit & (unit - 1)) == 0) {
    return bytes >> (__builtin_ctzll(unit));
  } else {
    return bytes / static_cast<std::int64_t>(unit);
  }
}

/// A number in a register of its own. A borrow has just written extents and strides one by one; where the compiler
/// reads two at once, that waits until both have reached the cache.
inline std::int64_t alone(std::int64_t n) noexcept {
  __asm__("" : "+r"(n));
  return n;
}

/// Where the elements of a view lie when its rank is known. Strides are kept where the layout doesn't say them, in
/// units of `unit` bytes: an element, or 1 where the element type is open.
template <class Pointer, std::size_t unit, int Rank, Order order>
struct Place {
  static constexpr int slots = Rank > 0 ? Rank : 1;
  static constexpr bool keeps_strides = order == Order::any;
  Pointer data;
  const void* source;
  std::int64_t extents[slots];
  std::int64_t strides[keeps_strides ? slots : 1];

  constexpr Place() noexcept : data(nullptr), source(nullptr), extents{}, strides{} {}
  /// Of a descriptor that fits. All is read before anything is written: the compiler can't know that they don't
  /// overlap.
  Place(const Descriptor& d, const void* from) noexcept : data(static_cast<Pointer>(d.data)), source(from) {
    std::int64_t extent[slots];
    std::int64_t stride[slots];
    for (int i = 0; i < Rank; ++i) {
      extent[i] = alone(d.shape[i]);
      if constexpr (keeps_strides) stride[i] = in_units<unit>(alone(d.strides[i]));
    }
    for (int i = 0; i < Rank; ++i) {
      extents[i] = extent[i];
      if constexpr (keeps_strides) strides[i] = stride[i];
    }
  }
  /// The same of another type, in its units.
  template <class P, std::size_t other_unit>
  constexpr explicit Place(const Place<P, other_unit, Rank, order>& o) noexcept
      : data(static_cast<Pointer>(o.data)), source(o.source), extents{}, strides{} {
    for (int i = 0; i < Rank; ++i) {
      extents[i] = o.extents[i];
      if constexpr (keeps_strides) strides[i] = in_units<unit / other_unit>(o.strides[i]);
    }
  }

  static constexpr int rank() noexcept { return Rank; }
  constexpr std::int64_t extent(int i) const noexcept { return extents[i]; }
  constexpr std::int64_t size() const noexcept {
    if constexpr (Rank == 0) return data != nullptr;  // null: a view that shows nothing yet
    std::int64_t n = 1;
    for (int i = 0; i < Rank; ++i) n = wrapping_product(n, extents[i]);
    return n;
  }
  /// In units, as `itemsize` is.
  constexpr std::int64_t stride(int i, std::int64_t itemsize) const noexcept {
    if constexpr (keeps_strides) return strides[i];
    std::int64_t step = itemsize;
    if constexpr (order == Order::c) {
      for (int k = Rank - 1; k > i; --k) step = wrapping_product(step, extents[k]);
    } else {
      for (int k = 0; k < i; ++k) step = wrapping_product(step, extents[k]);
    }
    return step;
  }
};
/// The same for any rank: extents and strides, in bytes, are those of the descriptor, wherever they lie.
template <class Pointer, std::size_t unit, Order order>
struct Place<Pointer, unit, dynamic_rank, order> {
  Pointer data = nullptr;
  const void* source = nullptr;
  const std::int64_t* extents = nullptr;
  const std::int64_t* strides = nullptr;
  int ndim = 0;

  constexpr Place() noexcept = default;
  Place(const Descriptor& d, const void* from) noexcept
      : data(static_cast<Pointer>(d.data)), source(from), extents(d.shape), strides(d.strides), ndim(d.ndim) {}
  template <class P, std::size_t other_unit, Order other_order>
  constexpr explicit Place(const Place<P, other_unit, dynamic_rank, other_order>& o) noexcept
      : data(static_cast<Pointer>(o.data)), source(o.source), extents(o.extents), strides(o.strides), ndim(o.ndim) {}

  constexpr int rank() const noexcept { return ndim; }
  constexpr std::int64_t extent(int i) const noexcept { return extents[i]; }
  constexpr std::int64_t size() const noexcept {
    if (ndim == 0) return data != nullptr;
    std::int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n = wrapping_product(n, extents[i]);
    return n;
  }
  /// Packed elements have no strides: 0.
  constexpr std::int64_t stride(int i, std::int64_t) const noexcept {
    return strides != nullptr ? in_units<unit>(strides[i]) : 0;
  }
};

/// What a view's type says already, and what it has to keep.
template <DeviceType type>
struct KeptDevice {
  Device kept_device = {type == DeviceType::any ? DeviceType::cpu : type, 0};
};
template <>
struct KeptDevice<DeviceType::cpu> {};
template <bool known>
struct KeptDType {
  DType kept_dtype = {};
};
template <>
struct KeptDType<true> {};

/// Chooses the constructor that believes the descriptor.
struct Fitting {};

/// view<…>::mdspan() of a kind; mdspan_common.h has that of all whose header is included.
template <class Kind, class View, class = void>
struct to_mdspan {
  static_assert(sizeof(View) == 0,
                "anyarray::view::mdspan(): include anyarray/mdspan.h, mdspan_cuda.h or mdspan_kokkos.h");
};

}  // namespace detail

/// Walks one dimension in steps of any size. Random access; <anyarray/ranges.h> tells the standard library so.
template <class T>
class strided_iterator {
 public:
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  constexpr strided_iterator() noexcept = default;
  /// `step` in elements.
  constexpr strided_iterator(T* at, std::ptrdiff_t step, std::ptrdiff_t index) noexcept
      : first_(at), step_(step), index_(index) {}

  constexpr T& operator*() const noexcept { return first_[index_ * step_]; }
  constexpr T* operator->() const noexcept { return first_ + index_ * step_; }
  constexpr T& operator[](std::ptrdiff_t n) const noexcept { return first_[(index_ + n) * step_]; }
  constexpr strided_iterator& operator++() noexcept { return ++index_, *this; }
  constexpr strided_iterator& operator--() noexcept { return --index_, *this; }
  constexpr strided_iterator operator++(int) noexcept { return {first_, step_, index_++}; }
  constexpr strided_iterator operator--(int) noexcept { return {first_, step_, index_--}; }
  constexpr strided_iterator& operator+=(std::ptrdiff_t n) noexcept { return index_ += n, *this; }
  constexpr strided_iterator& operator-=(std::ptrdiff_t n) noexcept { return index_ -= n, *this; }
  friend constexpr strided_iterator operator+(strided_iterator i, std::ptrdiff_t n) noexcept { return i += n; }
  friend constexpr strided_iterator operator+(std::ptrdiff_t n, strided_iterator i) noexcept { return i += n; }
  friend constexpr strided_iterator operator-(strided_iterator i, std::ptrdiff_t n) noexcept { return i -= n; }
  friend constexpr std::ptrdiff_t operator-(strided_iterator a, strided_iterator b) noexcept {
    return a.index_ - b.index_;
  }
  friend constexpr bool operator==(strided_iterator a, strided_iterator b) noexcept { return a.index_ == b.index_; }
  friend constexpr bool operator!=(strided_iterator a, strided_iterator b) noexcept { return a.index_ != b.index_; }
  friend constexpr bool operator<(strided_iterator a, strided_iterator b) noexcept { return a.index_ < b.index_; }
  friend constexpr bool operator>(strided_iterator a, strided_iterator b) noexcept { return a.index_ > b.index_; }
  friend constexpr bool operator<=(strided_iterator a, strided_iterator b) noexcept { return a.index_ <= b.index_; }
  friend constexpr bool operator>=(strided_iterator a, strided_iterator b) noexcept { return a.index_ >= b.index_; }

 private:
  T* first_ = nullptr;
  std::ptrdiff_t step_ = 1;
  std::ptrdiff_t index_ = 0;
};

}  // namespace anyarray
