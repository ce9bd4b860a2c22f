// SPDX-License-Identifier: Apache-2.0
// Numbers on their way into elements: read from Python's objects, weighed by the casting rule where they go to a dtype
// that was asked for, and written.
#include <algorithm>
#include <cstring>

#include "src/python/sequences_parts.h"

namespace anyarray::sequences {
namespace {

/// Refuses a value that is out of range: an OverflowError for whoever catches that.
Status out_of_range(Gather& g) noexcept {
  const Ref text(sentence(g.why.reason));
  PyObject* const made = text ? PyObject_CallOneArg(PyExc_OverflowError, text.get()) : nullptr;
  if (made == nullptr) return Status::interrupted;
  Py_XDECREF(g.why.exception);
  g.why.exception = made;
  return Status::mismatch;
}

/// Refuses a value that would change: by rounding, too, so that it is no OverflowError.
Status changes(Gather& g, const Number& v, DType d, int depth) noexcept {
  return because(Status::mismatch, &g.why.reason, "%s is %s, which %s can't hold", Path(g, depth).text, Value(v).text,
                 Name(d).text);
}

Status cannot_hold(Gather& g, const Number& v, DType d, int depth) noexcept {
  changes(g, v, d, depth);
  return out_of_range(g);
}

Status forbidden(Gather& g, const Number& v, int depth) noexcept {
  const Rank rank = rank_of(g.target);
  const bool number = (rank != Rank::other && g.target.count == 1) || g.target.is_time();
  // Times take ints alone, by the rule unsafe alone.
  const bool by_rule =
      number && g.wanted.casting != Casting::unsafe && !(g.target.is_time() && rank_of(v) > Rank::integer);
  return because(by_rule ? Status::mismatch : Status::unsupported, &g.why.reason,
                 by_rule ? "%s is the %s %s, which the casting rule %s doesn't let become %s"
                         : "%s is the %s %s, which%.0s can't become %s",
                 Path(g, depth).text, short_name(Py_TYPE(v.object)), Value(v).text, casting_name(g.wanted.casting),
                 g.is_text ? "text: str() makes it so" : Name(g.target).text);
}

/// The number as an array without dimensions, in `room`.
Descriptor as_array(const Number& v, char (&room)[16]) noexcept {
  if (v.kind == Number::Kind::boolean) {
    room[0] = v.i != 0 ? 1 : 0;
  } else {
    std::memcpy(room, v.d, sizeof room);
  }
  static constexpr std::int64_t none[1] = {};
  return {room, none, none, natural_type(v), cpu_device, 0, 0};
}

/// An element as an array without dimensions.
Descriptor element_at(void* p, DType d) noexcept {
  static constexpr std::int64_t none[1] = {};
  return {p, none, none, d, cpu_device, 0, 0};
}

bool is_long_double(DType d) noexcept {
  return d.code == TypeCode::long_double || d.code == TypeCode::complex_long_double;
}

double as_double(const Number& v) noexcept {
  switch (v.kind) {
    case Number::Kind::boolean:
    case Number::Kind::integer:
      return static_cast<double>(v.i);
    case Number::Kind::natural:
      return static_cast<double>(v.u);
    default:
      return v.d[0];
  }
}

std::uint64_t low_bits(const Number& v) noexcept {
  return v.kind == Number::Kind::natural ? v.u : static_cast<std::uint64_t>(v.i);
}

template <class T>
Status put(Gather& g, T v) noexcept {
  std::memcpy(g.end(), &v, sizeof v);
  ++g.filled;
  return Status::ok;
}
template <class T>
struct Pair {
  T real, imaginary;
};

/// Writes an int of at most 64 bits. not_tried: the type isn't one of those that are written here.
Status write_whole(Gather& g, const Number& v) noexcept {
  const std::uint64_t bits = low_bits(v);
  switch (g.lane) {
    case Lane::boolean:
      return put(g, std::uint8_t{bits != 0});
    case Lane::i8:
    case Lane::u8:
      return put(g, static_cast<std::uint8_t>(bits));
    case Lane::i16:
    case Lane::u16:
      return put(g, static_cast<std::uint16_t>(bits));
    case Lane::i32:
    case Lane::u32:
      return put(g, static_cast<std::uint32_t>(bits));
    case Lane::i64:
    case Lane::u64:
      return put(g, bits);
    default:
      return g.dtype.is_time() ? put(g, bits) : Status::not_tried;
  }
}

/// Writes any number to a float or complex type. not_tried: as above.
Status write_real(Gather& g, const Number& v) noexcept {
  const double real = as_double(v);
  const double imaginary = v.kind == Number::Kind::complex ? v.d[1] : 0;
  const bool whole = v.kind != Number::Kind::complex;
  switch (g.lane) {
    case Lane::f32:
      return whole ? put(g, static_cast<float>(real)) : Status::not_tried;
    case Lane::f64:
      return whole ? put(g, real) : Status::not_tried;
    case Lane::c64:
      return put(g, Pair<float>{static_cast<float>(real), static_cast<float>(imaginary)});
    case Lane::c128:
      return put(g, Pair<double>{real, imaginary});
    default:
      return Status::not_tried;
  }
}

/// An int that no 64 bits hold, as what the target's rank needs of it: its low bits, or a double.
Status reduce(Gather& g, const Number& v, int depth, bool exactly, Number& out) noexcept {
  if (rank_of(g.target) <= Rank::integer) {
    out.kind = Number::Kind::natural;
    out.u = rank_of(g.target) == Rank::boolean ? 1 : PyLong_AsUnsignedLongLongMask(v.object);
    return Status::ok;
  }
  out.kind = Number::Kind::real;
  out.d[0] = PyLong_AsDouble(v.object);
  if (out.d[0] == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return cannot_hold(g, v, g.target, depth);
  }
  if (!exactly) return Status::ok;
  const Ref rounded(PyFloat_FromDouble(out.d[0]));
  const Ref equal(rounded ? PyFloat_Type.tp_richcompare(rounded.get(), v.object, Py_EQ) : nullptr);
  if (!equal) return Status::interrupted;
  return equal.get() == Py_True ? Status::ok : changes(g, v, g.target, depth);
}

/// Whether the target holds the very value.
Status keeps_value(Gather& g, const Number& v, int depth) noexcept {
  char room[16];
  alignas(16) char result[32];
  const DType d = g.target.with_swapped(false).with_padded(g.target.packed() || g.target.padded());
  const Status s = copy(element_at(result, d), as_array(v, room), Casting::same_value, &g.why.reason);
  return s == Status::mismatch ? changes(g, v, g.target, depth) : s;
}

}  // namespace

Status beyond_64_bits(Gather& g, const Number& v, int depth) noexcept {
  because(Status::mismatch, &g.why.reason, "%s is the int %s, which is beyond %s; dtype=\"float64\" takes it, rounded",
          Path(g, depth).text, Value(v).text, v.i < 0 ? "int64" : "uint64");
  return out_of_range(g);
}

Status write_number(Gather& g, const Number& v) noexcept {
  if (const Status s = make_room(g, 1); s != Status::ok) return s;
  Status s = rank_of(v) <= Rank::integer ? write_whole(g, v) : Status::not_tried;
  if (s == Status::not_tried) s = write_real(g, v);
  if (s != Status::not_tried) return s;
  char room[16];
  s = copy(element_at(g.end(), g.dtype), as_array(v, room), Casting::unsafe, &g.why.reason);
  if (s == Status::ok) ++g.filled;
  return s;
}

bool holds(DType d, const Number& v) noexcept {
  const unsigned bits = std::min<unsigned>(d.bits, 64);
  if (v.kind == Number::Kind::huge) return false;
  if (d.code == TypeCode::uint) {
    if (v.kind != Number::Kind::natural && v.i < 0) return false;
    return bits == 64 || low_bits(v) >> bits == 0;
  }
  if (v.kind == Number::Kind::natural) return false;
  const std::int64_t half = v.i >> (bits - 1);
  return half == 0 || half == -1;
}

Status write_by_rule(Gather& g, const Number& v, int depth) noexcept {
  const Rank rank = rank_of(v);
  Rule rule = g.rules[static_cast<int>(rank)];
  // Of an int from 2**63 on the type is uint64, which other types take than int64.
  if (rule == Rule::never && v.kind == Number::Kind::natural &&
      can_cast(uint_type, g.target, g.wanted.casting) == Status::ok) {
    rule = Rule::in_range;
  }
  // Of larger ones there is no type that the stricter rules could go by.
  const bool strict =
      g.wanted.casting == Casting::no || g.wanted.casting == Casting::equiv || g.wanted.casting == Casting::safe;
  if (v.kind == Number::Kind::huge && strict) rule = Rule::never;
  if (rule == Rule::never) return forbidden(g, v, depth);
  if (rule == Rule::in_range && !holds(g.target, v)) return cannot_hold(g, v, g.target, depth);
  Number number = v;
  if (v.kind == Number::Kind::huge) {
    if (g.target.is_time()) return cannot_hold(g, v, g.target, depth);
    if (rule == Rule::same && rank_of(g.target) == Rank::integer) return cannot_hold(g, v, g.target, depth);
    if (const Status s = reduce(g, v, depth, rule == Rule::same, number); s != Status::ok) return s;
  }
  if (rule == Rule::same) {
    if (const Status s = keeps_value(g, number, depth); s != Status::ok) return s;
  }
  return write_number(g, number);
}

DType natural_type(const Number& v) noexcept {
  switch (v.kind) {
    case Number::Kind::boolean:
      return bool_type;
    case Number::Kind::integer:
      return int_type;
    case Number::Kind::natural:
    case Number::Kind::huge:
      return uint_type;
    case Number::Kind::real:
      return real_type;
    default:
      return complex_type;
  }
}

Rank rank_of(DType d) noexcept {
  switch (d.code) {
    case TypeCode::bool_:
      return Rank::boolean;
    case TypeCode::int_:
    case TypeCode::uint:
      return Rank::integer;
    case TypeCode::complex:
    case TypeCode::complex_long_double:
      return Rank::complex;
    case TypeCode::opaque_handle:
      return Rank::other;
    default:
      return d.is_scalar() ? Rank::real : Rank::other;
  }
}

Rank rank_of(const Number& v) noexcept {
  switch (v.kind) {
    case Number::Kind::boolean:
      return Rank::boolean;
    case Number::Kind::real:
      return Rank::real;
    case Number::Kind::complex:
      return Rank::complex;
    default:
      return Rank::integer;
  }
}

Lane lane_of(DType d) noexcept {
  if (d.attributes != 0 || d.count != 1 || !d.is_scalar()) return Lane::other;
  const int width = d.bits == 8 ? 0 : d.bits == 16 ? 1 : d.bits == 32 ? 2 : d.bits == 64 ? 3 : -1;
  switch (d.code) {
    case TypeCode::bool_:
      return width == 0 ? Lane::boolean : Lane::other;
    case TypeCode::int_:
      return width >= 0 ? static_cast<Lane>(static_cast<int>(Lane::i8) + width) : Lane::other;
    case TypeCode::uint:
      return width >= 0 ? static_cast<Lane>(static_cast<int>(Lane::u8) + width) : Lane::other;
    case TypeCode::float_:
      return width == 2 ? Lane::f32 : width == 3 ? Lane::f64 : Lane::other;
    case TypeCode::complex:
      return d.bits == 64 ? Lane::c64 : d.bits == 128 ? Lane::c128 : Lane::other;
    default:
      return Lane::other;
  }
}

bool read_number(PyObject* o, Number& out) noexcept {
  out.object = o;
  if (PyLong_Check(o)) {
    out.kind = PyBool_Check(o) ? Number::Kind::boolean : Number::Kind::integer;
    int overflow = 0;
    out.i = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow == 0) return true;
    out.kind = Number::Kind::huge;
    out.i = overflow;
    const std::uint64_t natural = overflow > 0 ? PyLong_AsUnsignedLongLong(o) : 0;
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
    } else if (overflow > 0) {
      out.kind = Number::Kind::natural;
      out.u = natural;
    }
    return true;
  }
  if (PyFloat_Check(o)) {
    out.kind = Number::Kind::real;
    out.d[0] = PyFloat_AS_DOUBLE(o);
    return true;
  }
  if (!PyComplex_Check(o)) return false;
  const Py_complex v = reinterpret_cast<PyComplexObject*>(o)->cval;
  out.kind = Number::Kind::complex;
  out.d[0] = v.real;
  out.d[1] = v.imag;
  return true;
}

