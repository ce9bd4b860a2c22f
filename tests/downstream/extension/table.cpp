// SPDX-License-Identifier: Apache-2.0
// Every function of the C table, called as an extension that links nothing calls it.
#include <anyarray/python.h>

static const anyarray::CApi* api;

namespace {

PyObject* tuple_of(int n, const std::int64_t* values) {
  PyObject* tuple = PyTuple_New(n);
  for (int i = 0; tuple != nullptr && i < n; ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(values[i]));
  return tuple;
}

/// What a descriptor says, and what it derives without any function of the library.
PyObject* facts_of(const anyarray::Descriptor& d) {
  PyObject* strides = d.strides != nullptr ? tuple_of(d.ndim, d.strides) : Py_NewRef(Py_None);
  return Py_BuildValue("{s:K,s:N,s:N,s:i,s:L,s:L,s:L,s:O,s:O,s:O,s:i}", "ptr",
                       static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(d.data)), "shape",
                       tuple_of(d.ndim, d.shape), "strides", strides, "code", static_cast<int>(d.dtype.code),
                       "itemsize", static_cast<long long>(d.dtype.itemsize()), "size", static_cast<long long>(d.size()),
                       "nbytes", static_cast<long long>(d.nbytes()), "readonly", d.readonly() ? Py_True : Py_False,
                       "c_contiguous", d.c_contiguous() ? Py_True : Py_False, "f_contiguous",
                       d.f_contiguous() ? Py_True : Py_False, "device", static_cast<int>(d.device.type));
}

/// facts(x, allow=0): the facts, or the word of the status without an exception.
PyObject* facts(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  anyarray::Request request;
  if (!PyArg_ParseTuple(args, "O|I", &x, &request.allow)) return nullptr;
  anyarray::Borrow b;
  const anyarray::Status s = api->borrow(api->context, x, request.allow != 0 ? &request : nullptr, &b);
  if (s == anyarray::Status::interrupted) return nullptr;
  PyObject* result =
      s == anyarray::Status::ok ? facts_of(b.desc) : PyUnicode_FromString(api->status_text(api->context, s));
  api->release(api->context, &b);  // of one that holds nothing too
  api->release(api->context, &b);
  api->release(api->context, nullptr);
  return result;
}

/// array(x, preset): borrows under a preset, then hands the borrow over to an aa.Array.
PyObject* array(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(args, "Os", &x, &name)) return nullptr;
  anyarray::Request request;
  request.policy = api->preset(api->context, name);
  if (request.policy == nullptr) return PyErr_Format(PyExc_ValueError, "no preset %s", name);
  anyarray::Borrow b;
  if (api->borrow_or_raise(api->context, x, &request, &b) != anyarray::Status::ok) return nullptr;
  PyObject* result = api->to_array(api->context, &b);
  api->release(api->context, &b);
  return result;
}

PyObject* explain(PyObject*, PyObject* x) { return api->explain(api->context, x, nullptr); }

PyMethodDef methods[] = {{"facts", facts, METH_VARARGS, nullptr},
                         {"array", array, METH_VARARGS, nullptr},
                         {"explain", explain, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "table", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_table() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
