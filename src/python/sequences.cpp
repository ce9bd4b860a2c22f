// SPDX-License-Identifier: Apache-2.0
// The frame of take_objects(): memory that grows and changes its type, the sentences' words, and the last step, to the
// dtype, order and memory that were asked for.
#include "src/python/sequences.h"

#include <algorithm>
#include <cstring>

#include "src/python/sequences_parts.h"
#include "src/support/owned.h"

namespace anyarray::sequences {

Gather::Gather(State& state, PyObject* object, const ObjectsWanted& asked, Borrow& elements, Failure& reason) noexcept
    : s(state),
      outermost(object),
      wanted(asked),
      why(reason),
      target(asked.into != nullptr ? asked.into->dtype : asked.dtype),
      has_target(asked.into != nullptr || asked.has_dtype),
      memory(elements) {
  memory.release_fn = nullptr;
  memory.desc.data = nullptr;
  if (!has_target) return;
  is_text = target.code == TypeCode::fixed_bytes || target.code == TypeCode::fixed_ucs4;
  set_rules(*this);
}

Path::Path(const Gather& g, int depth) noexcept {
  constexpr char start[] = "element ";
  std::size_t at = sizeof start - 1;
  std::memcpy(text, depth > 0 ? start : "the object", depth > 0 ? sizeof start : sizeof "the object");
  for (int i = 0; i < depth && at < sizeof text; ++i) {
    at += static_cast<std::size_t>(
        std::snprintf(text + at, sizeof text - at, "[%lld]", static_cast<long long>(g.index[i])));
  }
}

Words::Words(PyObject* o) noexcept {
  if (o == Py_None) {
    std::strcpy(text, "None");
    return;
  }
  if (PyType_Check(o)) {
    std::snprintf(text, sizeof text, "the class %.60s", reinterpret_cast<PyTypeObject*>(o)->tp_name);
    return;
  }
  const char* const name = Py_TYPE(o)->tp_name;
  std::snprintf(text, sizeof text, "%s %.72s", std::strchr("aeiouAEIOU", *name) != nullptr ? "an" : "a", name);
}

Status raised_at(Gather& g, int depth) noexcept {
  g.why.reason.text[0] = '\0';
  const Status s = producer_raised(g.why);
  if (s == Status::interrupted) return s;
  const Reason raised = g.why.reason;
  return because(s, &g.why.reason, "%s: %s", Path(g, depth).text, raised.text);
}

Status look_for_signals(Gather& g, Py_ssize_t elements) noexcept {
  g.unseen += elements;
  if (g.unseen < elements_between_signals) return Status::ok;
  g.unseen = 0;
  return PyErr_CheckSignals() == 0 ? Status::ok : Status::interrupted;
}

namespace {

/// Memory for the first elements: for as many as they will be, as far as the sequences around the first hold what they
/// say.
Status first_room(Gather& g, std::int64_t more) noexcept {
  int trusted = 0;
  while (trusted < g.ndim && g.trusted[trusted]) ++trusted;
  g.is_shaped = trusted == g.ndim;
  std::int64_t n = 1;
  Status s = Status::ok;
  if (g.is_shaped) {
    s = make_empty(g.dtype, g.ndim, g.shape, Order::c, &g.memory, &g.why.reason);
    element_count(g.ndim, g.shape, &n);
  } else {
    if (!element_count(trusted, g.shape, &n)) n = INT64_MAX;
    n = std::max(n, more);
    s = make_empty(g.dtype, 1, &n, Order::c, &g.memory, &g.why.reason);
  }
  g.capacity = n;
  if (s == Status::ok) return s;
  // Where the first row alone is that long, memory isn't what is missing.
  const Status lengths = check_lengths(g);
  return lengths != Status::ok ? lengths : s;
}

}  // namespace

Status make_more_room(Gather& g, std::int64_t more) noexcept {
  if (!g.memory.held()) return first_room(g, more);
  std::int64_t n = 0;
  if (__builtin_add_overflow(g.filled, more, &n)) {
    return because(Status::no_memory, &g.why.reason, "more elements than 64 bits can count");
  }
  n = std::max<std::int64_t>({n, g.capacity + g.capacity / 2, 64});
  Borrow larger;
  if (const Status s = make_empty(g.dtype, 1, &n, Order::c, &larger, &g.why.reason); s != Status::ok) return s;
  if (g.filled > 0) {
    std::memcpy(larger.desc.data, g.memory.desc.data, static_cast<std::size_t>(g.filled * g.dtype.itemsize()));
  }
  replace_memory(g, larger);
  g.capacity = n;
  return Status::ok;
}

void replace_memory(Gather& g, Borrow& other) noexcept {
  release(g.memory);
  move_borrow(g.memory, other);
  g.is_shaped = false;
}

Status change_type(Gather& g, DType to) noexcept {
  const DType from = g.dtype;
  if (!g.memory.held()) return set_type(g, to), Status::ok;
  Borrow changed;
  if (const Status s = make_empty(to, 1, &g.capacity, Order::c, &changed, &g.why.reason); s != Status::ok) return s;
  const std::int64_t from_step = from.itemsize();
  const std::int64_t to_step = to.itemsize();
  const Descriptor source{g.memory.desc.data, &g.filled, &from_step, from, cpu_device, 1, 0};
  const Descriptor result{changed.desc.data, &g.filled, &to_step, to, cpu_device, 1, 0};
  const Status s = g.filled > 0 ? copy(result, source, Casting::unsafe, &g.why.reason) : Status::ok;
  if (s != Status::ok) {
    release(changed);
    return s;
  }
  replace_memory(g, changed);
  set_type(g, to);
  return Status::ok;
}

namespace {

/// The dtype of the result.
DType result_type(const Gather& g) noexcept {
  if (!g.has_target && !g.typed) return make_dtype(TypeCode::float_, 64);
  if (!g.has_target) return g.packed ? g.dtype.with_padded(false) : g.dtype;
  DType d = g.target;
  if (g.is_text && d.count == 0) d.count = static_cast<std::uint32_t>(std::max<std::int64_t>(g.longest, 1));
  return d;
}

/// The elements that are there, in the shape that they make.
Status shape_memory(Gather& g) noexcept {
  if (g.is_shaped) return Status::ok;
  Borrow& b = g.memory;
  drop_dims(b);
  std::int64_t* const shape = reserve_dims(b, g.ndim);
  if (shape == nullptr) {
    b.desc.ndim = 0;
    return because(Status::no_memory, &g.why.reason, "out of memory");
  }
  std::copy(g.shape, g.shape + g.ndim, shape);
  c_strides(g.ndim, shape, g.dtype.itemsize(), shape + g.ndim);
  return Status::ok;
}

bool same_shape(const Gather& g, const Descriptor& d) noexcept {
  return d.ndim == g.ndim && std::equal(g.shape, g.shape + g.ndim, d.shape);
}

/// "(2, 3)".
struct Extents {
  Extents(int ndim, const std::int64_t* shape) noexcept {
    std::size_t at = 1;
    std::strcpy(text, "(");
    for (int i = 0; i < ndim && at < sizeof text; ++i) {
      at += static_cast<std::size_t>(
          std::snprintf(text + at, sizeof text - at, "%s%lld", i > 0 ? ", " : "", static_cast<long long>(shape[i])));
    }
    if (at < sizeof text) std::snprintf(text + at, sizeof text - at, ndim == 1 ? ",)" : ")");
  }
  char text[80];
};

/// From the elements that were gathered to what was asked for, in `memory`, or in what is to be filled.
Status finish(Gather& g) noexcept {
  std::int64_t n = 0;
  if (!element_count(g.ndim, g.shape, &n) || n != g.filled) {
    return because(Status::invalid, &g.why.reason, "it changed while it was read");
  }
  if (g.signs_clash) {
    g.why.reason = g.clash;
    return Status::unsupported;
  }
  const DType dtype = result_type(g);
  const Descriptor* const into = g.wanted.into;
  if (into != nullptr && !same_shape(g, *into)) {
    return because(Status::invalid, &g.why.reason, "its shape is %s, that of out %s", Extents(g.ndim, g.shape).text,
                   Extents(into->ndim, into->shape).text);
  }
  const Order order = g.wanted.order;
  if (!g.memory.held()) {
    return into != nullptr ? Status::ok : make_empty(dtype, g.ndim, g.shape, order, &g.memory, &g.why.reason);
  }
  if (const Status s = shape_memory(g); s != Status::ok) return s;
  if (into == nullptr && dtype == g.dtype && (g.ndim <= 1 || order != Order::f)) return Status::ok;
  const Casting casting = g.check_last ? Casting::same_value : Casting::unsafe;
  if (into != nullptr) {
    const Status s = run_copy(into->nbytes(), [&] { return copy(*into, g.memory.desc, casting, &g.why.reason); });
    release(g.memory);
    return s;
  }
  Borrow result;
  Status s = make_empty(dtype, g.ndim, g.shape, order, &result, &g.why.reason);
  if (s != Status::ok) return s;
  s = run_copy(result.desc.nbytes(), [&] { return copy(result.desc, g.memory.desc, casting, &g.why.reason); });
  replace_memory(g, result);
  return s;
}

}  // namespace
}  // namespace anyarray::sequences

namespace anyarray {

Status take_objects(State& s, PyObject* obj, const ObjectsWanted& wanted, Borrow& out, ObjectKind* kind,
                    Failure& why) noexcept {
  *kind = ObjectKind::none;
  using namespace sequences;
  Gather g(s, obj, wanted, out, why);
  Status status = walk(g, obj, 0, kind);
  if (status == Status::ok) status = fit_text(g);
  if (status == Status::ok) status = finish(g);
  if (status != Status::ok) {
    release(out);
  } else if (out.held()) {
    out.desc.flags |= flag_copied;
    own_produced(s.cx, out, Py_None);
  }
  return status;
}

}  // namespace anyarray
