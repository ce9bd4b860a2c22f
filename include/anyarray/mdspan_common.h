// SPDX-License-Identifier: Apache-2.0
// What conversions to and from all kinds of mdspan share. Include mdspan.h, mdspan_cuda.h or mdspan_kokkos.h, each of
// which adds the names of its kind; all of them may be included together.
//
// An mdspan of layout_stride needs positive strides, and that no two indices lead to the same element; a view may be
// reversed, or broadcast by strides of 0. So what is made of a strided view is a maybe_mdspan: the mdspan, or why there
// is none. Views of c_order and f_order always become one.
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <type_traits>

#include "anyarray/view.h"

namespace anyarray {

/// An mdspan, or why there is none:
///   const auto m = v.mdspan();
///   if (!m) return m.why();   // "a stride is negative: …"
///   (*m)[i, j]
template <class M>
class maybe_mdspan {
 public:
  constexpr maybe_mdspan(const M& it) noexcept : it_(it) {}
  constexpr explicit maybe_mdspan(const char* why) noexcept : why_(why) {}

  constexpr explicit operator bool() const noexcept { return why_ == nullptr; }
  /// Only where there is one.
  constexpr const M& operator*() const noexcept { return *it_; }
  constexpr const M* operator->() const noexcept { return &*it_; }
  /// In words, for an error; null where there is an mdspan. Static storage.
  constexpr const char* why() const noexcept { return why_; }

 private:
  std::optional<M> it_;
  const char* why_ = nullptr;
};

namespace detail {

/// The names of a kind: mdspan, extents, layouts, …; specialised by its header.
template <class Kind>
struct mdspan_names;
/// The kind of an mdspan, specialised there too.
template <class M>
struct kind_of;

/// Whether indices of two dimensions and more can't meet, as the standard asks of layout_stride: sorted by their
/// strides, each dimension steps over all that the ones before it reach. Of extents above 1; strides are positive.
constexpr bool steps_over(int rank, const std::int64_t* extents, const std::int64_t* strides) noexcept {
  int order[max_ndim] = {};
  int n = 0;
  for (int i = 0; i < rank; ++i) {
    if (extents[i] == 1) continue;
    int at = n++;
    for (; at > 0 && strides[order[at - 1]] > strides[i]; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  for (int k = 1; k < n; ++k) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(strides[order[k - 1]], extents[order[k - 1]], &reach)) return false;
    if (strides[order[k]] < reach) return false;
  }
  return true;
}

/// Strides of contiguous memory, of an empty one as if its extents of 0 were 1; false where they overflow.
constexpr bool contiguous_strides(int rank, const std::int64_t* extents, bool row_major, std::int64_t* out) noexcept {
  std::int64_t step = 1;
  bool overflow = false;
  for (int k = 0; k < rank; ++k) {
    if (overflow) return false;
    const int i = row_major ? rank - 1 - k : k;
    out[i] = step;
    overflow = __builtin_mul_overflow(step, extents[i] > 1 ? extents[i] : 1, &step);
  }
  return true;
}

/// What a view of a known rank looks like, with strides that mean something in every dimension.
template <int Rank>
struct Shape {
  static constexpr int slots = Rank > 0 ? Rank : 1;
  std::int64_t extents[slots] = {};
  std::int64_t strides[slots] = {};
  bool empty = false;
  bool row_major = false;
  bool column_major = false;
  const char* no_strides = nullptr;  ///< why layout_stride can't have them

