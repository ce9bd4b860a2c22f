// SPDX-License-Identifier: Apache-2.0
// Layout arithmetic and validate() against brute force and at the borders of 64 bits. Fixed seed.
#include "anyarray/layout.h"

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "anyarray/descriptor.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

using Ints = std::vector<std::int64_t>;
using Wide = __int128;
constexpr std::int64_t big = INT64_MAX;

int rank(const Ints& v) { return static_cast<int>(v.size()); }

// Calls `f` with the byte offset of every element.
template <class F>
void each_offset(const Ints& shape, const Ints& strides, F f) {
  Ints index(shape.size(), 0);
  for (std::int64_t e : shape) {
    if (e == 0) return;
  }
  while (true) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) offset += index[i] * strides[i];
    f(offset);
    std::size_t i = shape.size();
    while (i > 0 && ++index[i - 1] == shape[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

// How many elements lie on bytes that another element has too.
bool really_overlaps(const Ints& shape, const Ints& strides, std::int64_t itemsize) {
  std::vector<char> bytes(8192, 0);
  bool twice = false;
  each_offset(shape, strides, [&](std::int64_t offset) {
    for (std::int64_t b = 0; b < itemsize; ++b) twice |= bytes[static_cast<std::size_t>(4096 + offset + b)]++ != 0;
  });
  return twice;
}

Descriptor describe(void* data, const Ints& shape, const Ints& strides, DType t) {
  return Descriptor{data, shape.data(), strides.data(), t, cpu_device, rank(shape), 0};
}

Ints random_shape(std::mt19937& random, int max_rank, int max_extent) {
  Ints shape(random() % static_cast<unsigned>(max_rank + 1));
  for (auto& e : shape) e = static_cast<std::int64_t>(random() % static_cast<unsigned>(max_extent + 1));
  return shape;
}

void test_against_brute_force() {
  std::mt19937 random(20240607);
  int answers[3] = {0, 0, 0};
  for (int round = 0; round < 60000; ++round) {
    const Ints shape = random_shape(random, 4, 4);
    const std::int64_t itemsize = 1 + static_cast<std::int64_t>(random() % 4);
    Ints strides(shape.size());
    for (auto& s : strides) s = (static_cast<std::int64_t>(random() % 41) - 20) * (random() % 2 ? 1 : itemsize);

    std::int64_t n = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
    std::int64_t count = 0;
    std::int64_t low_seen = 0;
    std::int64_t high_seen = 0;
    each_offset(shape, strides, [&](std::int64_t offset) {
      ++count;
      low_seen = std::min(low_seen, offset);
      high_seen = std::max(high_seen, offset + itemsize);
    });
    CHECK(element_count(rank(shape), shape.data(), &n));
    CHECK_EQ(n, count);
    CHECK(byte_extent(rank(shape), shape.data(), strides.data(), itemsize, &low, &high));
    CHECK_EQ(low, low_seen);
    CHECK_EQ(high, high_seen);

    const Overlap o = self_overlap(rank(shape), shape.data(), strides.data(), itemsize);
    const bool overlaps = really_overlaps(shape, strides, itemsize);
    CHECK(o != Overlap::none || !overlaps);
    CHECK(o != Overlap::some || overlaps);
    ++answers[static_cast<int>(o)];

    // Contiguity: the offsets are just 0, itemsize, 2 * itemsize, … in that order of indices.
    std::int64_t next = 0;
    bool row_major = true;
    each_offset(shape, strides, [&](std::int64_t offset) {
      row_major &= offset == next;
      next += itemsize;
    });
    CHECK_EQ(is_c_contiguous(rank(shape), shape.data(), strides.data(), itemsize), row_major);
    const Ints shape_back(shape.rbegin(), shape.rend());
    const Ints strides_back(strides.rbegin(), strides.rend());
    CHECK_EQ(is_f_contiguous(rank(shape), shape_back.data(), strides_back.data(), itemsize), row_major);

    Ints made(shape.size());
    CHECK(c_strides(rank(shape), shape.data(), itemsize, made.data()));
    CHECK(is_c_contiguous(rank(shape), shape.data(), made.data(), itemsize));
    CHECK(self_overlap(rank(shape), shape.data(), made.data(), itemsize) == Overlap::none);
  }
  for (int a : answers) CHECK(a > 100);  // all three answers were really met
}

void test_overlap_of_nested_strides_is_exact() {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    // A contiguous array, cut and mirrored along each axis, axes in any order: never overlaps.
    const std::int64_t itemsize = 1 + static_cast<std::int64_t>(random() % 8);
    Ints shape = random_shape(random, 5, 3);
    Ints strides(shape.size());
    std::int64_t step = itemsize;
    for (std::size_t i = shape.size(); i > 0; --i) {
      strides[i - 1] = random() % 2 ? step : -step;
      step *= std::max<std::int64_t>(shape[i - 1], 1) + static_cast<std::int64_t>(random() % 3);
    }
    for (std::size_t i = shape.size(); i > 1; --i) {
      const std::size_t j = random() % i;
      std::swap(shape[i - 1], shape[j]);
      std::swap(strides[i - 1], strides[j]);
    }
    CHECK(self_overlap(rank(shape), shape.data(), strides.data(), itemsize) == Overlap::none);
  }
  const auto overlap = [](Ints shape, Ints strides, std::int64_t itemsize) {
    return self_overlap(rank(shape), shape.data(), strides.data(), itemsize);
  };
  CHECK(overlap({3}, {0}, 8) == Overlap::some);        // broadcast
  CHECK(overlap({5, 3}, {4, 4}, 4) == Overlap::some);  // sliding window
  CHECK(overlap({2}, {3}, 4) == Overlap::some);        // closer than an element
  CHECK(overlap({1, 1}, {0, 0}, 4) == Overlap::none);  // extents of 1 place nothing
  CHECK(overlap({3, 0}, {0, 0}, 4) == Overlap::none);  // no elements
  CHECK(overlap({3}, {0}, 0) == Overlap::none);        // no bytes
  CHECK(overlap({}, {}, 4) == Overlap::none);
  CHECK(overlap({2, 2}, {INT64_MIN, big}, 1) != Overlap::none);
}

void test_borders() {
  std::int64_t n = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  const auto count = [&](Ints shape) { return element_count(rank(shape), shape.data(), &n); };
  CHECK(count({big}) && n == big);
  CHECK(count({big, 1}) && n == big);
  CHECK(!count({big, 2}));
  CHECK(!count({std::int64_t{1} << 32, std::int64_t{1} << 31}));
  CHECK(count({std::int64_t{1} << 32, (std::int64_t{1} << 31) - 1}));
  CHECK(count({big, big, 0}) && n == 0);
  CHECK(count({0, big, big}) && n == 0);
  CHECK(!count({-1}));
  CHECK(!count({0, -1}));
  CHECK(!count({INT64_MIN, 0}));

  const auto extent = [&](Ints shape, Ints strides, std::int64_t itemsize) {
    return byte_extent(rank(shape), shape.data(), strides.data(), itemsize, &low, &high);
  };
  CHECK(extent({2}, {big - 8}, 8) && high == big && low == 0);
  CHECK(!extent({2}, {big - 7}, 8));
  CHECK(extent({2}, {INT64_MIN}, 8) && low == INT64_MIN && high == 8);
  CHECK(!extent({2, 2}, {INT64_MIN, -1}, 8));
  CHECK(!extent({3}, {INT64_MIN / 2 - 1}, 8));
  CHECK(extent({1, big}, {big, 0}, 8) && low == 0 && high == 8);
  CHECK(extent({0, 2, 2}, {1, big, big}, 8) && low == 0 && high == 0);

  std::int64_t strides[3];
  CHECK(c_strides(2, Ints{big, big / 8}.data(), 8, strides) == false);
  CHECK(c_strides(2, Ints{1, big / 8}.data(), 8, strides) && strides[0] == (big / 8) * 8);
  CHECK(c_strides(3, Ints{big, big, 0}.data(), 8, strides) && strides[2] == 8 && strides[1] == 8);
  // Strides in elements.
  Ints in{3, -2, 0};
  CHECK(strides_to_bytes(3, Ints{2, 2, 2}.data(), 8, in.data()) == -1 && in == (Ints{24, -16, 0}));
  in = {big, 1, INT64_MIN};
  CHECK(strides_to_bytes(3, Ints{1, 2, 1}.data(), 4, in.data()) == -1 && in == (Ints{4, 4, 4}));
  in = {big, 1, INT64_MIN};
  CHECK(strides_to_bytes(3, Ints{2, 0, 2}.data(), 4, in.data()) == -1 && in == (Ints{4, 4, 4}));
  in = {1, big / 4 + 1};
  CHECK(strides_to_bytes(2, Ints{2, 2}.data(), 4, in.data()) == 1 && in[1] == big / 4 + 1);
  CHECK(!is_c_contiguous(2, Ints{2, big}.data(), Ints{8, 8}.data(), 8));
  CHECK(!is_f_contiguous(2, Ints{big, 2}.data(), Ints{8, 8}.data(), 8));

  // Random values near the borders against 128-bit arithmetic.
  std::mt19937_64 random(99);
  const auto near = [&]() -> std::int64_t {
    const std::int64_t anchors[] = {0, big, INT64_MIN, std::int64_t{1} << 31, -(std::int64_t{1} << 32)};
    const auto jitter = static_cast<std::uint64_t>(random() % 9) - 4;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(anchors[random() % 5]) + jitter);
  };
  for (int round = 0; round < 20000; ++round) {
    const Ints shape{std::abs(near() / 2), static_cast<std::int64_t>(1 + random() % 3)};
    const Ints st{near(), near()};
    const std::int64_t itemsize = static_cast<std::int64_t>(random() % 17);
    if (shape[0] == 0) continue;
    Wide lo = 0;
    Wide hi = itemsize;
    for (int i = 0; i < 2; ++i) {
      const Wide reach = Wide{shape[static_cast<std::size_t>(i)] - 1} * st[static_cast<std::size_t>(i)];
      (reach < 0 ? lo : hi) += reach;
    }
    const bool fits = lo >= INT64_MIN && hi <= big;
    const bool said = byte_extent(2, shape.data(), st.data(), itemsize, &low, &high);
    CHECK_EQ(said, fits);
    if (said && fits) CHECK(low == lo && high == hi);

    // validate() agrees, and adds the address space.
    const Wide total = Wide{shape[0]} * shape[1];
    const std::uintptr_t address = static_cast<std::uintptr_t>(near());
    const DType type = make_void(static_cast<std::uint32_t>(itemsize));
    const Descriptor d = describe(reinterpret_cast<void*>(address), shape, st, type);
    const bool good = fits && address != 0 && total <= big && total * itemsize <= big && Wide{address} + lo >= 0 &&
                      Wide{address} + hi <= Wide{UINTPTR_MAX};
    Reason why;
    const Status s = validate(d, &why);
    CHECK_EQ(static_cast<int>(s), static_cast<int>(good ? Status::ok : Status::invalid));
    CHECK_EQ(why.text[0] == '\0', good);
  }
}

