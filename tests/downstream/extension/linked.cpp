// SPDX-License-Identifier: Apache-2.0
// An extension that links the core as well: it makes a borrow by itself, and hands that over to an aa.Array.
#include <anyarray/produce.h>
#include <anyarray/python.h>

namespace {

const anyarray::CApi* api;
int released = 0;
std::int16_t memory[] = {1, 2, 3};

/// array(offset=0): over three int16; a wrong offset is refused by the core, in its words.
PyObject* array(PyObject*, PyObject* args) {
  int offset = 0;
  if (!PyArg_ParseTuple(args, "|i", &offset)) return nullptr;
  const std::int64_t shape[] = {3};
  anyarray::Borrow b;
  anyarray::Reason why;
  const anyarray::Descriptor parts{reinterpret_cast<char*>(memory) + offset,
                                   shape,
                                   nullptr,
                                   anyarray::make_dtype(anyarray::TypeCode::int_, 16),
                                   anyarray::cpu_device,
                                   1,
                                   anyarray::flag_readonly};
  const anyarray::Status s =
      anyarray::produce(parts, [](void* count) { ++*static_cast<int*>(count); }, &released, &b, &why);
  if (s != anyarray::Status::ok) {
    PyErr_SetString(PyExc_ValueError, why.text);
    return nullptr;
  }
  PyObject* result = api->to_array(api->context, &b);
  anyarray::release(b);
  return result;
}

/// shared(): a holder of such a borrow, which the table's drop ends.
PyObject* shared(PyObject*, PyObject*) {
  anyarray::Borrow b;
  const anyarray::Descriptor parts{
      memory, nullptr, nullptr, anyarray::make_dtype(anyarray::TypeCode::int_, 16), anyarray::cpu_device, 0, 0};
  anyarray::produce(parts, [](void* count) { ++*static_cast<int*>(count); }, &released, &b, nullptr);
  api->drop(api->context, anyarray::make_holder(b));
  api->drop(api->context, nullptr);
  Py_RETURN_NONE;
}

PyObject* release_count(PyObject*, PyObject*) { return PyLong_FromLong(released); }

PyMethodDef methods[] = {{"array", array, METH_VARARGS, nullptr},
                         {"shared", shared, METH_NOARGS, nullptr},
                         {"release_count", release_count, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "linked", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_linked() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
