// SPDX-License-Identifier: Apache-2.0
// Text and times, which are made only where they are asked for.
#include <algorithm>
#include <cstring>

#include "src/python/sequences_parts.h"

namespace anyarray::sequences {
namespace {

/// Characters of a str or bytes.
struct Text {
  const void* data;
  Py_ssize_t length;
  int kind;  ///< bytes of a character
  bool ascii;

  std::uint32_t at(Py_ssize_t i) const noexcept { return PyUnicode_READ(kind, data, i); }
};

bool read_text(PyObject* o, Text& out) noexcept {
  if (PyBytes_Check(o)) {
    const char* const bytes = PyBytes_AS_STRING(o);
    const Py_ssize_t n = PyBytes_GET_SIZE(o);
    out = {bytes, n, PyUnicode_1BYTE_KIND, std::all_of(bytes, bytes + n, [](char c) { return c >= 0; })};
    return true;
  }
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(o) != 0) return false;
#endif
  out = {PyUnicode_DATA(o), PyUnicode_GET_LENGTH(o), static_cast<int>(PyUnicode_KIND(o)), PyUnicode_IS_ASCII(o) != 0};
  return true;
}

/// "the str 'abc'", cut where it is long.
struct Quoted {
  explicit Quoted(PyObject* o) noexcept {
    const bool bytes = PyBytes_Check(o);
    const Ref repr(bytes ? PyBytes_Type.tp_repr(o) : PyUnicode_Type.tp_repr(o));
    const char* const utf8 = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
    if (utf8 == nullptr) PyErr_Clear();
    std::snprintf(text, sizeof text, "the %s %.48s", bytes ? "bytes" : "str", utf8 != nullptr ? utf8 : "that it is");
  }
  char text[64];
};

/// Elements of another length, filled up with NUL.
Status change_length(Gather& g, std::int64_t length) noexcept {
  DType to = g.dtype;
  to.count = static_cast<std::uint32_t>(length);
  if (!g.memory.held()) return set_type(g, to), Status::ok;
  Borrow changed;
  if (const Status s = make_empty(to, 1, &g.capacity, Order::c, &changed, &g.why.reason); s != Status::ok) return s;
  const auto from_size = static_cast<std::size_t>(g.dtype.itemsize());
  const auto to_size = static_cast<std::size_t>(to.itemsize());
  const std::size_t kept = std::min(from_size, to_size);
  const auto* from = static_cast<const char*>(g.memory.desc.data);
  auto* p = static_cast<char*>(changed.desc.data);
  for (std::int64_t i = 0; i < g.filled; ++i, from += from_size, p += to_size) {
    std::memcpy(p, from, kept);
    std::memset(p + kept, 0, to_size - kept);
  }
  replace_memory(g, changed);
  set_type(g, to);
  return Status::ok;
}

/// Whether the target can mean the text.
Status check_text(Gather& g, PyObject* o, const Text& text, int depth) noexcept {
  const char* cause = nullptr;
  if (g.target.code == TypeCode::fixed_bytes && !PyBytes_Check(o) && !text.ascii) {
    cause = "only ASCII goes into bytes: encode it, or ask for dtype=\"U\"";
  } else if (g.target.code == TypeCode::fixed_ucs4 && !text.ascii && PyBytes_Check(o)) {
    cause = "only ASCII bytes go into text: decode them, or ask for dtype=\"S\"";
  } else if (text.length > 0 && text.at(text.length - 1) == 0) {
    cause = "it ends in NUL, which text of a fixed length is filled up with";
  } else if (text.length > INT32_MAX / 4) {
    cause = "it is too long for an element";
  }
  if (cause != nullptr) {
    return because(Status::unsupported, &g.why.reason, "%s is %s: %s", Path(g, depth).text, Quoted(o).text, cause);
  }
  if (g.target.count == 0 || text.length <= static_cast<Py_ssize_t>(g.target.count)) return Status::ok;
  char name[32];
  format_dtype(g.target, name, sizeof name);
  return because(Status::unsupported, &g.why.reason, "%s is %s of length %zd, which %s can't hold", Path(g, depth).text,
                 Quoted(o).text, text.length, name);
}

}  // namespace

Status fit_text(Gather& g) noexcept {
  const std::int64_t length = std::max<std::int64_t>(g.longest, 1);
  return g.is_text && g.target.count == 0 && g.dtype.count != length ? change_length(g, length) : Status::ok;
}

Status add_text(Gather& g, PyObject* o, int depth) noexcept {
  if (const Status s = meet_element(g, depth); s != Status::ok) return s;
  Text text;
  if (!read_text(o, text)) return Status::interrupted;
  if (const Status s = check_text(g, o, text, depth); s != Status::ok) return s;
  g.longest = std::max<std::int64_t>(g.longest, text.length);
  if (g.dtype.count == 0 || text.length > static_cast<Py_ssize_t>(g.dtype.count)) {
    const std::int64_t length = std::max<std::int64_t>({text.length, g.dtype.count * std::int64_t{3} / 2, 1});
    if (const Status s = change_length(g, length); s != Status::ok) return s;
  }
  if (const Status s = make_room(g, 1); s != Status::ok) return s;
  char* const p = g.end();
  std::memset(p, 0, static_cast<std::size_t>(g.dtype.itemsize()));
  for (Py_ssize_t i = 0; i < text.length; ++i) {
    const std::uint32_t c = text.at(i);
    if (g.dtype.code == TypeCode::fixed_bytes) {
      p[i] = static_cast<char>(c);
    } else {
      std::memcpy(p + 4 * i, &c, sizeof c);
    }
  }
  ++g.filled;
  return Status::ok;
}

