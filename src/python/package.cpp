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

PyTypeObject* new_type(State& s, PyObject* module, PyType_Spec& spec, PyTypeObject* base) noexcept {
  Ref type(PyType_FromModuleAndSpec(module, &spec, reinterpret_cast<PyObject*>(base)));
  if (!type) return nullptr;
  auto* made = reinterpret_cast<PyTypeObject*>(type.get());
  const char* inside = spec.name + std::strlen("anyarray");
  char within[32] = "";
  std::memcpy(within, inside, static_cast<std::size_t>(std::strrchr(inside, '.') - inside));
  Ref place(PyUnicode_FromFormat("%U%s", s.package, within));
  if (!place || PyDict_SetItemString(made->tp_dict, "__module__", place.get()) != 0) return nullptr;
  PyType_Modified(made);
  type.release();
  return made;
}

PyObject* package_function(State& s, const char* module, const char* name) noexcept {
  Ref full(PyUnicode_FromFormat("%U.%s", s.package, module));
  Ref loaded(full ? PyImport_Import(full.get()) : nullptr);
  return loaded ? PyObject_GetAttrString(loaded.get(), name) : nullptr;
}

}  // namespace anyarray
