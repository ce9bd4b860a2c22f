// SPDX-License-Identifier: Apache-2.0
// The frame of take_objects(): memory that grows and changes its type, the sentences' words, and the last step, to the
// dtype, order and memory that were asked for.
#include "src/python/sequences.h"

#include <algorithm>
#include <cstring>

#include "src/python/sequences_parts.h"

namespace anyarray {

Gather::Gather(State& state, const ObjectsWanted& asked, Failure& reason) noexcept
    : s(state),
      wanted(asked),
      why(reason),
      target(asked.into != nullptr ? asked.into->dtype : asked.dtype),
      has_target(asked.into != nullptr || asked.has_dtype) {
  memory.release_fn = nullptr;
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

/// New memory for `n` elements in a row.
Status new_memory(Gather& g, DType dtype, std::int64_t n, Borrow& out) noexcept {
  return make_empty(dtype, 1, &n, Order::c, &out, &g.why.reason);
}

/// The elements that are there as an array of one dimension; `shape` is the caller's.
Descriptor row_of(Gather& g, void* data, DType dtype, const std::int64_t* n, const std::int64_t* stride) noexcept {
  static_cast<void>(g);
  return {data, n, stride, dtype, cpu_device, 1, 0};
}

/// Elements that a first number stands for, as far as the sequences around it hold what they say.
Status first_room(Gather& g, std::int64_t more, std::int64_t* out) noexcept {
  std::int64_t n = 1;
  bool counts = true;
  bool overflow = false;
  for (int i = 0; i < g.ndim; ++i) {
    counts &= g.trusted[i];
    if (counts) overflow |= __builtin_mul_overflow(n, g.shape[i], &n);
  }
  if (overflow) return because(Status::no_memory, &g.why.reason, "more elements than 64 bits can count");
  *out = std::max(n, more);
  return Status::ok;
}

}  // namespace

Status make_room(Gather& g, std::int64_t more) noexcept {
  std::int64_t n = 0;
  if (__builtin_add_overflow(g.filled, more, &n)) {
    return because(Status::no_memory, &g.why.reason, "more elements than 64 bits can count");
  }
  if (n <= g.capacity && g.memory.held()) return Status::ok;
  if (!g.memory.held()) {
    if (const Status s = first_room(g, more, &n); s != Status::ok) return s;
  } else {
    n = std::max<std::int64_t>({n, g.capacity + g.capacity / 2, 64});
  }
  Borrow larger;
  if (const Status s = new_memory(g, g.dtype, n, larger); s != Status::ok) return s;
  if (g.filled > 0) {
    std::memcpy(larger.desc.data, g.memory.desc.data, static_cast<std::size_t>(g.filled * g.dtype.itemsize()));
  }
  release(g.memory);
  move_borrow(g.memory, larger);
  g.capacity = n;
  return Status::ok;
}

Status change_type(Gather& g, DType to) noexcept {
  const DType from = g.dtype;
  if (!g.typed || !g.memory.held()) return set_type(g, to), Status::ok;
  Borrow changed;
  if (const Status s = new_memory(g, to, g.capacity, changed); s != Status::ok) return s;
  const std::int64_t from_step = from.itemsize();
  const std::int64_t to_step = to.itemsize();
  const Descriptor source = row_of(g, g.memory.desc.data, from, &g.filled, &from_step);
  const Descriptor result = row_of(g, changed.desc.data, to, &g.filled, &to_step);
  const Status s = g.filled > 0 ? copy(result, source, Casting::unsafe, &g.why.reason) : Status::ok;
  if (s != Status::ok) {
    release(changed);
    return s;
  }
  release(g.memory);
  move_borrow(g.memory, changed);
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
Status shaped(Gather& g) noexcept {
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

Status finish(Gather& g, Borrow& out) noexcept {
  if (g.signs_clash) {
    g.why.reason = g.clash;
    return Status::mismatch;
  }
  const DType dtype = result_type(g);
  const Descriptor* const into = g.wanted.into;
  if (into != nullptr && !same_shape(g, *into)) {
    return because(Status::mismatch, &g.why.reason, "the shape of the result isn't that of the memory to be filled");
  }
  const Casting casting = g.check_last ? Casting::same_value : Casting::unsafe;
  if (!g.memory.held()) {
    return into != nullptr ? Status::ok : make_empty(dtype, g.ndim, g.shape, g.wanted.order, &out, &g.why.reason);
  }
  if (const Status s = shaped(g); s != Status::ok) return s;
  if (into != nullptr) return copy(*into, g.memory.desc, casting, &g.why.reason);
  if (dtype == g.dtype && (g.ndim <= 1 || g.wanted.order != Order::f)) {
    move_borrow(out, g.memory);
    return Status::ok;
  }
  Status s = make_empty(dtype, g.ndim, g.shape, g.wanted.order, &out, &g.why.reason);
  if (s != Status::ok) return s;
  s = copy(out.desc, g.memory.desc, casting, &g.why.reason);
  if (s != Status::ok) release(out);
  return s;
}

}  // namespace

Status take_objects(State& s, PyObject* obj, const ObjectsWanted& wanted, Borrow& out, ObjectKind* kind,
                    Failure& why) noexcept {
  out.release_fn = nullptr;
  *kind = ObjectKind::none;
  Gather g(s, wanted, why);
  Status status = walk(g, obj, 0, kind);
  if (status == Status::ok) status = fit_text(g);
  if (status == Status::ok) status = finish(g, out);
  if (status == Status::ok && out.held()) {
    out.desc.flags |= flag_copied;
    own_produced(s.cx, out, Py_None);
  }
  return status;
}

}  // namespace anyarray
