// SPDX-License-Identifier: Apache-2.0
// The slow side of numpy_struct.h: finding NumPy's types, and reading a dtype through its Python attributes.
#include "src/support/numpy_struct.h"

#include <dlfcn.h>

#include <cstdlib>

#include "anyarray/protocols/typestr.h"
#include "src/support/field_list.h"

namespace anyarray {
namespace {

/// A type of a loaded module that derives from `base`. New reference or null.
PyTypeObject* type_in(const char* module, const char* name, PyTypeObject* base) noexcept {
  PyObject* found = loaded(module, name);
  if (found == nullptr || !PyType_Check(found)) return nullptr;
  auto* type = reinterpret_cast<PyTypeObject*>(found);
  if (!PyType_IsSubtype(type, base)) return nullptr;
  Py_INCREF(found);
  return type;
}

/// Whether an address lies in the image of a loaded library; `base` tells which.
bool in_image(const void* address, void** base) noexcept {
  Dl_info info;
  if (dladdr(address, &info) == 0) return false;
  *base = info.dli_fbase;
  return true;
}

/// Whether this is a function table of NumPy's: it and what it points to lie in one library. A module can be put under
/// any name, and a capsule without a name be anything.
bool is_table(void* const* table) noexcept {
  void *of_table = nullptr, *of_function = nullptr, *of_type = nullptr;
  return in_image(table, &of_table) && in_image(table[0], &of_function) && in_image(table[2], &of_type) &&
         of_table == of_function && of_table == of_type;
}

/// Address of PyArray_Type from NumPy's C function table, if its layout is one that is known.
PyTypeObject* find_ndarray(bool* numpy2, void* const** functions) noexcept {
  PyObject* capsule = loaded("numpy._core._multiarray_umath", "_ARRAY_API");
  if (capsule == nullptr) capsule = loaded("numpy.core._multiarray_umath", "_ARRAY_API");
  if (capsule == nullptr || !PyCapsule_IsValid(capsule, nullptr)) return nullptr;
  auto* const* table = static_cast<void* const*>(PyCapsule_GetPointer(capsule, nullptr));
  if (!is_table(table)) return nullptr;
  const auto abi_version = reinterpret_cast<unsigned (*)()>(table[0]);
  const unsigned major = abi_version() >> 24;
  if (major != 1 && major != 2) return nullptr;
  auto* type = static_cast<PyTypeObject*>(table[2]);
  if (!PyType_Check(type) || type->tp_basicsize < static_cast<Py_ssize_t>(sizeof(numpy::Array))) return nullptr;
  *numpy2 = major == 2;
  *functions = table;
  return type;
}

/// Reads what a dtype object says of itself. Calls itself for fields and sub-arrays.
class DTypeReader {
 public:
  DTypeReader(PyObject* top, Failure& why) noexcept : top_(top), why_(why) {}
  Status read(PyObject* dtype, int depth, DType* out) noexcept;

 private:
  Status read_struct(PyObject* dtype, PyObject* names, std::int64_t itemsize, int depth, DType* out) noexcept;
  Status read_subarray(PyObject* subdtype, int depth, DType* out) noexcept;
  Status read_user(PyObject* dtype, std::int64_t itemsize, DType* out) noexcept;
  Status raised() noexcept { return producer_raised(why_, Status::unsupported); }
  int budget_ = max_fields;
  bool integer(PyObject* dtype, const char* name, std::int64_t* out) noexcept {
    Ref value(PyObject_GetAttrString(dtype, name));
    if (!value) return false;
    *out = PyLong_AsLongLong(value.get());
    return *out != -1 || PyErr_Occurred() == nullptr;
  }
  /// unsupported, with the dtype as NumPy prints it.
  Status refuse(const char* format) noexcept {
    Ref text(PyObject_Str(top_));
    const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    if (utf8 == nullptr) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) return Status::interrupted;
      PyErr_Clear();
      utf8 = "of an extension";
    }
    char shown[128];
    std::snprintf(shown, sizeof shown, "%s", utf8);
    return because(Status::unsupported, &why_.reason, format, shown);
  }

  PyObject* top_;
  Failure& why_;
};

