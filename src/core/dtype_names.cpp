// SPDX-License-Identifier: Apache-2.0
// Names of element types, both ways, from dtype_table.h and the grammar of type strings.
#include <cstdio>
#include <cstring>

#include "anyarray/layout.h"
#include "src/core/dtype_table.h"
#include "src/core/text_writer.h"
#include "src/core/type_string.h"

namespace anyarray {
namespace {

void write(DType d, TextWriter& w) noexcept;

void write_field_name(const char* name, TextWriter& w) noexcept {
  w.print("'");
  for (const char* p = name; *p != '\0'; ++p) {
    const auto c = static_cast<unsigned char>(*p);
    if (c < 0x20 || c == 0x7f) {
      w.print("\\x%02x", c);
    } else {
      w.print(c == '\'' || c == '\\' ? "\\%c" : "%c", c);
    }
  }
  w.print("'");
}

void write_interned(DType d, TextWriter& w) noexcept {
  const InternedType* t = interned_type(d);
  if (t == nullptr) {
    w.print("unknown(71:%u)", static_cast<unsigned>(d.count));
    return;
  }
  if (t->ndim > 0) {
    for (int i = 0; i < t->ndim; ++i) w.print("%s%lld", i == 0 ? "(" : ", ", static_cast<long long>(t->shape[i]));
    w.print(")");
    write(t->base, w);
    return;
  }
  w.print("{");
  std::int64_t end = 0;
  for (std::uint32_t i = 0; i < t->n_fields; ++i) {
    const Field& f = t->fields[i];
    if (i > 0) w.print(", ");
    write_field_name(f.name, w);
    w.print(": ");
    write(f.dtype, w);
    if (f.offset != end) w.print(" @ %lld", static_cast<long long>(f.offset));
    end = f.offset + f.dtype.itemsize();
  }
  w.print("; %lld}", static_cast<long long>(t->itemsize));
}

void write_scalar(DType d, TextWriter& w) noexcept {
  const DTypeRow* row = find_row(d);
  if (row == nullptr) {
    w.print("unknown(%u:%ux%u)", static_cast<unsigned>(d.code), static_cast<unsigned>(d.bits),
            static_cast<unsigned>(d.count));
    return;
  }
  if (!d.swapped() || !has_byte_order(d)) {
    w.print("%s", row->name);
  } else if (row->kind != 0) {
    w.print("%c%c%u", swapped_order, row->kind, static_cast<unsigned>(row->bits / 8));
  } else {
    w.print("%c%s", swapped_order, row->name);
  }
  if (d.count != 1) w.print(d.bits < 8 ? "_x%u" : "x%u", static_cast<unsigned>(d.count));
}

void write(DType d, TextWriter& w) noexcept {
  char unit[24];
  switch (d.code) {
    case TypeCode::datetime64:
    case TypeCode::timedelta64:
      write_time_unit(d, unit, sizeof unit);
      if (d.swapped()) {
        w.print("%c%c8%s", swapped_order, d.code == TypeCode::datetime64 ? 'M' : 'm', unit);
      } else {
        w.print("%s64%s", d.code == TypeCode::datetime64 ? "datetime" : "timedelta", unit);
      }
      break;
    case TypeCode::fixed_bytes:
      w.print("S%u", static_cast<unsigned>(d.count));
      break;
    case TypeCode::void_:
      w.print("V%u", static_cast<unsigned>(d.count));
      break;
    case TypeCode::fixed_ucs4:
      if (d.swapped()) w.print("%c", swapped_order);
      w.print("U%u", static_cast<unsigned>(d.count));
      break;
    case TypeCode::interned:
      write_interned(d, w);
      break;
    default:
      write_scalar(d, w);
      break;
  }
}

struct Alias {
  const char* text;
  const char* name;
};
constexpr Alias aliases[] = {
    {"float", "float64"},      {"double", "float64"},    {"single", "float32"},         {"half", "float16"},
    {"int", "int64"},          {"uint", "uint64"},       {"complex", "complex128"},     {"bool_", "bool"},
    {"cdouble", "complex128"}, {"csingle", "complex64"}, {"long double", "longdouble"},
};

// "float128" and the like: a name for the C compiler's long double where it has just that size.
bool is_long_double_alias(const char* text, const char* stem, unsigned bits) noexcept {
  char name[24];
  std::snprintf(name, sizeof name, "%s%u", stem, bits);
  return has_long_double && std::strcmp(text, name) == 0;
}

const char* resolve_alias(const char* text) noexcept {
  for (const Alias& a : aliases) {
    if (std::strcmp(a.text, text) == 0) return a.name;
  }
  if (is_long_double_alias(text, "float", long_double_bits)) return "longdouble";
  if (is_long_double_alias(text, "complex", 2 * long_double_bits)) return "clongdouble";
  return text;
}

// What may follow a row's name: nothing, lanes, "_padded" for sub-byte types.
bool read_suffix(const char* p, DType* d) noexcept {
  const bool subbyte = d->bits < 8;
  if (subbyte && std::strcmp(p, "_padded") == 0) {
    *d = d->with_padded(true);
    return true;
  }
  if (*p == '\0') return true;
  if (subbyte && *p++ != '_') return false;
  if (*p++ != 'x') return false;
  std::uint64_t lanes = 0;
  const char* const end = p + std::strlen(p);
  if (*p == '0' || !read_number(&p, end, UINT32_MAX, &lanes) || lanes < 2) return false;
  d->count = static_cast<std::uint32_t>(lanes);
  if (subbyte && std::strcmp(p, "_padded") == 0) {
    *d = d->with_padded(true);
    return true;
  }
  return p == end;
}

bool read_row(const char* text, DType* out) noexcept {
  for (const DTypeRow& row : dtype_table) {
    const std::size_t length = std::strlen(row.name);
    if (std::strncmp(text, row.name, length) != 0) continue;
    DType d = make_dtype(row.code, row.bits);
    if (!read_suffix(text + length, &d)) continue;
    *out = d;
    return true;
  }
  return false;
}

// "(2, 3)float32"; a blank after the comma and a comma after the last extent don't matter.
bool read_subarray(const char* text, DType* out) noexcept {
  std::int64_t shape[max_ndim];
  int ndim = 0;
  const char* p = text + 1;
  const char* const end = p + std::strlen(p);
  while (*p != ')') {
    std::uint64_t extent = 0;
    if (ndim == max_ndim || !read_number(&p, end, INT64_MAX, &extent)) return false;
    shape[ndim++] = static_cast<std::int64_t>(extent);
    if (*p == ',') {
      ++p;
      if (*p == ' ') ++p;
    } else if (*p != ')') {
      return false;
    }
  }
  DType base;
  return p[1] != '(' && parse_dtype(p + 1, &base) && intern_subarray(base, ndim, shape, out, nullptr) == Status::ok;
}

bool read_time(const char* text, DType* out) noexcept {
  constexpr std::size_t length = 10;
  const bool date = std::strncmp(text, "datetime64", length) == 0;
  if (!date && std::strncmp(text, "timedelta64", length + 1) != 0) return false;
  const char* p = text + length + (date ? 0 : 1);
  TimeUnit unit = TimeUnit::generic;
  std::uint32_t multiplier = 1;
  if (!read_time_unit(p, std::strlen(p), &unit, &multiplier)) return false;
  *out = make_time(date ? TypeCode::datetime64 : TypeCode::timedelta64, unit, multiplier);
  return true;
}

// ">bfloat16", ">f4x4": an order before a name that isn't a type string.
bool read_ordered(const char* text, DType* out) noexcept {
  const char order = *text++;
  DType d;
  if (!read_row(text, &d)) {
    const char* x = std::strchr(text, 'x');
    if (x == nullptr || read_type_string(text, static_cast<std::size_t>(x - text), &d, nullptr) != Status::ok ||
        !d.is_scalar() || !read_suffix(x, &d)) {
      return false;
    }
  }
  *out = d.with_swapped(order == swapped_order && has_byte_order(d));
  return true;
}

}  // namespace

std::size_t format_dtype(DType d, char* out, std::size_t size) noexcept {
  TextWriter w(out, size);
  write(d, w);
  return w.length();
}

bool parse_dtype(const char* text, DType* out) noexcept {
  text = resolve_alias(text);
  if (read_row(text, out) || read_time(text, out)) return true;
  if (read_type_string(text, std::strlen(text), out, nullptr) == Status::ok) return true;
  if (*text == '(') return read_subarray(text, out);
  return (*text == '<' || *text == '>') && read_ordered(text, out);
}

}  // namespace anyarray
