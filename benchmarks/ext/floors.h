// SPDX-License-Identifier: Apache-2.0
// What the parts of the extension anyarray_bench share: how a fact counts as read, what was set up from
// Python, and the floors. A floor does the irreducible work of one route for an object it is known to fit:
// it checks the type, reads every fact of the array where the route keeps it, and holds the owner meanwhile.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace bench {

/// Makes the compiler believe that the value is used, at no cost but that of having it.
template <class T>
inline void read(T value) noexcept {
  asm volatile("" : : "r"(value));
}

inline void read_dims(int ndim, const std::int64_t* shape, const std::int64_t* strides) noexcept {
  for (int i = 0; i < ndim; ++i) {
    read(shape[i]);
    read(strides[i]);
  }
}

/// Objects that Python hands in once (module.cpp, setup); owned, null where the library is missing.
struct Setup {
  PyObject* ndarray;     ///< numpy.ndarray
  PyObject* jax_export;  ///< jaxlib's buffer_to_dlpack_managed_tensor
  PyObject* single_device_sharding;
};
extern Setup setup;

/// Interned names and constants, made by the module's init.
struct Names {
  PyObject *dlpack, *exchange, *array_struct, *array_interface, *cuda_array_interface, *sharding, *tvm_export;
  PyObject *shape, *typestr, *data, *strides;
  PyObject *kw_max_version, *our_version;
};
extern Names names;

inline PyObject* wrong_type(PyObject* obj) noexcept {
  PyErr_Format(PyExc_TypeError, "this floor doesn't take %.100s", Py_TYPE(obj)->tp_name);
  return nullptr;
}

/// What one type was last found to have: valid while type and version tag are both the same.
template <class T>
struct TypeMemo {
  PyTypeObject* type;
  unsigned int tag;
  T value;

  bool knows(PyTypeObject* t) const noexcept { return type == t && tag == t->tp_version_tag && tag != 0; }
  void keep(PyTypeObject* t, T v) noexcept {
    type = t;
    tag = t->tp_version_tag;
    value = v;
  }
};

// floors_memory.cpp
PyObject* floor_ndarray(PyObject*, PyObject* obj);
PyObject* floor_bytes(PyObject*, PyObject* obj);
PyObject* floor_bytearray(PyObject*, PyObject* obj);
PyObject* floor_memoryview(PyObject*, PyObject* obj);
PyObject* floor_buffer(PyObject*, PyObject* obj);
// floors_copy.cpp
PyObject* floor_memcpy(PyObject*, PyObject* const* args, Py_ssize_t nargs);
PyObject* floor_new(PyObject*, PyObject* const* args, Py_ssize_t nargs);
PyObject* floor_float_list(PyObject*, PyObject* list);
// floors_dlpack.cpp
PyObject* floor_exchange(PyObject*, PyObject* obj);
PyObject* floor_exchange_take(PyObject*, PyObject* obj);
PyObject* floor_dlpack(PyObject*, PyObject* obj);
PyObject* floor_dlpack_legacy(PyObject*, PyObject* obj);
PyObject* floor_tvm_export(PyObject*, PyObject* obj);
PyObject* floor_jax_export(PyObject*, PyObject* obj);
// floors_interface.cpp
PyObject* floor_array_struct(PyObject*, PyObject* obj);
PyObject* floor_array_interface(PyObject*, PyObject* obj);
PyObject* floor_cuda_array_interface(PyObject*, PyObject* obj);

}  // namespace bench
