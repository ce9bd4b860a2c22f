// SPDX-License-Identifier: Apache-2.0
// Which dtype the elements have: the one that was asked for, or the least that holds all that were met so far, to which
// those that are there are turned.
#include <algorithm>
#include <cstring>
#include <utility>

#include "src/python/sequences_parts.h"

namespace anyarray::sequences {
namespace {

DType in_machine_order(DType d) noexcept {
  // The order of a struct is that of its fields.
  return d.code == TypeCode::interned ? d : d.with_swapped(false);
}

bool all_from_zero(const Gather& g) noexcept {
  const auto* const values = static_cast<const std::int64_t*>(g.memory.desc.data);
  return std::all_of(values, values + g.filled, [](std::int64_t v) { return v >= 0; });
}

/// There are negative ints and some from 2**63 on: only floats hold both. If none is met, that is refused.
Status clash(Gather& g, const char* what, int depth) noexcept {
  because(Status::unsupported, &g.clash,
          "%s is %s, and there are ints %s: no integer type holds both; dtype=\"float64\" does, rounded",
          Path(g, depth).text, what, g.lane == Lane::u64 ? "from 2**63 on, or of dtype uint64" : "below 0");
  const Status s = change_type(g, real_type);
  g.signs_clash = true;
  g.in_runs = false;
  return s;
}
Status clash(Gather& g, const Number& v, int depth) noexcept { return clash(g, Value(v).text, depth); }

/// What was a clash is none where floats are met.
void settle_clash(Gather& g, Rank rank) noexcept {
  if (!g.signs_clash || (rank != Rank::real && rank != Rank::complex)) return;
  g.signs_clash = false;
  set_type(g, g.dtype);
}

/// Finds a type for the elements that are there and this one.
Status widen(Gather& g, const Number& v, int depth) noexcept {
  const DType own = natural_type(v);
  if (!g.typed) return set_type(g, own), Status::ok;
  settle_clash(g, rank_of(v));
  const bool real = v.kind == Number::Kind::real;
  switch (g.lane) {
    case Lane::boolean:
      return v.kind == Number::Kind::boolean ? Status::ok : change_type(g, own);
    case Lane::i64:
      if (rank_of(v) > Rank::integer) return change_type(g, own);
      if (v.kind != Number::Kind::natural) return Status::ok;
      return all_from_zero(g) ? change_type(g, uint_type) : clash(g, v, depth);
    case Lane::u64:
      if (rank_of(v) > Rank::integer) return change_type(g, own);
      return v.kind == Number::Kind::natural || v.i >= 0 ? Status::ok : clash(g, v, depth);
    case Lane::f64:
      return rank_of(v) <= Rank::real ? Status::ok : change_type(g, own);
    case Lane::c128:
      return Status::ok;
    default:
      break;
  }
  DType both;
  if (promote(g.dtype, own, &both) == Status::ok) return both == g.dtype ? Status::ok : change_type(g, both);
  return because(Status::unsupported, &g.why.reason, "%s is the %s %s: no dtype holds both that and %s; ask for one",
                 Path(g, depth).text, real ? "float" : short_name(Py_TYPE(v.object)), Value(v).text,
                 Name(g.dtype).text);
}

/// Elements of one byte where those of the dtype fill less.
DType addressable(DType d) noexcept { return d.packed() ? d.with_padded(true) : d; }

/// Finds a type for the elements that are there and those of an array.
Status widen(Gather& g, DType d, int depth) noexcept {
  const bool first = std::exchange(g.has_arrays, true) == false;
  if (!g.typed) {
    g.packed = d.packed();
    return set_type(g, addressable(d)), Status::ok;
  }
  settle_clash(g, rank_of(d));
  if (addressable(d) == g.dtype) return Status::ok;
  if (first && d == uint_type && g.lane == Lane::i64) {
    return all_from_zero(g) ? change_type(g, uint_type) : clash(g, "of dtype uint64", depth);
  }
  DType both;
  if (promote(g.packed ? g.dtype.with_padded(false) : g.dtype, d, &both) != Status::ok) {
    return because(Status::unsupported, &g.why.reason, "%s has dtype %s: no dtype holds both that and %s; ask for one",
                   Path(g, depth).text, Name(d).text, Name(g.dtype).text);
  }
  g.packed = both.packed();
  return addressable(both) == g.dtype ? Status::ok : change_type(g, addressable(both));
}

/// Whether elements of a dtype may go to the target.
Status may_become(Gather& g, DType d, int depth) noexcept {
  const Status s = can_cast(d, g.target, g.wanted.casting);
  if (s == Status::ok) return s;
  if (s == Status::mismatch) {
    return because(s, &g.why.reason, "%s has dtype %s, which the casting rule %s doesn't let become %s",
                   Path(g, depth).text, Name(d).text, casting_name(g.wanted.casting), Name(g.target).text);
  }
  return because(s, &g.why.reason, "%s has dtype %s, of which there is no conversion to %s", Path(g, depth).text,
                 Name(d).text, Name(g.target).text);
}

/// A range by its start, step and length; false where they aren't to be had in 64 bits.
struct Steps {
  std::int64_t start, step, n;
  bool read(PyObject* range) noexcept {
    n = PyObject_Size(range);
    const Ref first(PyObject_GetAttrString(range, "start"));
    const Ref each(PyObject_GetAttrString(range, "step"));
    int beyond[2] = {};
    start = first ? PyLong_AsLongLongAndOverflow(first.get(), beyond) : 0;
    step = each ? PyLong_AsLongLongAndOverflow(each.get(), beyond + 1) : 0;
    PyErr_Clear();
    std::int64_t way = 0;
    return n > 0 && beyond[0] == 0 && beyond[1] == 0 && !__builtin_mul_overflow(step, n - 1, &way) &&
           !__builtin_add_overflow(start, way, &way);
  }
  std::int64_t at(std::int64_t i) const noexcept { return start + i * step; }
};

/// Whether both ends of a range, and so all of it, can go to elements of the type that there is then.
Status fit_ends(Gather& g, const Steps& steps, int depth) noexcept {
  for (const std::int64_t end : {steps.at(0), steps.at(steps.n - 1)}) {
    const Ref object(PyLong_FromLongLong(end));
    Number v;
    if (!object || !read_number(object.get(), v)) return Status::interrupted;
    const Rule rule = g.has_target ? g.rules[static_cast<int>(Rank::integer)] : Rule::always;
    if (rule != Rule::always && (rule != Rule::in_range || !holds(g.target, v))) return Status::not_tried;
    if (const Status s = g.has_target ? Status::ok : widen(g, v, depth); s != Status::ok) return s;
  }
  return Status::ok;
}

}  // namespace

void set_type(Gather& g, DType d) noexcept {
  g.dtype = d;
  g.lane = lane_of(d);
  g.typed = true;
  if (g.has_target) return;
  g.in_runs = g.lane == Lane::boolean || g.lane == Lane::i64 || g.lane == Lane::u64 || g.lane == Lane::f64 ||
              g.lane == Lane::c128;
}

Status add_number(Gather& g, const Number& v, int depth) noexcept {
  if (const Status s = meet_element(g, depth); s != Status::ok) return s;
  if (g.has_target) return write_by_rule(g, v, depth);
  if (v.kind == Number::Kind::huge) return beyond_64_bits(g, v, depth);
  if (const Status s = widen(g, v, depth); s != Status::ok) return s;
  return write_number(g, v);
}

Status add_array(Gather& g, const Descriptor& d, int depth) noexcept {
  if (!host_readable(d.device.type)) {
    char name[48];
    format_device(d.device, name, sizeof name);
    return because(Status::device, &g.why.reason, "%s is on %s, whose memory the host can't read", Path(g, depth).text,
                   name);
  }
  if (const Status s = meet_array(g, d, depth); s != Status::ok) return s;
  const DType own = in_machine_order(d.dtype);
  if (const Status s = g.has_target ? may_become(g, d.dtype, depth) : widen(g, own, depth); s != Status::ok) return s;
  const std::int64_t n = d.size();
  if (n == 0) return Status::ok;
  if (const Status s = make_room(g, n); s != Status::ok) return s;
  if (d.ndim == 0 && d.dtype == g.dtype) {
    std::memcpy(g.end(), d.data, static_cast<std::size_t>(g.dtype.itemsize()));
    ++g.filled;
    return Status::ok;
  }
  std::int64_t strides[max_ndim];
  c_strides(d.ndim, d.shape, g.dtype.itemsize(), strides);
  const Descriptor to{g.end(), d.shape, strides, g.dtype, cpu_device, d.ndim, 0};
  const bool compare = g.wanted.casting == Casting::same_value && g.has_target && !g.check_last;
  const Status s = copy(to, d, compare ? Casting::same_value : Casting::unsafe, &g.why.reason);
  if (s != Status::ok) {
    const Reason said = g.why.reason;
    return because(s, &g.why.reason, "%s: %s", Path(g, depth).text, said.text);
  }
  g.filled += n;
  return Status::ok;
}

Status add_range(Gather& g, PyObject* range, int depth) noexcept {
  Steps steps;
  if (!steps.read(range)) return Status::not_tried;
  if (const Status s = enter(g, depth, steps.n, true); s != Status::ok) return s;
  g.index[depth] = 0;
  if (const Status s = meet_element(g, depth + 1); s != Status::ok) return s;
  if (const Status s = fit_ends(g, steps, depth + 1); s != Status::ok) return s;
  if (const Status s = make_room(g, steps.n); s != Status::ok) return s;
  constexpr std::int64_t block = 512;
  std::int64_t values[block];
  const std::int64_t value_step = sizeof(std::int64_t);
  const std::int64_t step = g.dtype.itemsize();
  for (std::int64_t i = 0; i < steps.n;) {
    const std::int64_t n = std::min(block, steps.n - i);
    const bool direct = g.lane == Lane::i64 || g.lane == Lane::u64;
    auto* const to = direct ? reinterpret_cast<std::int64_t*>(g.end()) : values;
    for (std::int64_t k = 0; k < n; ++k) to[k] = steps.at(i + k);
    const Descriptor from{values, &n, &value_step, int_type, cpu_device, 1, 0};
    const Descriptor result{g.end(), &n, &step, g.dtype, cpu_device, 1, 0};
    if (!direct) {
      if (const Status s = copy(result, from, Casting::unsafe, &g.why.reason); s != Status::ok) return s;
    }
    g.filled += n;
    i += n;
    if (const Status s = look_for_signals(g, static_cast<Py_ssize_t>(n)); s != Status::ok) return s;
  }
  return Status::ok;
}

}  // namespace anyarray::sequences
