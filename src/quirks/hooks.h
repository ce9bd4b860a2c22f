// SPDX-License-Identifier: Apache-2.0
// What the files of src/quirks share: the state that hooks keep in Context::quirks, one function a row of
// quirks.def, and the guards. Included by src/quirks alone.
#pragma once
#include "src/quirks/quirks.h"

namespace anyarray::quirks {

/// An attribute or a method without arguments of a C type that gives a bool, called through its descriptor; by name
/// where the descriptor is of another kind or of another type. Holds strong references.
struct Flag {
  PyObject* name;
  PyObject* descriptor;  ///< null: ask by name
  getter get;            ///< with `closure`, for an attribute
  void* closure;
  PyCFunction call;  ///< for a method
  bool is_method;
};

/// Looked up once in a library that is loaded; all null until then.
struct State {
  PyTypeObject* torch_tensor;  ///< strong; the class that the flags below belong to
  Flag requires_grad, is_neg, is_conj;
  PyTypeObject* paddle_tensor;  ///< strong, as above
  Flag is_dense, stop_gradient;
  PyObject* jax_aval;      ///< getter: array → abstract value
  PyObject* jax_sharding;  ///< getter: array → sharding
  PyObject* jax_shard;     ///< method: array → an array of its own on the same memory
  PyObject* jax_export;    ///< function: array → capsule
  PyTypeObject* jax_single_device;
  PyObject* to_dlpack_versioned;  ///< a name of tvm-ffi's
  PyObject* dtype_name;
  struct {
    PyObject* dtype;
    bool skips;
  } jax_dtypes[16];  ///< whether the buffer protocol can't carry it, by the dtype's address
  int jax_dtypes_next;
  bool jax_asks;  ///< whether the next array's dtype is asked before its buffer
};

/// The state, made when first needed; null with MemoryError set.
State* state(Context& cx) noexcept;

/// Where a row of quirks.def holds: `base` is the row's class in the MRO of `type`.
struct Match {
  PyTypeObject* type;
  PyTypeObject* base;
};

/// Whether the type has this row's attribute from the library's class, and doesn't override it.
inline bool inherits(const Context& cx, const Match& match, Protocol row) noexcept {
  PyObject* name = cx.names.row_attribute[static_cast<int>(row)];
  return lookup_on_type(match.type, name) == lookup_on_type(match.base, name);
}

/// Looks a flag of `owner` up. False with an exception set when out of memory; a flag that isn't there, or of no owner
/// (null), is asked by name.
bool find_flag(PyTypeObject* owner, const char* name, bool is_method, Flag& flag) noexcept;

/// 1, 0, or -1 with an exception set. `direct`: obj is an instance of the class that the flag was looked up in.
inline int read_flag(const Flag& flag, PyObject* obj, bool direct) noexcept {
  PyObject* answer = nullptr;
  if (__builtin_expect(direct && flag.descriptor != nullptr, 1)) {
    answer = flag.is_method ? flag.call(obj, nullptr) : flag.get(obj, flag.closure);
  } else {
    answer = flag.is_method ? PyObject_CallMethodNoArgs(obj, flag.name) : PyObject_GetAttr(obj, flag.name);
  }
  if (__builtin_expect(answer == Py_False, 1)) {
    Py_DECREF(answer);
    return 0;
  }
  if (answer == nullptr) return -1;
  const int truth = PyObject_IsTrue(answer);
  Py_DECREF(answer);
  return truth;
}

/// Whether the type's module is `library` or inside it. Runs no code of others.
bool is_of(PyTypeObject* type, const char* library) noexcept;

/// After a fast way that raised: null without an exception, so that the public way says why. What is never passed
/// over stays set.
PyObject* give_up() noexcept;

/// Puts a row's effect into the route. ok, or interrupted with an exception set.
using Apply = Status (*)(Context&, const Match&, Route&) noexcept;
using Before = Status (*)(Context&, PyObject* obj, const Request&, Failure&) noexcept;
using After = Status (*)(Context&, PyObject* obj, const Request&, const Borrow&, Failure&) noexcept;

Status mark_readonly(Context& cx, const Match& match, Route& route) noexcept;
Status mark_scalar(Context& cx, const Match& match, Route& route) noexcept;
Status mark_dict_writable(Context& cx, const Match& match, Route& route) noexcept;
Status mark_may_copy(Context& cx, const Match& match, Route& route) noexcept;
Status drop_dlpack(Context& cx, const Match& match, Route& route) noexcept;
Status drop_exchange(Context& cx, const Match& match, Route& route) noexcept;
Status drop_array_method(Context& cx, const Match& match, Route& route) noexcept;
Status find_paddle_flags(Context& cx, const Match& match, Route& route) noexcept;
Status drop_arrow_stream(Context& cx, const Match& match, Route& route) noexcept;
Status drop_buffer(Context& cx, const Match& match, Route& route) noexcept;
Status find_torch_flags(Context& cx, const Match& match, Route& route) noexcept;
Status drop_torch_table(Context& cx, const Match& match, Route& route) noexcept;
Status trust_torch_table(Context& cx, const Match& match, Route& route) noexcept;
Status hook_jax_buffer(Context& cx, const Match& match, Route& route) noexcept;
Status hook_jax_export(Context& cx, const Match& match, Route& route) noexcept;
Status drop_inherited(Context& cx, const Match& match, Route& route) noexcept;
Status drop_lossy(Context& cx, const Match& match, Route& route) noexcept;
Status hook_pandas_series(Context& cx, const Match& match, Route& route) noexcept;
Status hook_tvm_ffi_export(Context& cx, const Match& match, Route& route) noexcept;
Status hook_ctypes(Context& cx, const Match& match, Route& route) noexcept;

Status torch_fake_before(Context& cx, PyObject* obj, const Request& request, Failure& why) noexcept;
Status torch_after(Context& cx, PyObject* obj, const Request& request, const Borrow& taken, Failure& why) noexcept;
Status tensorflow_before(Context& cx, PyObject* obj, const Request& request, Failure& why) noexcept;
Status paddle_before(Context& cx, PyObject* obj, const Request& request, Failure& why) noexcept;
Status warp_after(Context& cx, PyObject* obj, const Request& request, const Borrow& taken, Failure& why) noexcept;
Status numpy_masked_before(Context& cx, PyObject* obj, const Request& request, Failure& why) noexcept;

/// Route::buffer_dtype: the dtype that a ctypes class says, whatever the buffer's format; not_offered for others.
Status ctypes_dtype(Context& cx, PyObject* exporter, DType* out, Failure& why) noexcept;

}  // namespace anyarray::quirks
