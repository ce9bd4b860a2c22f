// SPDX-License-Identifier: Apache-2.0
#include "total.h"

static const anyarray::CApi* api;

static PyObject* total_of(PyObject*, PyObject* x) {
  double sum;
  return total(api, x, &sum) ? PyFloat_FromDouble(sum) : nullptr;
}

static PyMethodDef methods[] = {{"total", total_of, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "with_python", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_with_python() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
