// SPDX-License-Identifier: Apache-2.0
// copy.copy, copy.deepcopy and pickling of an Array. Pickles carry its bytes, exported by an object of their own:
// so every dtype can be carried, those without a buffer format too, and with protocol 5 nothing is copied.
#include <cstddef>
#include <cstring>

#include "src/python/state.h"
#include "src/support/owned.h"

namespace anyarray {
namespace {

/// Exports the elements of an Array as bytes, in the order in which they lie.
struct BytesObject {
  PyObject ob_base;
  PyObject* array;  ///< contiguous, its memory readable by the host
  bool readonly;
};

ArrayObject* array_of(PyObject* self) noexcept { return as_array(reinterpret_cast<BytesObject*>(self)->array); }

int bytes_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  ArrayObject* a = array_of(self);
  if (a == nullptr || a->released) {
    view->obj = nullptr;
    PyErr_SetString(PyExc_BufferError, "the array was released");
    return -1;
  }
  static char nothing = 0;
  const Descriptor& d = a->borrow.desc;
  void* start = d.data != nullptr ? d.data : &nothing;
  const int readonly = reinterpret_cast<BytesObject*>(self)->readonly ? 1 : 0;
  if (PyBuffer_FillInfo(view, self, start, static_cast<Py_ssize_t>(d.nbytes()), readonly, flags) < 0) return -1;
  ++a->exports;
  return 0;
}

void bytes_releasebuffer(PyObject* self, Py_buffer*) { --array_of(self)->exports; }

int bytes_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<BytesObject*>(self)->array);
  return 0;
}

void bytes_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(reinterpret_cast<BytesObject*>(self)->array);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

PyObject* bytes_of(State& s, PyObject* array, bool readonly) noexcept {
  auto* bytes = PyObject_GC_New(BytesObject, s.bytes_type);
  if (bytes == nullptr) return nullptr;
  bytes->array = Py_NewRef(array);
  bytes->readonly = readonly;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(bytes));
  return reinterpret_cast<PyObject*>(bytes);
}

/// A new Array with a copy in memory of its own.
PyObject* copied(State& s, const Descriptor& d) noexcept {
  ArrayObject* a = array_reserve(s);
  if (a == nullptr) return nullptr;
  if (owned_copy(s.cx, d, a->borrow)) return array_adopt(s, a);
  array_discard(s, a);
  return nullptr;
}

PyObject* reduce(PyObject* self, long protocol) noexcept {
  ArrayObject* a = as_array(self);
  State& s = *a->state;
  const Reading d(a);
  if (!d || !host_can(a, *d, "pickle the result")) return nullptr;
  const bool c = d->c_contiguous();
  const bool f = !c && d->f_contiguous();
  const Ref whole(c || f ? Py_NewRef(self) : copied(s, *d));
  const Ref bytes(whole ? bytes_of(s, whole.get(), d->readonly()) : nullptr);
  if (!bytes) return nullptr;
  PyObject* type = reinterpret_cast<PyObject*>(d->readonly() ? &PyBytes_Type : &PyByteArray_Type);
  const Ref carried(protocol >= 5 ? PyPickleBuffer_FromObject(bytes.get()) : PyObject_CallOneArg(type, bytes.get()));
  const Ref make(carried ? package_function(s, "_rebuild", "array") : nullptr);
  const Ref shape(make ? tuple_of(d->shape, d->ndim) : nullptr);
  PyObject* dtype = shape ? reinterpret_cast<PyObject*>(array_dtype(a)) : nullptr;
  if (dtype == nullptr) return nullptr;
  return Py_BuildValue("O(OOOsO)", make.get(), carried.get(), dtype, shape.get(), f ? "F" : "C",
                       d->readonly() ? Py_True : Py_False);
}

// As the row `buffer` holds one: the Py_buffer in the token.
void release_bytes(Borrow* b) noexcept {
  PyBuffer_Release(static_cast<Py_buffer*>(static_cast<void*>(b->token)));
  let_go(b);
}

