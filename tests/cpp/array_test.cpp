// SPDX-License-Identifier: Apache-2.0
// Arrays that own: made, adopted, shared, moved from, let go on another thread; and the range of all elements of a
// view.
#include "anyarray/array.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "anyarray/ranges.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

int released = 0;
void count(void* what) { released += *static_cast<int*>(what); }
int once = 1;

void test_make() {
  for (const auto& extents : {std::pair<std::int64_t, std::int64_t>{2, 3}, {1, 1}, {0, 3}, {3, 0}, {0, 0}}) {
    auto a = array<float, 2>::make({extents.first, extents.second});
    auto f = array<double, 2, f_order>::make({extents.first, extents.second});
    CHECK(a.ok() && a && f.ok() && a->extent(0) == extents.first && a->extent(1) == extents.second);
    CHECK(a->size() == extents.first * extents.second && a->data() != nullptr);
    CHECK_EQ(reinterpret_cast<std::uintptr_t>(a->data()) % 64, 0u);
    for (std::int64_t i = 0; i < a->extent(0); ++i) {
      for (std::int64_t j = 0; j < a->extent(1); ++j) {
        a(i, j) = static_cast<float>(10 * i + j);
        f(i, j) = a(i, j);
      }
    }
    for (std::int64_t i = 0; i < a->size(); ++i) {
      const std::int64_t row = i / extents.second;
      const std::int64_t column = i / extents.first;
      CHECK_EQ(a->data()[i], static_cast<float>(10 * row + i % extents.second));
      CHECK_EQ(f->data()[i], static_cast<double>(10 * (i % extents.first) + column));
    }
    CHECK(a.held()->c_contiguous() && f.held()->f_contiguous() && !a.held()->readonly());
  }
  auto scalar = array<int, 0>::make({});
  scalar() = 5;
  CHECK(scalar.ok() && scalar->size() == 1 && *scalar->data() == 5);
  const std::int64_t huge = INT64_MAX / 2;
  CHECK((!array<float, 1>::make({huge}).ok()));          // more bytes than there are
  CHECK((!array<float, 2>::make({huge, huge}).ok()));    // a size that overflows
  CHECK((!array<float, 2>::make({-1, 2}).ok()));         // no extent
  CHECK((array<float, 3>::make({huge, huge, 0}).ok()));  // no elements at all
}

void test_one_that_holds_nothing() {
  array<float, 2> none;
  CHECK(!none.ok() && !none && none->empty() && none->data() == nullptr);
  CHECK_EQ(none->size(), 0);
  array<float, 2> copy = none;
  array<float, 2> moved = std::move(none);
  CHECK(!copy.ok() && !moved.ok() && copy.held().owner() == nullptr);
  const array<float, 0> scalar;
  const array<float> any;
  CHECK(scalar->empty() && any->empty());
  CHECK((!array<float, 2>(Held()).ok()));
}

void test_sharing() {
  released = 0;
  int data[] = {1, 2, 3, 4, 5, 6};
  {
    auto a = array<int, 2>::own(view<int, 2>(data, {2, 2}, {3, 1}), count, &once);
    CHECK(a.ok() && a(1, 1) == 5 && a->stride(0) == 3);
    {
      const array<int, 2> b = a;  // NOLINT(performance-unnecessary-copy-initialization): that copies share is the test
      b(1, 1) = 7;                // const is the array's, not the elements'
      CHECK(a(1, 1) == 7 && b->data() == a->data());
    }
    CHECK_EQ(released, 0);
    auto& same = a;
    a = same;
    CHECK(a.ok() && a(0, 0) == 1);
    a = std::move(same);
    CHECK(a.ok() && a(0, 0) == 1);
    array<int, 2> c = std::move(a);
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what is left is the test
    CHECK(c.ok() && !a.ok() && a->data() == nullptr && a->empty());
    a = c;
    c = array<int, 2>();
    CHECK(a.ok() && !c.ok() && released == 0);
    const Held held = a.held();
    a = {};
    CHECK_EQ(released, 0);
    CHECK((array<const int, 2>(held).ok() && array<const int>(held).ok()));
    CHECK((!array<int, 3>(held).ok() && !array<float, 2>(held).ok() && !array<int, 2, c_order>(held).ok()));
    Held taken = array<int, 2>(held).held();  // of a temporary: moved out
    CHECK(taken.ok());
    a = array<int, 2>(held);
    const Held left = std::move(a).held();
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what is left is the test
    CHECK(left.ok() && !a.ok() && a->empty());
  }
  CHECK_EQ(released, 1);
}

