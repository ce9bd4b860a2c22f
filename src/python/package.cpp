// SPDX-License-Identifier: Apache-2.0
// What the engine has of the package around it: its name, and its slow half, which is Python. That package is anyarray,
// or the one that an engine built into an extension makes of the same modules (src/home).
#include <cstring>

#include "src/python/state.h"

namespace anyarray {

bool package_init(State& s, PyObject* module) noexcept {
  Ref name(PyModule_GetNameObject(module));
  const Py_ssize_t length = name ? PyUnicode_GET_LENGTH(name.get()) : 0;
  const Py_ssize_t dot = name ? PyUnicode_FindChar(name.get(), '.', 0, length, -1) : -2;
  if (dot == -2) return false;
  s.package = PyUnicode_Substring(name.get(), 0, dot >= 0 ? dot : length);
  return s.package != nullptr;
}

PyTypeObject* new_type(State& s, PyObject* module, const PyType_Spec& spec, PyTypeObject* base) noexcept {
  PyObject* name = PyUnicode_FromFormat("%U%s", s.package, spec.name + std::strlen("anyarray"));
  if (name == nullptr) return nullptr;
  PyUnicode_InternInPlace(&name);
  PyType_Spec named = spec;
  named.name = PyUnicode_AsUTF8(name);
  PyObject* type =
      named.name != nullptr ? PyType_FromModuleAndSpec(module, &named, reinterpret_cast<PyObject*>(base)) : nullptr;
  // CPython 3.10 keeps the pointer: there the string, one for all types of this name, stays for good.
  if (type == nullptr || PY_VERSION_HEX >= 0x030B0000) Py_DECREF(name);
  return reinterpret_cast<PyTypeObject*>(type);
}

PyObject* package_function(State& s, const char* module, const char* name) noexcept {
  Ref full(PyUnicode_FromFormat("%U.%s", s.package, module));
  Ref loaded(full ? PyImport_Import(full.get()) : nullptr);
  return loaded ? PyObject_GetAttrString(loaded.get(), name) : nullptr;
}

}  // namespace anyarray
