// SPDX-License-Identifier: Apache-2.0
// What the codec gives, read back by its other half: shape, dtype, elements and (without a copy) the address are the
// same over dtypes × shapes × layouts; what can't be said is refused by name; every share is dropped once, whoever
// releases what, in which order, and on which thread.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "anyarray/protocols/arrow.h"
#include "tests/cpp/check.h"

namespace ar = anyarray::arrow;
using namespace anyarray;

namespace {

std::mt19937 randomly(20250601);
int below(int n) { return static_cast<int>(randomly() % static_cast<unsigned>(n)); }

struct Case {
  std::vector<std::int64_t> shape, strides;
  std::vector<unsigned char> memory;
  Descriptor desc{};
};

enum Layout { c_order, f_order, tensors, shuffled, gaps, backwards, repeated, layouts };

/// An array of random bytes in this layout; strides of extents of 1 are nonsense, as they may be.
void fill(Case& c, DType dtype, int ndim, Layout layout) {
  c.shape.resize(static_cast<std::size_t>(ndim));
  c.strides.resize(static_cast<std::size_t>(ndim));
  for (auto& n : c.shape) n = below(20) == 0 ? 0 : 1 + below(4);
  std::vector<std::size_t> order(c.shape.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (layout == f_order) std::reverse(order.begin(), order.end());
  if (layout == tensors) std::shuffle(order.begin() + 1, order.end(), randomly);
  if (layout > tensors) std::shuffle(order.begin(), order.end(), randomly);
  std::int64_t step = dtype.itemsize();
  std::int64_t first = 0;
  for (auto i = order.rbegin(); i != order.rend(); ++i) {
    c.strides[*i] = step;
    step *= c.shape[*i] > 0 ? c.shape[*i] : 1;
    if (layout == gaps) step += below(2) * dtype.itemsize();
    if (layout == backwards && below(2) == 0 && c.shape[*i] > 0) {
      first += (c.shape[*i] - 1) * c.strides[*i];
      c.strides[*i] = -c.strides[*i];
    }
    if (layout == repeated && below(2) == 0) c.strides[*i] = 0;
    if (c.shape[*i] == 1) c.strides[*i] = 7 * below(100) - 300;
  }
  c.memory.resize(static_cast<std::size_t>(step) + 64);
  for (auto& byte : c.memory) byte = static_cast<unsigned char>(randomly());
  const auto away = reinterpret_cast<std::uintptr_t>(c.memory.data()) % 16;
  c.desc = {c.memory.data() + (16 - away) + first, c.shape.data(), c.strides.data(), dtype, cpu_device, ndim, 0};
}

/// The elements row by row.
std::vector<unsigned char> rows(const Descriptor& d) {
  std::vector<unsigned char> out;
  const std::int64_t n = d.size(), size = d.dtype.itemsize();
  for (std::int64_t k = 0; k < n; ++k) {
    const auto* at = static_cast<const unsigned char*>(d.data);
    std::int64_t rest = k;
    for (int i = d.ndim - 1; i >= 0; --i) {
      at += rest % d.shape[i] * d.strides[i];
      rest /= d.shape[i];
    }
    out.insert(out.end(), at, at + size);
  }
  return out;
}

int dropped = 0;
void drop(void* count) { ++*static_cast<int*>(count); }

ar::Values values_of(void* data) { return {data, nullptr, 0, {nullptr, nullptr}, std::free, drop, &dropped}; }

/// Reads back what form and values give.
void read_back(const ar::Form& form, const ar::Values& values, const Descriptor& d) {
  ar::Schema schema;
  ar::Array array;
  dropped = 0;
  CHECK(ar::make_schema(form, &schema, nullptr) == Status::ok);
  CHECK(ar::make_array(form, values, &array, nullptr) == Status::ok);
  ar::Type type;
  Borrow b{};
  Reason why;
  CHECK_EQ(static_cast<int>(ar::decode_type(schema, &type, &why)), 0);
  CHECK_EQ(static_cast<int>(ar::decode(type, array, b, &why)), 0);
  CHECK_EQ(std::string(why.text), "");
  CHECK(b.desc.dtype == d.dtype);
  CHECK_EQ(b.desc.ndim, d.ndim);
  CHECK(std::equal(d.shape, d.shape + d.ndim, b.desc.shape));
  CHECK(rows(b.desc) == rows(d));
  if (form.as_is && d.size() > 0) {
    CHECK(b.desc.data == d.data);
    for (int i = 0; i < d.ndim; ++i) CHECK(d.shape[i] == 1 || b.desc.strides[i] == d.strides[i]);
  } else {
    CHECK(b.desc.c_contiguous());
  }
  drop_dims(b);
  CHECK_EQ(dropped, 0);
  schema.release(&schema);
  array.release(&array);
  CHECK(schema.release == nullptr && array.release == nullptr);
  CHECK_EQ(dropped, 1);
}

/// Whether Arrow has words for it: an element of the first dimension is a block without gaps, blocks follow blocks.
bool can_lie(const Descriptor& d) {
  if (d.size() == 0) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> inner;  // strides and extents
  for (int i = 1; i < d.ndim; ++i) {
    if (d.shape[i] > 1) inner.emplace_back(d.strides[i], d.shape[i]);
  }
  std::sort(inner.begin(), inner.end());
  std::int64_t step = d.dtype.itemsize();
  for (const auto& [stride, extent] : inner) {
    if (stride != step) return false;
    step *= extent;
  }
  return d.shape[0] == 1 || d.strides[0] == step;
}

const std::vector<DType> dtypes = [] {
  std::vector<DType> all = {make_dtype(TypeCode::float_, 16), make_dtype(TypeCode::float_, 32),
                            make_dtype(TypeCode::float_, 64), make_bytes(1), make_bytes(5)};
  for (unsigned bits : {8u, 16u, 32u, 64u}) {
    all.push_back(make_dtype(TypeCode::int_, bits));
    all.push_back(make_dtype(TypeCode::uint, bits));
  }
  for (TimeUnit unit : {TimeUnit::s, TimeUnit::ms, TimeUnit::us, TimeUnit::ns}) {
    all.push_back(make_time(TypeCode::datetime64, unit));
    all.push_back(make_time(TypeCode::timedelta64, unit));
  }
  return all;
}();

void test_round_trips() {
  int as_is = 0, permuted = 0, copied = 0;
  for (int round = 0; round < 20000; ++round) {
    Case c;
    const DType dtype = dtypes[static_cast<std::size_t>(round) % dtypes.size()];
    fill(c, dtype, 1 + below(6), static_cast<Layout>(below(layouts)));
    const auto say = static_cast<ar::Say>(below(3));
    ar::Form form;
    Reason why;
    CHECK_EQ(static_cast<int>(ar::encode(c.desc, say, &form, &why)), 0);
    const bool lies = say == ar::Say::lists ? c.desc.c_contiguous() : can_lie(c.desc);
    CHECK_EQ(form.as_is, lies);
    CHECK_EQ(form.levels, form.tensors ? 1 : c.desc.ndim - 1);
    if (say != ar::Say::as_it_lies) CHECK_EQ(form.tensors, say == ar::Say::tensors && c.desc.ndim > 1);
    if (say == ar::Say::as_it_lies) CHECK_EQ(form.tensors, lies && !c.desc.c_contiguous());
    auto rowwise = rows(c.desc);
    read_back(form, values_of(form.as_is ? c.desc.data : rowwise.data()), c.desc);
    (form.as_is ? as_is : copied) += 1;
    permuted += form.as_is && form.tensors && !c.desc.c_contiguous();
  }
  CHECK(as_is > 4000 && copied > 4000 && permuted > 500);
}

void test_many_dimensions() {
  for (int ndim : {9, 63, 64}) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(ndim), 1), strides(shape.size(), 4);
    shape[1] = 3;
    shape.back() = 2;
    std::int32_t memory[6] = {1, 2, 3, 4, 5, 6};
    strides.back() = 12;  // column-major
    const Descriptor d{memory, shape.data(), strides.data(), make_dtype(TypeCode::int_, 32), cpu_device, ndim, 0};
    for (const auto say : {ar::Say::as_it_lies, ar::Say::lists}) {
      ar::Form form;
      CHECK(ar::encode(d, say, &form, nullptr) == Status::ok);
      CHECK_EQ(form.as_is, say == ar::Say::as_it_lies);
      auto rowwise = rows(d);
      read_back(form, values_of(form.as_is ? d.data : rowwise.data()), d);
    }
  }
}

