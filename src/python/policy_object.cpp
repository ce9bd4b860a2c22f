// SPDX-License-Identifier: Apache-2.0
// The Python type Policy: an immutable, registered anyarray::Policy, so that a policy made in Python is planned
// once a type, as the presets are.
#include <cstring>

#include "src/python/state.h"

namespace anyarray {
namespace {

const Policy& value_of(PyObject* self) noexcept { return reinterpret_cast<PolicyObject*>(self)->policy; }

/// "a, b, c" from names of rows or presets. Null with an error.
PyObject* listed(bool of_rows) noexcept {
  Ref names(PyList_New(0));
  const int n = of_rows ? protocol_count : preset_count;
  for (int i = 0; names && i < n; ++i) {
    Ref name(PyUnicode_FromString(of_rows ? protocol_rows[i].name : presets[i].name));
    if (!name || PyList_Append(names.get(), name.get()) < 0) return nullptr;
  }
  Ref comma(PyUnicode_FromString(", "));
  return names && comma ? PyUnicode_Join(comma.get(), names.get()) : nullptr;
}

void raise_listing(const char* format, PyObject* what, bool rows) noexcept {
  Ref all(listed(rows));
  if (all) PyErr_Format(PyExc_ValueError, format, what, all.get());
}

const Policy* preset_from_object(PyObject* name) noexcept {
  const char* text = c_text(name);
  const Policy* p = text != nullptr ? find_preset(text) : nullptr;
  if (p == nullptr) {
    raise_listing("there is no policy named %R; there are: %U", name, false);
  }
  return p;
}

bool order_from_sequence(PyObject* rows, Policy* out) noexcept {
  Ref all(PySequence_Tuple(rows));
  if (!all) return false;
  const Py_ssize_t n = PyTuple_GET_SIZE(all.get());
  if (n == 0) {
    raise_listing("the order of a policy is empty%.0R; name at least one of: %U", Py_None, true);
    return false;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* name = PyTuple_GET_ITEM(all.get(), i);
    if (!PyUnicode_Check(name)) {
      PyErr_Format(PyExc_TypeError, "the order of a policy is made of names of protocols, not %.200s",
                   Py_TYPE(name)->tp_name);
      return false;
    }
    Protocol row;
    const char* text = c_text(name);
    if (text == nullptr || !parse_protocol(text, &row)) {
      raise_listing("there is no protocol named %R; there are: %U", name, true);
      return false;
    }
    if (!out->add(row)) {
      raise_listing("the order of a policy names %R twice; each of these may stand in it once: %U", name, true);
      return false;
    }
  }
  return true;
}

/// 0 or 1 for one of two words; -1 with an error.
int one_of(const char* what, PyObject* given, const char* first, const char* second) noexcept {
  if (PyUnicode_Check(given)) {
    if (PyUnicode_CompareWithASCIIString(given, first) == 0) return 0;
    if (PyUnicode_CompareWithASCIIString(given, second) == 0) return 1;
  }
  PyErr_Format(PyExc_ValueError, "%s is '%s' or '%s', not %R", what, first, second, given);
  return -1;
}

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject *order = nullptr, *lookup = Py_None, *on_failure = Py_None, *device_first = Py_None;
  static const char* keywords[] = {"order", "lookup", "on_failure", "device_first", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOO:Policy", const_cast<char**>(keywords), &order, &lookup,
                                   &on_failure, &device_first)) {
    return nullptr;
  }
  Policy p;
  if (PyUnicode_Check(order)) {
    const Policy* preset = preset_from_object(order);
    if (preset == nullptr) return nullptr;
    p = *preset;
  } else if (Py_IS_TYPE(order, type)) {
    p = value_of(order);
  } else if (PyList_Check(order) || PyTuple_Check(order)) {
    if (!order_from_sequence(order, &p)) return nullptr;
  } else {
    return PyErr_Format(PyExc_TypeError,
                        "order is the name of a preset, a Policy, or a list or tuple of names of protocols, not %.200s",
                        Py_TYPE(order)->tp_name);
  }
  if (lookup != Py_None) {
    const int i = one_of("lookup", lookup, "type_first", "instance");
    if (i < 0) return nullptr;
    p.lookup = i == 0 ? Lookup::type_first : Lookup::instance;
  }
  if (on_failure != Py_None) {
    const int i = one_of("on_failure", on_failure, "continue", "raise");
    if (i < 0) return nullptr;
    p.on_failure = i == 0 ? OnFailure::go_on : OnFailure::stop;
    if (i == 0) p.final_rows = p.final_content = 0;
  }
  if (device_first != Py_None) {
    if (!PyBool_Check(device_first)) {
      return PyErr_Format(PyExc_TypeError, "device_first is True or False, not %.200s", Py_TYPE(device_first)->tp_name);
    }
    p.device_first = device_first == Py_True;
  }
  auto* self = PyObject_New(PolicyObject, type);
  if (self != nullptr) self->policy = p;
  return reinterpret_cast<PyObject*>(self);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

bool same_rows(const Policy& a, const Policy& b) noexcept {
  return a.rows == b.rows && a.n == b.n && a.final_rows == b.final_rows && a.final_content == b.final_content;
}
bool same(const Policy& a, const Policy& b) noexcept {
  return same_rows(a, b) && a.lookup == b.lookup && a.on_failure == b.on_failure && a.device_first == b.device_first;
}

PyObject* compare(PyObject* self, PyObject* other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(other, Py_TYPE(self))) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong(same(value_of(self), value_of(other)) == (op == Py_EQ));
}

