// SPDX-License-Identifier: Apache-2.0
// Devices as text, statuses as words, and what a request accepts.
#include "anyarray/request.h"

#include <cstring>
#include <string>

#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

std::string text_of(Device d) {
  char text[64];
  const std::size_t length = format_device(d, text, sizeof text);
  CHECK_EQ(length, std::strlen(text));
  return text;
}

void test_devices() {
  Device d{DeviceType::any, 0};
  for (int n = -1; n < 40; ++n) {
    const auto type = static_cast<DeviceType>(n);
    const char* name = device_type_name(type);
    CHECK_EQ(name != nullptr, is_known(type));
    if (name == nullptr) {
      if (n != 0) CHECK(text_of({type, 3}) == "unknown(" + std::to_string(n) + "):3");
      continue;
    }
    CHECK(parse_device(name, &d) && d.type == type && text_of(d) == name);
    for (std::int32_t id : {0, 1, 7, INT32_MAX}) {
      const std::string full = name + (":" + std::to_string(id));
      CHECK(parse_device(full.c_str(), &d) && d == (Device{type, id}));
      CHECK(parse_device(text_of(d).c_str(), &d) && d == (Device{type, id}));
    }
    for (const char* bad : {":", ":-1", ":x", ":1x", ":2147483648", "0", " "}) {
      CHECK(!parse_device((std::string(name) + bad).c_str(), &d));
    }
  }
  CHECK(parse_device("cpu", &d) && d == cpu_device);
  CHECK(parse_device("cuda", &d) && d == (Device{DeviceType::cuda, -1}));
  CHECK_EQ(text_of(cpu_device), "cpu");
  CHECK_EQ(text_of({DeviceType::cuda, 0}), "cuda:0");
  CHECK_EQ(text_of({DeviceType::cuda_host, 0}), "cuda_host");
  CHECK_EQ(text_of({DeviceType::any, -1}), "any");
  CHECK_EQ(text_of({DeviceType::cpu, -1}), "cpu");
  for (const char* bad : {"", "any", "CPU", "gpu", "cud", "cuda_", ":0"}) CHECK(!parse_device(bad, &d));
}

void test_statuses() {
  for (int a = 0; a <= static_cast<int>(Status::no_memory); ++a) {
    CHECK(std::strcmp(status_name(static_cast<Status>(a)), "unknown status") != 0);
    for (int b = 0; b < a; ++b) {
      CHECK(std::strcmp(status_name(static_cast<Status>(a)), status_name(static_cast<Status>(b))) != 0);
    }
  }
  CHECK_EQ(std::string(status_name(static_cast<Status>(99))), "unknown status");
  CHECK(!goes_on(Status::ok) && goes_on(Status::device) && !goes_on(Status::mismatch));
}

void expect(const Descriptor& d, const Request& r, Status want, const char* part = "") {
  Reason why;
  CHECK_EQ(static_cast<int>(meets(d, r, &why)), static_cast<int>(want));
  CHECK_EQ(static_cast<int>(meets(d, r, nullptr)), static_cast<int>(want));
  CHECK(std::strstr(why.text, part) != nullptr);
}

void test_meets() {
  char memory[96];
  const std::int64_t shape[] = {2, 3};
  const std::int64_t c_order[] = {12, 4};
  const std::int64_t f_order[] = {4, 8};
  const std::int64_t gaps[] = {24, 8};
  const DType f32 = make_dtype(TypeCode::float_, 32);
  Descriptor d{memory, shape, c_order, f32, cpu_device, 2, 0};
  Request r;
  CHECK(!r.has_conditions());
  expect(d, r, Status::ok);

  r.has_dtype = true;
  r.dtype = f32;
  expect(d, r, Status::ok);
  r.dtype = f32.with_swapped(true);
  expect(d, r, Status::mismatch, "dtype float32");
  d.dtype = make_dtype(TypeCode::int_, 4).with_padded(true);
  r.dtype = make_dtype(TypeCode::int_, 4);
  expect(d, r, Status::mismatch, "int4 (padded to bytes), int4 (packed)");
  d.dtype = f32;
  r = Request{};

  r.ndim = 2;
  expect(d, r, Status::ok);
  r.ndim = 0;
  expect(d, r, Status::mismatch, "ndim 2, 0");
  r = Request{};

  r.writable = true;
  expect(d, r, Status::ok);
  d.flags = flag_readonly;
  expect(d, r, Status::mismatch, "read-only");
  r = Request{};

  r.order = Order::c;
  expect(d, r, Status::ok);
  r.order = Order::f;
  expect(d, r, Status::mismatch, "Fortran");
  d.strides = f_order;
  expect(d, r, Status::ok);
  r.order = Order::c;
  expect(d, r, Status::mismatch, "C-contiguous");
  d.strides = gaps;
  expect(d, r, Status::mismatch, "C-contiguous");
  r = Request{};

  // The host: whatever it can read. Others: the kind, and the number where one is asked for.
  r.device = cpu_device;
  for (int n = 1; n < 20; ++n) {
    d.device = {static_cast<DeviceType>(n), 2};
    expect(d, r, host_readable(d.device.type) ? Status::ok : Status::device);
  }
  d.device = {DeviceType::cuda, 1};
  expect(d, r, Status::device, "on cuda:1, cpu was");
  r.device = {DeviceType::cuda, -1};
  expect(d, r, Status::ok);
  r.device = {DeviceType::cuda, 1};
  expect(d, r, Status::ok);
  r.device = {DeviceType::cuda, 0};
  expect(d, r, Status::device, "cuda:0 was asked for");
  r.writable = true;  // the device is told first: it alone lets the search go on
  expect(d, r, Status::device);
}

void test_what_rows_can_meet() {
  const Device any{DeviceType::any, -1};
  for (int i = 0; i < protocol_count; ++i) {
    const auto row = static_cast<Protocol>(i);
    const bool host = std::strcmp(row_memory(row), "host") == 0;
    CHECK(can_meet(row, any));
    for (int n = 1; n < 20; ++n) {
      const auto kind = static_cast<DeviceType>(n);
      // The host reads pinned and managed memory, and host rows call all that they give cpu.
      if (kind == DeviceType::cpu) {
        CHECK_EQ(can_meet(row, {kind, 0}), row != Protocol::sycl_usm_array_interface);
      } else {
        CHECK_EQ(can_meet(row, {kind, 1}), !host && serves(row, kind));
      }
    }
  }
}

void test_waivers() {
  CHECK_EQ(parse_waiver("mask"), waive_mask);
  CHECK_EQ(parse_waiver("grad"), waive_grad);
  CHECK_EQ(parse_waiver("conj"), waive_conj);
  CHECK_EQ(parse_waiver("neg"), waive_neg);
  for (const char* bad : {"", "Mask", "masks", "all"}) CHECK_EQ(parse_waiver(bad), 0u);
}

}  // namespace

int main() {
  test_devices();
  test_statuses();
  test_meets();
  test_what_rows_can_meet();
  test_waivers();
  return check::done();
}
