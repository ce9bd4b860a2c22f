// SPDX-License-Identifier: Apache-2.0
// asarray(): what view() takes, converted where that was asked for, and Python's numbers and sequences.
#include "src/python/asarray.h"

#include "src/engine/fast.h"
#include "src/support/owned.h"

namespace anyarray {
namespace {

/// Why what was taken isn't the result as it lies. Bits.
enum Need : unsigned {
  need_dtype = 1,
  need_order = 2,
  need_copy = 4,  ///< copy=True
  need_out = 8,
  need_share = 16  ///< copy=False, and the producer has copied
};

constexpr const char* out_was_given = "out was given";
constexpr const char* no_memory_to_show = "Python objects have no memory that an array could show";

/// A producer's copy, made for this call and known to nobody else.
bool is_fresh(const Descriptor& d) noexcept {
  return (d.flags & (flag_copied | flag_copied_unknown | flag_readonly)) == flag_copied;
}

bool has_order(const Descriptor& d, Order order) noexcept {
  return order == Order::any || (order == Order::c ? d.c_contiguous() : d.f_contiguous());
}

/// New memory is row-major, where nothing was asked, unless the array is column-major and not row-major.
Order order_of_copy(const Descriptor& d, Order asked) noexcept {
  if (asked != Order::any) return asked;
  return d.strides != nullptr && d.f_contiguous() && !d.c_contiguous() ? Order::f : Order::c;
}

unsigned needs(const Descriptor& d, const AsArray& asked, bool is_array) noexcept {
  unsigned all = 0;
  if (asked.out != nullptr) return need_out;
  if (d.dtype != asked.dtype_of(d.dtype)) all |= need_dtype;
  if (!has_order(d, asked.order)) all |= need_order;
  if (asked.copies == Copies::always && (is_array || !is_fresh(d))) all |= need_copy;
  if (asked.copies == Copies::never && !is_array && (d.flags & flag_copied) != 0) all |= need_share;
  return all;
}

bool add(PyObject* list, PyObject* text) noexcept {
  const Ref owned(text);
  return owned && PyList_Append(list, text) == 0;
}

/// The same in sentences, as a list.
PyObject* need_words(State& s, unsigned all, const Descriptor& d, const AsArray& asked, std::uint8_t row) noexcept {
  Ref words(PyList_New(0));
  bool ok = static_cast<bool>(words);
  if (ok && (all & need_dtype) != 0) {
    const Ref want(dtype_object(s, asked.dtype));
    const Ref have(dtype_object(s, d.dtype));
    ok = want && have &&
         add(words.get(), PyUnicode_FromFormat("dtype %S was asked for, the array has %S", want.get(), have.get()));
  }
  if (ok && (all & need_order) != 0) {
    ok = add(words.get(),
             PyUnicode_FromString(asked.order == Order::c
                                      ? "order C was asked for, the array isn't row-major without gaps"
                                      : "order F was asked for, the array isn't column-major without gaps"));
  }
  if (ok && (all & need_copy) != 0) ok = add(words.get(), PyUnicode_FromString("copy=True"));
  if (ok && (all & need_out) != 0) ok = add(words.get(), PyUnicode_FromString(out_was_given));
  if (ok && (all & need_share) != 0) {
    ok = add(words.get(), PyUnicode_FromFormat("what came over %s is a copy", protocol_rows[row].name));
  }
  return ok ? words.release() : nullptr;
}

/// Fills `out` with a copy of few elements, where no value has to be looked at. False, and nothing done, elsewhere.
__attribute__((always_inline)) inline bool small_copy(State& s, const Descriptor& d, const AsArray& asked,
                                                      Borrow& out) noexcept {
  const DType dtype = asked.dtype_of(d.dtype);
  if (d.strides == nullptr || !host_readable(d.device.type)) return false;
  if (dtype != d.dtype &&
      (asked.casting == Casting::same_value || can_cast(d.dtype, dtype, asked.casting) != Status::ok)) {
    return false;
  }
  return few_copied(s.cx, d, dtype, order_of_copy(d, asked.order) == Order::f, out);
}

/// What the engine is asked with, and where its reporter leaves what it did. The request comes first: by its address
/// the reporter finds the rest.
struct Taking {
  Request request;
  bool may_copy = false;
  bool served = false;  ///< by __array__, which was asked once more
  Borrow* borrow = nullptr;
};

static_assert(std::is_standard_layout_v<Taking>);

/// Whether a producer said so, by the ValueError that NumPy's protocol asks for where a copy mustn't be made.
bool must_copy(Trace& trace) noexcept {
  for (int i = 0; i < trace.size(); ++i) {
    const Attempt& a = trace.at(i);
    if (a.protocol == Protocol::array_method && a.status == Status::failed && !a.why.reading &&
        a.why.exception != nullptr && PyErr_GivenExceptionMatches(a.why.exception, PyExc_ValueError) != 0) {
      return true;
    }
  }
  return false;
}

/// Raises, but where the object offers nothing: it may be a number or a sequence.
PyObject* report(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace) noexcept {
  auto* const taking = reinterpret_cast<Taking*>(const_cast<Request*>(request));
  if (status != Status::interrupted && status != Status::no_memory) {
    if (offers_nothing(cx, obj, request, status, trace) || PyErr_Occurred() != nullptr) return nullptr;
    if (taking->may_copy && goes_on(status)) {
      taking->served = ask_again(cx, obj, taking->request, *taking->borrow, trace);
      if (taking->served || PyErr_Occurred() != nullptr) return nullptr;
    }
  }
  const bool to_share = !taking->may_copy && goes_on(status) && must_copy(trace);
  return raise_failed(cx, obj, request, status, trace, to_share ? "share" : "asarray");
}

/// One call of asarray().
class Run {
 public:
  Run(State& s, PyObject* obj, AsArray& asked, Account* account) noexcept
      : s_(s), obj_(obj), asked_(asked), account_(account) {}

