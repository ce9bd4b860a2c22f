// SPDX-License-Identifier: Apache-2.0
// Descriptors → how Arrow says them: the format of an element, nested lists of fixed size, or tensors whose permutation
// says a layout that lists can't. No Python.
#include <cstdio>
#include <cstring>

#include "anyarray/produce.h"
#include "anyarray/protocols/arrow.h"
#include "src/protocols/arrow/letters.h"

namespace anyarray::arrow {
namespace {

using Wide = long long;  // what printf calls it

/// Lists and fixed-size binary have a size of 32 bits in Arrow.
constexpr std::int64_t max_size = INT32_MAX;

/// Arrow's letter for a number; NUL where it has none.
char letter_of(DType d) noexcept {
  if (d == make_dtype(TypeCode::bool_, 8)) return 'b';
  for (const Number& n : numbers) {
    if (d == make_dtype(n.code, n.bits)) return n.letter;
  }
  return '\0';
}

char letter_of(TimeUnit unit) noexcept {
  for (const Unit& u : units) {
    if (u.unit == unit) return u.letter;
  }
  return '\0';
}

/// What to do with elements that Arrow hasn't.
const char* advice_for(DType d) noexcept {
  if (d.swapped()) return "Arrow knows the byte order of the machine alone: swap the bytes first";
  if (const InternedType* t = interned_type(d); t != nullptr) {
    return t->ndim > 0 ? "Arrow gets the sub-arrays as dimensions: view them as elements first"
                       : "Arrow keeps each field of a struct in a memory of its own: give one field at a time";
  }
  switch (d.code) {
    case TypeCode::complex:
    case TypeCode::complex_long_double:
      return "Arrow has no complex numbers: view them as floats, real and imaginary parts as a last dimension";
    case TypeCode::long_double:
      return "Arrow's floats end at 64 bits: cast them to float64";
    case TypeCode::datetime64:
    case TypeCode::timedelta64:
      return "Arrow's times count s, ms, us or ns, one at a time: cast them to one of these";
    case TypeCode::fixed_bytes:
      return "Arrow's fixed-size binary has 1 to 2147483647 bytes";
    case TypeCode::fixed_ucs4:
      return "Arrow has no text of fixed width: encode it as bytes, or give its code points as uint32";
    case TypeCode::void_:
      return "raw bytes without a meaning have no Arrow type: view them as fixed bytes or as uint8";
    case TypeCode::opaque_handle:
      return "handles mean nothing to whom they are given: view them as uint64";
    default:
      break;
  }
  if (d.count != 1) return "Arrow has no vectors of lanes: view the lanes as a last dimension";
  return d.code == TypeCode::int_ || d.code == TypeCode::uint || d.code == TypeCode::bool_
             ? "Arrow's integers have 8, 16, 32 or 64 bits, its bools come from bytes: cast them"
             : "Arrow's floats have 16, 32 or 64 bits: cast them to float32";
}

/// The order of dimensions 1, 2, … in memory, if an element of the first dimension is one block without gaps in which
/// they lie in some order, and these blocks follow one another.
bool find_order(const Descriptor& d, Form* out) noexcept {
  int at[max_ndim];  // by place in memory, the outermost first; extents of 1 last, wherever they are said to be
  int n = 0;
  for (int i = 1; i < d.ndim; ++i) {
    if (d.shape[i] == 1) continue;
    int place = n++;
    for (; place > 0 && d.strides[at[place - 1]] < d.strides[i]; --place) at[place] = at[place - 1];
    at[place] = i;
  }
  std::int64_t step = d.dtype.itemsize();
  for (int place = n - 1; place >= 0; --place) {
    if (d.strides[at[place]] != step || __builtin_mul_overflow(step, d.shape[at[place]], &step)) return false;
  }
  if (d.shape[0] > 1 && d.strides[0] != step) return false;
  for (int i = 1; i < d.ndim; ++i) {
    if (d.shape[i] == 1) at[n++] = i;
  }
  for (int place = 0; place < n; ++place) {
    out->extent[place] = d.shape[at[place]];
    out->lies_as[at[place] - 1] = static_cast<std::uint8_t>(place);
  }
  return true;
}

void set_row_major(const Descriptor& d, Form* out) noexcept {
  for (int i = 1; i < d.ndim; ++i) {
    out->extent[i - 1] = d.shape[i];
    out->lies_as[i - 1] = static_cast<std::uint8_t>(i - 1);
  }
}

bool is_aligned(const Descriptor& d) noexcept {
  return reinterpret_cast<std::uintptr_t>(d.data) % static_cast<std::uintptr_t>(alignment_of(d.dtype)) == 0;
}

/// Every level counts the elements of its child; so all of these must be countable, where there are none as well.
Status set_sizes(const Descriptor& d, Form* out, Reason* why) noexcept {
  std::int64_t elements = d.shape[0];
  std::int64_t whole = 1;
  bool fits = true;
  for (int i = 1; i < d.ndim; ++i) {
    if (d.shape[i] > max_size) {
      return because(Status::unsupported, why,
                     "dimension %d has %lld elements: Arrow's lists of fixed size have at most %lld: reshape the array",
                     i, static_cast<Wide>(d.shape[i]), static_cast<Wide>(max_size));
    }
    if (__builtin_mul_overflow(elements, d.shape[i], &elements)) {
      return because(Status::unsupported, why, "the Arrow lists of this shape are more than 64 bits can count");
    }
    fits = fits && !__builtin_mul_overflow(whole, d.shape[i], &whole) && whole <= max_size;
    out->list_size[i - 1] = d.shape[i];
  }
  out->levels = d.ndim - 1;
  out->tensors = out->tensors && fits;
  if (!out->tensors) return Status::ok;
  out->levels = 1;
  out->list_size[0] = whole;
  return Status::ok;
}

}  // namespace

Status encode_format(DType dtype, char* out, std::size_t size, Reason* why) noexcept {
  if (const char letter = letter_of(dtype); letter != '\0') {
    std::snprintf(out, size, "%c", letter);
    return Status::ok;
  }
  if (dtype.is_time() && !dtype.swapped() && dtype.count == 1) {
    if (const char unit = letter_of(dtype.unit()); unit != '\0') {
      std::snprintf(out, size, dtype.code == TypeCode::datetime64 ? "ts%c:" : "tD%c", unit);
      return Status::ok;
    }
  }
  if (dtype.code == TypeCode::fixed_bytes && dtype.count > 0 && dtype.count <= max_size) {
    std::snprintf(out, size, "w:%u", unsigned{dtype.count});
    return Status::ok;
  }
  char name[64];
  format_dtype(dtype, name, sizeof name);
  return because(Status::unsupported, why, "%s can't be given over Arrow: %s", name, advice_for(dtype));
}

Status encode(const Descriptor& d, Say say, Form* out, Reason* why) noexcept {
  char format[24];
  if (const Status s = encode_format(d.dtype, format, sizeof format, why); s != Status::ok) return s;
  if (!host_readable(d.device.type)) {
    char device[32];
    format_device(d.device, device, sizeof device);
    return because(Status::device, why, "memory on %s can't be given over Arrow's host interface: copy it to the host",
                   device);
  }
  if (d.ndim == 0) {
    return because(Status::unsupported, why,
                   "an array of no dimensions can't be given over Arrow, whose arrays have a length: give it the shape "
                   "(1,)");
  }
  out->dtype = d.dtype;
  out->ndim = d.ndim;
  out->length = d.shape[0];
  const bool may = d.dtype.code != TypeCode::bool_ && is_aligned(d);
  const bool rows = d.c_contiguous();
  out->tensors = d.ndim > 1 && (say == Say::tensors || (say == Say::as_it_lies && may && !rows && find_order(d, out)));
  if (const Status s = set_sizes(d, out, why); s != Status::ok) return s;
  out->as_is = may && (rows || (out->tensors && find_order(d, out)));
  if (rows || !out->as_is) set_row_major(d, out);
  return Status::ok;
}

void pack_bools(const void* from, std::int64_t n, void* to) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(from);
  auto* out = static_cast<unsigned char*>(to);
  for (; n > 0; n -= 8, bytes += 8) {
    const auto here = n < 8 ? static_cast<int>(n) : 8;
    unsigned bits = 0;
    for (int i = 0; i < here; ++i) bits |= (bytes[i] != 0 ? 1u : 0u) << i;
    *out++ = static_cast<unsigned char>(bits);
  }
}

std::int64_t find_nat(const std::int64_t* ticks, std::int64_t n, void* validity) noexcept {
  auto* bitmap = static_cast<unsigned char*>(validity);
  if (bitmap != nullptr) std::memset(bitmap, 0, static_cast<std::size_t>((n + 7) / 8));
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool valid = ticks[i] != INT64_MIN;
    found += !valid;
    if (bitmap != nullptr && valid) bitmap[i / 8] = static_cast<unsigned char>(bitmap[i / 8] | 1u << i % 8);
  }
  return found;
}

}  // namespace anyarray::arrow
