// SPDX-License-Identifier: Apache-2.0
// Copies into memory that is there: right whatever overlaps, nothing written where they are refused, nothing beside the
// elements.
#include <algorithm>
#include <random>

#include "anyarray/complex.h"
#include "tests/cpp/arrays.h"

using namespace anyarray;
using namespace arrays;

namespace {

std::mt19937 random_bits(7);
std::int64_t any(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random_bits);
}

/// A target: as Source, but writable.
struct Target : Source {
  Target(void* data, DType t, Ints extents, Ints steps = {}) : Source(data, t, std::move(extents), std::move(steps)) {
    desc.flags = 0;
  }
};

/// Byte offsets of all elements in C order.
std::vector<std::int64_t> offsets(const Descriptor& d) {
  std::vector<std::int64_t> all(1, 0);
  for (int i = 0; i < d.ndim; ++i) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : all) {
      for (std::int64_t j = 0; j < d.shape[i]; ++j) next.push_back(at + j * d.strides[i]);
    }
    all = std::move(next);
  }
  return all;
}

/// What memory is after all elements were read, and then written one by one.
template <class To, class From>
void copy_plainly(const Descriptor& to, const Descriptor& from) {
  std::vector<From> values;
  for (const std::int64_t at : offsets(from)) {
    From v;
    std::memcpy(&v, static_cast<const char*>(from.data) + at, sizeof v);
    values.push_back(v);
  }
  std::size_t i = 0;
  for (const std::int64_t at : offsets(to)) {
    const auto v =
        static_cast<To>(values[i++]);  // NOLINT(bugprone-signed-char-misuse): int8 is a number here, its sign is meant
    std::memcpy(static_cast<char*>(to.data) + at, &v, sizeof v);
  }
}

/// Arrays at random places in one block, forwards, backwards, repeated or transposed, against the plain way.
template <class To, class From>
void test_overlaps() {
  constexpr std::int64_t room = 4096;
  std::vector<char> memory(room), expected(room);
  int done = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::size_t ndim = static_cast<std::size_t>(any(0, 3));
    Ints shape;
    for (std::size_t i = 0; i < ndim; ++i) shape.push_back(any(1, 6));
    const auto place = [&](std::int64_t itemsize, bool source, Ints* strides) {
      std::vector<std::size_t> order(ndim);
      for (std::size_t i = 0; i < ndim; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random_bits);
      strides->assign(ndim, 0);
      std::int64_t step = itemsize * any(1, 2) + (any(0, 4) == 0 ? any(0, 3) : 0);
      std::int64_t low = 0;
      for (const std::size_t i : order) {
        (*strides)[i] = source && any(0, 5) == 0 ? 0 : step;
        step *= shape[i];
        if (any(0, 3) == 0) (*strides)[i] = -(*strides)[i];
        if ((*strides)[i] < 0) low += (*strides)[i] * (shape[i] - 1);
      }
      return any(0, 64) - low;
    };
    Ints to_strides, from_strides;
    const std::int64_t to_at = place(sizeof(To), false, &to_strides);
    std::int64_t from_at = place(sizeof(From), true, &from_strides);
    if (sizeof(To) == sizeof(From) && any(0, 2) == 0) {  // the same layout, a little further on
      from_strides = to_strides;
      from_at = to_at + any(-3, 3) * static_cast<std::int64_t>(sizeof(To));
    }
    Target to(memory.data() + to_at, of<To>, shape, to_strides);
    Source from(memory.data() + from_at, of<From>, shape, from_strides);
    if (ndim == 0) to.desc.strides = from.desc.strides = shape.data();
    std::int64_t low = 0, high = 0, from_low = 0, from_high = 0;
    byte_extent(to.desc.ndim, to.desc.shape, to.desc.strides, sizeof(To), &low, &high);
    byte_extent(from.desc.ndim, from.desc.shape, from.desc.strides, sizeof(From), &from_low, &from_high);
    if (to_at + low < 0 || to_at + high > room || from_at + from_low < 0 || from_at + from_high > room) continue;
    for (char& c : memory) c = static_cast<char>(any(0, 100));
    expected = memory;
    Reason why;
    const Status s = copy(to.desc, from.desc, Casting::unsafe, &why);
    CHECK(s == Status::ok);
    std::swap(memory, expected);
    to.desc.data = memory.data() + to_at;
    from.desc.data = memory.data() + from_at;
    copy_plainly<To, From>(to.desc, from.desc);
    CHECK(memory == expected);
    ++done;
  }
  CHECK(done > 3000);
}

