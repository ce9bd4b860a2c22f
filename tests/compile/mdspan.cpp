// SPDX-License-Identifier: Apache-2.0
// Views to mdspans and back, the same for each kind: compiled by test_mdspan.py with the headers that are here, alone
// and together (STD, CUDA, KOKKOS).
#if __cplusplus >= 202002L
#include <bit>  // for an older release of the reference implementation
#endif
#include <memory>

#ifdef STD
#include <anyarray/mdspan.h>
#endif
#ifdef CUDA
#include <anyarray/mdspan_cuda.h>
#endif
#ifdef KOKKOS
#include <anyarray/mdspan_kokkos.h>
#endif
#include <cstring>
#include <string>

#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

template <class Kind>
using Names = detail::mdspan_names<Kind>;

/// Element (i, j) of an mdspan of two dimensions, by its mapping: operator[] of several indices is of C++23.
template <class M, class... Index>
auto& element_of(const M& m, Index... index) {
  return m.data_handle()[m.mapping()(index...)];
}

template <class Kind>
void test_contiguous() {
  float data[] = {0, 1, 2, 3, 4, 5};
  const view<float, 2, c_order> c(data, {2, 3});
  const auto right = c.template mdspan<Kind>();
  static_assert(std::is_same_v<typename decltype(right)::layout_type, typename Names<Kind>::layout_right>);
  static_assert(std::is_same_v<typename decltype(right)::element_type, float> && decltype(right)::rank() == 2);
  CHECK(right.extent(0) == 2 && right.extent(1) == 3 && &element_of(right, 1, 2) == data + 5);
  const view<const float, 2, f_order> f(data, {2, 3});
  const auto left = f.template mdspan<Kind>();
  static_assert(std::is_same_v<typename decltype(left)::layout_type, typename Names<Kind>::layout_left>);
  static_assert(std::is_same_v<typename decltype(left)::element_type, const float>);
  CHECK(&element_of(left, 1, 2) == data + 5 && &element_of(left, 1, 0) == data + 1);

  const auto c_again = as_view(right);
  const auto f_again = as_view(left);
  static_assert(std::is_same_v<decltype(c_again), const view<float, 2, c_order>>);
  static_assert(std::is_same_v<decltype(f_again), const view<const float, 2, f_order>>);
  CHECK(&c_again(1, 2) == data + 5 && &f_again(0, 1) == data + 2);
  const auto on_device = as_view<anyarray::cuda>(right);
  static_assert(std::is_same_v<decltype(on_device), const view<float, 2, c_order, anyarray::cuda>>);
  CHECK(on_device.device().type == DeviceType::cuda);
}

/// The strides that an mdspan of a strided view gets, or "why".
template <class Kind, int Rank>
std::string strides_of(const view<const float, Rank>& v) {
  const auto m = v.template mdspan<Kind>();
  if (!m) {
    CHECK(std::strlen(m.why()) > 10);
    return m.why();
  }
  CHECK(m.why() == nullptr && m->data_handle() == v.data());
  std::string all;
  for (int i = 0; i < Rank; ++i) {
    const auto k = static_cast<std::size_t>(i);
    CHECK(m->stride(k) > 0 && static_cast<std::int64_t>(m->extent(k)) == v.extent(i));
    if (v.extent(i) > 1 && v.size() > 0) CHECK_EQ(static_cast<std::int64_t>(m->stride(k)), v.stride(i));
    all += (i > 0 ? "," : "") + std::to_string(m->stride(k));
  }
  const auto again = as_view(*m);
  static_assert(std::is_same_v<decltype(again), const view<const float, Rank>>);
  CHECK(again.size() == v.size() && again.data() == v.data());
  return all;
}

template <class Kind>
void test_strided() {
  static const float data[64] = {};
  using V1 = view<const float, 1>;
  using V2 = view<const float, 2>;
  using V3 = view<const float, 3>;
  CHECK_EQ((strides_of<Kind>(V2(data, {2, 3}))), "3,1");
  CHECK_EQ((strides_of<Kind>(V2(data, {2, 3}, {1, 2}))), "1,2");
  CHECK_EQ((strides_of<Kind>(V2(data, {2, 3}, {8, 2}))), "8,2");
  CHECK_EQ((strides_of<Kind>(V3(data, {2, 3, 2}, {1, 16, 4}))), "1,16,4");
  // Extents of 1, whatever their strides: what contiguous memory would have, otherwise 1.
  CHECK_EQ((strides_of<Kind>(V3(data, {2, 1, 3}, {3, -77, 1}))), "3,3,1");
  CHECK_EQ((strides_of<Kind>(V3(data, {1, 2, 3}, {0, 1, 2}))), "1,1,2");
  CHECK_EQ((strides_of<Kind>(V3(data, {2, 1, 3}, {8, 0, 2}))), "8,1,2");
  CHECK_EQ((strides_of<Kind>(V2(data, {1, 1}, {-5, 0}))), "1,1");
  // No elements: none of the strides places anything.
  CHECK_EQ((strides_of<Kind>(V2(data, {0, 3}, {-1, 0}))), "3,1");
  CHECK_EQ((strides_of<Kind>(V2(nullptr, {3, 0}, {0, 7}))), "1,1");
  // What layout_stride can't say.
  CHECK((strides_of<Kind>(V2(data + 5, {2, 3}, {-3, -1}))).find("negative") != std::string::npos);
  CHECK((strides_of<Kind>(V1(data + 5, {3}, {-1}))).find("negative") != std::string::npos);
  CHECK((strides_of<Kind>(V2(data, {2, 3}, {0, 1}))).find("is 0") != std::string::npos);
  CHECK((strides_of<Kind>(V2(data, {2, 3}, {1, 1}))).find("overlap") != std::string::npos);
  CHECK((strides_of<Kind>(V2(data, {3, 2}, {2, 3}))).find("overlap") != std::string::npos);
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK_EQ((strides_of<Kind>(V3(nullptr, {huge, huge, 0}))), "1099511627776,1,1");
  CHECK((strides_of<Kind>(V3(nullptr, {0, huge, huge}))).find("overflow") != std::string::npos);
}