  template <class View>
  constexpr explicit Shape(const View& v) noexcept {
    for (int i = 0; i < Rank; ++i) {
      extents[i] = v.extent(i);
      strides[i] = v.stride(i);
      empty |= extents[i] == 0;
    }
    std::int64_t rows[slots] = {};
    std::int64_t columns[slots] = {};
    const bool fits = contiguous_strides(Rank, extents, true, rows);
    contiguous_strides(Rank, extents, false, columns);
    row_major = column_major = true;
    for (int i = 0; i < Rank && !empty; ++i) {
      row_major &= extents[i] == 1 || strides[i] == rows[i];
      column_major &= extents[i] == 1 || strides[i] == columns[i];
    }
    if (empty && !fits) no_strides = "the strides of its layout overflow";
    for (int i = 0; i < Rank && !row_major && !column_major; ++i) {
      if (extents[i] == 1) {
        strides[i] = 1;  // it places nothing, so it may be what every check accepts
      } else if (strides[i] < 0) {
        no_strides = "a stride is negative: layout_stride can't walk backwards";
      } else if (strides[i] == 0 && no_strides == nullptr) {
        no_strides = "a stride is 0: layout_stride can't show one element at several indices";
      }
    }
    if (row_major || column_major) {
      for (int i = 0; i < Rank; ++i) strides[i] = row_major ? rows[i] : columns[i];
    } else if (no_strides == nullptr && !steps_over(Rank, extents, strides)) {
      no_strides = "elements overlap: layout_stride can't show one element at several indices";
    }
  }
  /// Whether indices of this type count all elements and, where strides are kept, reach the last one.
  template <class Index>
  constexpr bool fits(bool strided) const noexcept {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
    std::int64_t size = 1;
    std::int64_t reach = 1;
    for (int i = 0; i < Rank; ++i) {
      if (static_cast<std::uint64_t>(extents[i]) > most) return false;
      if (empty) continue;
      size *= extents[i];
      reach += (extents[i] - 1) * strides[i];
    }
    return empty ||
           (static_cast<std::uint64_t>(size) <= most && (!strided || static_cast<std::uint64_t>(reach) <= most));
  }
};

}  // namespace detail

/// The same memory as an mdspan of type M, of any kind whose header is included; without a copy. M's layout is
/// layout_right, layout_left or layout_stride, its accessor the default one; its index type may be narrower, and its
/// extents static. What only the array can tell is checked: see maybe_mdspan.
template <class M, class T, int Rank, class Layout, class On>
constexpr maybe_mdspan<M> as_mdspan(const view<T, Rank, Layout, On>& v) noexcept {
  using Names = detail::mdspan_names<typename detail::kind_of<M>::type>;
  using Index = typename M::index_type;
  using L = typename M::layout_type;
  constexpr bool right = std::is_same_v<L, typename Names::layout_right>;
  constexpr bool left = std::is_same_v<L, typename Names::layout_left>;
  constexpr bool stride = std::is_same_v<L, typename Names::layout_stride>;
  static_assert(detail::is_one<T>::value, "anyarray::as_mdspan(): the element type is open: visit() gives it");
  static_assert(Rank != dynamic_rank, "anyarray::as_mdspan(): an mdspan has a known rank, and so must the view");
  static_assert(Rank == dynamic_rank || static_cast<int>(M::rank()) == Rank,
                "anyarray::as_mdspan(): the view and the mdspan have different ranks");
  static_assert(std::is_convertible_v<T(*)[], typename M::element_type(*)[]>,
                "anyarray::as_mdspan(): elements of another type, or const ones as non-const");
  static_assert(host_readable(On::type) || Names::of_devices,
                "anyarray::as_mdspan(): the host can't read elements of other devices: mdspan_cuda.h and "
                "mdspan_kokkos.h have kinds for device code");
  static_assert(right || left || stride, "anyarray::as_mdspan(): layout_right, layout_left or layout_stride");
  static_assert(std::is_same_v<typename M::accessor_type, typename Names::template accessor<typename M::element_type>>,
                "anyarray::as_mdspan(): only the default accessor");

  const detail::Shape<Rank> shape(v);
  if (right && !shape.row_major) return maybe_mdspan<M>("the array isn't row-major without gaps");
  if (left && !shape.column_major) return maybe_mdspan<M>("the array isn't column-major without gaps");
  if (stride && shape.no_strides != nullptr) return maybe_mdspan<M>(shape.no_strides);
  if (!shape.template fits<Index>(stride)) return maybe_mdspan<M>("the array is too large for the mdspan's index type");
  typename Names::template array<Index, Rank> extents = {};
  typename Names::template array<Index, Rank> strides = {};
  for (int i = 0; i < Rank; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::size_t wanted = M::static_extent(k);
    if (wanted != std::numeric_limits<std::size_t>::max() && wanted != static_cast<std::size_t>(shape.extents[i])) {
      return maybe_mdspan<M>("an extent isn't the mdspan's static one");
    }
    extents[k] = static_cast<Index>(shape.extents[i]);
    strides[k] = static_cast<Index>(shape.strides[i]);
  }
  const typename M::extents_type ext(extents);
  if constexpr (stride) {
    return M(v.data(), typename M::mapping_type(ext, strides));
  } else {
    return M(v.data(), typename M::mapping_type(ext));
  }
}

namespace detail {

template <class Kind, class T, int Rank, class Layout, class On>
struct to_mdspan<Kind, view<T, Rank, Layout, On>, std::void_t<typename mdspan_names<Kind>::layout_right>> {
  using Names = mdspan_names<Kind>;
  static_assert(Rank != dynamic_rank, "anyarray::view::mdspan(): an mdspan has a known rank, and so must the view");
  static constexpr bool is_strided = Layout::order == Order::any;
  using layout = std::conditional_t<Layout::order == Order::c, typename Names::layout_right,
                                    std::conditional_t<is_strided, typename Names::layout_stride,  //
                                                       typename Names::layout_left>>;
  using type = typename Names::template mdspan<T, (Rank > 0 ? static_cast<std::size_t>(Rank) : 0), layout>;

  static constexpr auto make(const view<T, Rank, Layout, On>& v) noexcept {
    const maybe_mdspan<type> m = as_mdspan<type>(v);
    if constexpr (is_strided) {
      return m;
    } else {
      return *m;
    }
  }
};

}  // namespace detail

/// The same memory as a view: of c_order, f_order or strided, as its layout is. `as_view<cuda>(m)`: the caller knows
/// that it lies there.
template <class On = host, class M, class Kind = typename detail::kind_of<M>::type>
constexpr auto as_view(const M& m) noexcept {
  using Names = detail::mdspan_names<Kind>;
  using T = typename M::element_type;
  using L = typename M::layout_type;
  constexpr int rank = static_cast<int>(M::rank());
  static_assert(std::is_same_v<typename M::accessor_type, typename Names::template accessor<T>>,
                "anyarray::as_view(): only mdspans with the default accessor");
  static_assert(M::is_always_strided(), "anyarray::as_view(): only mdspans whose layout has strides");
  static_assert(rank <= max_ndim, "anyarray::as_view(): a view has at most 64 dimensions");
  std::int64_t extents[rank > 0 ? rank : 1] = {};
  for (int i = 0; i < rank; ++i) extents[i] = static_cast<std::int64_t>(m.extent(static_cast<std::size_t>(i)));
  if constexpr (std::is_same_v<L, typename Names::layout_right>) {
    return view<T, rank, c_order, On>(m.data_handle(), extents);
  } else if constexpr (std::is_same_v<L, typename Names::layout_left>) {
    return view<T, rank, f_order, On>(m.data_handle(), extents);
  } else {
    std::int64_t strides[rank > 0 ? rank : 1] = {};
    if constexpr (rank > 0) {
      for (int i = 0; i < rank; ++i) strides[i] = static_cast<std::int64_t>(m.stride(static_cast<std::size_t>(i)));
    }
    return view<T, rank, strided, On>(m.data_handle(), extents, strides);
  }
}

}  // namespace anyarray
