// SPDX-License-Identifier: Apache-2.0
// The Python type Policy: an immutable anyarray::Policy. What it says is its key in the engine's cache, so that one
// made in Python is planned once a type, as the presets are.
#include <cstring>

#include "src/python/state.h"

namespace anyarray {
namespace {

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
    Protocol row;
    raise_listing(text != nullptr && parse_protocol(text, &row)
                      ? "there is no policy named %R, which is a protocol: give a list of protocols; policies are: %U"
                      : "there is no policy named %R; there are: %U",
                  name, false);
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

PyObject* order_of(const Policy& p) noexcept {
  Ref order(PyTuple_New(p.n));
  for (int i = 0; order && i < p.n; ++i) {
    PyObject* name = PyUnicode_InternFromString(protocol_rows[static_cast<int>(p.at(i))].name);
    if (name == nullptr) return nullptr;
    PyTuple_SET_ITEM(order.get(), i, name);
  }
  return order.release();
}

bool cause_from_object(PyObject* name, Cause* out) noexcept {
  Ref all(PyUnicode_FromString(""));
  for (int i = 0; all && i < cause_count; ++i) {
    const char* word = cause_name(static_cast<Cause>(i));
    if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, word) == 0) {
      *out = static_cast<Cause>(i);
      return true;
    }
    all = Ref(PyUnicode_FromFormat(i == 0 ? "%U%s" : "%U, %s", all.get(), word));
  }
  if (all) PyErr_Format(PyExc_ValueError, "there is no cause named %R; there are: %U", name, all.get());
  return false;
}

void clear_final(Policy& p) noexcept {
  for (int i = 0; i < cause_count; ++i) p.pass(static_cast<Cause>(i), p.mask);
}

/// {cause: rows}: replaces what is final.
bool final_from_mapping(PyObject* final, Policy* out) noexcept {
  // Whatever has [] passes for a mapping in C, so that it's told by its items().
  Ref items(PyMapping_Check(final) != 0 ? PyMapping_Items(final) : nullptr);
  if (!items) {
    if (PyErr_Occurred() != nullptr && PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return false;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "final is a mapping from causes to names of protocols, not %.200s",
                 Py_TYPE(final)->tp_name);
    return false;
  }
  clear_final(*out);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);  // a 2-tuple, as PyMapping_Items makes sure
    Policy rows;
    Cause cause;
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2) {
      PyErr_SetString(PyExc_TypeError, "final has items that aren't pairs");
      return false;
    }
    if (!cause_from_object(PyTuple_GET_ITEM(item, 0), &cause)) return false;
    if (PyUnicode_Check(PyTuple_GET_ITEM(item, 1))) {
      PyErr_Format(PyExc_TypeError, "final gives each cause a list or tuple of names of protocols, not the str %R",
                   PyTuple_GET_ITEM(item, 1));
      return false;
    }
    if (!order_from_sequence(PyTuple_GET_ITEM(item, 1), &rows)) return false;
    if ((rows.mask & ~out->mask) != 0) {
      Ref order(order_of(*out));
      if (order) PyErr_Format(PyExc_ValueError, "final names protocols that the order, %R, doesn't have", order.get());
      return false;
    }
    out->end(cause, rows.mask);
  }
  return true;
}

// By their numbers.
constexpr const char* lookup_words[] = {"type_first", "instance", "type", "method"};
constexpr const char* device_words[] = {"ignored", "present", "called", "checked"};
constexpr const char* failure_words[] = {"continue", "raise"};

/// The number of a word; -1 with an error that lists them.
template <int N>
int one_of(const char* what, PyObject* given, const char* const (&words)[N]) noexcept {
  for (int i = 0; PyUnicode_Check(given) && i < N; ++i) {
    if (PyUnicode_CompareWithASCIIString(given, words[i]) == 0) return i;
  }
  Ref all(PyUnicode_FromFormat("'%s'", words[0]));
  for (int i = 1; all && i < N; ++i) {
    all = Ref(PyUnicode_FromFormat(i + 1 < N ? "%U, '%s'" : "%U or '%s'", all.get(), words[i]));
  }
  if (all) PyErr_Format(PyExc_ValueError, "%s is %U, not %R", what, all.get(), given);
  return -1;
}

