// SPDX-License-Identifier: Apache-2.0
// Casts by every instruction set that this machine has, held to the definitions of single numbers: each value of at
// most 16 bits, and the edges of wider ones. Every pair of types and every layout against the plainest one, with memory
// around the target that must stay as it was. That the definitions are NumPy's and ml_dtypes',
// tests/python/test_casts.py shows.
#include "src/copy/cast.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "anyarray/copy.h"
#include "src/copy/caches.h"
#include "src/copy/isa.h"
#include "src/copy/reversed.h"
#include "src/core/dtype_table.h"
#include "src/core/narrow_float.h"
#include "src/core/numbers.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

using Bytes = std::vector<char>;
using Ints = std::vector<std::int64_t>;

/// xorshift: the same numbers in every run.
std::uint64_t random_bits() {
  static std::uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

Descriptor describe(const void* data, DType t, const Ints& shape, const Ints& strides) {
  return {const_cast<void*>(data),
          shape.data(),
          t.packed() ? nullptr : strides.data(),
          t,
          cpu_device,
          static_cast<std::int32_t>(shape.size()),
          0};
}

std::int64_t bytes_of(DType t, std::int64_t n) {
  return t.packed() ? (n * t.bits * t.count + 7) / 8 : n * t.itemsize();
}

/// `n` elements without gaps, in room that ends where they end.
Bytes cast_dense(DType to, DType from, const Bytes& in, std::int64_t n) {
  Bytes out(static_cast<std::size_t>(bytes_of(to, n)));
  const Ints shape{n}, in_steps{from.itemsize()}, out_steps{to.itemsize()};
  if (n > 0) cast_elements(describe(out.data(), to, shape, out_steps), describe(in.data(), from, shape, in_steps));
  return out;
}

template <class T>
constexpr DType of() {
  if constexpr (std::is_same_v<T, Bool>) return make_dtype(TypeCode::bool_, 8);
  if constexpr (std::is_same_v<T, Half>) return make_dtype(TypeCode::float_, 16);
  if constexpr (std::is_same_v<T, Brain>) return make_dtype(TypeCode::bfloat, 16);
  if constexpr (std::is_floating_point_v<T>) return make_dtype(TypeCode::float_, 8 * sizeof(T));
  return make_dtype(std::is_signed_v<T> ? TypeCode::int_ : TypeCode::uint, 8 * sizeof(T));
}

/// All there are, or the edges, ties of narrower types with their neighbours, and random bits.
template <class T>
std::vector<T> values() {
  std::vector<T> all;
  const auto add = [&](std::uint64_t bits) {
    T v;
    std::memcpy(&v, &bits, sizeof v);
    all.push_back(v);
  };
  if (sizeof(T) <= 2) {
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 8 * sizeof(T); ++bits) add(bits);
    return all;
  }
  for (int i = 0; i < 20000; ++i) add(random_bits());
  for (int i = 0; i < 20000; ++i) add(random_bits() >> random_bits() % 64);
  for (int e = 0; e < 64; ++e) {
    for (const std::int64_t d : {-1, 0, 1}) {
      const std::uint64_t v = (std::uint64_t{1} << e) + static_cast<std::uint64_t>(d);
      for (const std::uint64_t bits : {v, ~v, v << 29, v | std::uint64_t{1} << (8 * sizeof(T) - 1)}) add(bits);
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    const T ends[] = {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
    for (std::uint32_t raw = 0; raw < 0x8000; raw += 3) {
      for (const float known :
           {widened(Brain{static_cast<std::uint16_t>(raw)}), held_as<float>(Half{static_cast<std::uint16_t>(raw)})}) {
        for (const T v :
             {static_cast<T>(known), static_cast<T>(-known) * T(1.5), static_cast<T>(known) * T(1.0009765625)}) {
          all.insert(all.end(), {v, std::nextafter(v, ends[0]), std::nextafter(v, ends[1])});
        }
      }
    }
    for (const double v : {0x1p31, 0x1p32, 0x1p63, 0x1p64, 65504.0, 65520.0, 3.4e38, 1e-45, 0.0, -0.0}) {
      const T near = static_cast<T>(v);
      all.insert(all.end(), {near, std::nextafter(near, ends[0]), std::nextafter(near, ends[1]), -near});
    }
    all.insert(all.end(), {ends[0], ends[1]});
  }
  return all;
}

/// A single number, as numbers.h defines it.
template <class To, class From>
To converted(From v) {
  if constexpr (std::is_same_v<From, To>) {
    return v;
  } else if constexpr (std::is_same_v<From, Brain> && std::is_same_v<To, Half>) {
    return number_as<Half>(widened(Brain{brain_of(widened(v))}));
  } else if constexpr (std::is_same_v<From, Half> && std::is_same_v<To, double>) {
    return held_as<double>(v);
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, Brain>) {
    return number_as<To>(held_as<float>(v));
  } else if constexpr (std::is_same_v<From, Bool>) {
    return number_as<To>(held_as<std::uint64_t>(v));
  } else if constexpr (std::is_floating_point_v<From>) {
    return number_as<To>(v);
  } else {
    return number_as<To>(held_as<std::conditional_t<std::is_signed_v<From>, std::int64_t, std::uint64_t>>(v));
  }
}

template <class To, class From>
void check_pair(const std::vector<From>& from) {
  if constexpr (!std::is_same_v<To, From>) {
    Bytes in(from.size() * sizeof(From));
    std::memcpy(in.data(), from.data(), in.size());
    const Bytes out = cast_dense(of<To>(), of<From>(), in, static_cast<std::int64_t>(from.size()));
    int wrong = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      Unsigned<sizeof(To)> given;  // every bit counts
      std::memcpy(&given, &out[i * sizeof given], sizeof given);
      if (given != bits_as<Unsigned<sizeof(To)>>(converted<To>(from[i]))) ++wrong;
    }
    CHECK_EQ(wrong, 0);
  }
}
template <class From, class... To>
void check_source() {
  const std::vector<From> from = values<From>();
  (check_pair<To>(from), ...);
}
template <class... T>
void check_all() {
  (check_source<T, T...>(), ...);
}
void test_numbers() {
  check_all<Bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
            std::uint64_t, Half, float, double, Brain>();
}

// --- floats of at most 8 bits ---

double decoded(DType t, std::uint32_t raw) {
  const FloatFormat* const format = narrow_format(t);
  return format != nullptr ? decode_float(raw, *format) : decode_e8m0(raw);
}

/// Whether a code is the nearest there is, the even one of two, for a number that isn't past the largest.
bool is_nearest(DType t, float v, std::uint32_t raw, const std::vector<double>& known) {
  const double found = decoded(t, raw);
  const double distance = std::fabs(found - static_cast<double>(v));
  for (std::uint32_t other = 0; other < known.size(); ++other) {
    if (!std::isfinite(known[other])) continue;
    const double far = std::fabs(known[other] - static_cast<double>(v));
    if (far < distance || (far == distance && known[other] != found && (raw & 1) != 0)) return false;
  }
  return std::signbit(v) == std::signbit(found) || (found == 0 && narrow_format(t)->top == Top::fnuz);
}

void test_narrow() {
  const std::vector<float> all = values<float>();
  std::vector<float> from;
  for (std::size_t i = 0; i < all.size(); i += 7) from.push_back(all[i]);
  Bytes in(from.size() * sizeof(float));
  std::memcpy(in.data(), from.data(), in.size());
  const auto n = static_cast<std::int64_t>(from.size());
  for (const DTypeRow& row : dtype_table) {
    if (row.code < TypeCode::float8_e3m4 || row.code > TypeCode::float4_e2m1fn) continue;
    const DType t = make_dtype(row.code, row.bits).with_padded(row.bits < 8);
    const std::uint32_t codes = 1u << row.bits;
    std::vector<double> known;
    Bytes every;
    for (std::uint32_t raw = 0; raw < codes; ++raw) {
      known.push_back(decoded(t, raw));
      every.push_back(static_cast<char>(raw));
    }
    const Bytes floats = cast_dense(of<float>(), t, every, codes);
    for (std::uint32_t raw = 0; raw < codes; ++raw) {
      float v;
      std::memcpy(&v, &floats[raw * sizeof v], sizeof v);
      CHECK(static_cast<double>(v) == known[raw] ? std::signbit(v) == std::signbit(known[raw])
                                                 : std::isnan(v) && std::isnan(known[raw]));
    }
    // Powers of two have an order of their own for ties: tests/python holds them to ml_dtypes.
    if (row.code == TypeCode::float8_e8m0fnu) continue;
    double largest = 0;
    for (const double v : known) largest = std::isfinite(v) ? std::max(largest, v) : largest;
    const Bytes made = cast_dense(t, of<float>(), in, n);
    int wrong = 0;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (!(std::fabs(from[i]) <= largest)) continue;
      if (!is_nearest(t, from[i], static_cast<unsigned char>(made[i]), known)) ++wrong;
    }
    CHECK_EQ(wrong, 0);
  }
}

