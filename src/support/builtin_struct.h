// SPDX-License-Identifier: Apache-2.0
// bytes, bytearray, memoryview and array.array (these very types, no subclass) read by their C structs. All but bytes
// are locked by their own export counters, as a buffer would: a resize or a release() raises meanwhile. Used by the
// row builtin and by the engine's shortest way.
#pragma once
#include "src/support/context.h"
#include "src/support/py_buffer.h"

namespace anyarray {
namespace builtin {

inline void describe(void* data, Py_ssize_t n, DType dtype, std::int64_t itemsize, std::uint32_t flags,
                     Borrow& out) noexcept {
  std::int64_t* const dims = reserve_dims(out, 1);
  dims[0] = n;
  dims[1] = itemsize;
  out.desc.data = data;
  out.desc.dtype = dtype;
  out.desc.device = cpu_device;
  out.desc.flags = flags;
}

/// array.array, whose struct CPython's headers don't show; read only where array_seen() has proven it.
struct ArrayDescr {
  char typecode;
  int itemsize;
};
struct Array {
  PyObject_VAR_HEAD  //
      char* items;
  Py_ssize_t allocated;
  const ArrayDescr* descr;
  PyObject* weak_references;
  Py_ssize_t exports;
};
inline Array* array_of(void* p) noexcept { return static_cast<Array*>(p); }

inline PyByteArrayObject* bytearray_of(void* p) noexcept { return static_cast<PyByteArrayObject*>(p); }
inline PyMemoryViewObject* memoryview_of(void* p) noexcept { return static_cast<PyMemoryViewObject*>(p); }

inline void release_bytearray(Borrow* b) noexcept {
  --bytearray_of(b->owner)->ob_exports;
  let_go_uncounted(b);
}

inline void release_memoryview(Borrow* b) noexcept {
  --memoryview_of(b->owner)->exports;
  let_go_uncounted(b);
}

inline void release_array(Borrow* b) noexcept {
  --array_of(b->owner)->exports;
  let_go_uncounted(b);
}

inline void lock_memoryview(Context& cx, PyObject* obj, Borrow& out) noexcept {
  ++memoryview_of(obj)->exports;
  hold_uncounted(cx, obj, out, release_memoryview);
}

/// Whether the memoryview's memory is gone.
inline bool is_released(const PyMemoryViewObject* mv) noexcept {
  return (mv->flags & _Py_MEMORYVIEW_RELEASED) != 0 || (mv->mbuf->flags & _Py_MANAGED_BUFFER_RELEASED) != 0;
}

#ifdef _Py_MEMORYVIEW_RESTRICTED
inline bool is_restricted(const PyMemoryViewObject* mv) noexcept {
  return (mv->flags & _Py_MEMORYVIEW_RESTRICTED) != 0;
}
#else
inline bool is_restricted(const PyMemoryViewObject*) noexcept { return false; }
#endif

/// Whether the exporter may know the elements better than its format does: a class made at run time, which says
/// structs, or plain bytes under which ctypes hides its unions and packed structs. Not after a cast.
inline bool asks_exporter(const PyMemoryViewObject* mv) noexcept {
  if (mv->view.obj == nullptr || (Py_TYPE(mv->view.obj)->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0) return false;
  const char* format = mv->view.format;
  if (format == nullptr || format != mv->mbuf->master.format) return false;
  return format[0] == 'T' || (format[0] == 'B' && format[1] == '\0');
}

}  // namespace builtin

inline void take_bytes(Context& cx, PyObject* obj, Borrow& out) noexcept {
  builtin::describe(PyBytes_AS_STRING(obj), PyBytes_GET_SIZE(obj), make_dtype(TypeCode::uint, 8), 1, flag_readonly,
                    out);
  hold_uncounted(cx, obj, out, let_go_uncounted);
}

inline void take_bytearray(Context& cx, PyObject* obj, Borrow& out) noexcept {
  builtin::describe(PyByteArray_AS_STRING(obj), PyByteArray_GET_SIZE(obj), make_dtype(TypeCode::uint, 8), 1, 0, out);
  ++builtin::bytearray_of(obj)->ob_exports;
  hold_uncounted(cx, obj, out, builtin::release_bytearray);
}

/// Sets cx.array_type once the module array is loaded and its type's struct is the one above: a probe is made of it,
/// and what its buffer says is compared with what is read. Imports nothing, leaves no exception set.
void array_seen(Context& cx) noexcept;

/// Takes an array.array of numbers; false for the one of characters ('u', whose size is the platform's), which its
/// buffer says.
inline bool take_array(Context& cx, PyObject* obj, Borrow& out) noexcept {
  const builtin::Array* a = builtin::array_of(obj);
  const auto letter = static_cast<unsigned char>(a->descr->typecode);
  const DType& dtype = pep3118::letter_tables.native[letter & 127u];
  const int itemsize = a->descr->itemsize;
  if (__builtin_expect(dtype.bits != 8 * itemsize, 0)) return false;
  builtin::describe(a->items, Py_SIZE(obj), dtype, itemsize, 0, out);
  ++builtin::array_of(obj)->exports;
  hold_uncounted(cx, obj, out, builtin::release_array);
  return true;
}

inline Status take_memoryview(Context& cx, PyObject* obj, Borrow& out, Reason* why) noexcept {
  PyMemoryViewObject* const mv = builtin::memoryview_of(obj);
  if (__builtin_expect(builtin::is_released(mv), 0)) {
    return because(Status::invalid, why, "a released memoryview has no memory");
  }
  if (__builtin_expect(builtin::is_restricted(mv), 0)) {
    return because(Status::invalid, why, "this memoryview's exporter has taken it back");
  }
  const Status s = describe_buffer(mv->view, out, why);
  if (__builtin_expect(s != Status::ok, 0)) {
    drop_dims(out);
    return s;
  }
  builtin::lock_memoryview(cx, obj, out);
  return Status::ok;
}

/// Takes one of the four types; every other is not_offered.
inline Status take_builtin(Context& cx, PyObject* obj, Borrow& out, Reason* why) noexcept {
  if (PyMemoryView_Check(obj)) return take_memoryview(cx, obj, out, why);
  if (PyBytes_CheckExact(obj)) {
    take_bytes(cx, obj, out);
  } else if (PyByteArray_CheckExact(obj)) {
    take_bytearray(cx, obj, out);
  } else if (Py_TYPE(obj) != cx.array_type || !take_array(cx, obj, out)) {
    return Status::not_offered;
  }
  return Status::ok;
}

}  // namespace anyarray
