// SPDX-License-Identifier: Apache-2.0
// What an Array says of itself: its attributes, its repr, and the methods that every Array type has.
#include "anyarray/produce.h"
#include "src/python/state.h"
#include "src/support/owned.h"

namespace anyarray {

PyObject* array_release(PyObject* self, PyObject*);
PyObject* array_to_numpy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);

namespace {

const char* protocol_name(const ArrayObject* a) noexcept {
  return a->borrow.protocol != no_protocol ? protocol_rows[a->borrow.protocol].name : nullptr;
}

/// A getter from an expression in the descriptor `d` and the array `a`.
#define ANYARRAY_GETTER(name, expression)             \
  PyObject* get_##name(PyObject* self, void*) {       \
    [[maybe_unused]] ArrayObject* a = as_array(self); \
    const Reading d(a);                               \
    return d ? (expression) : nullptr;                \
  }
ANYARRAY_GETTER(shape, tuple_of(d->shape, d->ndim))
ANYARRAY_GETTER(strides, d->strides != nullptr ? tuple_of(d->strides, d->ndim) : Py_NewRef(Py_None))
ANYARRAY_GETTER(dtype, Py_XNewRef(reinterpret_cast<PyObject*>(array_dtype(a))))
ANYARRAY_GETTER(device, device_object(*a->state, d->device))
ANYARRAY_GETTER(ndim, PyLong_FromLong(d->ndim))
ANYARRAY_GETTER(size, PyLong_FromLongLong(d->size()))
ANYARRAY_GETTER(nbytes, PyLong_FromLongLong(d->nbytes()))
ANYARRAY_GETTER(itemsize, PyLong_FromLongLong(d->dtype.itemsize()))
ANYARRAY_GETTER(ptr, PyLong_FromVoidPtr(d->data))
ANYARRAY_GETTER(readonly, PyBool_FromLong(d->readonly()))
ANYARRAY_GETTER(copied, (d->flags & flag_copied_unknown) != 0 ? Py_NewRef(Py_None)
                                                              : PyBool_FromLong((d->flags & flag_copied) != 0))
ANYARRAY_GETTER(protocol,
                protocol_name(a) != nullptr ? PyUnicode_InternFromString(protocol_name(a)) : Py_NewRef(Py_None))
ANYARRAY_GETTER(owner, Py_NewRef(static_cast<PyObject*>(a->borrow.owner)))
ANYARRAY_GETTER(c_contiguous, PyBool_FromLong(d->c_contiguous()))
ANYARRAY_GETTER(f_contiguous, PyBool_FromLong(d->f_contiguous()))
ANYARRAY_GETTER(device_verified, PyBool_FromLong((d->flags & flag_device_unverified) == 0))
#undef ANYARRAY_GETTER

PyObject* get_released(PyObject* self, void*) { return PyBool_FromLong(as_array(self)->released); }

PyObject* enter(PyObject* self, PyObject*) {
  return array_descriptor(as_array(self)) != nullptr ? Py_NewRef(self) : nullptr;
}
PyObject* leave(PyObject* self, PyObject*) { return array_release(self, nullptr); }

}  // namespace

PyObject* tuple_of(const std::int64_t* values, int n) noexcept {
  Ref all(PyTuple_New(n));
  for (int i = 0; all && i < n; ++i) {
    PyObject* v = PyLong_FromLongLong(values[i]);
    if (v == nullptr) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, v);
  }
  return all.release();
}

PyGetSetDef array_getset[] = {
    {"shape", get_shape, nullptr, "Extents in elements, a tuple of int.", nullptr},
    {"strides", get_strides, nullptr, "Steps in bytes, a tuple of int; None for packed sub-byte elements.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type, a DType.", nullptr},
    {"device", get_device, nullptr, "Where the memory lies, a Device.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of the elements alone, gaps not counted.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of an element; for a packed one, those that hold one.", nullptr},
    {"ptr", get_ptr, nullptr, "Address of element [0, ..., 0]; 0 where there is none. Valid until release().", nullptr},
    {"readonly", get_readonly, nullptr, "Whether the memory must not be written.", nullptr},
    {"copied", get_copied, nullptr, "False, True (the producer said that it copied), or None where it can't be known.",
     nullptr},
    {"protocol", get_protocol, nullptr, "Name of the registry row that served; None for memory of its own.", nullptr},
    {"owner", get_owner, nullptr, "The object that was taken; None for memory of its own.", nullptr},
    {"c_contiguous", get_c_contiguous, nullptr, "Row-major without gaps.", nullptr},
    {"f_contiguous", get_f_contiguous, nullptr, "Column-major without gaps.", nullptr},
    {"device_verified", get_device_verified, nullptr,
     "False where the protocol can't say the device and nothing else did.", nullptr},
    {"released", get_released, nullptr, "Whether release() was called.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef array_methods[] = {
    {"tolist", array_tolist, METH_NOARGS,
     "The elements as nested lists of Python objects (the object itself for 0-d)."},
    {"item", array_item, METH_NOARGS, "The one element of an array of size 1 as a Python object."},
    {"release", array_release, METH_NOARGS,
     "Gives the memory back now. BufferError while buffers of it are in use; DLPack exports keep it."},
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", leave, METH_VARARGS, nullptr},
    {"__array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(array_to_numpy)),
     METH_FASTCALL | METH_KEYWORDS,
     "__array__(dtype=None, copy=None): a numpy.ndarray, where the host can read the memory."},
    {"__copy__", array_copy, METH_NOARGS, "Another Array of the same memory, which lives and is released on its own."},
    {"__deepcopy__", array_deepcopy, METH_O,
     "The elements in new, writable memory: column-major if the array is so and not row-major, else row-major."},
    {"__reduce_ex__", array_reduce_ex, METH_O, "Pickles the elements; with protocol 5 as a buffer, without a copy."},
    {"__reduce__", array_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyObject* array_repr(PyObject* self) {
  ArrayObject* a = as_array(self);
  const char* name = Py_TYPE(self)->tp_name;
  if (a->released) return PyUnicode_FromFormat("<%s, released>", name);
  const Reading d(a);
  DTypeObject* dtype = array_dtype(a);
  if (dtype == nullptr) return nullptr;
  Ref shape(tuple_of(d->shape, d->ndim));
  if (!shape) return nullptr;
  char device[32];
  format_device(d->device, device, sizeof device);
  const char* protocol = protocol_name(a);
  return PyUnicode_FromFormat("<%s shape=%R dtype=%U device=%s protocol=%s%s>", name, shape.get(), dtype->name, device,
                              protocol != nullptr ? protocol : "None", d->readonly() ? " readonly" : "");
}

Py_ssize_t array_length(PyObject* self) {
  const Reading d(as_array(self));
  if (!d) return -1;
  if (d->ndim == 0) {
    PyErr_SetString(PyExc_TypeError, "an array of no dimensions has no len()");
    return -1;
  }
  return static_cast<Py_ssize_t>(d->shape[0]);
}

}  // namespace anyarray
