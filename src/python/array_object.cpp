// SPDX-License-Identifier: Apache-2.0
// The life of an Array: memory from a short list of freed ones, release, shares that outlive it, collection.
#include <cstdlib>

#include "src/python/state.h"

namespace anyarray {
namespace {

/// Gives the borrow back. Keeps an exception that is set.
void let_memory_go(ArrayObject* a) noexcept {
  if (a->borrow.held()) apart_from_errors([a] { release(a->borrow); });
}

void free_memory(State& s, ArrayObject* a) noexcept {
  if (s.n_free_arrays < free_arrays_max && !s.closed) {
    a->next = s.free_arrays;
    s.free_arrays = a;
    ++s.n_free_arrays;
    return;
  }
  // The collector asks the type for the size of the head; our own may be gone already, any collected type will do.
  Py_SET_TYPE(reinterpret_cast<PyObject*>(a), &PyTuple_Type);
  PyObject_GC_Del(a);
}

void array_finish(State& s, ArrayObject* a) noexcept {
  PyTypeObject* type = Py_TYPE(a);
  let_memory_go(a);
  if (__builtin_expect(a->tensor_known && a->tensor.ndim > inline_ndim, 0)) std::free(a->tensor.strides);
  Py_XDECREF(a->dtype);
  --s.arrays;
  free_memory(s, a);
  Py_DECREF(type);
}

/// The reference that a borrow holds beside its owner, where the row's token starts with one (see the adapters).
PyObject* token_object(const State& s, const Borrow& b) noexcept {
  if (b.release_fn == release_copy) return static_cast<PyObject*>(b.token[0]);
  switch (static_cast<Protocol>(b.protocol)) {
    case Protocol::buffer:
      return static_cast<const Py_buffer*>(static_cast<const void*>(b.token))->obj;
    case Protocol::array_interface:
    case Protocol::array_struct:
    case Protocol::cuda_array_interface:
    case Protocol::sycl_usm_array_interface:
    case Protocol::array_method:
      return static_cast<PyObject*>(b.token[0]);
    case Protocol::dlpack:
    case Protocol::dlpack_exchange:
      return exported_array(s, b);
    default:
      return nullptr;
  }
}

}  // namespace

void array_dealloc(PyObject* self) {
  ArrayObject* a = as_array(self);
  State& s = *a->state;
  PyObject_GC_UnTrack(self);
  if (a->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  if (s.dealloc_depth >= dealloc_depth_max) {
    a->next = s.waiting;
    s.waiting = a;
    return;
  }
  ++s.dealloc_depth;
  array_finish(s, a);
  while (s.dealloc_depth == 1 && s.waiting != nullptr) {
    ArrayObject* next = s.waiting;
    s.waiting = next->next;
    array_finish(s, next);
  }
  if (--s.dealloc_depth == 0 && s.closed) state_collect(&s);
}

int array_traverse(PyObject* self, visitproc visit, void* arg) {
  ArrayObject* a = as_array(self);
  Py_VISIT(Py_TYPE(self));
  const Borrow& b = a->borrow;
  if (b.held()) {
    Py_VISIT(static_cast<PyObject*>(b.owner));
    Py_VISIT(token_object(*a->state, b));
    if (b.protocol == static_cast<std::uint8_t>(Protocol::array_interface) && b.token[1] != nullptr) {
      Py_VISIT(static_cast<const Py_buffer*>(b.token[1])->obj);
    }
  }
  return 0;
}

int array_clear(PyObject* self) {
  ArrayObject* a = as_array(self);
  if (a->exports == 0 && a->readers == 0 && a->shares == 0) {
    a->released = true;
    a->lendable = false;
    let_memory_go(a);
  }
  return 0;
}

ArrayObject* array_reserve(State& s) noexcept {
  ArrayObject* a = s.free_arrays;
  if (__builtin_expect(a != nullptr, 1)) {
    s.free_arrays = a->next;
    --s.n_free_arrays;
    a->state = nullptr;  // tells array_adopt that the object isn't initialised
    return a;
  }
  a = PyObject_GC_New(ArrayObject, s.array_base);
  if (a != nullptr) a->state = &s;
  return a;
}

PyObject* array_adopt(State& s, ArrayObject* a) noexcept {
  PyObject* self = reinterpret_cast<PyObject*>(a);
  PyTypeObject* type = array_type_for(s, a->borrow.desc);
  if (a->state == nullptr) {
    PyObject_Init(self, type);
  } else {
    Py_INCREF(type);
    Py_SET_TYPE(self, type);
    Py_DECREF(s.array_base);
  }
  a->weakrefs = nullptr;
  a->state = &s;
  a->dtype = nullptr;
  a->shares = 0;
  a->exports = 0;
  a->readers = 0;
  a->released = false;
  a->exposed = false;
  a->tensor_known = false;
  a->lendable = false;
  ++s.arrays;
  PyObject_GC_Track(self);
  return self;
}

void array_discard(State& s, ArrayObject* a) noexcept {
  if (a->state != nullptr) {
    PyObject_GC_Del(a);
    Py_DECREF(s.array_base);
    return;
  }
  free_memory(s, a);
}

void array_free_all(State& s) noexcept {
  while (ArrayObject* a = s.free_arrays) {
    s.free_arrays = a->next;
    Py_SET_TYPE(reinterpret_cast<PyObject*>(a), &PyTuple_Type);
    PyObject_GC_Del(a);
  }
  s.n_free_arrays = 0;
}

const Descriptor* array_descriptor(ArrayObject* a) noexcept {
  if (__builtin_expect(a->released, 0)) {
    PyErr_Format(PyExc_ValueError, "this %s was released: take a new view of the object it came from",
                 Py_TYPE(a)->tp_name);
    return nullptr;
  }
  return &a->borrow.desc;
}

bool can_export(ArrayObject* a) noexcept {
  if (__builtin_expect(!a->released, 1)) return true;
  PyErr_SetString(PyExc_BufferError, "the array was released: take a new view of the object it came from");
  return false;
}

DTypeObject* array_dtype(ArrayObject* a) noexcept {
  if (a->dtype == nullptr) {
    const Descriptor* d = array_descriptor(a);
    if (d == nullptr) return nullptr;
    a->dtype = dtype_object(*a->state, d->dtype);
  }
  return reinterpret_cast<DTypeObject*>(a->dtype);
}

void unshare(ArrayObject* a) noexcept {
  if (--a->shares == 0 && a->released && !a->exposed) let_memory_go(a);
  if (Py_REFCNT(reinterpret_cast<PyObject*>(a)) > 1) {
    Py_DECREF(reinterpret_cast<PyObject*>(a));
  } else {
    apart_from_errors([a] { Py_DECREF(reinterpret_cast<PyObject*>(a)); });
  }
}

/// Array.release(): marks the array as released and gives the memory back, unless someone relies on this object.
PyObject* array_release(PyObject* self, PyObject*) {
  ArrayObject* a = as_array(self);
  if (a->released) Py_RETURN_NONE;
  if (a->exports > 0) {
    return PyErr_Format(PyExc_BufferError, "%d buffer%s of this array %s still in use: release %s first", a->exports,
                        a->exports == 1 ? "" : "s", a->exports == 1 ? "is" : "are", a->exports == 1 ? "it" : "them");
  }
  if (a->readers > 0) {
    PyErr_SetString(PyExc_BufferError, "this array is being read by a call that hasn't ended: release it afterwards");
    return nullptr;
  }
  a->released = true;
  a->lendable = false;
  // Whoever read __array_interface__ keeps this object and nothing else: the memory stays until its end. Those who hold
  // a share let it go when the last of them is done.
  if (!a->exposed && a->shares == 0) let_memory_go(a);
  Py_RETURN_NONE;
}

}  // namespace anyarray
