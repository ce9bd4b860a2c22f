// SPDX-License-Identifier: Apache-2.0
// One number to another, as copy.h says: defined for every value, without undefined behaviour, and with the bits that
// NumPy (ml_dtypes for bfloat16) gives. What the kernels of src/copy are held to. The C headers and <type_traits>
// alone.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace anyarray {

/// Elements that C++ has no type for.
struct Bool {
  std::uint8_t raw;
};
struct Half {
  std::uint16_t raw;
};
struct Brain {  ///< bfloat16
  std::uint16_t raw;
};

template <class To, class From>
To bits_as(From v) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &v, sizeof to);
  return to;
}

/// IEEE formats by their unsigned integer.
template <class Bits>
struct Ieee;
template <>
struct Ieee<std::uint32_t> {
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct Ieee<std::uint64_t> {
  static constexpr int mantissa = 52, bias = 1023;
};

/// The float16 next to a float or double, ties to even. NaN keeps its sign and the upper bits of its payload.
template <class Bits>
std::uint16_t half_of(Bits bits) noexcept {
  constexpr int mantissa_bits = Ieee<Bits>::mantissa, bias = Ieee<Bits>::bias;
  constexpr int cut = mantissa_bits - 10;
  constexpr Bits one = 1;
  const auto sign = static_cast<std::uint16_t>(bits >> (8 * sizeof(Bits) - 16) & 0x8000u);
  const auto exponent = static_cast<int>(bits >> mantissa_bits & (2 * bias + 1));
  const Bits mantissa = bits & ((one << mantissa_bits) - 1);
  const auto with_sign = [sign](Bits magnitude) { return static_cast<std::uint16_t>(sign | magnitude); };
  if (exponent == 2 * bias + 1) {
    const Bits payload = mantissa >> cut;
    return with_sign(0x7c00u | (mantissa != 0 && payload == 0 ? one : payload));
  }
  const int power = exponent - bias;
  if (power > 15) return with_sign(0x7c00u);
  // Below 2**-14 one bit of the mantissa goes with each halving; below 2**-25 nothing is left to round up.
  if (power < -25) return sign;
  const bool normal = power >= -14;
  const Bits all = normal ? mantissa : mantissa | one << mantissa_bits;
  const int shift = normal ? cut : cut - 14 - power;
  const Bits rest = all & ((one << shift) - 1);
  const Bits tie = one << (shift - 1);
  Bits kept = (all >> shift) + (normal ? static_cast<Bits>(power + 15) << 10 : 0);
  if (rest > tie || (rest == tie && (kept & 1) != 0)) ++kept;  // the carry runs into the exponent, up to infinity
  return with_sign(kept);
}

/// A float16 as float or double, exactly; NaN keeps its payload.
template <class Bits>
Bits widened(std::uint16_t half) noexcept {
  constexpr int mantissa_bits = Ieee<Bits>::mantissa, bias = Ieee<Bits>::bias;
  const Bits sign = static_cast<Bits>(half & 0x8000u) << (8 * sizeof(Bits) - 16);
  int exponent = half >> 10 & 31;
  Bits mantissa = half & 0x3ffu;
  if (exponent == 31) {
    exponent = 2 * bias + 1;
  } else if (exponent > 0) {
    exponent += bias - 15;
  } else if (mantissa != 0) {
    exponent = bias - 14;
    for (; (mantissa & 0x400u) == 0; mantissa <<= 1) --exponent;
    mantissa &= 0x3ffu;
  }
  return sign | static_cast<Bits>(exponent) << mantissa_bits | mantissa << (mantissa_bits - 10);
}

inline std::uint16_t brain_of(float v) noexcept {
  const auto bits = bits_as<std::uint32_t>(v);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline float widened(Brain v) noexcept { return bits_as<float>(static_cast<std::uint32_t>(v.raw) << 16); }

inline std::int64_t truncated(double v) noexcept {
  return v >= -0x1p63 && v < 0x1p63 ? static_cast<std::int64_t>(v) : INT64_MIN;
}
template <class To>
To to_integer(double v) noexcept {
  if constexpr (sizeof(To) < 4 || std::is_same_v<To, std::int32_t>) {
    const std::int32_t whole = v > -0x1p31 - 1 && v < 0x1p31 ? static_cast<std::int32_t>(v) : INT32_MIN;
    return static_cast<To>(whole);
  } else if constexpr (std::is_same_v<To, std::uint64_t>) {
    if (!(v >= 0x1p63)) return static_cast<std::uint64_t>(truncated(v));
    return v < 0x1p64 ? static_cast<std::uint64_t>(v) : 0;
  } else {
    return static_cast<To>(truncated(v));
  }
}

/// `v`, a 64-bit integer, float or double, as an element.
template <class To, class From>
To number_as(From v) noexcept {
  constexpr bool from_float = std::is_floating_point_v<From>;
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (std::is_same_v<To, Bool>) {
    return {v != 0};
  } else if constexpr (std::is_same_v<To, Brain>) {
    return {brain_of(static_cast<float>(v))};
  } else if constexpr (std::is_same_v<To, Half>) {
    if constexpr (std::is_same_v<From, double>) {
      return {half_of(bits_as<std::uint64_t>(v))};
    } else {
      return {half_of(bits_as<std::uint32_t>(static_cast<float>(v)))};
    }
  } else if constexpr (std::is_integral_v<To> && from_float) {
    return to_integer<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

/// An element as the 64-bit integer, float or double that holds it exactly.
template <class To, class From>
To held_as(From v) noexcept {
  if constexpr (std::is_same_v<From, Bool>) {
    return v.raw != 0;
  } else if constexpr (std::is_same_v<From, Brain>) {
    return widened(v);
  } else if constexpr (std::is_same_v<From, Half>) {
    if constexpr (std::is_same_v<To, double>) {
      return bits_as<double>(widened<std::uint64_t>(v.raw));
    } else {
      return bits_as<float>(widened<std::uint32_t>(v.raw));
    }
  } else {
    return static_cast<To>(v);
  }
}

}  // namespace anyarray
