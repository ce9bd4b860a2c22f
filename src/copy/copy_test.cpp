// SPDX-License-Identifier: Apache-2.0
// Copies: what they are like, what becomes of values at the edges, and every layout that a descriptor
// can say. That values are NumPy's bit by bit, tests/downstream/test_copies.py shows.
#include "anyarray/copy.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <vector>

#include "anyarray/complex.h"
#include "tests/cpp/arrays.h"

using namespace anyarray;
using namespace arrays;

namespace {

void test_what_a_copy_is_like() {
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  const Source s(numbers, of<float>, {3, 2}, {4, 12});
  const Made c(s.desc, Request());
  CHECK(c.status == Status::ok && c->dtype == of<float> && c->c_contiguous() && !c->readonly());
  CHECK(reinterpret_cast<std::uintptr_t>(c->data) % 64 == 0 && c->device.type == DeviceType::cpu);
  CHECK(c.borrow().protocol == no_protocol && c.borrow().owner == nullptr && c.borrow().context == nullptr);
  CHECK((c->flags & flag_copied) != 0);
  CHECK(c.values<float>() == (std::vector<float>{1, 4, 2, 5, 3, 6}));
  Request r;
  r.order = Order::f;
  r.writable = true;
  const Made f(s.desc, r);
  CHECK(f->f_contiguous() && !f->c_contiguous());
  CHECK(f.values<float>() == (std::vector<float>{1, 2, 3, 4, 5, 6}));
  Borrow moved;
  Borrow made;
  CHECK(copy_as(s.desc, Request(), &made, nullptr) == Status::ok);
  move_borrow(moved, made);
  release(made);
  CHECK_EQ(static_cast<float*>(moved.desc.data)[1], 4.0f);
  release(moved);
  release(moved);
}

void test_choice_of_dtype() {
  const std::int32_t whole[] = {1, -2};
  const Source s(whole, of<std::int32_t>, {2});
  const DType wanted[] = {of<std::uint8_t>, of<float>, of<double>, of<std::int32_t>.with_swapped(true),
                          of<std::int32_t>};
  Request r;
  r.dtypes = wanted;
  r.n_dtypes = 4;
  CHECK(Made(s.desc, r)->dtype == of<float>);  // no kind is lost, the first of the others
  r.n_dtypes = 5;
  CHECK(Made(s.desc, r)->dtype == of<std::int32_t>);
  r.n_dtypes = 1;
  CHECK(Made(s.desc, r).refused(Status::mismatch, "elements of dtype int32 can't be cast to uint8 (by the rule"));
  const Source swapped(whole, of<std::int32_t>.with_swapped(true), {2});
  r.n_dtypes = 5;
  CHECK(Made(swapped.desc, r)->dtype == of<std::int32_t>);
  r.n_dtypes = 4;
  CHECK(Made(swapped.desc, r)->dtype == of<std::int32_t>.with_swapped(true));
  CHECK(Made(swapped.desc, Request())->dtype == of<std::int32_t>);
  CHECK(Made(swapped.desc, Request()).values<std::int32_t>() == (std::vector<std::int32_t>{0x01000000, -0x01000001}));
  CHECK(Made(s, of<double>.with_swapped(true)).values<std::uint64_t>()[0] == 0xf03f);
}

template <class To, class From>
To cast(From v, DType from = of<From>, DType to = of<To>) {
  const Made c(Source(&v, from, {}), to);
  CHECK(c.status == Status::ok && c->ndim == 0);
  return c.status == Status::ok ? c.values<To>()[0] : To{};
}

template <class Float>
void test_floats_out_of_range() {
  using Limits = std::numeric_limits<Float>;
  for (const Float v : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), Limits::max(), Float(-1e20)}) {
    CHECK_EQ(cast<std::int32_t>(v), INT32_MIN);
    CHECK_EQ(cast<std::int64_t>(v), INT64_MIN);
    CHECK_EQ(int{cast<std::int8_t>(v)}, 0);
    CHECK_EQ(cast<std::uint16_t>(v), 0);
    CHECK_EQ(cast<std::uint32_t>(v), 0u);
    CHECK_EQ(cast<std::uint64_t>(v), v > 0 ? 0 : std::uint64_t{1} << 63);
  }
  CHECK_EQ(int{cast<std::int8_t>(Float(300.9))}, 44);
  CHECK_EQ(int{cast<std::uint8_t>(Float(-1.9))}, 255);
  CHECK_EQ(cast<std::uint32_t>(Float(-1)), UINT32_MAX);
  CHECK_EQ(cast<std::uint32_t>(Float(4294967296.0 * 3)), 0u);
  CHECK_EQ(cast<std::int32_t>(Float(-2147483648.0)), INT32_MIN);
  CHECK_EQ(cast<std::int32_t>(Float(2147483648.0)), INT32_MIN);
  CHECK_EQ(cast<std::int64_t>(Float(-0x1p63)), INT64_MIN);
  CHECK_EQ(cast<std::uint64_t>(Float(0x1p63)), std::uint64_t{1} << 63);
  CHECK_EQ(cast<std::uint64_t>(Float(-1)), UINT64_MAX);
  CHECK(cast<bool>(Limits::quiet_NaN()) && cast<bool>(Limits::denorm_min()) && !cast<bool>(Float(-0.0)));
}