Descriptor vector_of(DType dtype, void* data, const std::int64_t* shape, const std::int64_t* strides) {
  return {data, shape, strides, dtype, cpu_device, 1, 0};
}

void test_what_is_copied() {
  std::int64_t memory[8] = {};
  const std::int64_t shape[] = {3}, strides[] = {4}, byte[] = {1};
  ar::Form form;
  auto* odd = reinterpret_cast<char*>(memory) + 2;
  CHECK(ar::encode(vector_of(make_dtype(TypeCode::float_, 32), odd, shape, strides), {}, &form, nullptr) == Status::ok);
  CHECK(!form.as_is);  // not aligned
  CHECK(ar::encode(vector_of(make_bytes(4), odd, shape, strides), {}, &form, nullptr) == Status::ok);
  CHECK(form.as_is);
  CHECK(ar::encode(vector_of(make_dtype(TypeCode::bool_, 8), memory, shape, byte), {}, &form, nullptr) == Status::ok);
  CHECK(!form.as_is);
}

#define REFUSED(descriptor, status, words)                                                       \
  do {                                                                                           \
    ar::Form refused;                                                                            \
    Reason why;                                                                                  \
    CHECK_EQ(static_cast<int>(ar::encode(descriptor, {}, &refused, &why)), int(Status::status)); \
    if (std::strstr(why.text, words) == nullptr) CHECK_EQ(std::string(why.text), words);         \
  } while (false)

