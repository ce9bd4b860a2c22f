// SPDX-License-Identifier: Apache-2.0
// Objects of other types: arrays over their protocols, what can be made a number, sequences of other classes, and the
// refusal of all else. Each may run code of others, so nothing that was read before is relied upon after.
#include <cstring>

#include "src/engine/fast.h"
#include "src/python/asarray.h"
#include "src/python/sequences_parts.h"

namespace anyarray::sequences {
namespace {

/// What the engine is asked with, and where its reporter says what an object's protocols came to. The request comes
/// first: by its address the reporter finds the rest.
struct Asking {
  Request request;
  Gather* g = nullptr;
  int depth = 0;
  Borrow* array = nullptr;
  bool served = false;  ///< by __array__, which was asked once more
};

static_assert(std::is_standard_layout_v<Asking>);

PyObject* report(Context& cx, PyObject* o, const Request* request, Status status, Trace& trace) noexcept {
  if (status == Status::interrupted || status == Status::no_memory || status == Status::not_offered) return nullptr;
  auto* const asking = reinterpret_cast<Asking*>(const_cast<Request*>(request));
  asking->served = goes_on(status) && ask_again(cx, o, *request, *asking->array, trace);
  if (asking->served || PyErr_Occurred() != nullptr) return nullptr;
  Gather& g = *asking->g;
  Failure* failed = &trace.refusal;
  const char* row = "";
  for (int i = 0; i < trace.size(); ++i) {
    Attempt& attempt = trace.at(i);
    if (attempt.status <= Status::skipped) continue;
    failed = &attempt.why;
    row = protocol_rows[static_cast<int>(attempt.protocol)].name;
  }
  std::swap(g.why.exception, failed->exception);
  because(status, &g.why.reason, "%s can't be taken%s%s: %s", Path(g, asking->depth).text, *row != '\0' ? " over " : "",
          row, failed->reason.text);
  return nullptr;
}

/// Whether objects of the type offer nothing, and none of them can have an attribute that the type doesn't have.
bool offers_nothing(Gather& g, PyObject* o) noexcept {
  PyTypeObject* const type = Py_TYPE(o);
  if (reinterpret_cast<PyObject*>(type) == g.plain.get()) return true;
  if (type->tp_getattro != PyObject_GenericGetAttr || type->tp_dictoffset != 0) return false;
  const bool offers = offered_by_type(g.s.cx, o) != 0;
  if (PyErr_Occurred() != nullptr) {  // no memory for the answer: the engine will say so
    PyErr_Clear();
    return false;
  }
  if (offers) return false;
  g.plain = Ref::borrow(reinterpret_cast<PyObject*>(type));
  return true;
}

/// Floats of a type that can't be changed, and has nothing that differs from one to the other but the value: as
/// NumPy's.
bool is_fixed_float(PyObject* o) noexcept {
  const PyTypeObject* const type = Py_TYPE(o);
  return PyFloat_Check(o) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 && type->tp_dictoffset == 0;
}

/// Whether an array is the value of a float, by its bits: NaN has many.
bool is_value_of(const Descriptor& d, PyObject* o) noexcept {
  if (d.ndim != 0 || d.dtype != real_type || !host_readable(d.device.type)) return false;
  std::uint64_t bits[2];
  const double value = PyFloat_AS_DOUBLE(o);
  std::memcpy(bits, &value, sizeof value);
  std::memcpy(bits + 1, d.data, sizeof value);
  return bits[0] == bits[1];
}

/// An object that offers nothing which the policy names is an array all the same if it offers what the policy doesn't.
Status check_policy(Gather& g, PyObject* o, const Request& request, int depth) noexcept {
  Policy storage;
  const ProtocolMask outside = offered_by_type(g.s.cx, o) & ~policy_of(g.s.cx, &request, &storage).mask;
  if (PyErr_Occurred() != nullptr) return raised_at(g, depth);
  if (outside == 0) return Status::not_offered;
  return because(Status::invalid, &g.why.reason, "%s is %s, an array over protocols that the policy doesn't name",
                 Path(g, depth).text, Words(o).text);
}

/// ok: it was an array. not_offered: it isn't one.
Status add_if_array(Gather& g, PyObject* o, int depth) noexcept {
  if (offers_nothing(g, o) || reinterpret_cast<PyObject*>(Py_TYPE(o)) == g.real_array.get()) return Status::not_offered;
  Borrow array;
  Asking asking{{}, &g, depth, &array};
  asking.request.policy = g.wanted.policy;
  asking.request.allow = g.wanted.allow;
  Status taken = take_as_asked(g.s.cx, o, &asking.request, array, report);
  if (asking.served) taken = Status::ok;
  if (taken != Status::ok && PyErr_Occurred() != nullptr) return Status::interrupted;
  if (taken == Status::not_offered) return check_policy(g, o, asking.request, depth);
  if (taken != Status::ok) return taken;
  const Status s = add_array(g, array.desc, depth);
  if (is_fixed_float(o) && is_value_of(array.desc, o)) {
    g.real_array = Ref::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  }
  apart_from_errors([&array] { release(array); });
  return s;
}

Status add_made(Gather& g, PyObject* made, int depth) noexcept {
  const Ref number(made);
  Number v;
  if (!number) return raised_at(g, depth);
  if (read_number(number.get(), v)) return add_number(g, v, depth);
  return because(Status::invalid, &g.why.reason, "%s made %s of itself", Path(g, depth).text, Words(number.get()).text);
}

/// not_offered: it can't be made a number.
Status add_if_number(Gather& g, PyObject* o, int depth) noexcept {
  Number v;
  if (read_number(o, v)) return add_number(g, v, depth);
  if (PyType_Check(o)) return Status::not_offered;
  if (PyIndex_Check(o)) return add_made(g, PyNumber_Index(o), depth);
  const PyNumberMethods* const methods = Py_TYPE(o)->tp_as_number;
  const bool has_float = methods != nullptr && methods->nb_float != nullptr;
  const bool wants_complex = g.has_target && g.target.is_complex();
  if (has_float && !wants_complex) return add_made(g, PyNumber_Float(o), depth);
  const Ref name(PyUnicode_InternFromString("__complex__"));
  if (!name) return Status::interrupted;
  if (lookup_on_type(Py_TYPE(o), name.get()) != nullptr) {
    return add_made(g, PyObject_CallMethodNoArgs(o, name.get()), depth);
  }
  return has_float ? add_made(g, PyNumber_Float(o), depth) : Status::not_offered;
}

bool type_has(PyTypeObject* type, const char* name) noexcept {
  const Ref key(PyUnicode_InternFromString(name));
  if (!key) PyErr_Clear();
  return key && lookup_on_type(type, key.get()) != nullptr;
}

/// A subclass of list or tuple that leaves the reading as it was.
bool reads_as_builtin(PyObject* o) noexcept {
  const PyTypeObject* const base = PyList_Check(o) ? &PyList_Type : PyTuple_Check(o) ? &PyTuple_Type : nullptr;
  const PyTypeObject* const type = Py_TYPE(o);
  return base != nullptr && type->tp_iter == base->tp_iter &&
         type->tp_as_sequence->sq_length == base->tp_as_sequence->sq_length &&
         type->tp_as_sequence->sq_item == base->tp_as_sequence->sq_item &&
         type->tp_as_mapping->mp_subscript == base->tp_as_mapping->mp_subscript;
}

/// It has a length and items by number. What has keys counts as a mapping, whose items aren't asked for by number.
bool is_sequence(PyObject* o) noexcept {
  PyTypeObject* const type = Py_TYPE(o);
  const PySequenceMethods* const items = type->tp_as_sequence;
  const PyMappingMethods* const map = type->tp_as_mapping;
  const bool has_length =
      (items != nullptr && items->sq_length != nullptr) || (map != nullptr && map->mp_length != nullptr);
  const bool has_items =
      (items != nullptr && items->sq_item != nullptr) || (map != nullptr && map->mp_subscript != nullptr);
  return has_length && has_items && !PyType_Check(o) && !PyUnicode_Check(o) && !PyDict_Check(o) &&
         !type_has(type, "keys");
}

Status other_count(Gather& g, int depth, Py_ssize_t said, Py_ssize_t gave, const char* more) noexcept {
  return because(Status::invalid, &g.why.reason,
                 "%s said that its length is %zd, and gave %s%zd element%s: it changed while it was read",
                 Path(g, depth).text, said, more, gave, gave == 1 ? "" : "s");
}

/// The items by the iterator, as NumPy reads them: where a class has none, Python makes one that asks by number. How
/// many there are must be what the length says.
Status read_iterated(Gather& g, PyObject* o, int depth) noexcept {
  const Py_ssize_t n = PyObject_Size(o);
  if (n < 0) return raised_at(g, depth);
  if (const Status s = enter(g, depth, n, false); s != Status::ok) return s;
  const bool by_number = Py_TYPE(o)->tp_iter == nullptr;
  const Ref iterator(PyObject_GetIter(o));
  if (!iterator) return raised_at(g, depth);
  for (Py_ssize_t i = 0; i < n; ++i) {
    g.index[depth] = i;
    const Ref item(PyIter_Next(iterator.get()));
    if (!item) {
      if (PyErr_Occurred() != nullptr) return raised_at(g, depth);
      return other_count(g, depth, n, i, "");
    }
    ObjectKind kind;
    if (const Status s = walk(g, item.get(), depth + 1, &kind); s != Status::ok) return s;
    if (const Status s = look_for_signals(g, 1); s != Status::ok) return s;
  }
  if (by_number) return Status::ok;  // items are there that nobody should ask for, of classes that raise nothing
  const Ref excess(PyIter_Next(iterator.get()));
  if (excess) return other_count(g, depth, n, n, "more than ");
  return PyErr_Occurred() != nullptr ? raised_at(g, depth) : Status::ok;
}

/// What is to be done with an object that can't be read.
const char* way_out(PyObject* o) noexcept {
  if (PyUnicode_Check(o) || PyBytes_Check(o)) return "text is taken where it is asked for: dtype=\"U8\" or \"S8\"";
  if (PyAnySet_Check(o)) return "a set has no order: give sorted(x) or list(x)";
  if (o == Py_None) return "nan stands for a missing number";
  if (PyType_Check(o)) return "it was meant to be called, perhaps";
  if (PyDict_Check(o) || type_has(Py_TYPE(o), "keys"))
    return "a mapping has no order of its own: give list(x.values())";
  if (PyIter_Check(o) || PyGen_Check(o)) return "an iterator can be read once and has no length: give list(x)";
  if (Py_TYPE(o)->tp_iter != nullptr) return "it has no items by number: give list(x)";
  return "it offers no exchange protocol, __index__, __float__ or __complex__, and isn't a sequence";
}

Status refuse(Gather& g, PyObject* o, int depth) noexcept {
  const char* way = way_out(o);
  const PyObject* const time = loaded("datetime", "timedelta");
  if (time != nullptr && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(const_cast<PyObject*>(time)))) {
    way = "ask for a dtype: dtype=\"timedelta64[us]\"";
  } else if (const PyObject* const date = loaded("datetime", "date");
             date != nullptr && PyObject_TypeCheck(o, reinterpret_cast<PyTypeObject*>(const_cast<PyObject*>(date)))) {
    way = "ask for a dtype: dtype=\"datetime64[us]\"";
  }
  return because(depth == 0 ? Status::not_offered : Status::invalid, &g.why.reason, "%s is %s: %s", Path(g, depth).text,
                 Words(o).text, way);
}

}  // namespace

Status walk_other(Gather& g, PyObject* o, int depth, ObjectKind* kind) noexcept {
  Status s = Status::not_offered;
  if (g.is_text && (PyUnicode_Check(o) || PyBytes_Check(o))) {
    *kind = ObjectKind::scalar;
    return add_text(g, o, depth);
  }
  if (g.has_target && g.target.is_time()) s = add_time(g, o, depth);
  if (s == Status::not_offered && depth > 0) s = add_if_array(g, o, depth);
  if (s == Status::not_offered) s = add_if_number(g, o, depth);
  if (s != Status::not_offered) {
    *kind = ObjectKind::scalar;
    return s;
  }
  if (Py_TYPE(o) == &PyRange_Type) {
    *kind = ObjectKind::sequence;
    s = add_range(g, o, depth);
    return s != Status::not_tried ? s : read_iterated(g, o, depth);
  }
  const bool builtin = reads_as_builtin(o);
  if (!builtin && !is_sequence(o)) return refuse(g, o, depth);
  *kind = ObjectKind::sequence;
  return builtin ? read_items(g, o, depth) : read_iterated(g, o, depth);
}

}  // namespace anyarray::sequences
