// SPDX-License-Identifier: Apache-2.0
#include "src/copy/cast_scalar.h"

#include <cfloat>
#include <cstring>

#include "src/copy/reversed.h"
#include "src/core/dtype_table.h"
#include "src/core/numbers.h"

namespace anyarray {
namespace {

/// Eight items packed into so many bytes, the first in the lowest bits.
std::uint64_t load_little(const char* p, std::size_t bytes) noexcept {
  std::uint64_t v = 0;
  std::memcpy(&v, p, bytes);
  return little_endian ? v : reversed(v);
}
void store_little(char* p, std::uint64_t v, std::size_t bytes) noexcept {
  if (!little_endian) v = reversed(v);
  std::memcpy(p, &v, bytes);
}

/// The low `bits` of each `unit` bits of 64.
constexpr std::uint64_t low_of_each(int bits, int unit) noexcept {
  std::uint64_t mask = 0;
  for (int at = 0; at < 64; at += unit) mask |= ((std::uint64_t{1} << bits) - 1) << at;
  return mask;
}

/// Pairs of groups of so many bits, in units of twice as many as `unit`: the upper one moves to the middle of it, or
/// back to where the lower one ends.
template <int bits, int unit>
std::uint64_t spread(std::uint64_t v) noexcept {
  constexpr std::uint64_t lower = low_of_each(bits, 2 * unit);
  return (v & lower) | (v << (unit - bits) & lower << unit);
}
template <int bits, int unit>
std::uint64_t drawn_together(std::uint64_t v) noexcept {
  constexpr std::uint64_t lower = low_of_each(bits, 2 * unit);
  return (v & lower) | (v >> (unit - bits) & lower << bits);
}

template <int bits>
void unpack(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += 8) {
    const std::uint64_t v = load_little(from + i / 8 * bits, bits);
    store_little(to + i, spread<bits, 8>(spread<2 * bits, 16>(spread<4 * bits, 32>(v))), 8);
  }
}
template <int bits>
void pack(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; i += 8) {
    const std::uint64_t v = drawn_together<bits, 8>(load_little(from + i, 8));
    store_little(to + i / 8 * bits, drawn_together<4 * bits, 32>(drawn_together<2 * bits, 16>(v)), bits);
  }
}

template <std::size_t bytes>
void take_first(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to + i * std::int64_t{bytes}, from + 2 * i * std::int64_t{bytes}, bytes);
  }
}
template <std::size_t bytes>
void add_zero(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to + 2 * i * std::int64_t{bytes}, from + i * std::int64_t{bytes}, bytes);
    std::memset(to + (2 * i + 1) * std::int64_t{bytes}, 0, bytes);
  }
}

template <class T>
T load(const char* p) noexcept {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// --- long double ---

constexpr std::int64_t extended_size = sizeof(long double);
/// What holds the value: the 80-bit format fills 10 bytes of 16.
constexpr std::size_t extended_value = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double);

template <class Whole>
Whole whole_of(long double v) noexcept {
  constexpr auto end = static_cast<long double>(std::uint64_t{1} << (8 * sizeof(Whole) - 1));
  constexpr auto lowest = static_cast<Whole>(std::uint64_t{1} << (8 * sizeof(Whole) - 1));
  return v > -end - 1 && v < end ? static_cast<Whole>(v) : lowest;
}
/// As x86-64 does it one by one, where the instructions for 16 bits are there for long double alone.
template <class To>
To from_long_double(long double v) noexcept {
  if constexpr (std::is_same_v<To, Bool>) {
    return {v != 0};
  } else if constexpr (std::is_same_v<To, Half>) {
    return number_as<Half>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, Brain>) {
    return number_as<Brain>(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(v);
  } else if constexpr (sizeof(To) == 1 || std::is_same_v<To, std::int16_t>) {
    return static_cast<To>(whole_of<std::int16_t>(v));
  } else if constexpr (sizeof(To) == 2 || std::is_same_v<To, std::int32_t>) {
    return static_cast<To>(whole_of<std::int32_t>(v));
  } else if constexpr (std::is_same_v<To, std::uint64_t>) {
    if (!(v >= 0x1p63L)) return static_cast<std::uint64_t>(whole_of<std::int64_t>(v));
    return v < 0x1p64L ? static_cast<std::uint64_t>(v) : 0;
  } else {
    return static_cast<To>(whole_of<std::int64_t>(v));
  }
}
template <class T>
long double as_long_double(T v) noexcept {
  if constexpr (std::is_same_v<T, Bool>) {
    return v.raw != 0;
  } else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Brain>) {
    return held_as<double>(v);
  } else {
    return static_cast<long double>(v);
  }
}

