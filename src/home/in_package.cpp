// SPDX-License-Identifier: Apache-2.0
// The engine of the package: the module anyarray._core, which has the capsule that extensions import.
#include "src/python/home.h"

namespace anyarray {

PyObject* engine_module() noexcept { return PyImport_ImportModule("anyarray._core"); }

/// The module lives to the interpreter's end, whoever takes it out of sys.modules: extensions keep the table's address.
bool settle(State& s, PyObject* module) noexcept {
  Ref capsule(c_api_capsule_new(s));
  Ref key(PyLong_FromVoidPtr(&s));
  PyObject* dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
  return capsule && key && dict != nullptr && PyModule_AddObjectRef(module, "_C_API", capsule.get()) == 0 &&
         PyDict_SetItem(dict, key.get(), module) == 0;
}

}  // namespace anyarray

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&anyarray::engine_definition()); }
