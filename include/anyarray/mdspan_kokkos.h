// SPDX-License-Identifier: Apache-2.0
// Views to and from the mdspan of Kokkos, the reference implementation: needs <mdspan/mdspan.hpp>, or the older
// <experimental/mdspan>; C++17. view::mdspan<kokkos_mdspan>() gives it, of views on any device.
#pragma once
#include <array>
#if __has_include(<mdspan/mdspan.hpp>)
#include <mdspan/mdspan.hpp>
#else
#include <experimental/mdspan>
#endif

#include "anyarray/mdspan_common.h"

namespace anyarray {
namespace detail {

#ifdef MDSPAN_IMPL_STANDARD_NAMESPACE
namespace kokkos = MDSPAN_IMPL_STANDARD_NAMESPACE;
#else
namespace kokkos = std::experimental;
#endif

template <>
struct mdspan_names<kokkos_mdspan> {
  template <class T, std::size_t rank, class Layout>
  using mdspan = kokkos::mdspan<T, kokkos::dextents<std::int64_t, rank>, Layout>;
  template <class T>
  using accessor = kokkos::default_accessor<T>;
  template <class T, std::size_t n>
  using array = std::array<T, n>;
  using layout_right = kokkos::layout_right;
  using layout_left = kokkos::layout_left;
  using layout_stride = kokkos::layout_stride;
  static constexpr bool of_devices = true;
};
template <class T, class E, class L, class A>
struct kind_of<kokkos::mdspan<T, E, L, A>> {
  using type = kokkos_mdspan;
};

}  // namespace detail
}  // namespace anyarray
