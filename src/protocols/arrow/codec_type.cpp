// SPDX-License-Identifier: Apache-2.0
// Arrow's format strings → types: lists of fixed size from the outside in, then the element. What can't be an array
// in memory is refused by its name, with what to do. No Python.
#include <cstring>

#include "src/protocols/arrow/letters.h"
#include "src/protocols/arrow/metadata.h"

namespace anyarray::arrow {
namespace {

using Wide = long long;  // what printf calls it

// Lawful formats that aren't taken; the first that fits counts. `whole`: nothing may follow.
struct Refusal {
  const char* format;
  bool whole;
  const char* text;
};
constexpr Refusal refusals[] = {
    {"n", true, "an array of the null type has no values: drop it, or cast it to the type that it stands for"},
    {"b", true, "bools lie packed, eight in a byte: cast them to uint8 (or int8) first"},
    {"z", true, "binary values have no fixed size: cast them to fixed-size binary, or take offsets and data apart"},
    {"Z", true, "binary values have no fixed size: cast them to fixed-size binary, or take offsets and data apart"},
    {"vz", true, "binary views have no fixed size: cast them to fixed-size binary first"},
    {"u", true, "strings have no fixed size: encode them as numbers or as fixed-size binary first"},
    {"U", true, "strings have no fixed size: encode them as numbers or as fixed-size binary first"},
    {"vu", true, "string views have no fixed size: encode them as numbers or as fixed-size binary first"},
    {"d:", false, "decimals have no dtype here: cast them to floats, or to integers of the smallest unit"},
    {"tdD", true, "date32 counts days in 32 bits, datetime64 has 64: cast it to date64, or to int32 for the bare days"},
    {"tts", true, "a time of day has no dtype here (timedelta64 is a duration): cast it to int32"},
    {"ttm", true, "a time of day has no dtype here (timedelta64 is a duration): cast it to int32"},
    {"ttu", true, "a time of day has no dtype here (timedelta64 is a duration): cast it to int64"},
    {"ttn", true, "a time of day has no dtype here (timedelta64 is a duration): cast it to int64"},
    {"tiM", true, "an interval in months has no dtype here (its length varies): cast it to int32"},
    {"tiD", true, "an interval in days and milliseconds has no dtype here: cast it to a duration"},
    {"tin", true, "an interval in months, days and nanoseconds has no dtype here: take its parts apart"},
    {"+l", true, "lists differ in length: flatten them, or cast them to fixed-size lists if all are as long"},
    {"+L", true, "lists differ in length: flatten them, or cast them to fixed-size lists if all are as long"},
    {"+vl", true, "list views differ in length: flatten them, or cast them to fixed-size lists if all are as long"},
    {"+vL", true, "list views differ in length: flatten them, or cast them to fixed-size lists if all are as long"},
    {"+s", true, "a struct, record batch or table has columns in memories of their own: take one column of it"},
    {"+m", true, "a map has no elements of a fixed size: take its keys or its values"},
    {"+ud:", false, "a union has elements of several types: take one of its children"},
    {"+us:", false, "a union has elements of several types: take one of its children"},
    {"+r", true, "run-end encoded values don't lie element by element: decode them first"},
};

/// The digits up to the end of the text. False for anything else and past 64 bits.
bool read_size(const char* text, std::int64_t* out) noexcept {
  std::int64_t n = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9'; ++at) {
    if (__builtin_mul_overflow(n, std::int64_t{10}, &n) || __builtin_add_overflow(n, *at - '0', &n)) return false;
  }
  *out = n;
  return at != text && *at == '\0';
}

bool read_unit(char letter, TimeUnit* out) noexcept {
  for (const Unit& u : units) {
    if (u.letter != letter) continue;
    *out = u.unit;
    return true;
  }
  return false;
}

/// Times that a dtype says: dates of 64 bits, durations, timestamps. not_offered: it is none of them.
Status read_time(const char* format, DType* out, Reason* why) noexcept {
  if (std::strcmp(format, "tdm") == 0) {
    *out = make_time(TypeCode::datetime64, TimeUnit::ms);
    return Status::ok;
  }
  TimeUnit unit = TimeUnit::none;
  if (format[0] != 't' || (format[1] != 'D' && format[1] != 's') || !read_unit(format[2], &unit)) {
    return Status::not_offered;
  }
  if (format[1] == 'D') {
    if (format[3] != '\0') return Status::not_offered;
    *out = make_time(TypeCode::timedelta64, unit);
    return Status::ok;
  }
  if (format[3] != ':') return Status::not_offered;
  if (format[4] != '\0') {
    return because(Status::guarded, why,
                   "timestamps in the time zone '%.60s': datetime64 has no zone, and a view of the values, which are "
                   "UTC, would drop it: cast them to a timestamp without a zone",
                   format + 4);
  }
  *out = make_time(TypeCode::datetime64, unit);
  return Status::ok;
}

Status read_element(const char* format, DType* out, Reason* why) noexcept {
  for (const Number& n : numbers) {
    if (format[0] != n.letter || format[1] != '\0') continue;
    *out = make_dtype(n.code, n.bits);
    return Status::ok;
  }
  std::int64_t size = 0;
  if (std::strncmp(format, "w:", 2) == 0 && read_size(format + 2, &size)) {
    if (size == 0 || size > INT32_MAX) {
      return because(Status::unsupported, why, "fixed-size binary of %lld bytes: 1 to %d are possible",
                     static_cast<Wide>(size), INT32_MAX);
    }
    *out = make_bytes(static_cast<std::uint32_t>(size));
    return Status::ok;
  }
  if (const Status s = read_time(format, out, why); s != Status::not_offered) return s;
  for (const Refusal& r : refusals) {
    const bool fits =
        r.whole ? std::strcmp(format, r.format) == 0 : std::strncmp(format, r.format, std::strlen(r.format)) == 0;
    if (fits) return because(Status::unsupported, why, "Arrow format '%.40s': %s", format, r.text);
  }
  return because(Status::invalid, why, "'%.40s' is no format of the Arrow C data interface that is known here", format);
}

Status check_node(const Schema& s, Reason* why) noexcept {
  if (s.release == nullptr) {
    return because(Status::invalid, why, "the Arrow schema was released or moved elsewhere: it holds nothing");
  }
  if (s.format == nullptr) return because(Status::invalid, why, "the Arrow schema has no format");
  if (s.dictionary != nullptr) {
    return because(Status::unsupported, why,
                   "dictionary-encoded values (indices of Arrow format '%.40s'): the indices alone mean nothing: "
                   "decode them, or take indices and dictionary apart",
                   s.format);
  }
  return Status::ok;
}

/// One level of lists around what follows.
Status read_list(const Schema& s, bool is_tensor, Text content, Type* out, Reason* why) noexcept {
  std::int64_t size = 0;
  if (!read_size(s.format + 3, &size)) {
    return because(Status::invalid, why, "the Arrow format '%.40s' names no size of its lists", s.format);
  }
  if (s.n_children != 1 || s.children == nullptr || s.children[0] == nullptr) {
    return because(Status::invalid, why, "the Arrow schema of a list must have one child, not %lld%s",
                   static_cast<Wide>(s.n_children), s.n_children == 1 ? " that is null" : "");
  }
  if (out->levels == max_ndim || out->ndim == max_ndim) {
    return because(Status::unsupported, why,
                   "Arrow lists inside more than %d others: that many dimensions are possible", max_ndim - 1);
  }
  if (is_tensor) {
    std::int64_t elements = 0;
    if (const Status t = read_tensor(content, out, &elements, why); t != Status::ok) return t;
    if (elements != size) {
      return because(Status::invalid, why,
                     "the shape of the arrow.fixed_shape_tensor has %lld elements, but is stored in lists of %lld",
                     static_cast<Wide>(elements), static_cast<Wide>(size));
    }
  } else {
    out->extent[out->ndim - 1] = size;
    out->lies_as[out->ndim - 1] = static_cast<std::uint8_t>(out->ndim - 1);
    ++out->ndim;
  }
  out->list_size[out->levels++] = size;
  return Status::ok;
}

/// What an extension is called where it is one that isn't known here.
Status refuse_extension(Text name, Reason* why) noexcept {
  return because(Status::unsupported, why,
                 "values of the extension type '%.*s', which means more than its storage: take its storage, or cast it",
                 static_cast<int>(name.size < 80 ? name.size : 80), name.bytes);
}

}  // namespace