void refuses(const Descriptor& d, const char* part) {
  Reason why;
  CHECK(validate(d, &why) == Status::invalid);
  CHECK(validate(d, nullptr) == Status::invalid);
  if (std::strstr(why.text, part) == nullptr) std::cerr << "'" << why.text << "' lacks '" << part << "'\n";
  CHECK(std::strstr(why.text, part) != nullptr);
}

void test_validate() {
  char memory[64];
  const DType f32 = make_dtype(TypeCode::float_, 32);
  const DType i4 = make_dtype(TypeCode::int_, 4);
  const Ints shape{2, 3};
  const Ints strides{12, 4};
  const Descriptor good = describe(memory, shape, strides, f32);
  CHECK(validate(good, nullptr) == Status::ok);
  Descriptor d = good;
  d.ndim = 0;
  d.shape = nullptr;
  d.strides = nullptr;
  CHECK(validate(d, nullptr) == Status::ok);
  d.data = nullptr;
  refuses(d, "address is null");
  d = good;
  d.ndim = -1;
  refuses(d, "-1 dimensions");
  d.ndim = 65;
  refuses(d, "65 dimensions");
  d = good;
  d.shape = nullptr;
  refuses(d, "shape is missing");
  d = good;
  d.strides = nullptr;
  refuses(d, "strides are missing");
  d = good;
  d.data = nullptr;
  refuses(d, "address is null");
  refuses(describe(memory, {2, -3}, strides, f32), "extent 1");
  refuses(describe(memory, {0, INT64_MIN}, strides, f32), "extent 1");
  refuses(describe(memory, {big, 2}, {0, 0}, f32), "elements than 64 bits");
  refuses(describe(memory, {big / 2}, {0}, f32), "more bytes");
  refuses(describe(memory, {3}, {big / 2 + 1}, f32), "reach");
  refuses(describe(reinterpret_cast<void*>(8), {2}, {-9}, f32), "outside the address space");
  CHECK(validate(describe(reinterpret_cast<void*>(8), {2}, {-8}, f32), nullptr) == Status::ok);
  CHECK(validate(describe(nullptr, {0, 5}, {big, big}, f32), nullptr) == Status::ok);
  CHECK(validate(describe(memory, {1, 5}, {big, 4}, f32), nullptr) == Status::ok);
  const Ints deep(64, 1);
  CHECK(validate(describe(memory, deep, deep, f32), nullptr) == Status::ok);

  // Packed elements lie row-major and carry no strides.
  d = describe(memory, shape, strides, i4);
  refuses(d, "row-major");
  d.strides = nullptr;
  CHECK(validate(d, nullptr) == Status::ok);
  CHECK_EQ(d.nbytes(), 3);
  CHECK(d.c_contiguous());
  CHECK(!d.f_contiguous());
  const Ints huge{big / 4};
  d.ndim = 1;
  d.shape = huge.data();
  refuses(d, "don't fit");
  d = describe(memory, shape, strides, i4.with_padded(true));
  CHECK(validate(d, nullptr) == Status::ok);
}

}  // namespace

int main() {
  test_against_brute_force();
  test_overlap_of_nested_strides_is_exact();
  test_borders();
  test_validate();
  return check::done();
}
