// SPDX-License-Identifier: Apache-2.0
// The C++ example of the README, word for word (tests/test_readme.py compares them).
#include <anyarray/python.h>

#include <cmath>

static const anyarray::CApi* api;

// norm(x): of a float64 matrix of any library, strided or not, without a copy.
static PyObject* norm(PyObject*, PyObject* x) {
  const auto taken = anyarray::borrow<const double, 2>(api, x);
  if (!taken.ok()) return nullptr;  // the exception is set: what was tried, and which conditions weren't met

  const auto a = *taken;  // an anyarray::view: owns nothing, valid as long as `taken`
  double sum = 0;
  for (std::int64_t i = 0; i < a.extent(0); ++i) {
    for (std::int64_t j = 0; j < a.extent(1); ++j) sum += a(i, j) * a(i, j);
  }
  return PyFloat_FromDouble(std::sqrt(sum));
}  // the borrow is released here

static PyMethodDef methods[] = {{"norm", norm, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "norm", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_norm() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