// --- every pair, in every layout ---

std::vector<DType> all_types() {
  std::vector<DType> all;
  for (const DTypeRow& row : dtype_table) {
    if (row.code == TypeCode::opaque_handle) continue;
    const DType t = make_dtype(row.code, row.bits);
    all.push_back(t);
    if (row.bits < 8) all.push_back(t.with_padded(true));
    if (has_byte_order(t)) all.push_back(t.with_swapped(true));
  }
  all.push_back(make_dtype(TypeCode::float_, 32, 3));
  all.push_back(make_dtype(TypeCode::int_, 16, 3).with_swapped(true));
  all.push_back(make_dtype(TypeCode::float4_e2m1fn, 4, 2));
  all.push_back(make_dtype(TypeCode::uint, 1, 8));
  all.push_back(make_dtype(TypeCode::complex, 64, 2));
  all.push_back(make_dtype(TypeCode::float8_e5m2, 8, 8));
  return all;
}

/// Bytes that mean a number in every type: no long double is one that its format doesn't have.
Bytes numbers(DType t, std::int64_t n) {
  Bytes small(static_cast<std::size_t>(n * t.count));
  for (char& v : small) v = static_cast<char>(random_bits() % 5);
  const DType bytes = make_dtype(TypeCode::uint, 8, t.count);
  return bytes == t ? small : cast_dense(t, bytes, small, n);
}