Py_hash_t hash(PyObject* self) {
  const Policy& p = value_of(self);
  std::uint64_t h = 1469598103934665603u;
  const auto mix = [&h](unsigned v) { h = (h ^ v) * 1099511628211u; };
  for (int i = 0; i < p.n; ++i) mix(static_cast<unsigned>(p.at(i)));
  mix(static_cast<unsigned>(p.lookup) | static_cast<unsigned>(p.on_failure) << 1 |
      static_cast<unsigned>(p.device_first) << 2);
  const auto result = static_cast<Py_hash_t>(h);
  return result == -1 ? -2 : result;
}

PyObject* order_of(const Policy& p) noexcept {
  Ref order(PyTuple_New(p.n));
  for (int i = 0; order && i < p.n; ++i) {
    PyObject* name = PyUnicode_InternFromString(protocol_rows[static_cast<int>(p.at(i))].name);
    if (name == nullptr) return nullptr;
    PyTuple_SET_ITEM(order.get(), i, name);
  }
  return order.release();
}

const char* lookup_word(const Policy& p) noexcept { return p.lookup == Lookup::type_first ? "type_first" : "instance"; }
const char* failure_word(const Policy& p) noexcept { return p.on_failure == OnFailure::go_on ? "continue" : "raise"; }

PyObject* repr(PyObject* self) { return policy_words(value_of(self)); }
PyObject* get_order(PyObject* self, void*) { return order_of(value_of(self)); }
PyObject* get_lookup(PyObject* self, void*) { return PyUnicode_InternFromString(lookup_word(value_of(self))); }
PyObject* get_on_failure(PyObject* self, void*) { return PyUnicode_InternFromString(failure_word(value_of(self))); }
PyObject* get_device_first(PyObject* self, void*) { return PyBool_FromLong(value_of(self).device_first); }

PyObject* reduce(PyObject* self, PyObject*) {
  Ref rebuild(package_function("anyarray._rebuild", "policy"));
  const Policy& p = value_of(self);
  Ref start;
  // Rows whose failure is final come with a preset and can't be told otherwise.
  for (int i = 0; i < preset_count && !start; ++i) {
    if (same_rows(presets[i].policy, p)) start = Ref(PyUnicode_FromString(presets[i].name));
  }
  if (!start) start = Ref(order_of(p));
  if (!rebuild || !start) return nullptr;
  const bool plain = p.on_failure == OnFailure::go_on;
  return Py_BuildValue("O(OszO)", rebuild.get(), start.get(), lookup_word(p), plain ? nullptr : failure_word(p),
                       p.device_first ? Py_True : Py_False);
}

PyGetSetDef getset[] = {
    {"order", get_order, nullptr, "Names of the protocols in the order in which they are tried.", nullptr},
    {"lookup", get_lookup, nullptr, "'type_first', or 'instance': offers of type and instance are ranked together.",
     nullptr},
    {"on_failure", get_on_failure, nullptr, "'continue' with the next protocol, or 'raise'.", nullptr},
    {"device_first", get_device_first, nullptr, "Whether the object's device decides which protocols are passed over.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool policy_type_init(State& s, PyObject* module) noexcept {
  PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "Policy(order, *, lookup=None, on_failure=None, device_first=None)\n--\n\n"
           "An order of tries, and what a failure leads to. Immutable.\n\n"
           "order: names of protocols (see anyarray.protocols()), or a preset's name or a Policy to start from.\n"
           "What isn't given is as in that preset, otherwise 'type_first', 'continue' and False.")},
      {Py_tp_new, reinterpret_cast<void*>(construct)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec = {"anyarray.Policy", sizeof(PolicyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
  s.policy_type = reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, nullptr));
  return s.policy_type != nullptr &&
         PyModule_AddObjectRef(module, "Policy", reinterpret_cast<PyObject*>(s.policy_type)) == 0;
}

const Policy* policy_from_object(State& s, PyObject* o, Policy* storage) noexcept {
  if (o == Py_None) return &presets[0].policy;
  if (Py_IS_TYPE(o, s.policy_type)) return &value_of(o);
  if (PyUnicode_Check(o)) return preset_from_object(o);
  if (PyList_Check(o) || PyTuple_Check(o)) return order_from_sequence(o, storage) ? storage : nullptr;
  PyErr_Format(PyExc_TypeError,
               "policy is None, the name of a preset, a list or tuple of names of protocols, or a Policy, not %.200s",
               Py_TYPE(o)->tp_name);
  return nullptr;
}

PyObject* policy_words(const Policy& p) noexcept {
  if ((p.final_rows | p.final_content) != 0) {  // which only a preset has: it is the one way to make this again
    for (int i = 0; i < preset_count; ++i) {
      const Policy& preset = presets[i].policy;
      if (!same_rows(preset, p)) continue;
      if (same(preset, p)) return PyUnicode_FromFormat("Policy('%s')", presets[i].name);
      return PyUnicode_FromFormat("Policy('%s', lookup='%s', device_first=%s)", presets[i].name, lookup_word(p),
                                  p.device_first ? "True" : "False");
    }
  }
  Ref order(order_of(p));
  if (!order) return nullptr;
  return PyUnicode_FromFormat("Policy(order=%R, lookup='%s', on_failure='%s', device_first=%s)", order.get(),
                              lookup_word(p), failure_word(p), p.device_first ? "True" : "False");
}

}  // namespace anyarray