void test_rounding() {
  const auto half = [](float v) { return cast<std::uint16_t>(v, of<float>, f16); };
  CHECK_EQ(half(65519.996f), 0x7bff);
  CHECK_EQ(half(65520.0f), 0x7c00);
  CHECK_EQ(half(0x1p-25f), 0);
  CHECK_EQ(half(-0x1.000002p-25f), 0x8001);
  CHECK_EQ(half(0x1.8p-24f), 2);  // a tie: to the even one
  CHECK_EQ(half(0x1.ff8p-15f), 0x3ff);
  CHECK_EQ(half(0x1.ffcp-15f), 0x400);
  CHECK_EQ(half(1 + 0x1p-11f), 0x3c00);
  CHECK_EQ(half(1 + 3 * 0x1p-11f), 0x3c02);
  CHECK_EQ(cast<std::uint16_t>(1 + 0x1p-11 + 0x1p-52, of<double>, f16), 0x3c01);  // not by way of a float
  CHECK_EQ(cast<std::uint16_t>(1.0f + 0x1p-8f, of<float>, bf16), 0x3f80);
  CHECK_EQ(cast<std::uint16_t>(1.0f + 3 * 0x1p-8f, of<float>, bf16), 0x3f82);
  CHECK_EQ(cast<std::uint16_t>(std::numeric_limits<float>::max(), of<float>, bf16), 0x7f80);
  CHECK_EQ(cast<float>((std::int64_t{1} << 62) + (std::int64_t{1} << 38) + 1),
           0x1.000002p62f);  // not by way of a double
  CHECK_EQ(cast<float>(UINT64_MAX), 0x1p64f);
  CHECK_EQ(cast<float>(1e300), std::numeric_limits<float>::infinity());
}

void test_complex() {
  using C = std::complex<float>;
  CHECK_EQ(cast<std::complex<double>>(C(1, -2)), std::complex<double>(1, -2));
  CHECK_EQ(cast<C>(std::int16_t{-3}), C(-3, 0));
  CHECK_EQ(cast<float>(C(4, 5)), 4.0f);
  CHECK(cast<bool>(C(0, 5)) && cast<bool>(C(0, NAN)) && !cast<bool>(C(0, -0.0f)));
  CHECK(cast<bool>(std::complex<double>(0, 1)));
  const DType c32 = make_dtype(TypeCode::complex, 32);
  CHECK_EQ(cast<std::uint32_t>(C(1, -2), of<C>, c32), 0xc0003c00u);
  CHECK_EQ(cast<C>(std::uint32_t{0xc0003c00}, c32, of<C>), C(1, -2));
  CHECK_EQ(cast<C>(std::uint64_t{0x0000004000008040}, of<C>.with_swapped(true), of<C>), C(4, 2));
}