template <class T>
void extended_to(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = from_long_double<T>(load<long double>(from + i * extended_size));
    std::memcpy(to + i * std::int64_t{sizeof v}, &v, sizeof v);
  }
}
template <class T>
void extended_of(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    const long double v = as_long_double(load<T>(from + i * std::int64_t{sizeof(T)}));
    std::memcpy(to + i * extended_size, &v, extended_value);
    std::memset(to + i * extended_size + extended_value, 0, sizeof v - extended_value);
  }
}

}  // namespace

const PackKernels pack_kernels = {{unpack<1>, unpack<2>, unpack<4>, unpack<6>}, {pack<1>, pack<2>, pack<4>, pack<6>}};

void move_items(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept {
  std::memcpy(to, from, static_cast<std::size_t>(n) * arg);
}

void keep_low(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept {
  const std::uint64_t low = ((1u << arg) - 1) * 0x0101010101010101u;
  for (std::int64_t i = 0; i < n; i += 8) {
    const std::uint64_t v = load<std::uint64_t>(from + i) & low;
    std::memcpy(to + i, &v, sizeof v);
  }
}
void extend_sign(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept {
  constexpr std::uint64_t each = 0x0101010101010101u;
  const std::uint64_t low = ((1u << arg) - 1) * each;
  const std::uint64_t sign = (1u << (arg - 1)) * each;
  for (std::int64_t i = 0; i < n; i += 8) {
    const std::uint64_t v = load<std::uint64_t>(from + i) & low;
    // (v ^ sign) - sign in each byte; the highest bit, put in and turned back, keeps one from borrowing of the next.
    const std::uint64_t extended = (((v ^ sign) | 0x80 * each) - sign) ^ 0x80 * each;
    std::memcpy(to + i, &extended, sizeof extended);
  }
}

Kernel first_of(int bytes) noexcept {
  return bytes == 2 ? take_first<2> : bytes == 4 ? take_first<4> : bytes == 8 ? take_first<8> : take_first<16>;
}
Kernel with_zero(int bytes) noexcept {
  return bytes == 2 ? add_zero<2> : bytes == 4 ? add_zero<4> : bytes == 8 ? add_zero<8> : add_zero<16>;
}

void run_twice(char* to, const char* from, std::int64_t n, std::uint64_t arg) noexcept {
  reinterpret_cast<Kernel>(arg)(to, from, 2 * n, 0);
}

Kernel from_extended(NumberType to) noexcept {
  static constexpr Kernel kernels[number_count] = {
      extended_to<Bool>,          extended_to<std::int8_t>,  extended_to<std::int16_t>,  extended_to<std::int32_t>,
      extended_to<std::int64_t>,  extended_to<std::uint8_t>, extended_to<std::uint16_t>, extended_to<std::uint32_t>,
      extended_to<std::uint64_t>, extended_to<Half>,         extended_to<float>,         extended_to<double>,
      extended_to<Brain>};
  return kernels[static_cast<int>(to)];
}
Kernel to_extended(NumberType from) noexcept {
  static constexpr Kernel kernels[number_count] = {
      extended_of<Bool>,          extended_of<std::int8_t>,  extended_of<std::int16_t>,  extended_of<std::int32_t>,
      extended_of<std::int64_t>,  extended_of<std::uint8_t>, extended_of<std::uint16_t>, extended_of<std::uint32_t>,
      extended_of<std::uint64_t>, extended_of<Half>,         extended_of<float>,         extended_of<double>,
      extended_of<Brain>};
  return kernels[static_cast<int>(from)];
}
void is_nonzero_extended(char* to, const char* from, std::int64_t n, std::uint64_t) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] = load<long double>(from + 2 * i * extended_size) != 0 ||
            load<long double>(from + (2 * i + 1) * extended_size) != 0;
  }
}

}  // namespace anyarray