  PyObject* run() noexcept {
    if (asked_.out != nullptr && !take_target()) return nullptr;
    // Of bytes the engine makes numbers.
    const bool text = asked_.asks_text() && PyBytes_CheckExact(obj_);
    if (is_plain_object(Py_TYPE(obj_)) || text) return from_objects();
    return is_array(s_, obj_) ? from_array() : from_offers();
  }

 private:
  Refusal where(std::uint8_t row, ObjectKind objects = ObjectKind::none) const noexcept {
    return {obj_, asked_.out, &asked_, row, objects};
  }

  /// `out`, which must be what else was asked for.
  bool take_target() noexcept {
    const std::uint32_t allow = asked_.engine != nullptr ? asked_.engine->request.allow : 0;
    if (!target_.take(s_, asked_.out, nullptr, allow)) return false;
    Request wanted;
    Reason why;
    wanted.has_dtype = asked_.has_dtype;
    wanted.dtype = asked_.dtype;
    wanted.order = asked_.order;
    if (asked_.engine != nullptr) std::swap(wanted.device, asked_.engine->request.device);
    if (meets(*target_, wanted, &why) == Status::ok) return true;
    const Ref text(sentence(why));
    if (text) PyErr_Format(PyExc_ValueError, "out isn't what else was asked for: %U", text.get());
    return false;
  }

  /// Whether memory that no row gave lies on the device that was asked for.
  bool is_there(const Descriptor& d, ObjectKind kind) noexcept {
    if (asked_.engine == nullptr) return true;
    Reason why;
    const Status fits = meets(d, asked_.engine->request, &why);
    if (fits != Status::ok) raise_copy(s_, where(no_protocol, kind), fits, why);
    return fits == Status::ok;
  }

  PyObject* from_array() noexcept {
    const Reading d(as_array(obj_));
    if (!d) return nullptr;
    if (!is_there(*d, ObjectKind::none)) return nullptr;
    return finish(*d, no_protocol, nullptr);
  }

  PyObject* from_offers() noexcept {
    ArrayObject* const a = array_reserve(s_);
    if (a == nullptr) return nullptr;
    Taking taking;
    if (asked_.engine != nullptr) taking.request = asked_.engine->request;
    taking.may_copy = asked_.copies != Copies::never;
    taking.borrow = &a->borrow;
    // An ndarray is where the host reads it, whatever else it may be asked.
    if (taking.request.device == cpu_device && Py_TYPE(obj_) == s_.cx.ndarray) taking.request.device = {};
    Status status;
    if (account_ == nullptr) {
      status = take_as_asked(s_.cx, obj_, &taking.request, a->borrow, report);
    } else {
      status = take(s_.cx, obj_, &taking.request, a->borrow, account_->trace);
      if (status != Status::ok) report(s_.cx, obj_, &taking.request, status, account_->trace);
    }
    if (status == Status::ok || taking.served) return finish(a->borrow.desc, a->borrow.protocol, a);
    array_discard(s_, a);
    return PyErr_Occurred() == nullptr ? from_objects() : nullptr;
  }

