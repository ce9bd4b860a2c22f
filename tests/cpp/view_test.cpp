// SPDX-License-Identifier: Apache-2.0
// Typed views: what each type asks for and takes, where its elements lie, what becomes of another view. Over all
// layouts, ranks from 0, dtypes, devices; arrays that are empty, null, misaligned, reversed, broadcast.
#include "anyarray/view.h"

#include <cstring>
#include <vector>

#include "anyarray/casters/signature.h"
#include "anyarray/complex.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

/// A descriptor with its own shape and strides.
struct Described {
  std::vector<std::int64_t> shape, strides;
  Descriptor d;

  Described(void* data, DType dtype, std::vector<std::int64_t> extents, std::vector<std::int64_t> byte_strides,
            std::uint32_t flags = 0, Device device = cpu_device)
      : shape(std::move(extents)), strides(std::move(byte_strides)) {
    shape.reserve(1);
    strides.reserve(1);
    d = {data, shape.data(), strides.data(), dtype, device, static_cast<std::int32_t>(shape.size()), flags};
  }
};

constexpr DType f32 = make_dtype(TypeCode::float_, 32);
constexpr DType f64 = make_dtype(TypeCode::float_, 64);
alignas(16) float numbers[24];

/// Whether takes() and from() agree, and whether from() leaves a view alone that it doesn't fill.
template <class View>
bool takes(const Descriptor& d) {
  View v;
  const bool taken = View::from(d, &v);
  CHECK_EQ(taken, View::takes(d));
  if (!taken) CHECK(v.data() == nullptr && v.size() == 0);
  if (taken) CHECK(v.data() == d.data && v.rank() == d.ndim);
  return taken;
}

// --- element types ----------------------------------------------------------------------------------------------

static_assert(element<bool>::dtype == make_dtype(TypeCode::bool_, 8));
static_assert(element<std::int8_t>::dtype == make_dtype(TypeCode::int_, 8));
static_assert(element<unsigned char>::dtype == make_dtype(TypeCode::uint, 8));
static_assert(element<std::byte>::dtype == make_dtype(TypeCode::uint, 8));
static_assert(element<short>::dtype == make_dtype(TypeCode::int_, 16));
static_assert(element<unsigned>::dtype == make_dtype(TypeCode::uint, 32));
static_assert(element<long long>::dtype == make_dtype(TypeCode::int_, 64));
static_assert(element<float>::dtype == f32 && element<double>::dtype == f64);
static_assert(element<long double>::dtype.itemsize() == sizeof(long double));
static_assert(element<std::complex<float>>::dtype == make_dtype(TypeCode::complex, 64));
static_assert(element<std::complex<double>>::dtype == make_dtype(TypeCode::complex, 128));
static_assert(element<std::complex<long double>>::dtype.itemsize() == sizeof(std::complex<long double>));
static_assert(!detail::is_element<char>::value && !detail::is_element<wchar_t>::value);
static_assert(!detail::is_element<char16_t>::value && !detail::is_element<char32_t>::value);
static_assert(!detail::is_element<int*>::value && !detail::is_element<std::complex<int>>::value);

struct Half {
  std::uint16_t bits;
};

}  // namespace

template <>
struct anyarray::element<Half> {
  static constexpr DType dtype = make_dtype(TypeCode::bfloat, 16);
};