/// Elements below a byte, packed without gaps from the lowest bit on, and padded to bytes.
void test_narrow() {
  const unsigned char bytes[] = {0xe1, 0x87, 0x0f};
  using V = std::vector<std::int16_t>;
  const DType i4 = make_dtype(TypeCode::int_, 4), i16 = of<std::int16_t>;
  CHECK((Made(Source(bytes, i4, {2, 3}), i16).values<std::int16_t>() == V{1, -2, 7, -8, -1, 0}));
  CHECK((Made(Source(bytes, make_dtype(TypeCode::uint, 2), {5}), i16).values<std::int16_t>() == V{1, 0, 2, 3, 3}));
  CHECK((Made(Source(bytes, make_dtype(TypeCode::int_, 1), {3}), i16).values<std::int16_t>() == V{-1, 0, 0}));
  CHECK((Made(Source(bytes, i4.with_padded(true), {3}), i16).values<std::int16_t>() == V{1, 7, -1}));
  // Two lanes of four bits fill a byte: there are strides, and they may be negative.
  const DType pair = make_dtype(TypeCode::int_, 4, 2), wide = make_dtype(TypeCode::int_, 16, 2);
  CHECK((Made(Source(bytes + 2, pair, {3}, {-1}), wide).values<std::int16_t>() == V{-1, 0, 7, -8, 1, -2}));
  Request f = Made::asks(i16);
  f.order = Order::f;
  CHECK((Made(Source(bytes, i4, {2, 3}).desc, f).values<std::int16_t>() == V{1, -8, -2, -1, 7, 0}));
  const Made same(Source(bytes, i4, {5}).desc, Request());
  CHECK(same->strides == nullptr && std::memcmp(same->data, bytes, 3) == 0);
  f = Request();
  f.order = Order::f;
  CHECK(Made(Source(bytes, i4, {2, 3}).desc, f).refused(Status::mismatch, "Fortran"));
  f = Request();
  f.layout = layout_bytes;
  CHECK(Made(Source(bytes, i4, {2, 3}).desc, f).refused(Status::mismatch, "packed below a byte"));

  const unsigned char f8[] = {0x3c, 0xc0, 0x7e};
  const Made e5m2(Source(f8, make_dtype(TypeCode::float8_e5m2, 8), {3}), of<float>);
  CHECK(e5m2.values<float>()[0] == 1 && e5m2.values<float>()[1] == -2 && std::isnan(e5m2.values<float>()[2]));
  const Made f4(Source(bytes, make_dtype(TypeCode::float4_e2m1fn, 4), {2}), of<double>);
  CHECK((f4.values<double>() == std::vector<double>{0.5, -4}));
  const Made e8(Source(f8, make_dtype(TypeCode::float8_e8m0fnu, 8), {1}), of<double>);
  CHECK_EQ(e8.values<double>()[0], 0x1p-67);
}

/// Any layout: read element by element, and compared with the copy's.
void check_layout(const Source& s, Order order) {
  Request r = Made::asks(of<double>);
  r.order = order;
  const Made wide(s.desc, r);
  r.has_dtype = false;
  const Made same(s.desc, r);
  CHECK(wide.status == Status::ok && same.status == Status::ok);
  CHECK(order == Order::f ? wide->f_contiguous() && same->f_contiguous()
                          : wide->c_contiguous() && same->c_contiguous());
  Ints index(s.shape.size(), 0);
  const auto at = [&index](const Descriptor& d) {
    const char* p = static_cast<const char*>(d.data);
    for (std::size_t i = 0; i < index.size(); ++i) p += index[i] * d.strides[i];
    return p;
  };
  bool equal = true;
  for (std::int64_t n = s.desc.size(); n > 0; --n) {
    std::int32_t given = 0;
    std::int32_t kept = 0;
    double cast = 0;
    std::memcpy(&given, at(s.desc), sizeof given);
    std::memcpy(&kept, at(*same), sizeof kept);
    std::memcpy(&cast, at(*wide), sizeof cast);
    equal &= given == kept && static_cast<double>(given) == cast;
    for (std::size_t i = index.size(); i > 0; --i) {
      if (++index[i - 1] < s.shape[i - 1]) break;
      index[i - 1] = 0;
    }
  }
  CHECK(equal);
}

void test_layouts() {
  std::vector<char> memory(4 * 4096 + 1);
  for (std::int32_t i = 0; i < 4096; ++i) std::memcpy(&memory[1 + 4 * static_cast<std::size_t>(i)], &i, 4);
  const char* const p = &memory[1];  // misaligned
  const DType t = of<std::int32_t>;
  std::deque<Source> all;
  all.emplace_back(p, t, Ints{});
  all.emplace_back(p, t, Ints{0});
  all.emplace_back(nullptr, t, Ints{3, 0, std::int64_t{1} << 60}, Ints{-8, 5, 1});
  all.emplace_back(p, t, Ints{1}, Ints{INT64_MIN});
  all.emplace_back(p, t, Ints{16, 16, 16});
  all.emplace_back(p, t, Ints{16, 16, 16}, Ints{4, 64, 1024});
  all.emplace_back(p, t, Ints{16, 16, 16}, Ints{64, 1024, 4});
  all.emplace_back(p + 4 * 4095, t, Ints{4096}, Ints{-4});
  all.emplace_back(p + 4 * 300, t, Ints{5, 7, 3}, Ints{0, -40, 12});
  all.emplace_back(p, t, Ints{1000, 3}, Ints{3, 5});  // between the elements
  all.emplace_back(p, t, Ints{3, 1, 700}, Ints{0, 7, 0});
  all.emplace_back(p, t, Ints(64, 1));
  Ints deep(64, 1), steps(64, 3);
  for (const std::size_t i : {0, 31, 62, 63}) {
    deep[i] = 3;
    steps[i] = static_cast<std::int64_t>(i);
  }
  all.emplace_back(p, t, deep, steps);
  for (const Source& s : all) {
    check_layout(s, Order::any);
    check_layout(s, Order::c);
    check_layout(s, Order::f);
  }
}