void test_refusals() {
  std::int64_t memory[8] = {};
  const std::int64_t shape[] = {1}, strides[] = {8};
  const auto of = [&](DType d) { return vector_of(d, memory, shape, strides); };
  const auto number = [](TypeCode code, unsigned bits, unsigned lanes = 1) { return make_dtype(code, bits, lanes); };
  REFUSED(of(number(TypeCode::float_, 64).with_swapped(true)), unsupported, ">f8 can't be given over Arrow");
  REFUSED(of(make_time(TypeCode::datetime64, TimeUnit::s).with_swapped(true)), unsupported, "byte order");
  REFUSED(of(number(TypeCode::complex, 64)), unsupported, "complex64 can't be given over Arrow: Arrow has no complex");
  REFUSED(of(number(TypeCode::complex_long_double, 256)), unsupported, "complex");
  REFUSED(of(number(TypeCode::long_double, 128)), unsupported, "cast them to float64");
  REFUSED(of(number(TypeCode::bfloat, 16)), unsupported, "bfloat16 can't be given over Arrow: Arrow's floats");
  REFUSED(of(number(TypeCode::float8_e5m2, 8)), unsupported, "cast them to float32");
  REFUSED(of(number(TypeCode::float4_e2m1fn, 4)), unsupported, "cast them to float32");
  REFUSED(of(number(TypeCode::int_, 4)), unsupported, "cast them");
  REFUSED(of(number(TypeCode::int_, 4).with_padded(true)), unsupported, "cast them");
  REFUSED(of(number(TypeCode::bool_, 1)), unsupported, "cast them");
  REFUSED(of(number(TypeCode::float_, 32, 4)), unsupported, "lanes");
  REFUSED(of(number(TypeCode::opaque_handle, 64)), unsupported, "uint64");
  REFUSED(of(make_ucs4(3)), unsupported, "text");
  REFUSED(of(make_void(3)), unsupported, "bytes");
  REFUSED(of(make_bytes(0)), unsupported, "1 to 2147483647");
  REFUSED(of(make_bytes(UINT_MAX)), unsupported, "1 to 2147483647");
  for (int unit = static_cast<int>(TimeUnit::none); unit <= static_cast<int>(TimeUnit::generic); ++unit) {
    for (const TypeCode code : {TypeCode::datetime64, TypeCode::timedelta64}) {
      REFUSED(of(make_time(code, TimeUnit::ns, 25)), unsupported, "25ns] can't be given");
      const auto u = static_cast<TimeUnit>(unit);
      if (u >= TimeUnit::s && u <= TimeUnit::ns) continue;
      REFUSED(of(make_time(code, u)), unsupported, "s, ms, us or ns");
    }
  }
  DType made;
  const Field fields[] = {{"a", number(TypeCode::int_, 32), 0}};
  CHECK(intern_struct(fields, 1, 4, &made, nullptr) == Status::ok);
  REFUSED(of(made), unsupported, "one field");
  CHECK(intern_subarray(number(TypeCode::int_, 32), 1, shape, &made, nullptr) == Status::ok);
  REFUSED(of(made), unsupported, "dimensions");

  Descriptor d = of(number(TypeCode::int_, 64));
  d.ndim = 0;
  REFUSED(d, unsupported, "(1,)");
  d.ndim = 1;
  d.device = {DeviceType::cuda, 1};
  REFUSED(d, device, "cuda:1");
  const std::int64_t wide[] = {1, std::int64_t{1} << 31}, steps[] = {0, 0};
  REFUSED((Descriptor{memory, wide, steps, make_bytes(1), cpu_device, 2, 0}), unsupported,
          "dimension 1 has 2147483648");
  const std::int64_t empty[] = {0, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX},
                     full[] = {4, INT32_MAX, INT32_MAX, 3, 0};
  const std::int64_t zeros[5] = {};
  ar::Form form;
  const Descriptor none{nullptr, empty, zeros, make_bytes(1), cpu_device, 5, 0};
  CHECK(ar::encode(none, {}, &form, nullptr) == Status::ok);
  read_back(form, values_of(nullptr), none);
  REFUSED((Descriptor{nullptr, full, zeros, make_bytes(1), cpu_device, 5, 0}), unsupported, "64 bits");
  // A tensor is one list: beyond its size there are nested ones only, which are row-major.
  const std::int64_t big[] = {1, 1 << 16, 1 << 16}, columns[] = {0, 1, 1 << 16};
  CHECK(ar::encode({memory, big, columns, make_bytes(1), cpu_device, 3, 0}, {}, &form, nullptr) == Status::ok);
  CHECK(!form.tensors && !form.as_is && form.levels == 2);
}