/// The end of what was held may run code that reads the array: Python's, say.
void test_assignment_is_done_before_the_end_of_what_was_held() {
  static array<int, 1> current;
  static int seen = 0;
  int first[] = {1};
  int second[] = {2};
  const auto look = [](void*) { seen = current.ok() && current->data() == current.held()->data ? current(0) : -1; };
  current = array<int, 1>::own(view<int, 1>(first, {1}), look, nullptr);
  current = array<int, 1>::own(view<int, 1>(second, {1}), nullptr, nullptr);
  CHECK_EQ(seen, 2);
  current = {};
}

void test_own() {
  released = 0;
  int data[] = {1, 2, 3, 4, 5, 6};
  {
    const auto fixed = array<const int, 2>::own(view<const int, 2>(data, {2, 3}), count, &once);
    CHECK(fixed.held()->readonly());
    // Of a dynamic rank the extents are the array's own, not those of the view that told them.
    array<int> dynamic;
    {
      std::int64_t shape[] = {3, 2};
      std::int64_t strides[] = {8, 4};
      Descriptor d{data, shape, strides, element<int>::dtype, cpu_device, 2, 0};
      view<int> parts;
      CHECK(view<int>::from(d, &parts));
      dynamic = array<int>::own(parts, count, &once);
      shape[0] = strides[0] = -1;
    }
    CHECK(dynamic.ok() && dynamic->rank() == 2 && dynamic->extent(0) == 3 && dynamic(2, 1) == 6);
    const array<int> copy = dynamic;
    dynamic = array<int>();
    CHECK(copy->extent(0) == 3 && copy->stride(0) == 2 && copy(2, 1) == 6);
    // More dimensions than a borrow has room for.
    const auto deep = array<int, 9>::own(view<int, 9>(data, {1, 1, 1, 1, 1, 1, 1, 2, 3}), count, &once);
    CHECK(deep.ok() && deep(0, 0, 0, 0, 0, 0, 0, 1, 2) == 6);
    const array<const int> of_any_rank(deep.held());
    CHECK_EQ(of_any_rank->rank(), 9);
    const auto lent = array<int, 1>::own(view<int, 1>(data, {6}), nullptr, nullptr);
    CHECK(lent.ok() && lent[5] == 6);
    const auto elsewhere = array<int, 1, strided, cuda>::own(
        view<int, 1, strided, cuda>(data, {6}).on_device({DeviceType::cuda, 1}), nullptr, nullptr);
    CHECK(elsewhere.held()->device == (Device{DeviceType::cuda, 1}) && elsewhere->device().id == 1);
  }
  CHECK_EQ(released, 3);
}

void test_adopt() {
  std::vector<double> v{1, 2, 3};
  const double* const memory = v.data();
  const auto a = array<double, 1>::adopt(std::move(v));
  CHECK(a.ok() && a->data() == memory && a[2] == 3.0);
  const auto empty = array<const int, 1, c_order>::adopt(std::vector<int>());
  CHECK(empty.ok() && empty->empty());
}

void test_threads() {
  released = 0;
  static int data[] = {1, 2, 3};
  auto a = array<int, 1>::own(view<int, 1>(data, {3}), count, &once);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([a] {
      for (int i = 0; i < 2000; ++i) {
        array<int, 1> mine = a;
        const array<int, 1> other = std::move(mine);
        if (other[1] != 2) std::abort();
      }
    });
  }
  a = {};
  for (std::thread& t : threads) t.join();
  threads.clear();
  CHECK_EQ(released, 1);
}

// What a function declares, an array is given for.
float first(view<const float, 2> v) { return v(0, 0); }
int rank(view<const float, 2, strided, any_device> v) { return v.rank(); }