/// A whole array into itself, shifted, beyond the size of every block of the kernels.
void test_large_overlaps() {
  constexpr std::int64_t n = 300000;
  std::vector<std::int32_t> memory(n + 8), before;
  for (const std::int64_t shift : {-8, -1, 1, 7}) {
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::int32_t>(i * 2654435761u);
    before = memory;
    const std::int64_t to = shift > 0 ? shift : 0, from = shift < 0 ? -shift : 0;
    const Target target(memory.data() + to, of<std::int32_t>, {n});
    const Source source(memory.data() + from, of<std::int32_t>, {n});
    CHECK(copy(target.desc, source.desc, Casting::no, nullptr) == Status::ok);
    CHECK(std::memcmp(&memory[static_cast<std::size_t>(to)], &before[static_cast<std::size_t>(from)], 4 * n) == 0);
  }
  // Transposed in place.
  constexpr std::int64_t side = 300;
  before = memory;
  const Target target(memory.data(), of<std::int32_t>, {side, side});
  const Source source(memory.data(), of<std::int32_t>, {side, side}, {4, 4 * side});
  CHECK(copy(target.desc, source.desc, Casting::no, nullptr) == Status::ok);
  bool right = true;
  for (std::size_t i = 0; i < side; ++i) {
    for (std::size_t j = 0; j < side; ++j) right &= memory[i * side + j] == before[j * side + i];
  }
  CHECK(right);
}

/// Bits beside packed elements stay.
void test_packed() {
  const DType i4 = make_dtype(TypeCode::int_, 4);
  unsigned char from[] = {0x21, 0x43, 0x65}, to[] = {0xff, 0xff, 0xff};
  const Source source(from, i4, {3});
  Target target(to, i4, {3});
  CHECK(copy(target.desc, source.desc, Casting::no, nullptr) == Status::ok);
  CHECK(to[0] == 0x21 && to[1] == 0xf3 && to[2] == 0xff);
  const std::int8_t wide[] = {-1, 7, 2};
  CHECK(copy(target.desc, Source(wide, of<std::int8_t>, {3}).desc, Casting::same_value, nullptr) == Status::ok);
  CHECK(to[0] == 0x7f && to[1] == 0xf2 && to[2] == 0xff);
  std::int8_t back[3] = {};
  CHECK(copy(Target(back, of<std::int8_t>, {3}).desc, target.desc, Casting::safe, nullptr) == Status::ok);
  CHECK(std::memcmp(back, wide, 3) == 0);
  // In the same memory.
  std::int8_t own[4] = {1, 2, 3, 4};
  CHECK(copy(Target(own, i4, {4}).desc, Source(own, of<std::int8_t>, {4}).desc, Casting::unsafe, nullptr) ==
        Status::ok);
  CHECK(own[0] == 0x21 && own[1] == 0x43 && own[2] == 3);
}

void test_nothing_to_do() {
  float one = 1;
  Target empty(nullptr, of<float>, {3, 0});
  CHECK(copy(empty.desc, Source(nullptr, of<float>, {3, 0}).desc, Casting::no, nullptr) == Status::ok);
  Target same(&one, of<float>, {1});
  CHECK(copy(same.desc, same.desc, Casting::no, nullptr) == Status::ok);
  CHECK_EQ(one, 1.0f);
  const float two = 2;
  CHECK(copy(Target(&one, of<float>, {}).desc, Source(&two, of<float>, {}).desc, Casting::no, nullptr) == Status::ok);
  CHECK_EQ(one, 2.0f);
}

bool refused(const Descriptor& to, const Descriptor& from, Casting casting, Status s, const char* words) {
  std::vector<char> before(static_cast<char*>(to.data), static_cast<char*>(to.data) + 8);
  Reason why;
  const Status is = copy(to, from, casting, &why);
  const bool ok = is == s && std::strstr(why.text, words) != nullptr && copy(to, from, casting, nullptr) == s &&
                  std::memcmp(before.data(), to.data, 8) == 0;
  if (!ok) std::printf("expected %s \"%s\", got %s \"%s\"\n", status_name(s), words, status_name(is), why.text);
  return ok;
}

