// SPDX-License-Identifier: Apache-2.0
// Views to and from cuda::std::mdspan of libcu++: needs <cuda/std/mdspan> (the CUDA toolkit, or the package
// nvidia-cuda-cccl), C++17. view::mdspan<cuda_mdspan>() gives it, of views on any device.
#pragma once
#include <cuda/std/array>
#include <cuda/std/mdspan>

#include "anyarray/mdspan_common.h"

namespace anyarray {
namespace detail {

template <>
struct mdspan_names<cuda_mdspan> {
  template <class T, std::size_t rank, class Layout>
  using mdspan = ::cuda::std::mdspan<T, ::cuda::std::dextents<std::int64_t, rank>, Layout>;
  template <class T>
  using accessor = ::cuda::std::default_accessor<T>;
  template <class T, std::size_t n>
  using array = ::cuda::std::array<T, n>;
  using layout_right = ::cuda::std::layout_right;
  using layout_left = ::cuda::std::layout_left;
  using layout_stride = ::cuda::std::layout_stride;
  static constexpr bool of_devices = true;
};
template <class T, class E, class L, class A>
struct kind_of<::cuda::std::mdspan<T, E, L, A>> {
  using type = cuda_mdspan;
};

}  // namespace detail
}  // namespace anyarray