void test_arrays_become_views() {
  auto a = array<float, 2, c_order>::make({1, 1});
  a(0, 0) = 2.5F;
  CHECK(first(a) == 2.5F && rank(a) == 2);
  const view<float, 2, c_order> exact = a;
  CHECK_EQ(exact.data(), a->data());
  using A = array<const float, 2>;
  static_assert(std::is_convertible_v<A&, view<const float, 2>> && !std::is_convertible_v<A&, view<float, 2>>);
  static_assert(!std::is_convertible_v<A, view<const float, 2>> &&
                !std::is_convertible_v<const A, view<const float, 2>>);
}

// --- all elements of a view -------------------------------------------------------------------------------------

template <class View>
std::vector<int> listed(const View& v) {
  std::vector<int> all;
  for (const int x : elements(v)) all.push_back(x);
  return all;
}

void test_elements() {
  int data[24];
  std::iota(data, data + 24, 0);
  using List = std::vector<int>;
  CHECK((listed(view<int, 2>(data, {2, 3})) == List{0, 1, 2, 3, 4, 5}));
  CHECK((listed(view<int, 2, c_order>(data, {2, 3})) == List{0, 1, 2, 3, 4, 5}));
  CHECK((listed(view<int, 2, f_order>(data, {2, 3})) == List{0, 2, 4, 1, 3, 5}));
  CHECK((listed(view<int, 2>(data + 5, {2, 3}, {-3, -1})) == List{5, 4, 3, 2, 1, 0}));
  CHECK((listed(view<int, 2>(data, {2, 2}, {0, 1})) == List{0, 1, 0, 1}));
  CHECK((listed(view<int, 1>(data, {3}, {2})) == List{0, 2, 4}));
  CHECK((listed(view<int, 1, f_order>(data, {3})) == List{0, 1, 2}));
  CHECK((listed(view<int, 0>(data + 7, {})) == List{7}));
  CHECK((listed(view<int, 3>(data, {2, 1, 2}, {2, 99, 1})) == List{0, 1, 2, 3}));
  for (const auto& v :
       {view<int, 3>(data, {0, 2, 3}), view<int, 3>(data, {2, 0, 3}), view<int, 3>(data, {2, 3, 0}), view<int, 3>()}) {
    CHECK(listed(v).empty() && elements(v).empty());
    CHECK_EQ(static_cast<int>(elements(v).size()), 0);
  }
  const std::int64_t shape[] = {2, 2, 3};
  const std::int64_t strides[] = {48, 24, 8};
  const Descriptor d{data, shape, strides, element<int>::dtype, cpu_device, 3, 0};
  view<int> any;
  CHECK(view<int>::from(d, &any));
  CHECK((listed(any) == List{0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}));
  auto all = elements(any);
  CHECK_EQ(all.size(), 12);
  CHECK_EQ(std::accumulate(all.begin(), all.end(), 0), 132);
  CHECK(*std::max_element(all.begin(), all.end()) == 22 && std::distance(all.begin(), all.end()) == 12);
  std::fill(all.begin(), all.end(), 1);
  CHECK(data[22] == 1 && data[21] == 21);
  auto i = all.begin();
  const auto before = i++;
  CHECK(before == all.begin() && before != i && &*i == data + 2);
}

void test_algorithms_on_one_dimension() {
  int data[] = {5, 0, 3, 0, 4, 0, 1, 0};
  const view<int, 1> v(data, {4}, {2});
  std::sort(v.begin(), v.end());
  CHECK((std::vector<int>(data, data + 8) == std::vector<int>{1, 0, 3, 0, 4, 0, 5, 0}));
  const view<int, 1> r(data + 6, {4}, {-2});
  CHECK(std::is_sorted(r.begin(), r.end(), std::greater<int>()));
  CHECK_EQ(std::lower_bound(v.begin(), v.end(), 4) - v.begin(), 2);
  std::reverse(v.begin(), v.end());
  CHECK(data[0] == 5 && data[6] == 1);
}

}  // namespace

int main() {
  test_make();
  test_one_that_holds_nothing();
  test_sharing();
  test_assignment_is_done_before_the_end_of_what_was_held();
  test_own();
  test_adopt();
  test_threads();
  test_arrays_become_views();
  test_elements();
  test_algorithms_on_one_dimension();
  return check::done();
}
