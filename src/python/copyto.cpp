// SPDX-License-Identifier: Apache-2.0
// copyto(), and the arrays of any library that it and asarray(out=…) write to.
#include "src/engine/fast.h"
#include "src/python/asarray.h"

namespace anyarray {
namespace {

PyObject* report_target(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace) noexcept {
  return raise_failed(cx, obj, request, status, trace, "write");
}

/// What the engine is asked of the source, and where it goes. The request comes first: by its address the reporter
/// finds the rest.
struct Taking {
  Request request;
  Borrow* borrow;
  bool served = false;  ///< by __array__, which was asked once more
};

static_assert(std::is_standard_layout_v<Taking>);

PyObject* report_source(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace) noexcept {
  auto* const taking = reinterpret_cast<Taking*>(const_cast<Request*>(request));
  if (status != Status::interrupted && status != Status::no_memory) {
    if (offers_nothing(cx, obj, request, status, trace) || PyErr_Occurred() != nullptr) return nullptr;
    taking->served = goes_on(status) && ask_again(cx, obj, *request, *taking->borrow, trace);
    if (taking->served || PyErr_Occurred() != nullptr) return nullptr;
  }
  return raise_failed(cx, obj, request, status, trace, "asarray");
}

bool refuse_target(State& s, PyObject* obj, const char* why) noexcept {
  Trace trace;
  because(Status::guarded, &trace.refusal.reason, "%s", why);
  raise_failed(s.cx, obj, nullptr, Status::guarded, trace, "write");
  return false;
}

/// `from` as an array of `to`'s shape, its strides 0 where it is repeated. `dims` is room for the strides.
Status broadcast(const Descriptor& to, const Descriptor& from, std::int64_t* dims, Descriptor* out) noexcept {
  *out = from;
  const int extra = from.ndim - to.ndim;
  for (int i = 0; i < extra; ++i) {
    if (from.shape[i] != 1) return Status::mismatch;
  }
  bool same = extra == 0;
  for (int i = to.ndim - 1; i >= 0; --i) {
    const int k = i + extra;
    const std::int64_t extent = k >= 0 ? from.shape[k] : 1;
    if (extent != to.shape[i] && extent != 1) return Status::mismatch;
    same = same && extent == to.shape[i];
    dims[i] = extent == to.shape[i] && k >= 0 && from.strides != nullptr ? from.strides[k] : 0;
  }
  if (same) return Status::ok;
  if (from.strides == nullptr) return Status::unsupported;
  out->ndim = to.ndim;
  out->shape = to.shape;
  out->strides = dims;
  return Status::ok;
}

/// One call of copyto().
struct CopyTo {
  State& s;
  PyObject* to;
  PyObject* from;
  Casting casting = Casting::same_kind;
  ParsedRequest parsed = {};
  Target target = {};

  Refusal where(std::uint8_t row, ObjectKind objects = ObjectKind::none) const noexcept {
    return {from, to, nullptr, row, objects};
  }

  PyObject* run() noexcept {
    if (!target.take(s, to, parsed.request.policy, parsed.request.allow)) return nullptr;
    if (is_plain_object(Py_TYPE(from))) return write_objects();
    if (is_array(s, from)) {
      const Reading d(as_array(from));
      return d ? write(*d, no_protocol) : nullptr;
    }
    Borrow b;
    b.release_fn = nullptr;
    begin(b);
    Taking taking{parsed.request, &b};
    const Status status = take_as_asked(s.cx, from, &taking.request, b, report_source);
    if (status != Status::ok && !taking.served) return PyErr_Occurred() == nullptr ? write_objects() : nullptr;
    return write_and_release(b, ObjectKind::none);
  }

  PyObject* write_and_release(Borrow& b, ObjectKind kind) noexcept {
    PyObject* const result = write(b.desc, b.protocol, kind);
    apart_from_errors([&b] { release(b); });
    return result;
  }

  PyObject* write_objects() noexcept {
    Descriptor d = *target;
    const bool turned = d.dtype.swapped() && d.dtype.code != TypeCode::interned;
    const ObjectsWanted wanted{true,
                               turned ? d.dtype.with_swapped(false) : d.dtype,
                               Order::any,
                               casting,
                               nullptr,
                               parsed.request.policy,
                               parsed.request.allow};
    ObjectKind kind = ObjectKind::none;
    Borrow b;
    b.release_fn = nullptr;
    begin(b);
    Failure why;
    const Status status = take_objects(s, from, wanted, b, &kind, why);
    if (status != Status::ok) return raise_objects(s, where(no_protocol, kind), status, why);
    casting = Casting::equiv;
    return write_and_release(b, kind);
  }