PyObject* make(PyTypeObject* type, const Policy& p) noexcept {
  auto* self = PyObject_New(PolicyObject, type);
  if (self != nullptr) self->policy = p;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject *order = nullptr, *lookup = Py_None, *on_failure = Py_None, *device_first = Py_None;
  PyObject *device_method = Py_None, *final = Py_None;
  static const char* keywords[] = {"order", "lookup", "on_failure", "device_first", "device_method", "final", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOOO:Policy", const_cast<char**>(keywords), &order, &lookup,
                                   &on_failure, &device_first, &device_method, &final)) {
    return nullptr;
  }
  Policy p;
  if (PyUnicode_Check(order)) {
    const Policy* preset = preset_from_object(order);
    if (preset == nullptr) return nullptr;
    p = *preset;
  } else if (Py_IS_TYPE(order, type)) {
    p = policy_of_object(order);
  } else if (PyList_Check(order) || PyTuple_Check(order)) {
    if (!order_from_sequence(order, &p)) return nullptr;
  } else {
    return PyErr_Format(
        PyExc_TypeError,
        "a policy is the name of a preset, a Policy, or a list or tuple of names of protocols, not %.200s",
        Py_TYPE(order)->tp_name);
  }
  if (lookup != Py_None) {
    const int i = one_of("lookup", lookup, lookup_words);
    if (i < 0) return nullptr;
    p.lookup = static_cast<Lookup>(i);
  }
  if (on_failure != Py_None) {
    const int i = one_of("on_failure", on_failure, failure_words);
    if (i < 0) return nullptr;
    p.on_failure = i == 0 ? OnFailure::go_on : OnFailure::stop;
    if (i == 0) clear_final(p);
  }
  if (device_first != Py_None) {
    if (!PyBool_Check(device_first)) {
      return PyErr_Format(PyExc_TypeError, "device_first is True or False, not %.200s", Py_TYPE(device_first)->tp_name);
    }
    p.device_first = device_first == Py_True;
  }
  if (device_method != Py_None) {
    const int i = one_of("device_method", device_method, device_words);
    if (i < 0) return nullptr;
    p.device_method = static_cast<DeviceMethod>(i);
  }
  if (final != Py_None && !final_from_mapping(final, &p)) return nullptr;
  return make(type, p);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* compare(PyObject* self, PyObject* other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(other, Py_TYPE(self))) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((policy_of_object(self) == policy_of_object(other)) == (op == Py_EQ));
}

Py_hash_t hash(PyObject* self) {
  const Policy& p = policy_of_object(self);
  std::uint64_t h = 1469598103934665603u;
  const auto mix = [&h](unsigned v) { h = (h ^ v) * 1099511628211u; };
  for (int i = 0; i < p.n; ++i) mix(static_cast<unsigned>(p.at(i)));
  mix(static_cast<unsigned>(p.lookup) | static_cast<unsigned>(p.on_failure) << 2 |
      static_cast<unsigned>(p.device_first) << 3);
  const auto result = static_cast<Py_hash_t>(h);
  return result == -1 ? -2 : result;
}

const char* lookup_word(const Policy& p) noexcept { return lookup_words[static_cast<int>(p.lookup)]; }
const char* failure_word(const Policy& p) noexcept { return failure_words[static_cast<int>(p.on_failure)]; }

PyObject* repr(PyObject* self) { return policy_words(policy_of_object(self)); }
PyObject* get_order(PyObject* self, void*) { return order_of(policy_of_object(self)); }
PyObject* get_lookup(PyObject* self, void*) { return PyUnicode_InternFromString(lookup_word(policy_of_object(self))); }
PyObject* get_on_failure(PyObject* self, void*) {
  return PyUnicode_InternFromString(failure_word(policy_of_object(self)));
}
PyObject* get_device_first(PyObject* self, void*) { return PyBool_FromLong(policy_of_object(self).device_first); }

/// {cause: rows} of what is final; causes without rows aren't in it.
PyObject* final_of(const Policy& p) noexcept {
  Ref all(PyDict_New());
  for (int i = 0; all && i < cause_count; ++i) {
    Policy rows;
    for (int row = 0; row < p.n; ++row) {
      if ((p.final[i] & mask_of(p.at(row))) != 0) rows.add(p.at(row));
    }
    if (rows.n == 0) continue;
    Ref names(order_of(rows));
    if (!names || PyDict_SetItemString(all.get(), cause_name(static_cast<Cause>(i)), names.get()) < 0) return nullptr;
  }
  return all.release();
}

const char* device_word(const Policy& p) noexcept { return device_words[static_cast<int>(p.device_method)]; }
PyObject* get_device_method(PyObject* self, void*) {
  return PyUnicode_InternFromString(device_word(policy_of_object(self)));
}
PyObject* get_final(PyObject* self, void*) { return final_of(policy_of_object(self)); }

