// SPDX-License-Identifier: Apache-2.0
// Type strings and PyArrayInterface: the struct's ABI (against NumPy's header where ANYARRAY_NUMPY_HEADER names
// it), round trips over the whole dtype table, and every rule that can be broken.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#ifdef ANYARRAY_NUMPY_HEADER
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include ANYARRAY_NUMPY_HEADER
#endif

#include "anyarray/protocols/typestr.h"
#include "src/core/dtype_table.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

using typestr::ArrayInterface;
static_assert(sizeof(void*) != 8 ||
              (sizeof(ArrayInterface) == 56 && offsetof(ArrayInterface, two) == 0 &&
               offsetof(ArrayInterface, nd) == 4 && offsetof(ArrayInterface, typekind) == 8 &&
               offsetof(ArrayInterface, itemsize) == 12 && offsetof(ArrayInterface, flags) == 16 &&
               offsetof(ArrayInterface, shape) == 24 && offsetof(ArrayInterface, strides) == 32 &&
               offsetof(ArrayInterface, data) == 40 && offsetof(ArrayInterface, descr) == 48));

#ifdef ANYARRAY_NUMPY_HEADER
#define SAME_PLACE(field)                                                               \
  static_assert(offsetof(ArrayInterface, field) == offsetof(PyArrayInterface, field) && \
                sizeof(ArrayInterface::field) == sizeof(PyArrayInterface::field))
static_assert(sizeof(ArrayInterface) == sizeof(PyArrayInterface));
SAME_PLACE(two);
SAME_PLACE(nd);
SAME_PLACE(typekind);
SAME_PLACE(itemsize);
SAME_PLACE(flags);
SAME_PLACE(shape);
SAME_PLACE(strides);
SAME_PLACE(data);
SAME_PLACE(descr);
static_assert(typestr::flag_c == NPY_ARRAY_C_CONTIGUOUS && typestr::flag_f == NPY_ARRAY_F_CONTIGUOUS &&
              typestr::flag_aligned == NPY_ARRAY_ALIGNED && typestr::flag_notswapped == NPY_ARRAY_NOTSWAPPED &&
              typestr::flag_writeable == NPY_ARRAY_WRITEABLE && typestr::has_descr == NPY_ARR_HAS_DESCR);
#endif

Status decode(const std::string& text, DType* d, Reason* why = nullptr) {
  // A copy of just that length: nothing behind it may be read.
  char* exact = static_cast<char*>(std::malloc(text.size() + (text.empty() ? 1 : 0)));
  std::memcpy(exact, text.data(), text.size());
  const Status s = typestr::decode(exact, text.size(), d, why);
  std::free(exact);
  return s;
}

std::string encoded(DType d) {
  char text[40];
  CHECK(typestr::encode(d, text, sizeof text, nullptr) == Status::ok);
  for (std::size_t size = 0; size <= std::strlen(text); ++size) {
    char small[40];
    CHECK(typestr::encode(d, small, size, nullptr) == Status::unsupported);
  }
  return text;
}

void round_trip(DType d) {
  DType back;
  CHECK(decode(encoded(d), &back) == Status::ok);
  CHECK(back == d);
}

