// SPDX-License-Identifier: Apache-2.0
#include "src/copy/print_element.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "src/copy/convert_elements.h"
#include "src/core/dtype_table.h"

namespace anyarray {
namespace {

constexpr int most = 8;  // elements that fill whole bytes together

/// With no more digits than tell it from all others.
void print_real(double v, TextWriter& text) noexcept {
  char digits[32];
  for (int precision = 6; precision <= 17; ++precision) {
    std::snprintf(digits, sizeof digits, "%.*g", precision, v);
    if (std::strtod(digits, nullptr) == v) break;
  }
  text.print("%s", digits);
}
void print_real(long double v, TextWriter& text) noexcept {
  char digits[64];
  for (int precision = 6; precision <= 36; ++precision) {
    std::snprintf(digits, sizeof digits, "%.*Lg", precision, v);
    if (std::strtold(digits, nullptr) == v) break;
  }
  text.print("%s", digits);
}

/// The value as a `T` of dtype `wide`, or of two of them. False where it can't become one.
template <class T>
bool read_as(const OneElement& one, DType wide, T* out) noexcept {
  if (one.desc.dtype.count != 1 || can_cast(one.desc.dtype, wide, Casting::unsafe) != Status::ok) return false;
  T values[2 * most];
  const std::int64_t step = wide.itemsize();
  convert_elements({values, &one.extent, &step, wide, cpu_device, 1, 0}, one.desc);
  const std::size_t parts = static_cast<std::size_t>(step) / sizeof(T);
  std::memcpy(out, values + parts * static_cast<std::size_t>(one.skipped), parts * sizeof(T));
  return true;
}

/// A float or complex number by way of `T`, whose dtypes these are.
template <class T>
bool print_by(const OneElement& one, DType real, DType complex, TextWriter& text) noexcept {
  T value[2] = {};
  const bool both = one.desc.dtype.is_complex();
  if (!read_as(one, both ? complex : real, value)) return false;
  print_real(value[0], text);
  if (!both) return true;
  text.print("%s", std::signbit(value[1]) ? "" : "+");
  print_real(value[1], text);
  text.print("j");
  return true;
}

void print_character(std::uint32_t c, TextWriter& text) noexcept {
  if (c >= 0x20 && c < 0x7f) {
    text.print("%c", static_cast<char>(c));
  } else if (c < 0x100) {
    text.print("\\x%02x", c);
  } else {
    text.print("\\U%08x", c);
  }
}

void print_text(const Descriptor& d, TextWriter& text) noexcept {
  constexpr std::uint32_t shown = 24;
  const bool wide = d.dtype.code == TypeCode::fixed_ucs4;
  text.print("'");
  for (std::uint32_t i = 0; i < std::min(d.dtype.count, shown); ++i) {
    std::uint32_t c = 0;
    if (wide) {
      std::memcpy(&c, static_cast<const char*>(d.data) + 4 * std::size_t{i}, 4);
      if (d.dtype.swapped()) c = __builtin_bswap32(c);
    } else {
      c = static_cast<const unsigned char*>(d.data)[i];
    }
    if (c == 0) break;
    print_character(c, text);
  }
  text.print("%s", d.dtype.count > shown ? "…'" : "'");
}

}  // namespace

void print_index(const Descriptor& d, std::int64_t number, TextWriter& text) noexcept {
  std::int64_t index[max_ndim];
  for (int i = d.ndim - 1; i >= 0; --i) {
    index[i] = number % d.shape[i];
    number /= d.shape[i];
  }
  text.print("[");
  for (int i = 0; i < d.ndim; ++i) text.print("%s%lld", i > 0 ? ", " : "", static_cast<long long>(index[i]));
  text.print("]");
}

void find_element(const Descriptor& d, std::int64_t number, OneElement* out) noexcept {
  out->desc = d;
  out->desc.ndim = 1;
  out->desc.shape = &out->extent;
  out->extent = 1;
  out->skipped = 0;
  char* at = static_cast<char*>(d.data);
  if (d.strides == nullptr) {
    const std::int64_t bits = std::int64_t{d.dtype.bits} * d.dtype.count;
    out->skipped = number % (most / std::gcd(bits, std::int64_t{most}));
    at += (number - out->skipped) * bits / 8;
    out->extent = out->skipped + 1;
  } else {
    for (int i = d.ndim - 1; i >= 0; --i) {
      at += number % d.shape[i] * d.strides[i];
      number /= d.shape[i];
    }
    out->stride = d.dtype.itemsize();
    out->desc.strides = &out->stride;
  }
  out->desc.data = at;
}

bool print_element(const OneElement& one, TextWriter& text) noexcept {
  const DType d = one.desc.dtype;
  if (d.code == TypeCode::bool_ || d.code == TypeCode::uint) {
    std::uint64_t value = 0;
    if (!read_as(one, make_dtype(TypeCode::uint, 64), &value)) return false;
    text.print("%llu", static_cast<unsigned long long>(value));
    return true;
  }
  if (d.code == TypeCode::int_ || d.is_time()) {
    OneElement ticks = one;
    if (d.is_time()) ticks.desc.dtype = make_dtype(TypeCode::int_, 64).with_swapped(d.swapped());
    std::int64_t value = 0;
    if (!read_as(ticks, make_dtype(TypeCode::int_, 64), &value)) return false;
    text.print("%lld", static_cast<long long>(value));
    return true;
  }
  if (d.code == TypeCode::fixed_bytes || d.code == TypeCode::fixed_ucs4) {
    print_text(one.desc, text);
    return true;
  }
  if (d.code == TypeCode::long_double || d.code == TypeCode::complex_long_double) {
    return print_by<long double>(one, make_dtype(TypeCode::long_double, long_double_bits),
                                 make_dtype(TypeCode::complex_long_double, 2 * long_double_bits), text);
  }
  return print_by<double>(one, make_dtype(TypeCode::float_, 64), make_dtype(TypeCode::complex, 128), text);
}

}  // namespace anyarray
