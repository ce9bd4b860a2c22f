// SPDX-License-Identifier: Apache-2.0
// Floats of at most 8 bits, read from their definitions: sign, exponent, mantissa, bias, and what the top codes mean;
// those of 16 as numbers.h has them.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

#include "anyarray/dtype.h"
#include "src/core/numbers.h"

namespace anyarray {

/// How the codes with the largest exponent, and minus zero, are meant.
enum class Top : std::uint8_t {
  ieee,    ///< all ones: infinity where the mantissa is 0, otherwise NaN
  fn,      ///< finite, but for the code of all ones, which is NaN
  fnuz,    ///< finite; the code of minus zero is NaN
  finite,  ///< nothing but numbers
};
struct FloatFormat {
  std::uint8_t exponent_bits;
  std::uint8_t mantissa_bits;
  std::int16_t bias;
  Top top;
};

inline double decode_float(std::uint32_t raw, const FloatFormat& f) noexcept {
  const std::uint32_t mantissa = raw & ((1u << f.mantissa_bits) - 1);
  const std::uint32_t exponent = (raw >> f.mantissa_bits) & ((1u << f.exponent_bits) - 1);
  const bool negative = ((raw >> (f.mantissa_bits + f.exponent_bits)) & 1u) != 0;
  const bool ones = exponent == (1u << f.exponent_bits) - 1;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.top == Top::ieee && ones) {
    if (mantissa != 0) return negative ? -nan : nan;
    return negative ? -HUGE_VAL : HUGE_VAL;
  }
  if (f.top == Top::fn && ones && mantissa == (1u << f.mantissa_bits) - 1) return negative ? -nan : nan;
  if (f.top == Top::fnuz && negative && exponent == 0 && mantissa == 0) return nan;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                                         : std::ldexp((1u << f.mantissa_bits) | mantissa,
                                                      static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  return negative ? -magnitude : magnitude;
}

/// Powers of two without sign or mantissa: 2**(raw - 127), and 255 for NaN.
inline double decode_e8m0(std::uint32_t raw) noexcept {
  return raw == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(raw) - 127);
}

/// A bfloat16, or a float16.
inline double decode_float16(TypeCode code, std::uint16_t raw) noexcept {
  return code == TypeCode::bfloat ? widened(Brain{raw}) : held_as<double>(Half{raw});
}

/// The format of a float's lane; null where decode_float() can't read it.
inline const FloatFormat* narrow_format(DType d) noexcept {
  static constexpr FloatFormat e3m4{3, 4, 3, Top::ieee}, e4m3{4, 3, 7, Top::ieee}, e4m3b11{4, 3, 11, Top::fnuz},
      e4m3fn{4, 3, 7, Top::fn}, e4m3fnuz{4, 3, 8, Top::fnuz}, e5m2{5, 2, 15, Top::ieee}, e5m2fnuz{5, 2, 16, Top::fnuz},
      e2m3fn{2, 3, 1, Top::finite}, e3m2fn{3, 2, 3, Top::finite}, e2m1fn{2, 1, 1, Top::finite};
  switch (d.code) {
    case TypeCode::float8_e3m4:
      return &e3m4;
    case TypeCode::float8_e4m3:
      return &e4m3;
    case TypeCode::float8_e4m3b11fnuz:
      return &e4m3b11;
    case TypeCode::float8_e4m3fn:
      return &e4m3fn;
    case TypeCode::float8_e4m3fnuz:
      return &e4m3fnuz;
    case TypeCode::float8_e5m2:
      return &e5m2;
    case TypeCode::float8_e5m2fnuz:
      return &e5m2fnuz;
    case TypeCode::float6_e2m3fn:
      return &e2m3fn;
    case TypeCode::float6_e3m2fn:
      return &e3m2fn;
    case TypeCode::float4_e2m1fn:
      return &e2m1fn;
    default:
      return nullptr;
  }
}

/// Bits `at` to `at + n` of memory, little bit order; n ≤ 8.
inline std::uint32_t load_bits(const char* p, std::uint64_t at, unsigned n) noexcept {
  const auto* bytes = reinterpret_cast<const unsigned char*>(p) + at / 8;
  std::uint32_t word = bytes[0];
  if (at % 8 + n > 8) word |= static_cast<std::uint32_t>(bytes[1]) << 8;
  return (word >> (at % 8)) & ((1u << n) - 1);
}

}  // namespace anyarray
