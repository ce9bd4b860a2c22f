// SPDX-License-Identifier: Apache-2.0
// Type strings, both ways. The sizes that a kind has come from dtype_table.h.
#include "src/core/type_string.h"

#include <cstdio>
#include <cstring>

#include "src/core/dtype_table.h"

namespace anyarray {
namespace {

// Bit n is set when the table has the kind with n bytes.
constexpr std::uint64_t sizes_of(char kind) noexcept {
  std::uint64_t bits = 0;
  for (const DTypeRow& row : dtype_table) {
    if (row.kind == kind) bits |= std::uint64_t{1} << (row.bits / 8);
  }
  return bits;
}

template <char kind>
constexpr std::uint64_t sizes = sizes_of(kind);

// The kind's row of this size; the sizes are distinct within a kind.
const DTypeRow* row_of(char kind, std::uint64_t size) noexcept {
  for (const DTypeRow& row : dtype_table) {
    if (row.kind == kind && row.bits == 8 * size) return &row;
  }
  return nullptr;
}

Status wrong_size(char kind, std::uint64_t size, Reason* why) noexcept {
  return because(Status::unsupported, why, "there is no type of kind '%c' with %llu bytes", kind,
                 static_cast<unsigned long long>(size));
}

Status numeric(char kind, TypeCode code, std::uint64_t allowed, std::uint64_t size, bool swapped, DType* out,
               Reason* why) noexcept {
  if (size > 63 || (allowed >> size & 1) == 0) return wrong_size(kind, size, why);
  if (size > 8 && code == TypeCode::float_) code = row_of(kind, size)->code;
  if (size > 16 && code == TypeCode::complex) code = row_of(kind, size)->code;
  *out = make_dtype(code, static_cast<unsigned>(8 * size)).with_swapped(swapped && size > 1);
  return Status::ok;
}

}  // namespace

bool read_number(const char** p, const char* end, std::uint64_t limit, std::uint64_t* out) noexcept {
  const char* q = *p;
  std::uint64_t n = 0;
  for (; q != end && *q >= '0' && *q <= '9'; ++q) {
    const auto digit = static_cast<std::uint64_t>(*q - '0');
    if (n > (limit - digit) / 10) return false;
    n = n * 10 + digit;
  }
  if (q == *p) return false;
  *p = q;
  *out = n;
  return true;
}

bool read_time_unit(const char* text, std::size_t length, TimeUnit* unit, std::uint32_t* multiplier) noexcept {
  *unit = TimeUnit::generic;
  *multiplier = 1;
  if (length == 0) return true;
  const char* const end = text + length - 1;
  if (length < 3 || *text != '[' || *end != ']') return false;
  ++text;
  const bool has_number = *text >= '0' && *text <= '9';
  std::uint64_t n = 1;
  if (has_number && (!read_number(&text, end, INT32_MAX, &n) || n == 0)) return false;
  const auto rest = static_cast<std::size_t>(end - text);
  if (rest == 7 && std::memcmp(text, "generic", rest) == 0) return !has_number;
  for (unsigned i = static_cast<unsigned>(TimeUnit::Y); i < static_cast<unsigned>(TimeUnit::generic); ++i) {
    const char* name = time_unit_names[i];
    if (std::strlen(name) == rest && std::memcmp(name, text, rest) == 0) {
      *unit = static_cast<TimeUnit>(i);
      *multiplier = static_cast<std::uint32_t>(n);
      return true;
    }
  }
  return false;
}

std::size_t write_time_unit(DType d, char* out, std::size_t size) noexcept {
  const auto unit = static_cast<unsigned>(d.unit());
  const bool named = unit > 0 && unit < static_cast<unsigned>(TimeUnit::generic);
  int n = 0;
  if (!named) {
    n = std::snprintf(out, size, "%s", "");
  } else if (d.count == 1) {
    n = std::snprintf(out, size, "[%s]", time_unit_names[unit]);
  } else {
    n = std::snprintf(out, size, "[%u%s]", static_cast<unsigned>(d.count), time_unit_names[unit]);
  }
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

Status read_kind(char kind, std::uint64_t size, bool swapped, DType* out, Reason* why) noexcept {
  switch (kind) {
    case 'f':
      return numeric(kind, TypeCode::float_, sizes<'f'>, size, swapped, out, why);
    case 'i':
      return numeric(kind, TypeCode::int_, sizes<'i'>, size, swapped, out, why);
    case 'u':
      return numeric(kind, TypeCode::uint, sizes<'u'>, size, swapped, out, why);
    case 'c':
      return numeric(kind, TypeCode::complex, sizes<'c'>, size, swapped, out, why);
    case 'b':
      return numeric(kind, TypeCode::bool_, sizes<'b'>, size, swapped, out, why);
    case 'M':
    case 'm':
      if (size != 8) return wrong_size(kind, size, why);
      *out = make_time(kind == 'M' ? TypeCode::datetime64 : TypeCode::timedelta64, TimeUnit::generic)
                 .with_swapped(swapped);
      return Status::ok;
    case 'S':
    case 'V':
      if (size > UINT32_MAX) {
        return because(Status::unsupported, why, "elements of %llu bytes: at most %llu are possible",
                       static_cast<unsigned long long>(size), static_cast<unsigned long long>(UINT32_MAX));
      }
      *out = kind == 'S' ? make_bytes(static_cast<std::uint32_t>(size)) : make_void(static_cast<std::uint32_t>(size));
      return Status::ok;
    case 'U':
      if (size % 4 != 0 || size / 4 > UINT32_MAX) return wrong_size(kind, size, why);
      *out = make_ucs4(static_cast<std::uint32_t>(size / 4)).with_swapped(swapped);
      return Status::ok;
    case 'O':
      return because(Status::unsupported, why, "elements are Python objects (kind 'O'); their memory isn't an array");
    case 't':
      return because(Status::unsupported, why, "bit fields (kind 't') can't be addressed in bytes");
    case 'T':
      return because(Status::unsupported, why, "elements of NumPy's StringDType have no fixed size");
    default:
      break;
  }
  const bool printable = kind > ' ' && kind < 0x7f;
  return because(Status::invalid, why, printable ? "there is no element kind '%c'" : "there is no element kind 0x%02x",
                 printable ? kind : static_cast<unsigned char>(kind));
}

Status read_type_string(const char* text, std::size_t length, DType* out, Reason* why) noexcept {
  const char* p = text;
  const char* const end = text + length;
  bool swapped = false;
  if (p != end && (*p == '<' || *p == '>' || *p == '|' || *p == '=')) swapped = *p++ == swapped_order;
  // What numbers look like: one digit and nothing more.
  if (end - p == 2 && p[1] >= '1' && p[1] <= '9' && *p != 'U') {
    return read_kind(*p, static_cast<std::uint64_t>(p[1] - '0'), swapped, out, why);
  }
  const int shown = length < 80 ? static_cast<int>(length) : 80;
  if (p == end) return because(Status::invalid, why, "the type string '%.*s' has no kind", shown, text);
  const char kind = *p++;
  constexpr char no_size[] = "StringDType";
  if (kind == 'S' && length >= sizeof no_size - 1 && std::memcmp(text, no_size, sizeof no_size - 1) == 0) {
    return read_kind('T', 0, false, out, why);
  }
  if (kind == 'O' || kind == 't' || kind == 'T') return read_kind(kind, 0, swapped, out, why);
  std::uint64_t size = 0;
  if (p == end || *p < '0' || *p > '9') {
    return because(Status::invalid, why, "the type string '%.*s' has no size after its kind", shown, text);
  }
  constexpr std::uint64_t limit = UINT64_MAX / 4;
  if (!read_number(&p, end, limit, &size)) {
    return because(Status::unsupported, why, "the size in the type string '%.*s' is too large", shown, text);
  }
  const Status s = read_kind(kind, kind == 'U' ? size * 4 : size, swapped, out, why);
  if (s != Status::ok) return s;
  if (out->is_time()) {
    TimeUnit unit = TimeUnit::generic;
    std::uint32_t multiplier = 1;
    if (!read_time_unit(p, static_cast<std::size_t>(end - p), &unit, &multiplier)) {
      return because(Status::invalid, why, "the type string '%.*s' has no time unit that is known", shown, text);
    }
    *out = make_time(out->code, unit, multiplier).with_swapped(swapped);
    return Status::ok;
  }
  if (p != end) return because(Status::invalid, why, "the type string '%.*s' goes on after its size", shown, text);
  return Status::ok;
}

Status write_type_string(DType d, char* out, std::size_t size, Reason* why) noexcept {
  char kind = 0;
  std::uint64_t number = d.count;
  bool ordered = has_byte_order(d);
  char unit[24] = "";
  switch (d.code) {
    case TypeCode::fixed_bytes:
      kind = 'S';
      break;
    case TypeCode::fixed_ucs4:
      kind = 'U';
      break;
    case TypeCode::void_:
      kind = 'V';
      break;
    case TypeCode::datetime64:
    case TypeCode::timedelta64:
      kind = d.code == TypeCode::datetime64 ? 'M' : 'm';
      number = 8;
      write_time_unit(d, unit, sizeof unit);
      break;
    case TypeCode::interned: {
      const InternedType* t = interned_type(d);
      if (t != nullptr && t->ndim == 0) {
        kind = 'V';
        number = static_cast<std::uint64_t>(t->itemsize);
        ordered = false;
      }
      break;
    }
    default: {
      const DTypeRow* row = d.count == 1 ? find_row(d) : nullptr;
      if (row != nullptr) kind = row->kind;
      number = d.bits / 8u;
      break;
    }
  }
  if (kind == 0) {
    char name[80];
    format_dtype(d, name, sizeof name);
    return because(Status::unsupported, why, "a type string can't say %s", name);
  }
  const char order = !ordered ? '|' : d.swapped() ? swapped_order : native_order;
  const int n = std::snprintf(out, size, "%c%c%llu%s", order, kind, static_cast<unsigned long long>(number), unit);
  if (n < 0 || static_cast<std::size_t>(n) >= size) {
    return because(Status::unsupported, why, "no room for a type string of %d bytes", n);
  }
  return Status::ok;
}

}  // namespace anyarray