Status decode_type(const Schema& schema, Type* out, Reason* why) noexcept {
  out->ndim = 1;
  out->levels = 0;
  out->permuted = false;
  for (const Schema* s = &schema;; s = s->children[0]) {
    Text name, content;
    Status status = check_node(*s, why);
    if (status == Status::ok) status = read_extension(s->metadata, &name, &content, why);
    if (status != Status::ok) return status;
    const bool is_tensor = name.size == sizeof tensor_name - 1 && std::memcmp(name.bytes, tensor_name, name.size) == 0;
    if (name.size != 0 && !is_tensor) return refuse_extension(name, why);
    if (std::strncmp(s->format, "+w:", 3) == 0) {
      status = read_list(*s, is_tensor, content, out, why);
      if (status != Status::ok) return status;
      continue;
    }
    if (is_tensor) {
      return because(Status::invalid, why, "an arrow.fixed_shape_tensor is stored in fixed-size lists, not as '%.40s'",
                     s->format);
    }
    status = read_element(s->format, &out->dtype, why);
    if (status == Status::ok && s->n_children != 0) {
      return because(Status::invalid, why, "the Arrow format '%.40s' has no children, but the schema has %lld",
                     s->format, static_cast<Wide>(s->n_children));
    }
    return status;
  }
}

}  // namespace anyarray::arrow