  /// From what was taken to the result. `taken`, if any, holds it, and is used up.
  PyObject* finish(const Descriptor& d, std::uint8_t row, ArrayObject* taken) noexcept {
    const unsigned all = needs(d, asked_, taken == nullptr);
    if (account_ != nullptr && !note(all, d, row)) return end(taken, nullptr);
    if (all == 0) {
      if (account_ != nullptr) {
        account_->way = taken == nullptr ? "itself" : (d.flags & flag_copied) != 0 ? "copied" : "shared";
      }
      return taken == nullptr ? Py_NewRef(obj_) : array_adopt(s_, taken);
    }
    if (asked_.copies == Copies::never) {
      const Ref words(need_words(s_, all, d, asked_, row));
      if (words) raise_refusal(s_, where(row), "copy", words.get());
      return end(taken, nullptr);
    }
    PyObject* const made = asked_.out != nullptr ? fill_target(d, row) : fresh(d, row);
    if (made != nullptr && account_ != nullptr) account_->way = "copied";
    return end(taken, made);
  }

  PyObject* end(ArrayObject* taken, PyObject* result) noexcept {
    if (taken == nullptr) return result;
    apart_from_errors([taken] { release(taken->borrow); });
    array_discard(s_, taken);
    return result;
  }

  bool note(unsigned all, const Descriptor& d, std::uint8_t row) noexcept {
    account_->facts = facts_of(d, row != no_protocol ? protocol_rows[row].name : nullptr);
    account_->reasons = Ref(need_words(s_, all, d, asked_, row));
    return account_->facts && account_->reasons;
  }

  /// Of objects that were copied to memory that `d` describes.
  bool note_objects(const Descriptor& d, ObjectKind kind, const char* reason) noexcept {
    account_->facts = facts_of(d, kind == ObjectKind::scalar ? "scalar" : "sequence");
    account_->reasons = Ref(PyList_New(0));
    account_->way = "copied";
    return account_->facts && account_->reasons && add(account_->reasons.get(), PyUnicode_FromString(reason));
  }

  Ref facts_of(const Descriptor& d, const char* row) noexcept {
    return Ref(Py_BuildValue("(zNNNN)", row, tuple_of(d.shape, d.ndim), dtype_object(s_, d.dtype),
                             device_object(s_, d.device), PyBool_FromLong(d.readonly())));
  }

  PyObject* fill_target(const Descriptor& d, std::uint8_t row) noexcept {
    Reason why;
    if (d.ndim != target_->ndim || !same_shape(d)) {
      const Ref have(tuple_of(d.shape, d.ndim));
      const Ref room(tuple_of(target_->shape, target_->ndim));
      if (have && room) {
        PyErr_Format(PyExc_ValueError, "out has shape %R, and the array has %R: give one of its shape", room.get(),
                     have.get());
      }
      return nullptr;
    }
    const Status status = run_copy(d.nbytes(), [&] { return copy(*target_, d, asked_.casting, &why); });
    return status == Status::ok ? Py_NewRef(asked_.out) : raise_copy(s_, where(row), status, why);
  }

  bool same_shape(const Descriptor& d) const noexcept {
    for (int i = 0; i < d.ndim; ++i) {
      if (d.shape[i] != target_->shape[i]) return false;
    }
    return true;
  }

  PyObject* fresh(const Descriptor& d, std::uint8_t row) noexcept {
    ArrayObject* const made = array_reserve(s_);
    if (made == nullptr) return nullptr;
    if (small_copy(s_, d, asked_, made->borrow)) return array_adopt(s_, made);
    Request wanted;
    Reason why;
    wanted.has_dtype = true;
    wanted.dtype = asked_.dtype_of(d.dtype);
    wanted.order = order_of_copy(d, asked_.order);
    const Status status = run_copy(d.nbytes(), [&] { return copy_as(d, wanted, &made->borrow, &why, asked_.casting); });
    if (status != Status::ok) {
      array_discard(s_, made);
      return raise_copy(s_, where(row), status, why);
    }
    own_produced(s_.cx, made->borrow, Py_None);
    return array_adopt(s_, made);
  }