constexpr char guard = 0x5a;

/// An array with gaps, or turned round, with memory around it.
struct Laid {
  Bytes memory;
  Ints shape, steps;
  Descriptor desc;

  /// `step`: from one element of the densest axis to the next; 0: without gaps there, but with one after each row.
  Laid(DType t, const Ints& extents, bool transposed, int step) : shape(extents), steps(extents.size()) {
    std::int64_t room = t.itemsize() * std::max(step, 1);
    for (std::size_t k = 0; k < extents.size(); ++k) {
      const std::size_t i = transposed ? k : extents.size() - 1 - k;
      steps[i] = room;
      room *= extents[i];
      if (step == 0) room += t.itemsize();
    }
    memory.assign(static_cast<std::size_t>(room) + 2 * 64, guard);
    desc = describe(memory.data() + 64, t, shape, steps);
    desc.strides = steps.data();
  }
  Laid(const Laid&) = delete;
  Laid& operator=(const Laid&) = delete;

  /// Each element's place in C order.
  template <class Each>
  void for_each(Each each) {
    Ints index(shape.size());
    const std::int64_t n = desc.size();
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t at = 64;
      for (std::size_t i = 0; i < shape.size(); ++i) at += index[i] * steps[i];
      each(k, memory.data() + at);
      for (std::size_t i = shape.size(); i > 0; --i) {
        if (++index[i - 1] < shape[i - 1]) break;
        index[i - 1] = 0;
      }
    }
  }
};