Status DTypeReader::read(PyObject* dtype, int depth, DType* out) noexcept {
  // Not put into words by NumPy: a dtype whose parts are shared can be endless in print.
  if (depth > max_nesting || --budget_ < 0) {
    return because(
        Status::unsupported, &why_.reason,
        depth > max_nesting ? "the NumPy dtype is nested over %d deep" : "the NumPy dtype has over %d fields",
        depth > max_nesting ? max_nesting : max_fields);
  }
  std::int64_t number = 0, itemsize = 0;
  if (!integer(dtype, "num", &number) || !integer(dtype, "itemsize", &itemsize)) return raised();
  if (number == numpy::num_object) {
    return refuse("elements of NumPy's dtype %.100s are Python objects, which can't be exchanged as memory");
  }
  if (number < 0 || number >= numpy::first_new_style) {
    return refuse("elements of NumPy's dtype %.100s have no memory layout that others can read; use .astype()");
  }
  if (number >= numpy::num_user) return read_user(dtype, itemsize, out);
  if (number == numpy::num_void) {
    Ref subdtype(PyObject_GetAttrString(dtype, "subdtype"));
    if (!subdtype) return raised();
    if (subdtype.get() != Py_None) return read_subarray(subdtype.get(), depth, out);
    Ref names(PyObject_GetAttrString(dtype, "names"));
    if (!names) return raised();
    if (names.get() != Py_None) return read_struct(dtype, names.get(), itemsize, depth, out);
  }
  Ref text(PyObject_GetAttrString(dtype, "str"));
  Py_ssize_t length = 0;
  const char* utf8 = text ? PyUnicode_AsUTF8AndSize(text.get(), &length) : nullptr;
  if (utf8 == nullptr) return raised();
  const Status s = typestr::decode(utf8, static_cast<std::size_t>(length), out, &why_.reason);
  if (s != Status::ok) return s;
  if (out->itemsize() != itemsize) return refuse("NumPy's dtype %.100s has another size than its type string says");
  return Status::ok;
}

Status DTypeReader::read_struct(PyObject* dtype, PyObject* names, std::int64_t itemsize, int depth,
                                DType* out) noexcept {
  Ref fields(PyObject_GetAttrString(dtype, "fields"));
  if (!fields) return raised();
  FieldList list;
  const Py_ssize_t n = PyTuple_Check(names) ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    Ref field(PyObject_GetItem(fields.get(), name));  // (dtype, offset[, title])
    if (!field) return raised();
    if (!PyTuple_Check(field.get()) || PyTuple_GET_SIZE(field.get()) < 2) {
      return refuse("the fields of NumPy's dtype %.100s can't be read");
    }
    const std::int64_t offset = PyLong_AsLongLong(PyTuple_GET_ITEM(field.get(), 1));
    if (offset == -1 && PyErr_Occurred() != nullptr) return raised();
    DType inner;
    Status s = read(PyTuple_GET_ITEM(field.get(), 0), depth + 1, &inner);
    if (s == Status::ok) s = list.add(name, inner, offset, &why_.reason);
    if (s != Status::ok) return s;
  }
  return list.intern(itemsize, out, &why_.reason);
}

