// SPDX-License-Identifier: Apache-2.0
// Borrows from plain parts: what is refused and with which words, what is filled in, and when the owner is told.
#include "anyarray/produce.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

using Ints = std::vector<std::int64_t>;
constexpr DType f32 = make_dtype(TypeCode::float_, 32);
alignas(16) unsigned char memory[256];

void count(void* what) { ++*static_cast<int*>(what); }

Descriptor parts(void* data, const Ints& shape, const std::int64_t* strides, DType t) {
  return Descriptor{data, shape.data(), strides, t, cpu_device, static_cast<std::int32_t>(shape.size()), 0};
}

bool refused(const Descriptor& d, const char* words) {
  Borrow b;
  Reason why;
  int released = 0;
  const bool ok = produce(d, count, &released, &b, &why) == Status::invalid && !b.held() && released == 0 &&
                  std::strstr(why.text, words) != nullptr;
  if (!ok) std::printf("expected \"%s\", got \"%s\"\n", words, why.text);
  return ok;
}

void test_filled_and_released_once() {
  const Ints shape{2, 3, 4};
  Borrow b;
  int released = 0;
  Descriptor d = parts(memory, shape, nullptr, f32);
  d.flags = flag_readonly;
  CHECK(produce(d, count, &released, &b, nullptr) == Status::ok);
  CHECK(b.held() && b.protocol == no_protocol && b.desc.data == memory && b.desc.readonly());
  CHECK_EQ(b.desc.ndim, 3);
  CHECK(b.desc.shape != shape.data());
  CHECK_EQ(b.desc.strides[0], 48);
  CHECK_EQ(b.desc.strides[2], 4);
  CHECK(b.desc.c_contiguous());
  Borrow moved;
  move_borrow(moved, b);
  CHECK_EQ(moved.desc.strides[1], 16);
  release(b);
  CHECK_EQ(released, 0);
  release(moved);
  release(moved);
  CHECK_EQ(released, 1);
}

void test_shared() {
  Borrow b;
  int released = 0;
  const Ints shape(12, 1);  // more dimensions than lie in the borrow itself
  CHECK(produce(parts(memory, shape, nullptr, f32), count, &released, &b, nullptr) == Status::ok);
  Holder* h = make_holder(b);
  CHECK(!b.held() && h->borrow.desc.ndim == 12 && h->borrow.desc.shape[11] == 1);
  retain(*h);
  drop(h);
  CHECK_EQ(released, 0);
  drop(h);
  CHECK_EQ(released, 1);
}

void test_without_callback() {
  Borrow b;
  const Ints shape{4};
  CHECK(produce(parts(memory, shape, nullptr, f32), nullptr, nullptr, &b, nullptr) == Status::ok);
  CHECK(b.held());
  release(b);
  CHECK(!b.held());
}

void test_strides() {
  const Ints shape{2, 3};
  const std::int64_t column_major[] = {4, 8};
  Borrow b;
  CHECK(produce(parts(memory, shape, column_major, f32), nullptr, nullptr, &b, nullptr) == Status::ok);
  CHECK(b.desc.f_contiguous() && b.desc.strides != column_major);
  release(b);
  const std::int64_t backward[] = {-12, 4};
  CHECK(produce(parts(memory + 12, shape, backward, f32), nullptr, nullptr, &b, nullptr) == Status::ok);
  CHECK_EQ(b.desc.strides[0], -12);
  release(b);
  const std::int64_t odd[] = {6, 4};
  CHECK(
      refused(parts(memory, shape, odd, f32), "stride 0 (6 bytes) leads to elements that aren't aligned for float32"));
  const Ints one{1, 3};  // a stride that places nothing
  CHECK(produce(parts(memory, one, odd, f32), nullptr, nullptr, &b, nullptr) == Status::ok);
  release(b);
}

void test_refused() {
  const Ints shape{2, 3};
  CHECK(refused(parts(nullptr, shape, nullptr, f32), "the address is null, but the shape has 6 elements"));
  CHECK(refused(parts(memory + 2, shape, nullptr, f32), "isn't aligned for float32: a multiple of 4"));
  CHECK(refused(parts(memory, Ints{2, -3}, nullptr, f32), "extent 1 of the shape is negative (-3)"));
  CHECK(refused(parts(memory, Ints{INT64_MAX, 2}, nullptr, f32), "more elements than 64 bits"));
  CHECK(refused(parts(memory, Ints{INT64_MAX / 2}, nullptr, f32), "more bytes than 64 bits"));
  const std::int64_t below_zero[] = {-(std::int64_t{1} << 62), 4};
  CHECK(refused(parts(memory, shape, below_zero, f32), "outside the address space"));
  const std::int64_t far[] = {INT64_MAX - 3, 4};
  CHECK(refused(parts(memory, Ints{9, 3}, far, f32), "reach further than 64 bits"));
  CHECK(refused(parts(memory, Ints(65, 1), nullptr, f32), "65 dimensions"));
  Descriptor d = parts(memory, shape, nullptr, f32);
  d.ndim = -1;
  CHECK(refused(d, "-1 dimensions"));
  d = parts(memory, shape, nullptr, f32);
  d.shape = nullptr;
  CHECK(refused(d, "the shape is missing"));
  d = parts(memory, shape, nullptr, f32);
  d.device = {static_cast<DeviceType>(5), 0};
  CHECK(refused(d, "(5, 0) isn't a device"));
  d.device = {DeviceType::cuda, -1};
  CHECK(refused(d, "(2, -1) isn't a device"));
  d = parts(memory, shape, nullptr, f32);
  d.flags = 1u << 9;
  CHECK(refused(d, "flags 0x200"));
}