Value::Value(const Number& v) noexcept {
  PyTypeObject* const type = PyLong_Check(v.object)    ? &PyLong_Type
                             : PyFloat_Check(v.object) ? &PyFloat_Type
                                                       : &PyComplex_Type;
  // Of the builtin type itself: that of a subclass is code of others.
  const Ref repr(PyBool_Check(v.object) ? PyObject_Repr(v.object) : type->tp_repr(v.object));
  const char* const utf8 = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (utf8 == nullptr) {  // Python doesn't write out ints of thousands of digits
    PyErr_Clear();
    const Ref bits(PyObject_CallMethod(reinterpret_cast<PyObject*>(type), "bit_length", "O", v.object));
    const long long n = bits ? PyLong_AsLongLong(bits.get()) : 0;
    PyErr_Clear();
    std::snprintf(text, sizeof text, "%s2**%lld or so", v.i < 0 ? "-" : "", n);
    return;
  }
  std::snprintf(text, sizeof text, "%s", utf8);
  if (std::strlen(utf8) >= sizeof text) std::strcpy(text + sizeof text - 4, "...");
}

Name::Name(DType d) noexcept { format_dtype(d, text, sizeof text); }

void set_rules(Gather& g) noexcept {
  const DType native = g.target.with_swapped(false);
  const Rank to = rank_of(native);
  DType stored = native;
  if (to != Rank::other && native.count == 1 && lane_of(native) == Lane::other && !is_long_double(native)) {
    constexpr DType usual[] = {bool_type, int_type, real_type, complex_type};
    stored = native.code == TypeCode::uint ? uint_type : usual[static_cast<int>(to)];
  }
  set_type(g, stored);
  const Casting casting = g.wanted.casting;
  g.check_last = casting == Casting::same_value && stored != native;
  constexpr DType own[number_ranks] = {bool_type, int_type, real_type, complex_type};
  g.in_runs = stored == native || to >= Rank::real || to == Rank::boolean;
  for (int i = 0; i < number_ranks; ++i) {
    const Rank from = static_cast<Rank>(i);
    const bool ints = from == Rank::integer && to == Rank::integer;
    const Rule kept = ints ? Rule::in_range : Rule::always;
    Rule rule = Rule::never;
    if (to == Rank::other || native.count != 1) {
      const bool ticks = native.is_time() && from <= Rank::integer && casting == Casting::unsafe;
      rule = ticks ? Rule::always : Rule::never;
    } else if (casting == Casting::unsafe) {
      rule = Rule::always;
    } else if (casting == Casting::same_value) {
      rule = ints || native == own[i] ? kept : Rule::same;
    } else if (casting == Casting::same_kind) {
      rule = from <= to ? kept : Rule::never;
    } else {
      rule = can_cast(own[i], g.target, casting) == Status::ok ? kept : Rule::never;
    }
    g.rules[i] = rule;
    if (from <= to && rule != Rule::always && rule != Rule::in_range) g.in_runs = false;
  }
  if (g.lane == Lane::other) g.in_runs = false;
}

}  // namespace anyarray::sequences