/// Children move and outlive their parents; the order and the threads of the releases don't matter.
void test_moves() {
  std::int32_t memory[24] = {};
  const std::int64_t shape[] = {2, 3, 4}, strides[] = {48, 16, 4};
  const Descriptor d{memory, shape, strides, make_dtype(TypeCode::int_, 32), cpu_device, 3, 0};
  ar::Form form;
  CHECK(ar::encode(d, {}, &form, nullptr) == Status::ok);
  for (int round = 0; round < 64; ++round) {
    ar::Array all[3];
    ar::Schema schemas[3];
    dropped = 0;
    ar::Values values = values_of(memory);
    values.owned[0] = std::malloc(8);  // a sanitizer sees whether it is freed, and not before
    CHECK(ar::make_array(form, values, &all[0], nullptr) == Status::ok);
    CHECK(ar::make_schema(form, &schemas[0], nullptr) == Status::ok);
    const auto move = [](auto* to, auto* from) {
      *to = *from;
      from->release = nullptr;
    };
    int parts = 1;
    for (; parts < 3 && (round >> parts & 1) != 0; ++parts) {
      move(&all[parts], all[parts - 1].children[0]);
      move(&schemas[parts], schemas[parts - 1].children[0]);
    }
    std::vector<int> order = {0, 1, 2};
    order.resize(static_cast<std::size_t>(parts));
    std::shuffle(order.begin(), order.end(), randomly);
    const auto end = [&](int i) {
      CHECK(all[i].length == (i == 0 ? 2 : i == 1 ? 6 : 24));
      CHECK(all[i].n_buffers == (i == 2 ? 2 : 1) && all[i].buffers[0] == nullptr);
      CHECK(i != 2 || all[i].buffers[1] == memory);
      CHECK(std::string(schemas[i].format) == (i == 0 ? "+w:3" : i == 1 ? "+w:4" : "i"));
      all[i].release(&all[i]);
      schemas[i].release(&schemas[i]);
    };
    if (round % 2 == 0) {
      for (int i : order) {
        CHECK_EQ(dropped, 0);
        end(i);
      }
    } else {
      std::vector<std::thread> threads;
      for (int i : order) {
        threads.emplace_back([&, i] {
          all[i].release(&all[i]);
          schemas[i].release(&schemas[i]);
        });
      }
      for (auto& t : threads) t.join();
    }
    CHECK_EQ(dropped, 1);
  }
}

void test_bits() {
  for (int round = 0; round < 2000; ++round) {
    const auto n = static_cast<std::size_t>(below(200));
    std::vector<unsigned char> bytes(n), bits((n + 7) / 8, 0xff), marks((n + 7) / 8, 0xff);
    std::vector<std::int64_t> ticks(n);
    std::int64_t nats = 0;
    for (std::size_t i = 0; i < n; ++i) {
      bytes[i] = static_cast<unsigned char>(below(2) * below(256));
      ticks[i] = below(3) == 0 ? INT64_MIN : INT64_MIN + below(3);
      nats += ticks[i] == INT64_MIN;
    }
    ar::pack_bools(bytes.data(), static_cast<std::int64_t>(n), bits.data());
    CHECK_EQ(ar::find_nat(ticks.data(), static_cast<std::int64_t>(n), marks.data()), nats);
    CHECK_EQ(ar::find_nat(ticks.data(), static_cast<std::int64_t>(n), nullptr), nats);
    for (std::size_t i = 0; i < bits.size() * 8; ++i) {
      CHECK_EQ(bits[i / 8] >> i % 8 & 1, int{i < n && bytes[i] != 0});
      CHECK_EQ(marks[i / 8] >> i % 8 & 1, int{i < n && ticks[i] != INT64_MIN});
    }
  }
}

}  // namespace

int main() {
  test_round_trips();
  test_many_dimensions();
  test_what_is_copied();
  test_refusals();
  test_moves();
  test_bits();
  return check::done();
}