void test_moved_as_bytes() {
  char text[] = "abcdefghijkl";
  const Made s(Source(text + 9, make_bytes(3), {4}, {-3}).desc, Request());
  CHECK(std::memcmp(s->data, "jklghidefabc", 12) == 0);
  const Made empty(Source(text, make_bytes(0), {4}).desc, Request());
  CHECK(empty.status == Status::ok && empty->data != nullptr && empty->nbytes() == 0);
  const Made time(Source(text, make_time(TypeCode::datetime64, TimeUnit::s).with_swapped(true), {}).desc, Request());
  CHECK(std::memcmp(time->data, "hgfedcba", 8) == 0 && !time->dtype.swapped());
  const Made wide(Source(text, make_ucs4(2).with_swapped(true), {1}).desc, Request());
  CHECK(std::memcmp(wide->data, "dcbahgfe", 8) == 0);
  const Field fields[] = {{"a", of<std::int16_t>.with_swapped(true), 0}, {"b", make_void(3), 2}};
  DType record;
  CHECK(intern_struct(fields, 2, 6, &record, nullptr) == Status::ok);
  const Made r(Source(text, record, {2}).desc, Request());
  CHECK(r->dtype == record && std::memcmp(r->data, text, 12) == 0);
}

void test_refusals() {
  const float one = 1;
  Source s(&one, of<float>, {1});
  Request r;
  r.ndim = 2;
  CHECK(Made(s.desc, r).refused(Status::mismatch, "ndim 1, 2 was asked for"));
  r = Request();
  r.device = {DeviceType::cuda, 0};
  CHECK(Made(s.desc, r).refused(Status::device, "cuda:0 was asked for"));
  CHECK(Made(s, make_void(4)).refused(Status::unsupported, "no such conversion is there"));
  s.desc.device = {DeviceType::cuda, 1};
  CHECK(Made(s.desc, Request()).refused(Status::device, "cuda:1, whose memory the host can't read"));
  s.desc.device = {DeviceType::cuda_host, 0};
  CHECK(Made(s.desc, Request())->device == cpu_device);
  const Source negative(&one, of<float>, {-1});
  CHECK(Made(negative.desc, Request()).refused(Status::invalid, "negative"));
  const Source huge(&one, of<std::int8_t>, {std::int64_t{1} << 31, std::int64_t{1} << 31}, {0, 0});
  CHECK(Made(huge.desc, Request()).refused(Status::no_memory, "out of memory"));
  CHECK(Made(huge, of<double>).refused(Status::no_memory, "more bytes than 64 bits"));
}

/// New memory of more bytes than are filled at once, on one thread and on two, in both orders.
void test_large() {
  constexpr std::int64_t rows = 1301, columns = 1003;
  std::vector<std::int32_t> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 2654435761u);
  const Source c(values.data(), of<std::int32_t>, {rows, columns});
  const Source f(values.data(), of<std::int32_t>, {columns, rows}, {4, 4 * columns});
  const int before = num_threads();
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    for (const Source* from : {&c, &f}) {
      Request wanted;
      wanted.order = from == &f ? Order::f : Order::c;
      const Made made(from->desc, wanted);
      CHECK(made.status == Status::ok && std::memcmp(made.borrow().desc.data, values.data(), values.size() * 4) == 0);
    }
  }
  set_num_threads(before);
}

}  // namespace

int main() {
  test_what_a_copy_is_like();
  test_choice_of_dtype();
  test_floats_out_of_range<float>();
  test_floats_out_of_range<double>();
  test_rounding();
  test_complex();
  test_narrow();
  test_layouts();
  test_moved_as_bytes();
  test_refusals();
  test_large();
  return check::done();
}