bool has_gaps(DType t) { return !t.packed(); }  // what is packed lies in C order only

void check_layouts(DType to, DType from, const Ints& shape, bool transposed_from, bool transposed_to, int step,
                   int step_to = -1) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  const Bytes in = numbers(from, n);
  const Bytes want = cast_dense(to, from, in, n);
  const auto from_size = static_cast<std::size_t>(from.itemsize());
  const auto to_size = static_cast<std::size_t>(to.itemsize());
  Laid source(from, shape, transposed_from, step);
  Laid target(to, shape, transposed_to, step_to < 0 ? step : step_to);
  Ints dense(shape.size());
  c_strides(static_cast<int>(shape.size()), shape.data(), from.itemsize(), dense.data());
  if (has_gaps(from)) {
    source.for_each(
        [&](std::int64_t k, char* p) { std::memcpy(p, &in[static_cast<std::size_t>(k) * from_size], from_size); });
  } else {
    source.desc = describe(in.data(), from, shape, dense);
  }
  bool same = true;
  if (has_gaps(to)) {
    cast_elements(target.desc, source.desc);
    target.for_each([&](std::int64_t k, char* p) {
      same = same && std::memcmp(p, &want[static_cast<std::size_t>(k) * to_size], to_size) == 0;
      std::memset(p, guard, to_size);
    });
    same = same && std::all_of(target.memory.begin(), target.memory.end(), [](char c) { return c == guard; });
  } else {
    Bytes out(want.size() + 2, guard);
    Bytes before = out;
    cast_elements(describe(out.data() + 1, to, shape, dense), source.desc);
    std::memcpy(before.data() + 1, want.data(), want.size());
    const std::int64_t bits = n * to.bits * to.count % 8;
    if (bits != 0) before[want.size()] = static_cast<char>(want.back() | (guard & ~((1 << bits) - 1)));
    same = out == before;
  }
  CHECK(same);
  if (!same) {
    char a[80], b[80];
    format_dtype(from, a, sizeof a);
    format_dtype(to, b, sizeof b);
    std::printf("  %s to %s, %lld elements\n", a, b, static_cast<long long>(n));
  }
}

void test_every_pair() {
  const std::vector<DType> all = all_types();
  int pairs = 0;
  for (const DType from : all) {
    for (const DType to : all) {
      if (from.count != to.count || from.with_swapped(false) == to.with_swapped(false)) continue;
      CHECK(has_cast(to, from));
      ++pairs;
      for (const std::int64_t n : {1, 5, 16, 37}) check_layouts(to, from, {n}, false, false, 1);
      check_layouts(to, from, {3, 5, 7}, true, false, 1);
      check_layouts(to, from, {9, 21}, false, true, 3);
      check_layouts(to, from, {3, 4, 19}, false, false, 0);
    }
  }
  CHECK(pairs > 1500);
  CHECK(!has_cast(make_dtype(TypeCode::float_, 32, 2), make_dtype(TypeCode::float_, 64)));
  CHECK(!has_cast(make_dtype(TypeCode::int_, 24), make_dtype(TypeCode::int_, 32)));
  CHECK(!has_cast(make_dtype(TypeCode::int_, 64), make_dtype(TypeCode::opaque_handle, 64)));
  CHECK(!has_cast(make_ucs4(3), make_bytes(3)) && !has_cast(make_void(3), make_bytes(3)));
  const DType date = make_time(TypeCode::datetime64, TimeUnit::s, 5);
  CHECK(has_cast(date, make_dtype(TypeCode::int_, 4)) && has_cast(make_time(TypeCode::timedelta64, TimeUnit::D), date));
  CHECK(!has_cast(make_time(TypeCode::datetime64, TimeUnit::D), date));
}