void test_table() {
  for (const DTypeRow& row : dtype_table) {
    const DType d = make_dtype(row.code, row.bits);
    char text[40];
    Reason why;
    CHECK(typestr::encode(make_dtype(row.code, row.bits, 2), text, sizeof text, &why) == Status::unsupported);
    CHECK(why.text[0] != '\0');
    if (row.kind == 0) {
      CHECK(typestr::encode(d, text, sizeof text, &why) == Status::unsupported);
      CHECK(std::strstr(why.text, row.name) != nullptr);
      continue;
    }
    round_trip(d);
    CHECK_EQ(encoded(d)[0], row.bits == 8 ? '|' : native_order);
    if (has_byte_order(d)) {
      round_trip(d.with_swapped(true));
      CHECK_EQ(encoded(d.with_swapped(true))[0], swapped_order);
    }
    // The order is optional; '|' and '=' mean the machine's.
    const std::string bare = encoded(d).substr(1);
    for (const std::string& order : {std::string(), std::string("|"), std::string("="), std::string(1, native_order)}) {
      DType back;
      CHECK(decode(order + bare, &back) == Status::ok && back == d);
    }
  }
  for (unsigned u = 1; u <= static_cast<unsigned>(TimeUnit::generic); ++u) {
    for (TypeCode code : {TypeCode::datetime64, TypeCode::timedelta64}) {
      round_trip(make_time(code, static_cast<TimeUnit>(u)));
      round_trip(make_time(code, static_cast<TimeUnit>(u)).with_swapped(true));
      if (static_cast<TimeUnit>(u) != TimeUnit::generic) round_trip(make_time(code, static_cast<TimeUnit>(u), 25));
    }
  }
  for (std::uint32_t n : {0u, 1u, 9u, 10u, UINT32_MAX}) {
    round_trip(make_bytes(n));
    round_trip(make_void(n));
    round_trip(make_ucs4(n));
    round_trip(make_ucs4(n).with_swapped(true));
  }
  const std::string order(1, native_order);
  CHECK_EQ(encoded(make_time(TypeCode::datetime64, TimeUnit::us)), order + "M8[us]");
  CHECK_EQ(encoded(make_ucs4(3)), order + "U3");
  CHECK_EQ(encoded(make_bytes(5)), "|S5");
  // Structs are bytes to a type string; sub-arrays can't be said.
  const Field fields[] = {{"a", make_dtype(TypeCode::float_, 64), 0}, {"b", make_dtype(TypeCode::int_, 32), 8}};
  DType s;
  CHECK(intern_struct(fields, 2, 16, &s, nullptr) == Status::ok);
  CHECK_EQ(encoded(s), "|V16");
  const std::int64_t shape[] = {3};
  CHECK(intern_subarray(s, 1, shape, &s, nullptr) == Status::ok);
  char text[40];
  CHECK(typestr::encode(s, text, sizeof text, nullptr) == Status::unsupported);
}

void test_refusals() {
  const struct {
    const char* text;
    Status want;
    const char* part;
  } cases[] = {
      {"", Status::invalid, "no kind"},
      {"<", Status::invalid, "no kind"},
      {"f", Status::invalid, "no size"},
      {"<f", Status::invalid, "no size"},
      {"<f-4", Status::invalid, "no size"},
      {"x4", Status::invalid, "'x'"},
      {"<\x01"
       "4",
       Status::invalid, "0x01"},
      {"<f4 ", Status::invalid, "goes on"},
      {"<f44444444444444444444444", Status::unsupported, "too large"},
      {"<f3", Status::unsupported, "3 bytes"},
      {"<f0", Status::unsupported, "0 bytes"},
      {"<f1", Status::unsupported, "1 bytes"},
      {"<i16", Status::unsupported, "16 bytes"},
      {"<c4", Status::unsupported, "4 bytes"},
      {"|b2", Status::unsupported, "2 bytes"},
      {"<f64", Status::unsupported, "64 bytes"},
      {"<f72", Status::unsupported, "72 bytes"},
      {"|O8", Status::unsupported, "Python objects"},
      {"|O", Status::unsupported, "Python objects"},
      {"|t3", Status::unsupported, "bit fields"},
      {"|T16", Status::unsupported, "StringDType"},
      {"StringDType()", Status::unsupported, "StringDType"},
      {"|V4294967296", Status::unsupported, "4294967296"},
      {"|S4294967296", Status::unsupported, "4294967296"},
      {"<U4294967296", Status::unsupported, "kind 'U'"},
      {"<M4", Status::unsupported, "4 bytes"},
      {"<M8[", Status::invalid, "time unit"},
      {"<M8[xs]", Status::invalid, "time unit"},
      {"<M8[0s]", Status::invalid, "time unit"},
      {"<M8us", Status::invalid, "time unit"},
  };
  for (const auto& c : cases) {
    DType d;
    Reason why;
    CHECK_EQ(static_cast<int>(decode(c.text, &d, &why)), static_cast<int>(c.want));
    if (std::strstr(why.text, c.part) == nullptr) std::cerr << c.text << ": '" << why.text << "'\n";
    CHECK(std::strstr(why.text, c.part) != nullptr);
    CHECK(decode(c.text, &d) == c.want);
  }
}