void test_impossible_dtypes() {
  const Ints shape{2};
  DType d = f32;
  d.code = static_cast<TypeCode>(40);
  CHECK(refused(parts(memory, shape, nullptr, d), "the dtype (code 40"));
  d.code = static_cast<TypeCode>(200);
  CHECK(refused(parts(memory, shape, nullptr, d), "the dtype (code 200"));
  CHECK(refused(parts(memory, shape, nullptr, make_dtype(TypeCode::float_, 0)), "the dtype"));
  CHECK(refused(parts(memory, shape, nullptr, make_dtype(TypeCode::float_, 32, 0)), "the dtype"));
  d.code = TypeCode::interned;
  d.bits = 65535;
  CHECK(refused(parts(memory, shape, nullptr, d), "the dtype (code 71"));
}

void test_without_elements() {
  Borrow b;
  for (void* data : {static_cast<void*>(nullptr), static_cast<void*>(memory + 1)}) {
    CHECK(produce(parts(data, Ints{3, 0}, nullptr, f32), nullptr, nullptr, &b, nullptr) == Status::ok);
    CHECK_EQ(b.desc.size(), 0);
    release(b);
  }
  CHECK(refused(parts(nullptr, Ints{}, nullptr, f32), "the address is null, but the shape has 1 elements"));
}

void test_packed() {
  Borrow b;
  const DType f4 = make_dtype(TypeCode::float4_e2m1fn, 4);
  CHECK(produce(parts(memory + 1, Ints{3, 5}, nullptr, f4), nullptr, nullptr, &b, nullptr) == Status::ok);
  CHECK(b.desc.strides == nullptr);
  CHECK_EQ(b.desc.nbytes(), 8);
  release(b);
  const std::int64_t strides[] = {3, 1};
  CHECK(refused(parts(memory, Ints{3, 5}, strides, f4), "can't have byte strides"));
}

void test_alignments() {
  struct {
    DType dtype;
    std::int64_t alignment;
  } const rows[] = {
      {make_dtype(TypeCode::int_, 8), 1},
      {make_dtype(TypeCode::bool_, 8), 1},
      {make_dtype(TypeCode::float_, 16), 2},
      {make_dtype(TypeCode::bfloat, 16), 2},
      {make_dtype(TypeCode::int_, 64), 8},
      {make_dtype(TypeCode::int_, 128), 16},
      {make_dtype(TypeCode::complex, 128), 8},
      {make_dtype(TypeCode::float_, 32, 4), 4},
      {make_dtype(TypeCode::int_, 24), 1},
      {make_dtype(TypeCode::float8_e5m2, 8), 1},
      {make_dtype(TypeCode::float4_e2m1fn, 4), 1},
      {make_dtype(TypeCode::long_double, 128), 16},
      {make_dtype(TypeCode::complex_long_double, 256), 16},
      {make_time(TypeCode::datetime64, TimeUnit::ns), 8},
      {make_bytes(7), 1},
      {make_ucs4(3), 4},
      {make_void(8), 1},
      {f32.with_swapped(true), 4},
  };
  for (const auto& row : rows) CHECK_EQ(alignment_of(row.dtype), row.alignment);
  const Field field{"a", f32, 0};
  const std::int64_t shape[] = {3};
  DType t;
  CHECK(intern_struct(&field, 1, 5, &t, nullptr) == Status::ok);
  CHECK_EQ(alignment_of(t), 1);
  CHECK(intern_subarray(f32, 1, shape, &t, nullptr) == Status::ok);
  CHECK_EQ(alignment_of(t), 4);
}

}  // namespace

int main() {
  test_filled_and_released_once();
  test_shared();
  test_without_callback();
  test_strides();
  test_refused();
  test_impossible_dtypes();
  test_without_elements();
  test_packed();
  test_alignments();
  return check::done();
}
