// SPDX-License-Identifier: Apache-2.0
// The buffer slot of an Array: every combination of request flags answered as PEP 3118 and memoryview do.
#include <cstdlib>
#include <cstring>

#include "anyarray/protocols/pep3118.h"
#include "src/python/state.h"

namespace anyarray {
namespace {

/// The dtype's format string, made once a DType. Null with BufferError or MemoryError.
char* format_of(ArrayObject* a) noexcept {
  DTypeObject* dtype = array_dtype(a);
  if (dtype == nullptr || dtype->format != nullptr) return dtype != nullptr ? dtype->format : nullptr;
  char text[16384];
  Reason why;
  if (pep3118::encode_format(dtype->value, text, sizeof text, &why) != Status::ok) {
    PyErr_SetString(PyExc_BufferError, why.text);
    return nullptr;
  }
  const std::size_t n = std::strlen(text) + 1;
  dtype->format = static_cast<char*>(PyMem_Malloc(n));
  if (dtype->format == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  std::memcpy(dtype->format, text, n);
  return dtype->format;
}

int refuse(const char* why) noexcept {
  PyErr_SetString(PyExc_BufferError, why);
  return -1;
}

/// Strides of contiguous arrays are handed out as they would be without relaxed rules: some consumers compare them all,
/// those of extents of 1 too. Null: MemoryError. Otherwise `*made` is a block to be freed, or null where they are so.
const std::int64_t* plain_strides(const Descriptor& d, bool fortran, void** made) noexcept {
  std::int64_t plain[max_ndim] = {};
  (fortran ? f_strides : c_strides)(d.ndim, d.shape, d.dtype.itemsize(), plain);
  const std::size_t bytes = sizeof(std::int64_t) * static_cast<std::size_t>(d.ndim);
  if (std::memcmp(plain, d.strides, bytes) == 0) return d.strides;
  *made = std::malloc(bytes);
  if (*made == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  return static_cast<const std::int64_t*>(std::memcpy(*made, plain, bytes));
}

int fill(ArrayObject* a, Py_buffer* view, int flags) noexcept {
  if (!can_export(a)) return -1;
  const Reading reading(a);
  const Descriptor& d = *reading;
  const auto asked = [flags](int what) { return (flags & what) == what; };
  if (asked(PyBUF_WRITABLE) && d.readonly())
    return refuse("the array is read-only, and a writable buffer was asked for");
  const bool c = d.c_contiguous();
  const bool f = d.f_contiguous();
  if (asked(PyBUF_C_CONTIGUOUS) && !c) return refuse("the array isn't C-contiguous");
  if (asked(PyBUF_F_CONTIGUOUS) && !f) return refuse("the array isn't Fortran-contiguous");
  if (asked(PyBUF_ANY_CONTIGUOUS) && !c && !f) return refuse("the array isn't contiguous");
  if (!asked(PyBUF_STRIDES) && !c) return refuse("the array isn't C-contiguous, and strides weren't asked for");
  const bool shaped = asked(PyBUF_ND);
  if (!shaped && asked(PyBUF_FORMAT))
    return refuse("a format without a shape can't be given: ask with PyBUF_ND as well");
  char* format = format_of(a);
  if (format == nullptr) return -1;
  static char nothing = 0;  // consumers take a null address for a failure
  view->buf = d.data != nullptr ? d.data : &nothing;
  view->len = static_cast<Py_ssize_t>(d.nbytes());
  view->itemsize = static_cast<Py_ssize_t>(d.dtype.itemsize());
  view->readonly = d.readonly() ? 1 : 0;
  view->ndim = shaped ? d.ndim : 1;
  view->format = asked(PyBUF_FORMAT) ? format : nullptr;
  view->internal = nullptr;
  const std::int64_t* steps = d.strides;
  if (d.ndim > 0 && (c || f) && asked(PyBUF_STRIDES)) {
    steps = plain_strides(d, !c || (asked(PyBUF_F_CONTIGUOUS) && f), &view->internal);
    if (steps == nullptr) return -1;
  }
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "extents are handed out as they lie");
  auto* shape = reinterpret_cast<Py_ssize_t*>(const_cast<std::int64_t*>(d.shape));
  auto* strides = reinterpret_cast<Py_ssize_t*>(const_cast<std::int64_t*>(steps));
  view->shape = shaped && d.ndim > 0 ? shape : nullptr;
  view->strides = asked(PyBUF_STRIDES) && d.ndim > 0 ? strides : nullptr;
  view->suboffsets = nullptr;
  return 0;
}

}  // namespace

int array_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  if (view == nullptr) return refuse("no Py_buffer was given");
  view->obj = nullptr;
  ArrayObject* a = as_array(self);
  if (fill(a, view, flags) < 0) return -1;
  view->obj = Py_NewRef(self);
  ++a->exports;
  return 0;
}

void array_releasebuffer(PyObject* self, Py_buffer* view) {
  std::free(view->internal);
  --as_array(self)->exports;
}

/// Whether a type has the buffer slot; before CPython 3.12 nothing in Python shows it.
PyObject* has_buffer_slot(PyObject*, PyObject* type) {
  if (!PyType_Check(type)) return PyErr_Format(PyExc_TypeError, "a type is needed");
  const PyBufferProcs* slots = reinterpret_cast<PyTypeObject*>(type)->tp_as_buffer;
  return PyBool_FromLong(slots != nullptr && slots->bf_getbuffer != nullptr);
}

}  // namespace anyarray