  PyObject* write(const Descriptor& d, std::uint8_t row, ObjectKind kind = ObjectKind::none) noexcept {
    std::int64_t strides[max_ndim];
    Descriptor spread;
    Reason why;
    const Status fits = broadcast(*target, d, strides, &spread);
    if (fits == Status::mismatch) return shapes_differ(d);
    if (fits != Status::ok) {
      because(fits, &why, "elements packed below a byte aren't repeated: give an array of the target's shape");
      return raise_copy(s, where(row, kind), fits, why);
    }
    const Status status = run_copy(target->nbytes(), [&] { return copy(*target, spread, casting, &why); });
    if (status == Status::ok) Py_RETURN_NONE;
    return raise_copy(s, where(row, kind), status, why);
  }

  PyObject* shapes_differ(const Descriptor& d) noexcept {
    const Ref have(tuple_of(d.shape, d.ndim));
    const Ref room(tuple_of(target->shape, target->ndim));
    if (have && room) {
      PyErr_Format(PyExc_ValueError, "an array of shape %R can't be repeated to fill one of shape %R", have.get(),
                   room.get());
    }
    return nullptr;
  }
};

bool read_copyto(State& s, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, CopyTo& out) noexcept {
  const Py_ssize_t n = kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(kwnames, i);
    const int keyword = find_keyword(s, name);
    const auto known = static_cast<Keyword>(keyword);
    if (keyword >= 0 && known == Keyword::casting) {
      if (!read_casting(args[nargs + i], &out.casting)) return false;
    } else if (keyword >= 0 && (known == Keyword::policy || known == Keyword::allow)) {
      if (!read_keyword(s, known, args[nargs + i], out.parsed)) return false;
    } else {
      PyErr_Format(PyExc_TypeError, "copyto() has no keyword %R; there are: casting, policy, allow", name);
      return false;
    }
  }
  return true;
}

}  // namespace

Target::~Target() {
  if (array_ != nullptr) --array_->readers;
  if (borrow_.held()) apart_from_errors([this] { release(borrow_); });
}

bool Target::take(State& s, PyObject* obj, const Policy* policy, std::uint32_t allow) noexcept {
  if (is_array(s, obj)) {
    d_ = array_descriptor(as_array(obj));
    if (d_ == nullptr) return false;
    array_ = as_array(obj);
    ++array_->readers;
    if (d_->readonly()) return refuse_target(s, obj, "it is read-only");
    return host_can(array_, *d_, "write to it");
  }
  begin(borrow_);
  if (Py_TYPE(obj) == s.cx.ndarray && policy == nullptr && s.cx.current_policy == nullptr) {
    if (take_quick(s.cx, obj, borrow_, quiet_call) == Status::ok && !borrow_.desc.readonly()) {
      d_ = &borrow_.desc;
      return true;
    }
    release(borrow_);
  }
  Request wanted;
  wanted.policy = policy;
  wanted.allow = allow;
  wanted.writable = true;
  wanted.device = {DeviceType::cpu, -1};
  if (take_as_asked(s.cx, obj, &wanted, borrow_, report_target) != Status::ok) {
    borrow_.release_fn = nullptr;
    return false;
  }
  d_ = &borrow_.desc;
  if ((d_->flags & (flag_copied | flag_copied_unknown)) == 0) return true;
  return refuse_target(s, obj,
                       (d_->flags & flag_copied) != 0
                           ? "it gives a copy of its memory, and what is written there would be lost"
                           : "it can't be told whether what it gives is its own memory or a copy");
}

PyObject* copyto(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& s = state_of_module(module);
  if (nargs != 2) {
    return PyErr_Format(PyExc_TypeError,
                        "copyto() takes two positional arguments, where to copy to and what; %zd were given", nargs);
  }
  CopyTo it{s, args[0], args[1]};
  return read_copyto(s, args, nargs, kwnames, it) ? it.run() : nullptr;
}

}  // namespace anyarray
