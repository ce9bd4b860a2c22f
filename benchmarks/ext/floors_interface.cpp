// SPDX-License-Identifier: Apache-2.0
// Floors of __array_struct__ and of the two dict interfaces. A dict's floor takes the attribute and the four
// items that every array needs, and holds the dict; masks, descr, offset and streams aren't looked for.
#include "anyarray/protocols/typestr.h"
#include "floors.h"

namespace bench {
namespace {

/// Reads a tuple of ints; false with an error set.
bool read_ints(PyObject* tuple) noexcept {
  if (tuple == nullptr || !PyTuple_Check(tuple)) {
    PyErr_SetString(PyExc_TypeError, "not a tuple");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const Py_ssize_t v = PyLong_AsSsize_t(PyTuple_GET_ITEM(tuple, i));
    if (v == -1 && PyErr_Occurred() != nullptr) return false;
    read(v);
  }
  return true;
}

bool read_dict(PyObject* dict) noexcept {
  if (!PyDict_CheckExact(dict)) {
    PyErr_SetString(PyExc_TypeError, "the interface isn't a dict");
    return false;
  }
  PyObject* typestr = PyDict_GetItemWithError(dict, names.typestr);
  PyObject* data = PyDict_GetItemWithError(dict, names.data);
  PyObject* strides = PyDict_GetItemWithError(dict, names.strides);
  if (typestr == nullptr || !PyUnicode_Check(typestr) || data == nullptr || !PyTuple_Check(data) ||
      PyTuple_GET_SIZE(data) != 2) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "typestr or data is missing");
    return false;
  }
  const char* text = static_cast<const char*>(PyUnicode_DATA(typestr));
  for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(typestr); ++i) read(text[i]);
  read(PyLong_AsVoidPtr(PyTuple_GET_ITEM(data, 0)));
  read(PyTuple_GET_ITEM(data, 1) == Py_True);
  if (!read_ints(PyDict_GetItemWithError(dict, names.shape))) return false;
  return strides == nullptr || strides == Py_None || read_ints(strides);
}

PyObject* floor_dict(PyObject* obj, PyObject* name) noexcept {
  Py_INCREF(obj);
  PyObject* dict = PyObject_GetAttr(obj, name);
  const bool done = dict != nullptr && read_dict(dict);
  Py_XDECREF(dict);
  Py_DECREF(obj);
  if (!done) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace

PyObject* floor_array_struct(PyObject*, PyObject* obj) {
  Py_INCREF(obj);
  PyObject* capsule = PyObject_GetAttr(obj, names.array_struct);
  const auto* s = capsule == nullptr
                      ? nullptr
                      : static_cast<const anyarray::typestr::ArrayInterface*>(PyCapsule_GetPointer(capsule, nullptr));
  if (s != nullptr) {
    read(s->data);
    read(s->typekind);
    read(s->itemsize);
    read(s->flags);
    read_dims(s->nd, reinterpret_cast<const std::int64_t*>(s->shape),
              reinterpret_cast<const std::int64_t*>(s->strides));
  }
  Py_XDECREF(capsule);
  Py_DECREF(obj);
  if (s == nullptr) return nullptr;
  Py_RETURN_NONE;
}

PyObject* floor_array_interface(PyObject*, PyObject* obj) { return floor_dict(obj, names.array_interface); }
PyObject* floor_cuda_array_interface(PyObject*, PyObject* obj) { return floor_dict(obj, names.cuda_array_interface); }

}  // namespace bench