template <class Kind>
void test_one_element() {
  float x = 5;
  const view<float, 0> v(&x, {});
  const auto m = v.template mdspan<Kind>();
  CHECK(m && element_of(*m) == 5.0F && m->rank() == 0);
  CHECK_EQ(as_view(*m)(), 5.0F);
}

template <class Kind, template <class, class, class, class> class Template, class Extents, class Fixed, class Narrow>
void test_asked() {
  float data[6] = {};
  const view<float, 2> v(data, {2, 3});
  using Right = Template<const float, Extents, typename Names<Kind>::layout_right,
                         typename Names<Kind>::template accessor<const float>>;
  using Left =
      Template<float, Extents, typename Names<Kind>::layout_left, typename Names<Kind>::template accessor<float>>;
  CHECK(as_mdspan<Right>(v) && as_mdspan<Right>(v)->data_handle() == data);
  CHECK(std::string(as_mdspan<Left>(v).why()).find("column-major") != std::string::npos);
  CHECK((as_mdspan<Left>(view<float, 2>(data, {2, 3}, {1, 2}))));
  CHECK((as_mdspan<Left>(view<float, 2, f_order>(data, {2, 3}))));
  CHECK(!as_mdspan<Right>(view<float, 2, f_order>(data, {2, 3})));
  CHECK(as_mdspan<Right>(view<float, 2, f_order>(data, {1, 3})));  // both at once
  // Static extents are conditions.
  using Static =
      Template<float, Fixed, typename Names<Kind>::layout_right, typename Names<Kind>::template accessor<float>>;
  CHECK(as_mdspan<Static>(v) && as_mdspan<Static>(v)->extent(1) == 3);
  CHECK(std::string(as_mdspan<Static>(view<float, 2>(data, {3, 2})).why()).find("static") != std::string::npos);
  CHECK((as_view(*as_mdspan<Static>(v)).extent(1) == 3));
  // So is the index type: of each extent, of their product, of the last element.
  using Small =
      Template<float, Narrow, typename Names<Kind>::layout_stride, typename Names<Kind>::template accessor<float>>;
  CHECK((as_mdspan<Small>(v) && as_mdspan<Small>(view<float, 2>(data, {2, 1}, {120, 1}))));
  for (const auto& large :
       {view<float, 2>(data, {128, 0}), view<float, 2>(data, {16, 8}), view<float, 2>(data, {2, 2}, {127, 1})}) {
    CHECK(std::string(as_mdspan<Small>(large).why()).find("too large") != std::string::npos);
  }
}

template <class Kind>
void test_devices() {
  float data[6] = {};
  const view<const float, 2, c_order, anyarray::cuda> v(data, {2, 3});
  const auto m = v.template mdspan<Kind>();
  CHECK(m.data_handle() == data && m.extent(1) == 3);
}

template <class Kind>
void test_all() {
  test_contiguous<Kind>();
  test_strided<Kind>();
  test_one_element<Kind>();
}

}  // namespace

int main() {
#ifdef STD
  test_all<std_mdspan>();
  test_asked<std_mdspan, std::mdspan, std::dextents<int, 2>, std::extents<int, std::dynamic_extent, 3>,
             std::dextents<signed char, 2>>();
  // The member without a name is the standard library's.
  static float data[4];
  static_assert(std::is_same_v<decltype(view<float, 2, c_order>().mdspan()),
                               std::mdspan<float, std::dextents<std::int64_t, 2>, std::layout_right>>);
  constexpr view<float, 2> v(data, {2, 2});
  constexpr auto m = v.mdspan();
  static_assert(m && m->stride(0) == 2);
#endif
#ifdef CUDA
  test_all<cuda_mdspan>();
  test_devices<cuda_mdspan>();
  namespace cs = ::cuda::std;
  test_asked<cuda_mdspan, cs::mdspan, cs::dextents<int, 2>, cs::extents<int, cs::dynamic_extent, 3>,
             cs::dextents<signed char, 2>>();
#endif
#ifdef KOKKOS
  test_all<kokkos_mdspan>();
  test_devices<kokkos_mdspan>();
  namespace ks = detail::kokkos;
  test_asked<kokkos_mdspan, ks::mdspan, ks::dextents<int, 2>, ks::extents<int, ks::dynamic_extent, 3>,
             ks::dextents<signed char, 2>>();
#endif
  return check::done();
}