  PyObject* from_objects() noexcept {
    const ObjectsWanted wanted{asked_.has_dtype,
                               asked_.dtype,
                               asked_.order,
                               asked_.casting,
                               asked_.out != nullptr ? &*target_ : nullptr,
                               asked_.engine != nullptr ? asked_.engine->request.policy : nullptr,
                               asked_.engine != nullptr ? asked_.engine->request.allow : 0};
    ObjectKind kind = ObjectKind::none;
    Failure why;
    ArrayObject* const a = array_reserve(s_);
    if (a == nullptr) return nullptr;
    const Status status = take_objects(s_, obj_, wanted, a->borrow, &kind, why);
    if (account_ != nullptr) {
      account_->objects = kind;
      account_->objects_status = status;
      account_->objects_why = why.reason;
    }
    if (status != Status::ok || asked_.copies == Copies::never || asked_.out != nullptr) {
      PyObject* const result = objects_end(kind, status, why);
      if (status == Status::ok && asked_.out == nullptr) release(a->borrow);
      array_discard(s_, a);
      return result;
    }
    if (!is_there(a->borrow.desc, kind)) return end(a, nullptr);
    if (account_ != nullptr && !note_objects(a->borrow.desc, kind, no_memory_to_show)) return end(a, nullptr);
    return array_adopt(s_, a);
  }

  /// Where no new array comes of it: an error, or `out`.
  PyObject* objects_end(ObjectKind kind, Status status, Failure& why) noexcept {
    if (status != Status::ok) return raise_objects(s_, where(no_protocol, kind), status, why);
    if (asked_.out != nullptr) {
      if (account_ != nullptr && !note_objects(*target_, kind, out_was_given)) return nullptr;
      return Py_NewRef(asked_.out);
    }
    const Ref words(PyUnicode_FromString(no_memory_to_show));
    return words ? raise_refusal(s_, where(no_protocol, kind), "copy", words.get()) : nullptr;
  }

  State& s_;
  PyObject* obj_;
  AsArray& asked_;
  Account* account_;
  Target target_;
};

}  // namespace

PyObject* make_array(State& s, PyObject* obj, AsArray& asked, Account* account) noexcept {
  return Run(s, obj, asked, account).run();
}

namespace {

/// An ndarray, where nothing is asked of the engine, and nothing is written to but new memory: read in place, and
/// copied without being held. Between the two nothing is allocated that could run the collector, and so anybody's code.
/// Null without an exception: the usual way goes on.
__attribute__((noinline)) PyObject* from_ndarray(State& s, PyObject* obj, const AsArray& asked) noexcept {
  ArrayObject* const a = array_reserve(s);
  if (a == nullptr) return nullptr;
  Borrow b;
  begin(b);
  if (numpy_decode_known(s.cx, obj, b)) {
    if (needs(b.desc, asked, false) == 0) {
      if (take_quick(s.cx, obj, a->borrow, quiet_call) == Status::ok) return array_adopt(s, a);
    } else if (asked.copies != Copies::never && small_copy(s, b.desc, asked, a->borrow)) {
      return array_adopt(s, a);
    }
  }
  array_discard(s, a);
  return nullptr;
}

}  // namespace

PyObject* asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& s = state_of_module(module);
  const bool bare = nargs == 1 && kwnames == nullptr;
  if (bare && Py_TYPE(args[0]) == s.cx.ndarray && s.cx.current_policy == nullptr) {
    ArrayObject* const a = array_reserve(s);
    if (a == nullptr) return nullptr;
    if (__builtin_expect(take_quick(s.cx, args[0], a->borrow, quiet_call) == Status::ok, 1)) return array_adopt(s, a);
    array_discard(s, a);
  }
  AsArray asked;
  if (!bare && !parse_asarray(s, "asarray", args, nargs, kwnames, asked)) return nullptr;
  const bool of_memory = asked.engine == nullptr && asked.out == nullptr && s.cx.current_policy == nullptr;
  if (!bare && of_memory && Py_TYPE(args[0]) == s.cx.ndarray) {
    PyObject* const made = from_ndarray(s, args[0], asked);
    if (made != nullptr || PyErr_Occurred() != nullptr) return made;
  }
  return make_array(s, args[0], asked, nullptr);
}

PyObject* explain_asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& s = state_of_module(module);
  AsArray asked;
  if (!parse_asarray(s, "explain_asarray", args, nargs, kwnames, asked)) return nullptr;
  return explain_array(s, args[0], asked);
}

}  // namespace anyarray