void test_garbage() {
  std::mt19937 random(3);
  const char alphabet[] = "<>|=biufcmMOSUVtT0123456789[]snuDh \x80\xff";
  int ok = 0;
  for (int round = 0; round < 100000; ++round) {
    std::string text(random() % 9, ' ');
    for (char& c : text) c = alphabet[random() % (sizeof alphabet - 1)];
    DType d;
    Reason why;
    const Status s = decode(text, &d, &why);
    CHECK_EQ(s == Status::ok, why.text[0] == '\0');
    if (s != Status::ok) continue;
    ++ok;
    round_trip(d);
  }
  CHECK(ok > 100);
}

void test_struct() {
  char memory[64];
  std::intptr_t shape[65] = {2, 3};
  std::intptr_t strides[65] = {-12, 4};
  for (int i = 2; i < 65; ++i) shape[i] = strides[i] = 1;
  const ArrayInterface good{2,     2,       'f',    4,      typestr::flag_notswapped | typestr::flag_writeable,
                            shape, strides, memory, nullptr};
  Borrow b{};
  const auto taken = [&](const ArrayInterface& s) { return typestr::decode_struct(s, b, nullptr) == Status::ok; };
  CHECK(taken(good));
  CHECK(b.desc.data == memory && b.desc.ndim == 2 && b.desc.shape[1] == 3 && b.desc.strides[0] == -12);
  CHECK(b.desc.dtype == make_dtype(TypeCode::float_, 32) && b.desc.device == cpu_device && b.desc.flags == 0);
  ArrayInterface s = good;
  s.flags = 0;  // the other byte order, read-only
  CHECK(taken(s) && b.desc.dtype == make_dtype(TypeCode::float_, 32).with_swapped(true) &&
        b.desc.flags == flag_readonly);
  s.typekind = 'u';
  s.itemsize = 1;
  CHECK(taken(s) && b.desc.dtype == make_dtype(TypeCode::uint, 8));
  s = good;
  s.typekind = 'U';
  s.itemsize = 12;
  CHECK(taken(s) && b.desc.dtype == make_ucs4(3));
  s.typekind = 'V';
  CHECK(taken(s) && b.desc.dtype == make_void(12));
  s = good;
  s.strides = nullptr;  // row-major, as NumPy takes it
  CHECK(taken(s) && b.desc.strides[0] == 12 && b.desc.strides[1] == 4);
  s.nd = 0;
  s.shape = nullptr;
  CHECK(taken(s) && b.desc.ndim == 0);
  s = good;
  s.nd = 64;
  CHECK(taken(s) && b.heap_dims == 1);
  drop_dims(b);

  const auto refused = [&](const ArrayInterface& bad, Status want, const char* part) {
    Reason why;
    CHECK(typestr::decode_struct(bad, b, &why) == want);
    CHECK(std::strstr(why.text, part) != nullptr);
    CHECK_EQ(int{b.heap_dims}, 0);
  };
  s = good;
  s.two = 3;
  refused(s, Status::invalid, "starts with 3");
  s = good;
  s.nd = -1;
  refused(s, Status::invalid, "-1 dimensions");
  s.nd = 65;
  refused(s, Status::invalid, "65 dimensions");
  s = good;
  s.shape = nullptr;
  refused(s, Status::invalid, "no shape");
  s = good;
  s.itemsize = -4;
  refused(s, Status::invalid, "-4 bytes");
  s.itemsize = 3;
  refused(s, Status::unsupported, "3 bytes");
  for (char kind : {'M', 'm'}) {
    s = good;
    s.typekind = kind;
    s.itemsize = 8;
    refused(s, Status::unsupported, "unit");
  }
  s.typekind = 'O';
  refused(s, Status::unsupported, "Python objects");
  s.typekind = '\0';
  refused(s, Status::invalid, "0x00");
  s.typekind = 'U';
  s.itemsize = 6;
  refused(s, Status::unsupported, "6 bytes");
  for (int nd : {2, 12}) {
    s = good;
    s.nd = nd;
    s.strides = nullptr;
    shape[0] = INTPTR_MAX;
    refused(s, Status::invalid, "more bytes");
    shape[0] = 2;
  }
}

}  // namespace

int main() {
  test_table();
  test_refusals();
  test_garbage();
  test_struct();
  return check::done();
}