namespace {

using Wide = __int128;
constexpr Wide microseconds_a_day = 86'400'000'000;

/// An attribute of a date, time or difference. -1 with an exception set, which none of them is.
std::int64_t part(PyObject* o, const char* name, bool call = false) noexcept {
  const Ref value(call ? PyObject_CallMethod(o, name, nullptr) : PyObject_GetAttrString(o, name));
  return value ? PyLong_AsLongLong(value.get()) : -1;
}

/// A time by its microseconds, and, for the units that have no fixed length, its months.
struct Moment {
  Wide microseconds;
  std::int64_t months;
  bool whole_month;
};

/// False with an exception set.
bool read_moment(PyObject* o, bool difference, bool has_time, Moment& out) noexcept {
  std::int64_t v[6] = {};
  if (difference) {
    v[0] = part(o, "days");
    v[4] = part(o, "seconds");
    v[5] = part(o, "microseconds");
  } else {
    constexpr std::int64_t day_of_1970 = 719163;  // date(1970, 1, 1).toordinal()
    v[0] = part(o, "toordinal", true) - day_of_1970;
    out.months = (part(o, "year") - 1970) * 12 + part(o, "month") - 1;
    out.whole_month = part(o, "day") == 1;
    static const char* const names[] = {"hour", "minute", "second", "microsecond"};
    for (int i = 0; has_time && i < 4; ++i) v[2 + i] = part(o, names[i]);
  }
  const Wide of_day = ((Wide{v[2]} * 60 + v[3]) * 60 + v[4]) * 1'000'000 + v[5];
  out.microseconds = v[0] * microseconds_a_day + of_day;
  out.whole_month = out.whole_month && of_day == 0;
  return PyErr_Occurred() == nullptr;
}

/// Microseconds of a unit, or units of a microsecond, as a fraction; 0 for those without a fixed length.
struct Fraction {
  std::int64_t over, under;
};
Fraction microseconds_of(TimeUnit unit) noexcept {
  constexpr std::int64_t day = 86'400'000'000;
  switch (unit) {
    case TimeUnit::W:
      return {7 * day, 1};
    case TimeUnit::D:
      return {day, 1};
    case TimeUnit::h:
      return {3'600'000'000, 1};
    case TimeUnit::m:
      return {60'000'000, 1};
    case TimeUnit::s:
      return {1'000'000, 1};
    case TimeUnit::ms:
      return {1'000, 1};
    case TimeUnit::us:
      return {1, 1};
    case TimeUnit::ns:
      return {1, 1'000};
    case TimeUnit::ps:
      return {1, 1'000'000};
    case TimeUnit::fs:
      return {1, 1'000'000'000};
    case TimeUnit::as:
      return {1, 1'000'000'000'000};
    default:
      return {0, 0};
  }
}

/// The ticks; false where the unit can't count the time, `exact` says whether nothing was cut off.
bool ticks_of(const Moment& m, DType d, bool difference, std::int64_t* out, bool* exact) noexcept {
  Wide value = 0, step = d.count;
  if (d.unit() == TimeUnit::Y || d.unit() == TimeUnit::M) {
    if (difference) return false;
    value = m.months;
    if (d.unit() == TimeUnit::Y) step *= 12;
    *exact = m.whole_month;
  } else {
    const Fraction f = microseconds_of(d.unit());
    if (f.over == 0) return false;
    value = m.microseconds * f.under;
    step *= f.over;
    *exact = true;
  }
  const Wide rest = value % step;
  const Wide ticks = value / step - (rest < 0 ? 1 : 0);
  *exact = *exact && rest == 0;
  *out = static_cast<std::int64_t>(ticks);
  return ticks > INT64_MIN && ticks <= INT64_MAX;
}

bool is_exactly(PyObject* o, const char* name) noexcept {
  return reinterpret_cast<PyObject*>(Py_TYPE(o)) == loaded("datetime", name);
}

}  // namespace

Status add_time(Gather& g, PyObject* o, int depth) noexcept {
  const bool difference = is_exactly(o, "timedelta");
  const bool has_time = is_exactly(o, "datetime");
  // Of subclasses only their library knows what else they hold.
  if (!difference && !has_time && !is_exactly(o, "date") && o != Py_None) return Status::not_offered;
  if (const Status s = meet_element(g, depth); s != Status::ok) return s;
  std::int64_t ticks = INT64_MIN;  // not a time
  if (o != Py_None) {
    char name[48];
    format_dtype(g.target, name, sizeof name);
    const auto refused = [&](const char* cause, Status status = Status::unsupported) {
      return because(status, &g.why.reason, "%s is %s, %s %s", Path(g, depth).text, Words(o).text, cause, name);
    };
    if (difference != (g.target.code == TypeCode::timedelta64)) return refused("which isn't what stands in");
    if (has_time) {
      const Ref zone(PyObject_GetAttrString(o, "tzinfo"));
      if (!zone) return raised_at(g, depth);
      if (zone.get() != Py_None)
        return refused("whose time zone x.astimezone(utc).replace(tzinfo=None) takes out before");
    }
    Moment moment{};
    if (!read_moment(o, difference, has_time, moment)) return raised_at(g, depth);
    bool exact = false;
    if (!ticks_of(moment, g.target, difference, &ticks, &exact)) return refused("which can't be counted in");
    if (!exact && g.wanted.casting != Casting::unsafe) {
      return refused("which isn't a whole number of", Status::mismatch);
    }
  }
  if (const Status s = make_room(g, 1); s != Status::ok) return s;
  std::memcpy(g.end(), &ticks, sizeof ticks);
  ++g.filled;
  return Status::ok;
}

}  // namespace anyarray::sequences
