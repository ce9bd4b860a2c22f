// SPDX-License-Identifier: Apache-2.0
// Views as ranges: elements(view) walks any number of dimensions in C order; views of one dimension are random-access
// ranges for the standard algorithms, and in C++20 borrowed ranges and views. Includes <iterator>, in C++20 <ranges>.
#pragma once
#include <iterator>
#if __cplusplus >= 202002L && __has_include(<ranges>)
#include <ranges>
#endif

#include "anyarray/view.h"

namespace anyarray {

namespace detail {

/// Walks all elements of a view in C order: an odometer of indices, and where it stands. It holds a view by itself, so
/// it is valid as long as the memory (of a dynamic rank: as long as the descriptor too).
template <class View>
class odometer {
  static constexpr int rank_known = View::static_rank;
  static constexpr int slots = rank_known > 0 ? rank_known : rank_known == 0 ? 1 : max_ndim;

 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = typename View::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = typename View::pointer;
  using reference = typename View::reference;

  constexpr odometer() noexcept = default;
  constexpr odometer(const View& view, std::int64_t position) noexcept : view_(view), position_(position) {}

  constexpr reference operator*() const noexcept { return view_.data()[offset_]; }
  constexpr pointer operator->() const noexcept { return view_.data() + offset_; }
  constexpr odometer& operator++() noexcept {
    ++position_;
    for (int i = view_.rank() - 1; i >= 0; --i) {
      const std::int64_t step = view_.stride(i);
      offset_ += step;
      if (++index_[i] < view_.extent(i)) return *this;
      offset_ -= index_[i] * step;
      index_[i] = 0;
    }
    return *this;
  }
  constexpr odometer operator++(int) noexcept {
    const odometer before = *this;
    ++*this;
    return before;
  }
  friend constexpr bool operator==(const odometer& a, const odometer& b) noexcept { return a.position_ == b.position_; }
  friend constexpr bool operator!=(const odometer& a, const odometer& b) noexcept { return !(a == b); }

 private:
  View view_;
  std::int64_t position_ = 0;
  std::int64_t offset_ = 0;  ///< of the element, in elements
  std::int64_t index_[slots] = {};
};

/// A pair of iterators.
template <class Iterator>
class element_range {
 public:
  using iterator = Iterator;
  using value_type = typename std::iterator_traits<Iterator>::value_type;

  constexpr element_range() noexcept = default;
  constexpr element_range(const Iterator& first, const Iterator& last, std::int64_t size) noexcept
      : first_(first), last_(last), size_(size) {}
  constexpr Iterator begin() const noexcept { return first_; }
  constexpr Iterator end() const noexcept { return last_; }
  constexpr std::int64_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }

 private:
  Iterator first_ = {};
  Iterator last_ = {};
  std::int64_t size_ = 0;
};

}  // namespace detail

/// All elements in C order (the last index moves fastest), of any rank, also 0: a forward range; by pointer where the
/// layout says that they lie so. For one dimension, the view itself is a range of random access.
template <class T, int Rank, class Layout, class On>
constexpr auto elements(const view<T, Rank, Layout, On>& v) noexcept {
  static_assert(detail::is_one<T>::value, "anyarray::elements(): the element type is open: visit() gives it");
  static_assert(host_readable(On::type), "anyarray::elements(): the host can't read elements of other devices");
  const std::int64_t n = v.size();
  if constexpr (Layout::order == Order::c || (Layout::order == Order::f && (Rank == 0 || Rank == 1))) {
    return detail::element_range<T*>(v.data(), v.data() + n, n);
  } else {
    using Iterator = detail::odometer<view<T, Rank, Layout, On>>;
    return detail::element_range<Iterator>(Iterator(v, 0), Iterator(v, n), n);
  }
}

}  // namespace anyarray

#if __cplusplus >= 202002L && defined(__cpp_lib_ranges)
template <class T, int Rank, class Layout, class On>
inline constexpr bool std::ranges::enable_borrowed_range<anyarray::view<T, Rank, Layout, On>> = true;
template <class T, int Rank, class Layout, class On>
inline constexpr bool std::ranges::enable_view<anyarray::view<T, Rank, Layout, On>> = true;
template <class Iterator>
inline constexpr bool std::ranges::enable_borrowed_range<anyarray::detail::element_range<Iterator>> = true;
template <class Iterator>
inline constexpr bool std::ranges::enable_view<anyarray::detail::element_range<Iterator>> = true;
#else
/// C++20 sees for itself what the iterator can do; before, it has to be told.
template <class T>
struct std::iterator_traits<anyarray::strided_iterator<T>> {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;
};
#endif