Status DTypeReader::read_subarray(PyObject* subdtype, int depth, DType* out) noexcept {
  PyObject *base = nullptr, *shape = nullptr;
  if (!PyTuple_Check(subdtype) || PyTuple_GET_SIZE(subdtype) != 2 ||
      !PyTuple_Check(shape = PyTuple_GET_ITEM(subdtype, 1)) || PyTuple_GET_SIZE(shape) > max_ndim) {
    return refuse("the sub-array in NumPy's dtype %.100s can't be read");
  }
  base = PyTuple_GET_ITEM(subdtype, 0);
  std::int64_t extents[max_ndim];
  const Py_ssize_t n = PyTuple_GET_SIZE(shape);
  for (Py_ssize_t i = 0; i < n; ++i) {
    extents[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    if (extents[i] == -1 && PyErr_Occurred() != nullptr) return raised();
  }
  DType inner;
  const Status s = read(base, depth + 1, &inner);
  if (s != Status::ok) return s;
  return intern_subarray(inner, static_cast<std::int32_t>(n), extents, out, &why_.reason);
}

/// dtypes that extensions registered: those of ml_dtypes are known by the name of their scalar type. Its sub-byte
/// types take a byte each.
Status DTypeReader::read_user(PyObject* dtype, std::int64_t itemsize, DType* out) noexcept {
  Ref type(PyObject_GetAttrString(dtype, "type"));
  Ref module(type ? PyObject_GetAttrString(type.get(), "__module__") : nullptr);
  Ref name(module ? PyObject_GetAttrString(type.get(), "__name__") : nullptr);
  Ref native(name ? PyObject_GetAttrString(dtype, "isnative") : nullptr);
  if (!native) return raised();
  const char* text = PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  if (text == nullptr) PyErr_Clear();
  const bool known = text != nullptr && PyUnicode_Check(module.get()) &&
                     PyUnicode_CompareWithASCIIString(module.get(), "ml_dtypes") == 0 && parse_dtype(text, out);
  if (known && out->code <= TypeCode::float4_e2m1fn) {
    if (out->bits < 8) *out = out->with_padded(true);
    *out = out->with_swapped(native.get() == Py_False && itemsize > 1);
    if (out->itemsize() == itemsize) return Status::ok;
  }
  return refuse("NumPy's dtype %.100s belongs to an extension that isn't known; use .astype() or .view()");
}

void drop(const numpy::KnownDType& known) noexcept {
  Py_XDECREF(reinterpret_cast<PyObject*>(known.descr));
  Py_XDECREF(known.names);
  Py_XDECREF(known.fields);
}

template <class T>
void forget(T*& type) noexcept {
  Py_XDECREF(reinterpret_cast<PyObject*>(type));
  type = nullptr;
}

}  // namespace

Status numpy::learn_dtype(Context& cx, const Array* array, DType* out, Failure& why) noexcept {
  Descr* descr = array->descr;
  PyObject* object = reinterpret_cast<PyObject*>(descr);
  if (descr->type_num == num_object) {
    return because(Status::unsupported, &why.reason,
                   "elements of NumPy's dtype object are Python objects, which can't be exchanged as memory");
  }
  Ref held = Ref::borrow(object);
  KnownDType known = {descr, names_of(cx, descr), fields_of(cx, descr), elsize_of(cx, descr), head_of(descr), {}};
  Ref names = Ref::borrow(known.names);
  Ref fields = Ref::borrow(known.fields);
  const Status s = DTypeReader(object, why).read(object, 0, &known.dtype);
  if (s != Status::ok) return s;
  if (array->descr != descr || names_of(cx, descr) != known.names || fields_of(cx, descr) != known.fields ||
      head_of(descr) != known.head || elsize_of(cx, descr) != known.elsize) {
    return because(Status::invalid, &why.reason, "the array's dtype changed while it was read");
  }
  *out = known.dtype;
  if (cx.numpy_dtypes == nullptr) cx.numpy_dtypes = std::calloc(known_dtypes, sizeof(KnownDType));
  if (cx.numpy_dtypes == nullptr) return Status::ok;  // works without, only slower
  held.release();
  names.release();
  fields.release();
  // The slot is right before the old references go: their destructors may run code that comes back here.
  const KnownDType old = std::exchange(static_cast<KnownDType*>(cx.numpy_dtypes)[slot_of(descr)], known);
  drop(old);
  return array->descr == descr ? Status::ok
                               : because(Status::invalid, &why.reason, "the array's dtype changed while it was read");
}

bool numpy_seen(Context& cx) noexcept {
  if (cx.ndarray == nullptr) {
    PyTypeObject* ndarray = find_ndarray(&cx.numpy2, &cx.numpy_table);
    if (ndarray == nullptr) return false;
    Py_INCREF(reinterpret_cast<PyObject*>(ndarray));
    cx.ndarray = ndarray;
  }
  if (cx.masked_array == nullptr) cx.masked_array = type_in("numpy.ma", "MaskedArray", cx.ndarray);
  return true;
}

void numpy_clear(Context& cx) noexcept {
  auto* slots = static_cast<numpy::KnownDType*>(std::exchange(cx.numpy_dtypes, nullptr));
  if (slots != nullptr) {
    for (std::size_t i = 0; i < numpy::known_dtypes; ++i) drop(slots[i]);
    std::free(slots);
  }
  forget(cx.ndarray);
  forget(cx.masked_array);
}

}  // namespace anyarray
