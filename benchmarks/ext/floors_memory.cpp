// SPDX-License-Identifier: Apache-2.0
// Floors of the routes that read a C struct in place, and of the buffer protocol.
#include "floors.h"

namespace bench {
namespace {

/// The head of NumPy's array object (the same in NumPy 1.x and 2.x).
struct NumpyArray {
  PyObject head;
  char* data;
  int nd;
  Py_ssize_t* dims;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* descr;
  int flags;
};

/// The head of NumPy's dtype object, as far as both major versions agree.
struct NumpyDescr {
  PyObject head;
  PyTypeObject* typeobj;
  char kind;
  char type;
  char byteorder;
  char flags;
  int type_num;
};

}  // namespace

PyObject* floor_ndarray(PyObject*, PyObject* obj) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(obj)) != setup.ndarray) return wrong_type(obj);
  Py_INCREF(obj);
  const auto* a = reinterpret_cast<const NumpyArray*>(obj);
  const auto* d = reinterpret_cast<const NumpyDescr*>(a->descr);
  read(a->data);
  read_dims(a->nd, reinterpret_cast<const std::int64_t*>(a->dims), reinterpret_cast<const std::int64_t*>(a->strides));
  read(d->type_num);
  read(d->byteorder);
  read(a->flags);
  Py_DECREF(obj);
  Py_RETURN_NONE;
}

PyObject* floor_bytes(PyObject*, PyObject* obj) {
  if (!PyBytes_CheckExact(obj)) return wrong_type(obj);
  Py_INCREF(obj);
  read(PyBytes_AS_STRING(obj));
  read(PyBytes_GET_SIZE(obj));
  Py_DECREF(obj);
  Py_RETURN_NONE;
}

PyObject* floor_bytearray(PyObject*, PyObject* obj) {
  if (!PyByteArray_CheckExact(obj)) return wrong_type(obj);
  auto* a = reinterpret_cast<PyByteArrayObject*>(obj);
  Py_INCREF(obj);
  ++a->ob_exports;
  read(PyByteArray_AS_STRING(obj));
  read(PyByteArray_GET_SIZE(obj));
  asm volatile("" : : : "memory");  // locked: the count is really written
  --a->ob_exports;
  Py_DECREF(obj);
  Py_RETURN_NONE;
}

PyObject* floor_memoryview(PyObject*, PyObject* obj) {
  if (!PyMemoryView_Check(obj)) return wrong_type(obj);
  auto* m = reinterpret_cast<PyMemoryViewObject*>(obj);
  if ((m->flags & _Py_MEMORYVIEW_RELEASED) != 0 || (m->mbuf->flags & _Py_MANAGED_BUFFER_RELEASED) != 0) {
    return wrong_type(obj);
  }
  Py_INCREF(obj);
  ++m->exports;
  const Py_buffer& v = m->view;
  read(v.buf);
  read(v.itemsize);
  read(v.readonly);
  read(v.suboffsets);
  read(v.format[0]);
  read_dims(v.ndim, reinterpret_cast<const std::int64_t*>(v.shape), reinterpret_cast<const std::int64_t*>(v.strides));
  asm volatile("" : : : "memory");
  --m->exports;
  Py_DECREF(obj);
  Py_RETURN_NONE;
}

PyObject* floor_buffer(PyObject*, PyObject* obj) {
  Py_buffer v;
  if (PyObject_GetBuffer(obj, &v, PyBUF_FULL_RO) != 0) return nullptr;
  read(v.buf);
  read(v.itemsize);
  read(v.readonly);
  read(v.suboffsets);
  read(v.format);
  if (v.strides != nullptr) {
    read_dims(v.ndim, reinterpret_cast<const std::int64_t*>(v.shape), reinterpret_cast<const std::int64_t*>(v.strides));
  }
  PyBuffer_Release(&v);
  Py_RETURN_NONE;
}

}  // namespace bench
