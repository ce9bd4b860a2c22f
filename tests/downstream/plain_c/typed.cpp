// SPDX-License-Identifier: Apache-2.0
// python.h under the limited API: typed views, arrays that are kept, arrays that are given.
#include <anyarray/python.h>

static const anyarray::CApi* api;

namespace {

anyarray::array<const double, 1> kept;

PyObject* dot(PyObject*, PyObject* args) {
  PyObject* a = nullptr;
  PyObject* b = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
  const auto x = anyarray::borrow<const double, 1>(api, a);
  if (!x.ok()) return nullptr;
  const auto y = anyarray::borrow<const double, 1>(api, b);
  if (!y.ok()) return nullptr;
  double sum = 0;
  for (std::int64_t i = 0; i < x->extent(0) && i < y->extent(0); ++i) sum += (*x)[i] * (*y)[i];
  return PyFloat_FromDouble(sum);
}

PyObject* keep(PyObject*, PyObject* x) {
  anyarray::array<const double, 1> taken(api, x);
  if (!taken.ok()) return nullptr;
  kept = taken;
  return kept.to_array(api);
}

PyObject* let_go(PyObject*, PyObject*) {
  kept = {};
  return PyLong_FromLong(0);
}

PyObject* zeros(PyObject*, PyObject* n) {
  auto made = anyarray::array<double, 1>::make({PyLong_AsLongLong(n)});
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (!made.ok()) return PyErr_NoMemory();
  for (double& value : *made) value = 0;
  return made.to_array(api);
}

PyMethodDef methods[] = {{"dot", dot, METH_VARARGS, nullptr},
                         {"keep", keep, METH_O, nullptr},
                         {"let_go", let_go, METH_NOARGS, nullptr},
                         {"zeros", zeros, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "typed", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_typed() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