/// More than a block, more than a box, more than the caches hold, and more than one thread.
void test_large() {
  const DType f32 = of<float>(), f16 = of<Half>(), c64 = make_dtype(TypeCode::complex, 64);
  const DType e4m3 = make_dtype(TypeCode::float8_e4m3fn, 8), i4 = make_dtype(TypeCode::int_, 4);
  const DType pairs[][2] = {{f32, f16},
                            {f16, of<double>()},
                            {f32, c64},
                            {of<double>(), e4m3},
                            {e4m3, of<Half>()},
                            {f32, i4},
                            {of<std::int32_t>().with_swapped(true), f32},
                            {f32, of<double>().with_swapped(true)}};
  for (const auto& pair : pairs) {
    for (const bool transposed : {false, true}) {
      check_layouts(pair[1], pair[0], {701, 611}, transposed, false, 1);
      check_layouts(pair[1], pair[0], {140, 311}, transposed, false, 1, 3);
      check_layouts(pair[1], pair[0], {701, 3, 50}, transposed, true, 2);
    }
  }
  check_layouts(f16, f32, {1040, 8256}, true, false, 1);  // past the caches, whose lines begin within a tile
  check_layouts(of<double>(), f16, {3, 5, 300, 700}, true, false, 1);
  const std::int64_t n = last_cache() / 5 + 13;
  Bytes in(static_cast<std::size_t>(n) * 4);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto v = static_cast<float>(i % 2048);
    std::memcpy(&in[static_cast<std::size_t>(i) * 4], &v, 4);
  }
  const Bytes out = cast_dense(f16, f32, in, n);
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Half want = number_as<Half>(static_cast<float>(i % 2048));
    wrong += std::memcmp(&out[static_cast<std::size_t>(i) * 2], &want, 2) != 0;
  }
  CHECK_EQ(wrong, 0);
}

void test_first_changed() {
  const auto at = [](DType to, const std::vector<double>& numbers, DType from) {
    Bytes in(numbers.size() * 8);
    std::memcpy(in.data(), numbers.data(), in.size());
    const auto n = static_cast<std::int64_t>(numbers.size());
    const Bytes held = from == of<double>() ? in : cast_dense(from, of<double>(), in, n);
    const Ints shape{n}, steps{from.itemsize()};
    return first_changed(describe(held.data(), from, shape, steps), to);
  };
  std::vector<double> many(5000, 3);
  CHECK_EQ(at(of<std::int8_t>(), many, of<double>()), -1);
  many[4321] = 3.5;
  CHECK_EQ(at(of<std::int8_t>(), many, of<double>()), 4321);
  CHECK_EQ(at(of<float>(), many, of<double>()), -1);
  many[17] = -1;
  CHECK_EQ(at(of<std::uint64_t>(), many, of<std::int8_t>()), 17);
  CHECK_EQ(at(of<std::int8_t>(), {1, 127, 128}, of<std::uint8_t>()), 2);
  CHECK_EQ(at(of<Half>(), {1, -0x1p31}, of<std::int32_t>()), 1);
  CHECK_EQ(at(make_dtype(TypeCode::float8_e5m2, 8), {1, -0x1p63}, of<std::int64_t>()), 1);
  CHECK_EQ(at(of<std::int32_t>(), {1, -0.0, HUGE_VAL}, make_dtype(TypeCode::float8_e5m2, 8)), 2);
  CHECK_EQ(at(make_dtype(TypeCode::int_, 4), {-8, 7, 8}, of<std::int64_t>()), 2);
  CHECK_EQ(at(of<float>(), {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, 0.1}, of<double>()), 2);
  CHECK_EQ(at(of<Bool>(), {2, 0.5}, of<double>()), -1);
  const DType seconds = make_time(TypeCode::timedelta64, TimeUnit::s);
  CHECK_EQ(at(of<std::int16_t>(), {32767, 1, 32768}, seconds), 2);
  CHECK_EQ(at(seconds, {1, 1.5}, of<double>()), 1);
}

}  // namespace

int main() {
  for (int i = 0; i <= static_cast<int>(best_isa()); ++i) {
    choose_isa(static_cast<Isa>(i));
    test_numbers();
    test_narrow();
    test_every_pair();
    set_num_threads(1 + i);
    test_large();
    test_first_changed();
  }
  return check::done();
}