PyObject* reduce(PyObject* self, PyObject*) {
  State* s = state_of_type(Py_TYPE(self));
  Ref rebuild(s != nullptr ? package_function(*s, "_rebuild", "policy") : nullptr);
  const Policy& p = policy_of_object(self);
  Ref order(order_of(p)), final(final_of(p));
  if (!rebuild || !order || !final) return nullptr;
  return Py_BuildValue("O(OssOsO)", rebuild.get(), order.get(), lookup_word(p), failure_word(p),
                       p.device_first ? Py_True : Py_False, device_word(p), final.get());
}

PyGetSetDef getset[] = {
    {"order", get_order, nullptr, "Names of the protocols in the order in which they are tried.", nullptr},
    {"lookup", get_lookup, nullptr,
     "'type_first'; 'instance': offers of type and instance are ranked together; 'type': on the type alone; 'method': "
     "callables of the type alone.",
     nullptr},
    {"on_failure", get_on_failure, nullptr, "'continue' with the next protocol, or 'raise'.", nullptr},
    {"device_first", get_device_first, nullptr, "Whether the object's device decides which protocols are passed over.",
     nullptr},
    {"device_method", get_device_method, nullptr,
     "What __dlpack_device__ is to __dlpack__: 'ignored', 'present' (needed), 'called' (needed, and called before), "
     "'checked' (and its answer, too).",
     nullptr},
    {"final", get_final, nullptr, "What ends the search under 'continue' as well: a dict {cause: protocols}.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool policy_type_init(State& s, PyObject* module) noexcept {
  PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>(
           "Policy(order, *, lookup=None, on_failure=None, device_first=None, device_method=None, final=None)\n--\n\n"
           "An order of tries, and what a failure leads to. Immutable.\n\n"
           "Parameters\n----------\n"
           "order : str, Policy, or list or tuple of str\n    Names of protocols (see anyarray.protocols()), or a "
           "preset's name or a Policy to start from. What isn't given is as there.\n"
           "lookup : 'type_first', 'instance', 'type' or 'method'\n    Where offers are looked for.\n"
           "on_failure : 'continue' or 'raise'\n    What an offer that fails leads to. 'continue' empties final.\n"
           "device_first : bool\n    Whether the object's device decides which protocols are passed over.\n"
           "device_method : 'ignored', 'present', 'called' or 'checked'\n    Whether __dlpack__ counts only with "
           "__dlpack_device__, and whether that is called before, and its answer checked.\n"
           "final : mapping from str to list or tuple of str\n    Protocols for which a cause ends the search. Causes: "
           "'none' (the attribute is None), 'read' (reading it raised), 'attribute_error', 'type_error', "
           "'buffer_error', 'not_implemented', 'call' (its call raised that, or anything else), 'content' (what came "
           "is wrong), "
           "'read_only'.\n")},
      {Py_tp_new, reinterpret_cast<void*>(construct)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec = {"anyarray.Policy", sizeof(PolicyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
  s.policy_type = new_type(s, module, spec, nullptr);
  return s.policy_type != nullptr &&
         PyModule_AddObjectRef(module, "Policy", reinterpret_cast<PyObject*>(s.policy_type)) == 0;
}

const Policy* policy_from_object(State& s, PyObject* o, Policy* storage) noexcept {
  if (o == Py_None) {
    *storage = Policy();
    return &policy_of(s.cx, nullptr, storage);
  }
  if (Py_IS_TYPE(o, s.policy_type)) return &policy_of_object(o);
  if (PyUnicode_Check(o)) return preset_from_object(o);
  if (PyList_Check(o) || PyTuple_Check(o)) return order_from_sequence(o, storage) ? storage : nullptr;
  PyErr_Format(PyExc_TypeError,
               "policy is None, the name of a preset, a list or tuple of names of protocols, or a Policy, not %.200s",
               Py_TYPE(o)->tp_name);
  return nullptr;
}

PyObject* policy_object(State& s, const Policy& p) noexcept { return make(s.policy_type, p); }

PyObject* policy_words(const Policy& p) noexcept {
  for (int i = 0; i < preset_count; ++i) {
    if (presets[i].policy == p) return PyUnicode_FromFormat("Policy('%s')", presets[i].name);
  }
  Ref order(order_of(p)), final(final_of(p));
  if (!order || !final) return nullptr;
  Ref text(PyUnicode_FromFormat("Policy(order=%R, lookup='%s', on_failure='%s', device_first=%s", order.get(),
                                lookup_word(p), failure_word(p), p.device_first ? "True" : "False"));
  if (text && p.device_method != DeviceMethod::ignored) {
    text = Ref(PyUnicode_FromFormat("%U, device_method='%s'", text.get(), device_word(p)));
  }
  if (text && p.has_final()) text = Ref(PyUnicode_FromFormat("%U, final=%R", text.get(), final.get()));
  return text ? PyUnicode_FromFormat("%U)", text.get()) : nullptr;
}

}  // namespace anyarray
