// SPDX-License-Identifier: Apache-2.0
// An extension that lives in several interpreters: the table's pointer is in the state of the module.
#include <anyarray/python.h>

namespace {

const anyarray::CApi*& table_of(PyObject* module) {
  return *static_cast<const anyarray::CApi**>(PyModule_GetState(module));
}

/// array(x): an Array of x.
PyObject* array(PyObject* module, PyObject* x) {
  const anyarray::CApi* api = table_of(module);
  anyarray::Borrow b;
  if (api->borrow_or_raise(api->context, x, nullptr, &b) != anyarray::Status::ok) return nullptr;
  PyObject* made = api->to_array(api->context, &b);
  api->release(api->context, &b);
  return made;
}

PyMethodDef methods[] = {{"array", array, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  table_of(module) = anyarray::import_anyarray();
  return table_of(module) != nullptr ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)},
#if PY_VERSION_HEX >= 0x030C0000
                            {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
                            {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "several", nullptr, sizeof(anyarray::CApi*), methods, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_several() { return PyModuleDef_Init(&definition); }
