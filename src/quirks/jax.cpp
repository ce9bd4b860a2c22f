// SPDX-License-Identifier: Apache-2.0
// JAX: immutable by every route; dtypes that its buffer can't carry; the export that its __dlpack__ ends in, for the
// one case in which that is the same: an array on exactly one CPU device. Whatever is unfamiliar means the public way.
#include "src/quirks/hooks.h"

namespace anyarray::quirks {
namespace {

/// The function behind a property of a class: a new reference, null without an exception.
PyObject* getter_of(PyTypeObject* type, const char* name) noexcept {
  Ref key(PyUnicode_InternFromString(name));
  PyObject* property = key ? lookup_on_type(type, key.get()) : nullptr;
  PyObject* function = nullptr;
  if (property != nullptr && Py_TYPE(property) == &PyProperty_Type) {
    function = PyObject_GetAttrString(property, "fget");
  }
  if (function == nullptr) PyErr_Clear();
  return function;
}

PyObject* call(PyObject* function, PyObject* argument) noexcept {
  PyObject* arguments[] = {nullptr, argument};
  return PyObject_Vectorcall(function, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
}

/// Whether it is JAX's own class, not one that only looks like it.
bool is_array_class(PyTypeObject* type) noexcept {
  return loaded("jaxlib._jax", "ArrayImpl") == reinterpret_cast<PyObject*>(type);
}

/// Whether a capsule holds a tensor of the host: of the others the public way knows streams and readiness.
bool is_on_host(PyObject* capsule) noexcept {
  if (!PyCapsule_IsValid(capsule, dlpack::legacy_name)) return false;
  const auto* taken = static_cast<dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, dlpack::legacy_name));
  return taken->tensor.device == cpu_device;
}

PyObject* export_one_device(Context& cx, PyObject* obj) noexcept {
  State& s = *static_cast<State*>(cx.quirks);
  s.jax_asks = true;  // the buffer row comes first and wasn't enough
  Ref sharding(call(s.jax_sharding, obj));
  if (!sharding) return give_up();
  if (Py_TYPE(sharding.get()) != s.jax_single_device) return nullptr;
  // As __dlpack__ does: were the array itself exported, its delete() under the export would end the process.
  Ref shard(call(s.jax_shard, obj));
  if (!shard) return give_up();
  Ref capsule(call(s.jax_export, shard.get()));
  if (!capsule) return give_up();
  return is_on_host(capsule.get()) ? capsule.release() : nullptr;
}

/// 0 after an exception that may be passed over, -1 with one that may not.
int unknown() noexcept {
  give_up();
  return PyErr_Occurred() == nullptr ? 0 : -1;
}

/// Whether the buffer protocol has no format for this dtype: NumPy's own dtypes have one, added ones don't.
int asks_dtype(State& s, PyObject* dtype) noexcept {
  Ref builtin(PyObject_GetAttrString(dtype, "isbuiltin"));
  if (!builtin) return unknown();
  int overflow = 0;
  if (!PyLong_Check(builtin.get())) return 0;
  const bool skips = PyLong_AsLongAndOverflow(builtin.get(), &overflow) != 1;
  auto& entry = s.jax_dtypes[s.jax_dtypes_next];
  s.jax_dtypes_next = (s.jax_dtypes_next + 1) % static_cast<int>(sizeof s.jax_dtypes / sizeof s.jax_dtypes[0]);
  Py_INCREF(dtype);
  entry.skips = skips;
  Py_XSETREF(entry.dtype, dtype);
  return skips;
}

/// Asking the dtype costs a quarter of a buffer. So it is asked only after an array that the buffer couldn't carry;
/// otherwise the buffer is tried, and raises where the guess was wrong.
int skip_buffer(Context& cx, PyObject* obj) noexcept {
  State& s = *static_cast<State*>(cx.quirks);
  if (!s.jax_asks) return 0;
  Ref aval(call(s.jax_aval, obj));
  Ref dtype(aval ? PyObject_GetAttr(aval.get(), s.dtype_name) : nullptr);
  if (!dtype) return unknown();
  for (const auto& entry : s.jax_dtypes) {
    if (entry.dtype == dtype.get()) return s.jax_asks = entry.skips;
  }
  const int skips = asks_dtype(s, dtype.get());
  s.jax_asks = skips > 0;
  return skips;
}

}  // namespace

Status hook_jax_buffer(Context& cx, const Match& match, Route& route) noexcept {
  State* s = state(cx);
  if (s == nullptr) return Status::interrupted;
  if (s->dtype_name == nullptr) s->dtype_name = PyUnicode_InternFromString("dtype");
  if (s->dtype_name == nullptr) return Status::interrupted;
  if (!is_array_class(match.base)) return Status::ok;
  if (s->jax_aval == nullptr) s->jax_aval = getter_of(match.base, "aval");
  if (s->jax_aval == nullptr) return Status::ok;
  route.skip_buffer = skip_buffer;
  return Status::ok;
}

Status hook_jax_export(Context& cx, const Match& match, Route& route) noexcept {
  if (!inherits(cx, match, Protocol::dlpack)) return Status::ok;
  State* s = state(cx);
  if (s == nullptr) return Status::interrupted;
  if (!is_array_class(match.base)) return Status::ok;
  if (s->jax_export == nullptr) {
    PyObject* function = loaded("jaxlib._jax", "buffer_to_dlpack_managed_tensor");
    PyObject* single = loaded("jaxlib._jax", "SingleDeviceSharding");
    if (function == nullptr || single == nullptr || !PyType_Check(single)) return Status::ok;
    Ref sharding(getter_of(match.base, "_sharding"));
    Ref name(PyUnicode_InternFromString("_fully_replicated_shard"));
    if (!name) return Status::interrupted;
    PyObject* shard = lookup_on_type(match.base, name.get());
    if (!sharding || shard == nullptr) return Status::ok;
    Py_INCREF(shard);
    s->jax_shard = shard;
    s->jax_sharding = sharding.release();
    Py_INCREF(single);
    s->jax_single_device = reinterpret_cast<PyTypeObject*>(single);
    Py_INCREF(function);
    s->jax_export = function;
  }
  route.dlpack_export = export_one_device;
  return Status::ok;
}

}  // namespace anyarray::quirks