void test_refusals() {
  std::int32_t memory[12] = {1, 2, 3, 4, 5, 6, 300, 8, 9, 10, 11, 12}, other[12] = {};
  const DType t = of<std::int32_t>;
  const Source from(memory, t, {4, 3});
  const auto into = [&](Ints shape, Ints strides = {}) {
    return Target(other, t, std::move(shape), std::move(strides));
  };
  CHECK(refused(into({3, 4}).desc, from.desc, Casting::no, Status::invalid, "shape (3, 4), the source (4, 3)"));
  CHECK(refused(into({12}).desc, from.desc, Casting::no, Status::invalid, "shape (12,), the source (4, 3)"));
  CHECK(refused(into({4, 3}, {0, 4}).desc, from.desc, Casting::no, Status::invalid, "share memory"));
  CHECK(refused(into({4, 3}, {4, 4}).desc, from.desc, Casting::no, Status::invalid, "share memory"));
  Target to(other, t, {4, 3});
  to.desc.flags = flag_readonly;
  CHECK(refused(to.desc, from.desc, Casting::no, Status::invalid, "read-only"));
  to.desc.flags = 0;
  to.desc.device = {DeviceType::cuda, 1};
  CHECK(refused(to.desc, from.desc, Casting::no, Status::device, "cuda:1, whose memory the host can't write"));
  to.desc.device = cpu_device;
  Source far(memory, t, {4, 3});
  far.desc.device = {DeviceType::rocm, 0};
  CHECK(refused(to.desc, far.desc, Casting::no, Status::device, "can't read"));
  const Target floats(other, of<float>, {4, 3});
  CHECK(refused(floats.desc, from.desc, Casting::safe, Status::mismatch,
                "int32 can't be cast to float32 (by the rule safe"));
  CHECK(refused(Target(other, make_void(4), {4, 3}).desc, from.desc, Casting::unsafe, Status::unsupported, "no such"));
  const Source negative(memory, t, {-1, 3});
  CHECK(refused(to.desc, negative.desc, Casting::no, Status::invalid, "negative"));
}

/// Layouts whose elements could meet, and don't: all of them are looked at.
void test_apart_after_all() {
  std::int8_t memory[64] = {}, from[6] = {1, 2, 3, 4, 5, 6};
  // 0 3 6 + 0 5: no two are one.
  const Target to(memory, of<std::int8_t>, {3, 2}, {3, 5});
  CHECK(self_overlap(2, to.desc.shape, to.desc.strides, 1) == Overlap::maybe);
  CHECK(copy(to.desc, Source(from, of<std::int8_t>, {3, 2}).desc, Casting::no, nullptr) == Status::ok);
  CHECK(memory[0] == 1 && memory[5] == 2 && memory[3] == 3 && memory[8] == 4 && memory[6] == 5 && memory[11] == 6);
}

void test_values_that_would_change() {
  std::uint8_t bytes[16] = {};
  const auto names = [&bytes](const void* data, DType t, const Ints& shape, DType to, const char* words) {
    const Target target(bytes, to, shape);
    return refused(target.desc, Source(data, t, shape).desc, Casting::same_value, Status::mismatch, words);
  };
  std::int32_t ints[] = {1, 2, 3, 4, 5, 6, 7, 300};
  CHECK(names(ints, of<std::int32_t>, {4, 2}, of<std::uint8_t>,
              "element [3, 1] is 300, which uint8 can't hold (it would become 44)"));
  ints[7] = -1;
  CHECK(names(ints, of<std::int32_t>, {8}, of<std::uint8_t>,
              "element [7] is -1, which uint8 can't hold (it would become 255)"));
  ints[7] = 255;
  const Target target(bytes, of<std::uint8_t>, {8});
  CHECK(copy(target.desc, Source(ints, of<std::int32_t>, {8}).desc, Casting::same_value, nullptr) == Status::ok);
  CHECK(bytes[7] == 255 && bytes[6] == 7);
  const double real = 0.1;
  CHECK(names(&real, of<double>, {}, of<float>,
              "element [] is 0.1, which float32 can't hold (it would become 0.10000000149"));
  const std::complex<double> c(1, -2);
  CHECK(names(&c, of<std::complex<double>>, {1}, of<double>, "is 1-2j, which float64 can't hold (it would become 1)"));
  const std::uint64_t big = UINT64_MAX;
  CHECK(names(&big, of<std::uint64_t>, {1}, of<double>, "is 18446744073709551615, which"));
  const unsigned char fours[] = {0x21, 0x43, 0x85};
  CHECK(names(fours, make_dtype(TypeCode::int_, 4), {6}, make_dtype(TypeCode::uint, 4),
              "element [5] is -8, which uint4 can't hold (it would become 8)"));
  const Made refused_copy(Source(&real, of<double>, {}), of<float>, Casting::same_value);
  CHECK(refused_copy.refused(Status::mismatch, "element [] is 0.1"));
}

}  // namespace

int main() {
  test_overlaps<std::int16_t, std::int16_t>();
  test_overlaps<std::int32_t, std::int8_t>();
  test_overlaps<std::int8_t, std::int64_t>();
  test_large_overlaps();
  test_packed();
  test_nothing_to_do();
  test_refusals();
  test_apart_after_all();
  test_values_that_would_change();
  return check::done();
}
