// SPDX-License-Identifier: Apache-2.0
// The C++ example of the README, word for word (tests/test_readme.py compares them).
#include <anyarray/python.h>

#include <cmath>
#include <cstring>

static const anyarray::CApi* api;

// norm(x): of a float64 matrix of any library, strided or not, without a copy.
static PyObject* norm(PyObject*, PyObject* x) {
  anyarray::Request request;
  request.device = anyarray::cpu_device;
  request.ndim = 2;
  request.has_dtype = true;
  request.dtype = anyarray::make_dtype(anyarray::TypeCode::float_, 64);

  auto a = anyarray::borrow(api, x, &request);
  if (!a.ok()) return nullptr;  // the exception is set: it says what was tried, and why each try ended

  double sum = 0;
  for (std::int64_t i = 0; i < a->shape[0]; ++i) {
    for (std::int64_t j = 0; j < a->shape[1]; ++j) {
      double value;
      std::memcpy(&value, static_cast<const char*>(a->data) + i * a->strides[0] + j * a->strides[1], sizeof value);
      sum += value * value;
    }
  }
  return PyFloat_FromDouble(std::sqrt(sum));
}  // the borrow is released here

static PyMethodDef methods[] = {{"norm", norm, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "norm", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

PyMODINIT_FUNC PyInit_norm() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
