// SPDX-License-Identifier: Apache-2.0
// Floors of the DLPack routes: the C exchange table, the capsule from __dlpack__, jaxlib's own export.
// Uses anyarray's definitions of DLPack's structs and nothing else of anyarray.
#include "anyarray/protocols/dlpack.h"
#include "floors.h"

namespace bench {
namespace {

namespace dl = anyarray::dlpack;

void read_tensor(const dl::Tensor& t) noexcept {
  read(static_cast<char*>(t.data) + t.byte_offset);
  read(t.device.type);
  read(t.device.id);
  read(t.dtype.code);
  read(t.dtype.bits);
  read(t.dtype.lanes);
  for (int i = 0; i < t.ndim; ++i) {
    read(t.shape[i]);
    if (t.strides != nullptr) read(t.strides[i]);
  }
}

const dl::ExchangeApi* exchange_of(PyTypeObject* type) noexcept {
  static TypeMemo<const dl::ExchangeApi*> memo;
  if (memo.knows(type)) return memo.value;
  PyObject* capsule = PyObject_GetAttr(reinterpret_cast<PyObject*>(type), names.exchange);
  if (capsule == nullptr) return nullptr;
  const auto* api = static_cast<const dl::ExchangeApi*>(PyCapsule_GetPointer(capsule, dl::exchange_name));
  Py_DECREF(capsule);
  if (api != nullptr) memo.keep(type, api);
  return api;
}

/// The type's own function, to be called with the object as its first argument. Borrowed.
PyObject* method_of(PyTypeObject* type) noexcept {
  static TypeMemo<PyObject*> memo;
  if (memo.knows(type)) return memo.value;
  PyObject* method = _PyType_Lookup(type, names.dlpack);
  if (method == nullptr) {
    PyErr_Format(PyExc_TypeError, "%.100s has no __dlpack__", type->tp_name);
    return nullptr;
  }
  memo.keep(type, method);
  return method;
}

inline void read_flags(const dl::ManagedTensorVersioned& m) noexcept {
  read(m.version.major);
  read(m.flags);
}
inline void read_flags(const dl::ManagedTensor&) noexcept {}

/// Reads what the capsule carries, takes it over as the standard demands, and gives it back. Steals the capsule.
/// Some destructors raise and clear an error on meeting a used capsule, which costs 100 ns, and none is needed.
template <class Managed>
PyObject* spend(PyObject* capsule, const char* name, const char* used_name) noexcept {
  if (capsule == nullptr) return nullptr;
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (m == nullptr) {
    Py_DECREF(capsule);
    return nullptr;
  }
  read_flags(*m);
  read_tensor(m->tensor);
  PyCapsule_SetName(capsule, used_name);
  PyCapsule_SetDestructor(capsule, nullptr);
  Py_DECREF(capsule);
  if (m->deleter != nullptr) m->deleter(m);
  Py_RETURN_NONE;
}

PyObject* spend_versioned(PyObject* capsule) noexcept {
  return spend<dl::ManagedTensorVersioned>(capsule, dl::versioned_name, dl::versioned_used);
}

PyObject* spend_legacy(PyObject* capsule) noexcept {
  return spend<dl::ManagedTensor>(capsule, dl::legacy_name, dl::legacy_used);
}

}  // namespace

PyObject* floor_exchange(PyObject*, PyObject* obj) {
  const dl::ExchangeApi* api = exchange_of(Py_TYPE(obj));
  if (api == nullptr) return nullptr;
  dl::Tensor t;
  Py_INCREF(obj);
  const int failed = api->dltensor_from_py_object_no_sync(obj, &t);
  if (failed == 0) read_tensor(t);
  Py_DECREF(obj);
  if (failed != 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* floor_exchange_take(PyObject*, PyObject* obj) {
  const dl::ExchangeApi* api = exchange_of(Py_TYPE(obj));
  if (api == nullptr) return nullptr;
  dl::ManagedTensorVersioned* m = nullptr;
  if (api->managed_tensor_from_py_object_no_sync(obj, &m) != 0) return nullptr;
  read(m->flags);
  read_tensor(m->tensor);
  if (m->deleter != nullptr) m->deleter(m);
  Py_RETURN_NONE;
}

PyObject* floor_dlpack(PyObject*, PyObject* obj) {
  PyObject* method = method_of(Py_TYPE(obj));
  if (method == nullptr) return nullptr;
  PyObject* args[] = {obj, names.our_version};
  Py_INCREF(obj);
  PyObject* result = spend_versioned(PyObject_Vectorcall(method, args, 1, names.kw_max_version));
  Py_DECREF(obj);
  return result;
}

PyObject* floor_dlpack_legacy(PyObject*, PyObject* obj) {
  PyObject* method = method_of(Py_TYPE(obj));
  if (method == nullptr) return nullptr;
  Py_INCREF(obj);
  PyObject* result = spend_legacy(PyObject_Vectorcall(method, &obj, 1, nullptr));
  Py_DECREF(obj);
  return result;
}

/// tvm-ffi's own export behind __dlpack__: no version, device or copy to look at.
PyObject* floor_tvm_export(PyObject*, PyObject* obj) {
  static TypeMemo<PyObject*> memo;
  PyTypeObject* const type = Py_TYPE(obj);
  if (!memo.knows(type)) {
    PyObject* method = _PyType_Lookup(type, names.tvm_export);
    if (method == nullptr) return wrong_type(obj);
    memo.keep(type, method);
  }
  Py_INCREF(obj);
  PyObject* result = spend_versioned(PyObject_Vectorcall(memo.value, &obj, 1, nullptr));
  Py_DECREF(obj);
  return result;
}

PyObject* floor_jax_export(PyObject*, PyObject* obj) {
  if (setup.jax_export == nullptr) return wrong_type(obj);
  Py_INCREF(obj);
  PyObject* sharding = PyObject_GetAttr(obj, names.sharding);
  PyObject* result = nullptr;
  if (sharding != nullptr) {
    const bool single = reinterpret_cast<PyObject*>(Py_TYPE(sharding)) == setup.single_device_sharding;
    Py_DECREF(sharding);
    result = single ? spend_legacy(PyObject_Vectorcall(setup.jax_export, &obj, 1, nullptr)) : wrong_type(obj);
  }
  Py_DECREF(obj);
  return result;
}

}  // namespace bench