bool read_shape(PyObject* o, Descriptor* d, std::int64_t* shape) noexcept {
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) > max_ndim) {
    PyErr_Format(PyExc_TypeError, "the shape is a tuple of at most %d int", max_ndim);
    return false;
  }
  d->ndim = static_cast<std::int32_t>(PyTuple_GET_SIZE(o));
  d->shape = shape;
  for (int i = 0; i < d->ndim; ++i) {
    shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(o, i));
    if (shape[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

/// Lays the dtype and shape of `d` over a buffer that is held in `b`'s token. False with ValueError set.
bool lay_over(const Descriptor& d, bool fortran, const Py_buffer& view, Borrow& b) noexcept {
  std::int64_t n = 0;
  std::int64_t bytes = 0;
  const bool packed = d.dtype.packed();
  const std::int64_t unit = packed ? std::int64_t{d.dtype.bits} * d.dtype.count + 7 : d.dtype.itemsize();
  const bool countable = element_count(d.ndim, d.shape, &n) && !__builtin_mul_overflow(n, unit, &bytes);
  if (!countable || d.nbytes() != view.len || (fortran && packed)) {
    PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes isn't that of an array of this shape and dtype", view.len);
    return false;
  }
  std::int64_t* const extents = reserve_dims(b, d.ndim);
  if (extents == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  std::memcpy(extents, d.shape, sizeof(std::int64_t) * static_cast<std::size_t>(d.ndim));
  b.desc.data = view.buf;
  b.desc.dtype = d.dtype;
  b.desc.device = cpu_device;
  if (d.dtype.packed()) {
    b.desc.strides = nullptr;
  } else {
    (fortran ? f_strides : c_strides)(d.ndim, extents, d.dtype.itemsize(), extents + d.ndim);
  }
  Reason why;
  if (validate(b.desc, &why) == Status::ok) return true;
  drop_dims(b);
  PyErr_SetString(PyExc_ValueError, why.text);
  return false;
}

}  // namespace

void release_copy(Borrow* b) noexcept {
  ArrayObject* root = as_array(static_cast<PyObject*>(b->token[0]));
  unshare(root);
  let_go(b);
}

const Borrow& root_borrow(ArrayObject* a) noexcept {
  return a->borrow.release_fn == release_copy ? as_array(static_cast<PyObject*>(a->borrow.token[0]))->borrow
                                              : a->borrow;
}

PyObject* array_copy(PyObject* self, PyObject*) {
  ArrayObject* a = as_array(self);
  State& s = *a->state;
  const Reading d(a);
  if (!d) return nullptr;
  ArrayObject* twin = array_reserve(s);
  if (twin == nullptr) return nullptr;
  Borrow& b = twin->borrow;
  begin(b);
  std::int64_t* const extents = reserve_dims(b, d->ndim);
  if (extents == nullptr) {
    array_discard(s, twin);
    return PyErr_NoMemory();
  }
  const auto n = static_cast<std::size_t>(d->ndim);
  std::memcpy(extents, d->shape, sizeof(std::int64_t) * n);
  if (d->strides != nullptr) std::memcpy(extents + n, d->strides, sizeof(std::int64_t) * n);
  const std::int64_t* const strides = d->strides != nullptr ? extents + n : nullptr;
  b.desc = *d;
  b.desc.shape = extents;
  b.desc.strides = strides;
  b.protocol = a->borrow.protocol;
  ArrayObject* root = a->borrow.release_fn == release_copy ? as_array(static_cast<PyObject*>(a->borrow.token[0])) : a;
  share(root);
  b.token[0] = root;
  b.token[1] = nullptr;
  hold(s.cx, static_cast<PyObject*>(a->borrow.owner), b, release_copy);
  return array_adopt(s, twin);
}

PyObject* array_deepcopy(PyObject* self, PyObject*) {
  ArrayObject* a = as_array(self);
  const Reading d(a);
  if (!d || !host_can(a, *d, "copy the result")) return nullptr;
  return copied(*a->state, *d);
}

PyObject* array_reduce(PyObject* self, PyObject*) { return reduce(self, 2); }

PyObject* array_reduce_ex(PyObject* self, PyObject* protocol) {
  const long number = PyLong_AsLong(protocol);
  return number == -1 && PyErr_Occurred() != nullptr ? nullptr : reduce(self, number);
}

/// _from_bytes(buffer, dtype, shape, order, readonly): an Array over a buffer that holds the elements without gaps.
PyObject* array_from_bytes(PyObject* module, PyObject* const* args, Py_ssize_t nargs) {
  State& s = state_of_module(module);
  Descriptor d = {};
  std::int64_t shape[max_ndim] = {};
  if (nargs != 5 || !PyUnicode_Check(args[3]) || !PyBool_Check(args[4])) {
    return PyErr_Format(PyExc_TypeError, "_from_bytes(buffer, dtype, shape, order, readonly)");
  }
  if (!dtype_from_object(s, args[1], &d.dtype) || !read_shape(args[2], &d, shape)) return nullptr;
  ArrayObject* a = array_reserve(s);
  if (a == nullptr) return nullptr;
  Borrow& b = a->borrow;
  begin(b);
  static_assert(sizeof(Py_buffer) <= sizeof b.token);
  auto* view = static_cast<Py_buffer*>(static_cast<void*>(b.token));
  bool readonly = args[4] == Py_True;
  bool held = !readonly && PyObject_GetBuffer(args[0], view, PyBUF_WRITABLE) == 0;
  if (!held && (readonly || PyErr_ExceptionMatches(PyExc_Exception) != 0)) {
    // What carried the bytes here can't be written: then neither can the array.
    PyErr_Clear();
    readonly = true;
    held = PyObject_GetBuffer(args[0], view, PyBUF_SIMPLE) == 0;
  }
  if (held && !lay_over(d, PyUnicode_CompareWithASCIIString(args[3], "F") == 0, *view, b)) {
    PyBuffer_Release(view);
    held = false;
  }
  if (!held) {
    array_discard(s, a);
    return nullptr;
  }
  b.desc.flags = readonly ? unsigned{flag_readonly} : 0u;
  b.protocol = static_cast<std::uint8_t>(Protocol::buffer);
  hold(s.cx, args[0], b, release_bytes);
  return array_adopt(s, a);
}

bool bytes_type_init(State& s, PyObject* module) noexcept {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("The bytes of an Array, for pickles.")},
      {Py_tp_dealloc, reinterpret_cast<void*>(bytes_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(bytes_traverse)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(bytes_getbuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(bytes_releasebuffer)},
      {0, nullptr},
  };
  static PyType_Spec spec = {
      "anyarray._core.ArrayBytes", sizeof(BytesObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE, slots};
  s.bytes_type = new_type(s, module, spec, nullptr);
  return s.bytes_type != nullptr;
}

}  // namespace anyarray
