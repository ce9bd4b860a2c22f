// SPDX-License-Identifier: Apache-2.0
// Views to and from std::mdspan: needs <mdspan>, which C++23 has with libc++ 17 and libstdc++ 15. view::mdspan() gives
// it. For C++17 and 20 there are mdspan_cuda.h and mdspan_kokkos.h.
#pragma once
#include <array>
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#ifndef __cpp_lib_mdspan
#error "anyarray/mdspan.h needs C++23 and a standard library with <mdspan>: see mdspan_kokkos.h and mdspan_cuda.h"
#endif

#include "anyarray/mdspan_common.h"

namespace anyarray {
namespace detail {

template <>
struct mdspan_names<std_mdspan> {
  template <class T, std::size_t rank, class Layout>
  using mdspan = std::mdspan<T, std::dextents<std::int64_t, rank>, Layout>;
  template <class T>
  using accessor = std::default_accessor<T>;
  template <class T, std::size_t n>
  using array = std::array<T, n>;
  using layout_right = std::layout_right;
  using layout_left = std::layout_left;
  using layout_stride = std::layout_stride;
  static constexpr bool of_devices = false;
};
template <class T, class E, class L, class A>
struct kind_of<std::mdspan<T, E, L, A>> {
  using type = std_mdspan;
};

}  // namespace detail
}  // namespace anyarray