namespace {

static_assert(view<const Half, 1>::request.dtypes[0] == make_dtype(TypeCode::bfloat, 16));

// --- what a type asks for ---------------------------------------------------------------------------------------

static_assert(view<float, 2>::request.writable && !view<const float, 2>::request.writable);
static_assert(view<const float, 2>::request.ndim == 2 && view<const float>::request.ndim == -1);
static_assert(view<const float, 0>::request.ndim == 0);
static_assert(view<const float, 2, c_order>::request.order == Order::c);
static_assert(view<const float, 2, f_order>::request.order == Order::f);
static_assert(view<const float>::request.device.type == DeviceType::cpu);
static_assert(view<const float, 1, strided, cuda>::request.device.type == DeviceType::cuda);
static_assert(view<const float, 1, strided, cuda>::request.device.id == -1);
static_assert(!view<const void, dynamic_rank, strided, any_device>::request.has_conditions());
static_assert(view<const any_of<float, double>, 1>::request.n_dtypes == 2);
static_assert(!view<const any_of<float, double>, 1>::request.writable);
static_assert(!view<any_of<const float, const double>, 1>::request.writable);
static_assert(view<any_of<float, double>, 1>::request.writable);
static_assert(view<const float>::request.layout == layout_elements);
static_assert(view<const void, 1>::request.layout == layout_bytes && view<const void>::request.layout == 0);

static_assert(std::is_trivially_copyable_v<view<float, 3>> && std::is_trivially_copyable_v<view<const void>>);
static_assert(sizeof(view<const float, 2>) == 48 && sizeof(view<const float, 2, c_order>) <= 40);

// --- constant expressions ---------------------------------------------------------------------------------------

constexpr int constants[] = {1, 2, 3, 4, 5, 6};
constexpr view<const int, 2> rows(constants, {2, 3});
static_assert(rows(1, 2) == 6 && rows.stride(0) == 3 && rows.byte_stride(0) == 12 && rows.size() == 6);
constexpr view<const int, 2, f_order> columns(constants, {2, 3});
static_assert(columns(1, 2) == 6 && columns(1, 0) == 2 && columns.stride(1) == 2);
constexpr view<const int, 1> backwards(constants + 5, {3}, {-2});
static_assert(backwards[2] == 2 && *(backwards.begin() + 1) == 4 && backwards.end() - backwards.begin() == 3);
constexpr view<const int, 0> one(constants, {});
static_assert(one() == 1 && one.size() == 1 && !one.empty());
static_assert(view<const int, 0>().empty() && view<const int>().empty() && view<const int, 3>().empty());

// --- which views become which -----------------------------------------------------------------------------------

template <class From, class To>
constexpr bool becomes = std::is_convertible_v<From, To>;
static_assert(becomes<view<float, 2>, view<const float, 2>> && !becomes<view<const float, 2>, view<float, 2>>);
static_assert(becomes<view<float, 2, c_order>, view<const float, 2>>);
static_assert(!becomes<view<float, 2>, view<const float, 2, c_order>>);
static_assert(!becomes<view<float, 2, f_order>, view<const float, 2, c_order>>);
static_assert(becomes<view<float, 2>, view<float, 2, strided, any_device>>);
static_assert(becomes<view<float, 2, strided, cuda>, view<float, 2, strided, any_device>>);
static_assert(!becomes<view<float, 2, strided, any_device>, view<float, 2>>);
static_assert(!becomes<view<float, 2, strided, cuda>, view<float, 2>>);
static_assert(!becomes<view<float, 2>, view<float, 3>> && !becomes<view<float, 2>, view<float>>);
static_assert(!becomes<view<float, 2>, view<const double, 2>>);
static_assert(becomes<view<float>, view<const float>>);
static_assert(becomes<view<any_of<float, int>, 1>, view<const any_of<float, int>, 1>>);
static_assert(!becomes<view<const any_of<float, int>, 1>, view<any_of<float, int>, 1>>);
static_assert(becomes<view<void>, view<const void, dynamic_rank, strided, any_device>>);

void test_conversions() {
  const view<float, 2, c_order> c(numbers, {2, 3});
  const view<const float, 2> s = c;
  CHECK(s.stride(0) == 3 && s.stride(1) == 1 && &s(1, 2) == numbers + 5);
  const view<float, 2, f_order> f(numbers, {2, 3});
  const view<float, 2> t = f;
  CHECK(t.stride(0) == 1 && t.stride(1) == 2 && &t(1, 2) == numbers + 5);
  const view<float, 2, strided, any_device> d = t;
  CHECK(d.device() == cpu_device && d.data() == numbers && d.stride(1) == 2);
  const view<float, 2, strided, cuda> g(numbers, {2, 3});
  CHECK(g.device() == (Device{DeviceType::cuda, 0}));
  const view<const float, 2, strided, any_device> e = g.on_device({DeviceType::cuda, 3});
  CHECK(e.device() == (Device{DeviceType::cuda, 3}));
}

// --- what is taken ----------------------------------------------------------------------------------------------

void test_ranks() {
  const Described two(numbers, f32, {2, 3}, {12, 4});
  CHECK((takes<view<const float, 2>>(two.d)));
  CHECK((!takes<view<const float, 1>>(two.d)));
  CHECK((!takes<view<const float, 3>>(two.d)));
  CHECK((takes<view<const float>>(two.d)));
  CHECK((takes<view<const void, 2>>(two.d)));
  const Described none(numbers, f32, {}, {});
  CHECK((takes<view<const float, 0>>(none.d)));
  CHECK((takes<view<const float>>(none.d)));
  CHECK((!takes<view<const float, 1>>(none.d)));
  view<const float> any;
  CHECK(view<const float>::from(none.d, &any) && any.size() == 1 && &any() == numbers);
  std::vector<std::int64_t> extents(max_ndim, 1);
  std::vector<std::int64_t> strides(max_ndim, 4);
  const Described most(numbers, f32, extents, strides);
  CHECK((takes<view<const float, max_ndim>>(most.d)));
}

void test_dtypes() {
  const Described float32(numbers, f32, {4}, {4});
  const Described swapped(numbers, f32.with_swapped(true), {4}, {4});
  const Described pairs(numbers, make_dtype(TypeCode::float_, 32, 2), {4}, {8});
  const Described bfloat(numbers, make_dtype(TypeCode::bfloat, 32), {4}, {4});
  CHECK((takes<view<const float, 1>>(float32.d)));
  for (const Described* other : {&swapped, &pairs, &bfloat}) {
    CHECK((!takes<view<const float, 1>>(other->d)));
    CHECK((!takes<view<const any_of<float, double>, 1>>(other->d)));
    CHECK((takes<view<const void, 1>>(other->d)));
  }
  CHECK((!takes<view<const double, 1>>(float32.d)));
  CHECK((!takes<view<const std::int32_t, 1>>(float32.d)));
  CHECK((takes<view<const any_of<double, float>, 1>>(float32.d)));
  CHECK((!takes<view<const any_of<double, int>, 1>>(float32.d)));
}

void test_const_means_that_read_only_will_do() {
  const Described writable(numbers, f32, {4}, {4});
  const Described readonly(numbers, f32, {4}, {4}, flag_readonly);
  CHECK((takes<view<float, 1>>(writable.d)));
  CHECK((!takes<view<float, 1>>(readonly.d)));
  CHECK((takes<view<const float, 1>>(readonly.d)));
  CHECK((!takes<view<void, 1>>(readonly.d) && takes<view<const void, 1>>(readonly.d)));
  CHECK((!takes<view<any_of<float, double>, 1>>(readonly.d)));
  CHECK((takes<view<const any_of<float, double>, 1>>(readonly.d)));
  CHECK((takes<view<any_of<const float, const double>, 1>>(readonly.d)));
  CHECK((!takes<view<any_of<const float, double>, 1>>(readonly.d)));
}

void test_devices() {
  for (const DeviceType type :
       {DeviceType::cpu, DeviceType::cuda, DeviceType::cuda_host, DeviceType::rocm, DeviceType::rocm_host,
        DeviceType::cuda_managed, DeviceType::oneapi, DeviceType::metal}) {
    const Device device{type, type == DeviceType::cuda ? 2 : 0};
    const Described x(numbers, f32, {4}, {4}, 0, device);
    CHECK_EQ((takes<view<const float, 1>>(x.d)), host_readable(type));
    CHECK_EQ((takes<view<const float, 1, strided, cuda>>(x.d)), type == DeviceType::cuda);
    CHECK_EQ((takes<view<const float, 1, strided, rocm>>(x.d)), type == DeviceType::rocm);
    CHECK_EQ((takes<view<const float, 1, strided, oneapi>>(x.d)), type == DeviceType::oneapi);
    CHECK((takes<view<const float, 1, strided, any_device>>(x.d)));
    view<const float, 1, strided, any_device> v;
    CHECK((view<const float, 1, strided, any_device>::from(x.d, &v)) && v.device() == device);
    view<const float, 1> h;
    if (view<const float, 1>::from(x.d, &h)) CHECK(h.device() == cpu_device);
    view<const float, 1, strided, on<DeviceType::cuda_host>> pinned;
    if (decltype(pinned)::from(x.d, &pinned)) CHECK(pinned.device() == device && &pinned[1] == numbers + 1);
  }
}

void test_layouts() {
  struct Case {
    std::vector<std::int64_t> shape, strides;
    bool strided, c, f;
  };
  const Case cases[] = {
      {{2, 3}, {12, 4}, true, true, false},          // row-major
      {{2, 3}, {4, 8}, true, false, true},           // column-major
      {{2, 3}, {24, 8}, true, false, false},         // with gaps
      {{2, 3}, {-12, 4}, true, false, false},        // reversed
      {{2, 3}, {0, 4}, true, false, false},          // broadcast
      {{2, 3}, {14, 4}, false, false, false},        // no whole elements
      {{2, 3}, {12, 6}, false, false, false},        // …
      {{1, 3}, {7, 4}, true, true, true},            // of an extent of 1 the stride places nothing
      {{3, 1}, {4, -9}, true, true, true},           // …
      {{1, 1}, {1, 3}, true, true, true},            // …
      {{0, 3}, {5, 7}, true, true, true},            // nor does any where there are no elements
      {{3, 0}, {-1, 0}, true, true, true},           // …
      {{1, 2}, {1LL << 62, 4}, true, true, true},    // however large
      {{2, 1}, {4, -(1LL << 62)}, true, true, true}  // …
  };
  for (const Case& one : cases) {
    const Described x(numbers + 8, f32, one.shape, one.strides);
    CHECK_EQ((takes<view<const float, 2>>(x.d)), one.strided);
    CHECK_EQ((takes<view<const float, 2, c_order>>(x.d)), one.c);
    CHECK_EQ((takes<view<const float, 2, f_order>>(x.d)), one.f);
    CHECK_EQ((takes<view<const float>>(x.d)), one.strided);
    CHECK_EQ((takes<view<const float, dynamic_rank, c_order>>(x.d)), one.c);
    CHECK_EQ((takes<view<const float, dynamic_rank, f_order>>(x.d)), one.f);
    CHECK_EQ((takes<view<const any_of<double, float>, 2>>(x.d)), one.strided);
    CHECK((takes<view<const void, 2>>(x.d)));
    const auto addresses = [&](const auto& v) {
      for (std::int64_t i = 0; i < v.extent(0); ++i) {
        for (std::int64_t j = 0; j < v.extent(1); ++j) {
          const void* at = static_cast<const char*>(x.d.data) + i * one.strides[0] + j * one.strides[1];
          const std::int64_t index[] = {i, j};
          CHECK(&v(i, j) == at && &v.at(index) == at);
        }
      }
    };
    if (view<const float, 2> v; view<const float, 2>::from(x.d, &v)) addresses(v);
    if (view<const float> v; view<const float>::from(x.d, &v)) addresses(v);
    if (view<const float, 2, c_order> v; view<const float, 2, c_order>::from(x.d, &v)) addresses(v);
    if (view<const float, 2, f_order> v; view<const float, 2, f_order>::from(x.d, &v)) addresses(v);
    if (view<const any_of<double, float>, 2> v; decltype(v)::from(x.d, &v)) {
      v.visit([&](auto typed) {
        if constexpr (std::is_same_v<typename decltype(typed)::value_type, float>) addresses(typed);
      });
    }
  }
}

void test_alignment() {
  alignas(16) static char bytes[64];
  const Described off(bytes + 2, f32, {4}, {4});
  CHECK((!takes<view<const float, 1>>(off.d) && !takes<view<const float>>(off.d)));
  CHECK((!takes<view<const any_of<float, double>, 1>>(off.d)));
  CHECK((takes<view<const void, 1>>(off.d)));
  const Described empty(bytes + 2, f32, {0}, {4});
  CHECK((takes<view<const float, 1>>(empty.d)));
  const Described null(nullptr, f32, {0, 4}, {16, 4});
  CHECK((takes<view<const float, 2>>(null.d) && takes<view<float, 2, c_order>>(null.d)));
  const Described complex(bytes + 4, make_dtype(TypeCode::complex, 64), {3}, {12});
  CHECK((!takes<view<const std::complex<float>, 1>>(complex.d)));  // the stride isn't a whole number of elements
  const Described pairs(bytes + 4, make_dtype(TypeCode::complex, 64), {3}, {16});
  CHECK((takes<view<const std::complex<float>, 1>>(pairs.d)));
  view<const std::complex<float>, 1> v;
  CHECK((decltype(v)::from(pairs.d, &v)) && v.stride(0) == 2 && v.byte_stride(0) == 16);
}

void test_void() {
  const Described padded(numbers, make_void(12), {3}, {20});
  view<const void, 1> v;
  CHECK((view<const void, 1>::from(padded.d, &v)) && v.byte_stride(0) == 20 && v.stride(0) == 1);
  CHECK(v.dtype() == make_void(12) && v.size() == 3);
  const Described nothing(numbers, make_void(0), {3}, {0});
  CHECK((view<const void, 1>::from(nothing.d, &v)) && v.stride(0) == 0 && v.byte_stride(0) == 0);
  Described packed(numbers, make_dtype(TypeCode::int_, 4), {3, 5}, {});
  packed.d.strides = nullptr;
  CHECK((!takes<view<const void, 2>>(packed.d)));
  view<const void> any;
  CHECK(view<const void>::from(packed.d, &any) && any.size() == 15 && any.stride(0) == 0 && any.byte_stride(1) == 0);
  CHECK((takes<view<const void, dynamic_rank, c_order>>(packed.d)));
  CHECK((!takes<view<const void, dynamic_rank, f_order>>(packed.d)));
}

void test_sizes_without_elements_do_not_overflow() {
  const std::int64_t huge = 1LL << 40;
  const Described x(nullptr, f32, {huge, huge, huge, 0}, {4, 4, 4, 4});
  view<const float, 4, c_order> c;
  CHECK((decltype(c)::from(x.d, &c)) && c.empty());
  CHECK_EQ(c.size(), 0);
  c.stride(0);
  view<const float> any;
  CHECK(view<const float>::from(x.d, &any) && any.empty());
  CHECK_EQ(any.size(), 0);
  CHECK((view<float, 3>(nullptr, {huge, huge, 0}).empty()));
}

// --- one of several ---------------------------------------------------------------------------------------------

void test_visit() {
  double doubles[] = {0.5, 1.5, 2.5, 3.5};
  const Described d(doubles, f64, {2, 2}, {16, 8});
  view<const any_of<float, double, std::int32_t>, 2> v;
  CHECK((decltype(v)::from(d.d, &v)) && v.dtype() == f64 && v.data() == doubles && v.stride(0) == 2);
  const double sum = v.visit([](auto typed) -> double {
    static_assert(std::is_const_v<typename decltype(typed)::element_type>);
    double total = 0;
    for (std::int64_t i = 0; i < typed.extent(0); ++i) {
      for (std::int64_t j = 0; j < typed.extent(1); ++j) total += static_cast<double>(typed(i, j));
    }
    return total;
  });
  CHECK_EQ(sum, 8.0);
  view<any_of<float, double>, 2> w;
  CHECK((decltype(w)::from(d.d, &w)));
  w.visit([](auto typed) { typed(1, 1) = 7; });
  CHECK_EQ(doubles[3], 7.0);
  int source = 0;
  view<any_of<float, double>, dynamic_rank, strided, any_device> any;
  CHECK((decltype(any)::from(d.d, &any, &source)));
  CHECK(any.visit([&](auto typed) { return typed.source() == &source && typed.size() == 4; }));
  // Of two types of one dtype the first is there.
  view<any_of<long long, std::int64_t>, 1> same;
  std::int64_t n[] = {1};
  const Described i(n, element<std::int64_t>::dtype, {1}, {8});
  CHECK((decltype(same)::from(i.d, &same)));
  CHECK(same.visit([](auto typed) { return std::is_same_v<typename decltype(typed)::value_type, long long>; }));
}

// --- one dimension ----------------------------------------------------------------------------------------------

void test_iteration() {
  for (int i = 0; i < 24; ++i) numbers[i] = static_cast<float>(i);
  const view<float, 1> every_third(numbers, {4}, {3});
  float sum = 0;
  for (const float x : every_third) sum += x;
  CHECK_EQ(sum, 18.0f);
  auto i = every_third.begin();
  CHECK(i[2] == 6 && *(i + 3) == 9 && *(1 + i) == 3 && every_third.end() - i == 4 && i < every_third.end());
  CHECK_EQ(*++i, 3);
  CHECK_EQ(*i++, 3);
  CHECK_EQ(*i, 6);
  CHECK_EQ(*--i, 3);
  CHECK_EQ(*i--, 3);
  CHECK_EQ(*i, 0);
  i += 2;
  i -= 1;
  CHECK(*i == 3 && i != every_third.begin() && i > every_third.begin() && i >= i && i <= i);
  const view<float, 1> constant(numbers + 5, {3}, {0});
  for (const float x : constant) CHECK_EQ(x, 5.0f);
  CHECK_EQ(constant.end() - constant.begin(), 3);
  const view<const float, 1, c_order> plain(numbers, {24});
  static_assert(std::is_same_v<decltype(plain.begin()), const float*>);
  CHECK(plain.end() - plain.begin() == 24 && plain[23] == 23);
  for (const float x : view<float, 1>()) CHECK_EQ(x, 0.0f);  // none
  view<float, 1, strided, any_device> elsewhere;
  CHECK(elsewhere.empty());
}

void test_elements_of_other_sizes() {
  long double wide[] = {1, 2, 3};
  const view<long double, 1> reversed(wide + 2, {3}, {-1});
  CHECK(reversed[0] == 3 && reversed[2] == 1 && reversed.byte_stride(0) == -static_cast<int>(sizeof(long double)));
  std::complex<double> z[] = {{1, 2}, {3, 4}};
  const view<std::complex<double>, 1> v(z, {2});
  CHECK(v[1].imag() == 4 && v.byte_stride(0) == 16);
  bool flags[] = {true, false};
  CHECK((view<const bool, 1>(flags, {2})[0]));
}

/// What signatures call a dtype is its name everywhere else, which can be read again.
void test_names_in_signatures() {
  for (const DTypeRow& row : dtype_table) {
    for (const std::uint32_t count : {1u, 2u, 16u}) {
      const DType d = make_dtype(row.code, row.bits, count);
      char name[80];
      format_dtype(d, name, sizeof name);
      casters::Text text;
      CHECK(casters::put_dtype(text, d) && std::strcmp(text.text, name) == 0);
    }
  }
  casters::Text text;
  CHECK(!casters::put_dtype(text, make_dtype(TypeCode::float_, 24)) && text.size == 0);
}

}  // namespace

int main() {
  test_conversions();
  test_ranks();
  test_dtypes();
  test_const_means_that_read_only_will_do();
  test_devices();
  test_layouts();
  test_alignment();
  test_void();
  test_sizes_without_elements_do_not_overflow();
  test_visit();
  test_iteration();
  test_elements_of_other_sizes();
  test_names_in_signatures();
  return check::done();
}
