// SPDX-License-Identifier: Apache-2.0
// __array_interface__ and __cuda_array_interface__ (both version 3) of an Array, and __array__, which hands over to
// python/anyarray/_numpy.py. Both dicts have the same items, but for the CUDA one's stream.
#include <cstring>

#include "anyarray/protocols/typestr.h"
#include "src/python/state.h"

namespace anyarray {
namespace {

/// A struct's fields in the order of a descr: by offset, without overlap. Null when they aren't.
bool in_order(const InternedType& t) noexcept {
  std::int64_t end = 0;
  for (std::uint32_t i = 0; i < t.n_fields; ++i) {
    if (t.fields[i].offset < end) return false;
    end = t.fields[i].offset + t.fields[i].dtype.itemsize();
  }
  return end <= t.itemsize;
}

/// ('name', typestr or nested descr[, shape]) of one field.
PyObject* descr_row(const Field& f) noexcept {
  DType base = f.dtype;
  Ref shape;
  const InternedType* t = interned_type(base);
  if (t != nullptr && t->ndim > 0) {
    base = t->base;
    shape = Ref(tuple_of(t->shape, t->ndim));
    if (!shape) return nullptr;
  }
  Ref type;
  if (interned_type(base) != nullptr) {
    type = Ref(descr_list(base));
  } else {
    char text[64];
    typestr::encode(base, text, sizeof text, nullptr);
    type = Ref(PyUnicode_FromString(text));
  }
  if (!type) return nullptr;
  return shape ? Py_BuildValue("(sOO)", f.name, type.get(), shape.get()) : Py_BuildValue("(sO)", f.name, type.get());
}

bool append(PyObject* list, PyObject* owned) noexcept {
  Ref row(owned);
  return row && PyList_Append(list, row.get()) == 0;
}

bool append_gap(PyObject* list, std::int64_t bytes) noexcept {
  return bytes <= 0 ||
         append(list, Py_BuildValue("(sN)", "", PyUnicode_FromFormat("|V%lld", static_cast<long long>(bytes))));
}

bool set_item(PyObject* dict, const char* key, PyObject* owned) noexcept {
  Ref value(owned);
  return value && PyDict_SetItemString(dict, key, value.get()) == 0;
}

PyObject* get_interface(PyObject* self, void*) { return interface_dict(as_array(self), false); }

/// What a consumer has to wait for: a new reference to an int or None.
///
/// A dict that the array was taken from said it, and its word is passed on (None, or no such key: nothing). All other
/// protocols say no stream. None would promise that nothing is pending, which nobody here knows: what was taken over
/// DLPack is ordered after the legacy default stream at best, as DLPack's own None means. So that stream is named, 1,
/// which in turn waits for all streams that block.
PyObject* stream_of(ArrayObject* a) noexcept {
  const Borrow& root = root_borrow(a);
  if (root.protocol != static_cast<std::uint8_t>(Protocol::cuda_array_interface)) return PyLong_FromLong(1);
  PyObject* said = PyDict_GetItemWithError(static_cast<PyObject*>(root.token[0]), a->state->cx.names.stream);
  if (said == nullptr && PyErr_Occurred() != nullptr) return nullptr;
  return Py_NewRef(said != nullptr ? said : Py_None);
}

PyObject* get_cuda_interface(PyObject* self, void*) {
  ArrayObject* a = as_array(self);
  const Reading d(a);
  if (!d) return nullptr;
  Ref dict(interface_dict(a, false));
  if (!dict || !set_item(dict.get(), "stream", stream_of(a))) return nullptr;
  if (d->size() == 0 && !set_item(dict.get(), "data", Py_BuildValue("(iN)", 0, PyBool_FromLong(d->readonly())))) {
    return nullptr;
  }
  return dict.release();
}

}  // namespace

PyObject* descr_list(DType d) noexcept {
  const InternedType& t = *interned_type(d);
  Ref list(PyList_New(0));
  std::int64_t end = 0;
  for (std::uint32_t i = 0; list && i < t.n_fields; ++i) {
    const Field& f = t.fields[i];
    if (!append_gap(list.get(), f.offset - end) || !append(list.get(), descr_row(f))) return nullptr;
    end = f.offset + f.dtype.itemsize();
  }
  return list && append_gap(list.get(), t.itemsize - end) ? list.release() : nullptr;
}

bool has_descr_form(DType d) noexcept {
  char text[64];
  const InternedType* t = interned_type(d);
  if (t == nullptr) return typestr::encode(d, text, sizeof text, nullptr) == Status::ok;
  if (t->ndim > 0) return has_descr_form(t->base) && interned_type(t->base) == nullptr;
  if (t->n_fields == 0 || !in_order(*t)) return false;
  for (std::uint32_t i = 0; i < t->n_fields; ++i) {
    if (!has_descr_form(t->fields[i].dtype)) return false;
  }
  return true;
}

/// What stands for memory without elements: NumPy before 2.3 takes the address 0 for no data, and fails.
static void* address_of(const Descriptor& d) noexcept {
  alignas(64) static char nothing[64];
  return d.data != nullptr ? d.data : nothing;
}

PyObject* interface_dict(ArrayObject* a, bool raw) noexcept {
  const Reading d(a);
  if (!d) return nullptr;
  char text[64];
  if (raw) {
    std::snprintf(text, sizeof text, "|V%lld", static_cast<long long>(d->dtype.itemsize()));
  } else if (typestr::encode(d->dtype, text, sizeof text, nullptr) != Status::ok) {
    return PyErr_Format(PyExc_AttributeError, "__array_interface__");
  }
  Ref dict(PyDict_New());
  if (!dict) return nullptr;
  const bool simple = raw || interned_type(d->dtype) == nullptr;
  PyObject* descr = simple ? Py_BuildValue("[(ss)]", "", text) : descr_list(d->dtype);
  PyObject* strides = d->c_contiguous() ? Py_NewRef(Py_None) : tuple_of(d->strides, d->ndim);
  if (!set_item(dict.get(), "shape", tuple_of(d->shape, d->ndim)) ||
      !set_item(dict.get(), "typestr", PyUnicode_FromString(text)) || !set_item(dict.get(), "descr", descr) ||
      !set_item(dict.get(), "data",
                Py_BuildValue("(NN)", PyLong_FromVoidPtr(address_of(*d)), PyBool_FromLong(d->readonly()))) ||
      !set_item(dict.get(), "strides", strides) || !set_item(dict.get(), "version", PyLong_FromLong(3))) {
    return nullptr;
  }
  a->exposed = true;
  return dict.release();
}

PyObject* array_to_numpy(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  const Reading d(as_array(self));
  if (!d) return nullptr;
  if (!host_can(as_array(self), *d, "convert the result to NumPy")) return nullptr;
  Ref convert(package_function(*as_array(self)->state, "_numpy", "to_ndarray"));
  if (!convert) return nullptr;
  // The array goes in front of the caller's own arguments.
  const Py_ssize_t n = nargs + (kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0);
  if (n > 2) return PyErr_Format(PyExc_TypeError, "__array__() takes at most 2 arguments (dtype, copy)");
  PyObject* stack[3] = {self, n > 0 ? args[0] : nullptr, n > 1 ? args[1] : nullptr};
  return PyObject_Vectorcall(convert.get(), stack, static_cast<std::size_t>(nargs + 1), kwnames);
}

bool host_can(ArrayObject* a, const Descriptor& d, const char* what) noexcept {
  if (host_readable(d.device.type)) return true;
  char device[32];
  format_device(d.device, device, sizeof device);
  auto* owner = static_cast<PyObject*>(a->borrow.owner);
  PyErr_Format(PyExc_TypeError,
               "this array lies on %s, where the host can't read it: copy it to the host with the library that made "
               "it%s%.100s%s, then %s",
               device, owner != Py_None ? " (" : "", owner != Py_None ? Py_TYPE(owner)->tp_name : "",
               owner != Py_None ? ")" : "", what);
  return false;
}

PyGetSetDef array_interface_getset = {"__array_interface__", get_interface, nullptr,
                                      "NumPy's array interface, version 3. Strides are None when C-contiguous.",
                                      nullptr};
PyGetSetDef array_cuda_interface_getset = {
    "__cuda_array_interface__", get_cuda_interface, nullptr,
    "The CUDA array interface, version 3. Strides are None when C-contiguous; stream is what to wait for.", nullptr};

}  // namespace anyarray
