// SPDX-License-Identifier: Apache-2.0
// The Python type DType: immutable, hashed as its name, the common ones made once. Foreign dtype objects are
// understood by python/anyarray/_dtypes.py, which is imported when the first one is met.
#include "anyarray/dtype.h"

#include <cstddef>
#include <cstring>
#include <memory>

#include "src/python/state.h"

namespace anyarray {
namespace {

DTypeObject* as_dtype(PyObject* o) noexcept { return reinterpret_cast<DTypeObject*>(o); }

PyObject* name_of(DType d) noexcept {
  char text[256];
  const std::size_t n = format_dtype(d, text, sizeof text);
  if (n < sizeof text) return PyUnicode_FromStringAndSize(text, static_cast<Py_ssize_t>(n));
  char* longer = static_cast<char*>(PyMem_Malloc(n + 1));
  if (longer == nullptr) return PyErr_NoMemory();
  format_dtype(d, longer, n + 1);
  PyObject* name = PyUnicode_FromStringAndSize(longer, static_cast<Py_ssize_t>(n));
  PyMem_Free(longer);
  return name;
}

PyObject* make(State& s, DType d) noexcept {
  Ref name(name_of(d));
  if (!name) return nullptr;
  auto* o = PyObject_GC_New(DTypeObject, s.dtype_type);
  if (o == nullptr) return nullptr;
  o->value = d;
  o->name = name.release();
  o->format = nullptr;
  PyObject_GC_Track(reinterpret_cast<PyObject*>(o));
  return reinterpret_cast<PyObject*>(o);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  Py_XDECREF(as_dtype(self)->name);
  PyMem_Free(as_dtype(self)->format);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

/// The module keeps those that are common, and the type keeps the module.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  return 0;
}

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* what = nullptr;
  static const char* keywords[] = {"dtype", nullptr};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:DType", const_cast<char**>(keywords), &what)) return nullptr;
  State* s = state_of_type(type);
  DType d;
  if (s == nullptr || !dtype_from_object(*s, what, &d)) return nullptr;
  return dtype_object(*s, d);
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("DType(%R)", as_dtype(self)->name); }
PyObject* str(PyObject* self) { return Py_NewRef(as_dtype(self)->name); }
Py_hash_t hash(PyObject* self) { return PyObject_Hash(as_dtype(self)->name); }

/// 1 and *out for what stands for a dtype, 0 for what doesn't, -1 with an error.
int from_foreign(State& s, PyObject* o, DType* out) noexcept {
  Ref convert(package_function(s, "_dtypes", "from_foreign"));
  if (!convert) return -1;
  Ref found(PyObject_CallOneArg(convert.get(), o));
  if (!found) return -1;
  if (!Py_IS_TYPE(found.get(), s.dtype_type)) return 0;
  *out = as_dtype(found.get())->value;
  return 1;
}

/// 1 and *out for a spelling of a dtype, 0 for another text.
int from_text(PyObject* text, DType* out) noexcept {
  const char* utf8 = c_text(text);
  return utf8 != nullptr && parse_dtype(utf8, out) ? 1 : 0;
}

PyObject* compare(PyObject* self, PyObject* other, int op) {
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  const DType mine = as_dtype(self)->value;
  bool equal = false;
  if (Py_IS_TYPE(other, Py_TYPE(self))) {
    equal = as_dtype(other)->value == mine;
  } else if (PyUnicode_Check(other)) {
    DType d;
    const int same = PyUnicode_Compare(as_dtype(self)->name, other);
    if (same == -1 && PyErr_Occurred() != nullptr) return nullptr;
    equal = same == 0 || (from_text(other, &d) == 1 && d == mine);
  } else {
    State* s = state_of_type(Py_TYPE(self));
    if (s == nullptr) return nullptr;
    DType d;
    const int found = from_foreign(*s, other, &d);
    if (found < 0) return nullptr;
    if (found == 0) Py_RETURN_NOTIMPLEMENTED;
    equal = d == mine;
  }
  return PyBool_FromLong(equal == (op == Py_EQ));
}

const char* kind_of(DType d) noexcept {
  switch (d.code) {
    case TypeCode::int_:
      return "int";
    case TypeCode::uint:
      return "uint";
    case TypeCode::float_:
    case TypeCode::long_double:
      return "float";
    case TypeCode::opaque_handle:
      return "opaque_handle";
    case TypeCode::bfloat:
      return "bfloat";
    case TypeCode::complex:
    case TypeCode::complex_long_double:
      return "complex";
    case TypeCode::bool_:
      return "bool";
    case TypeCode::float6_e2m3fn:
    case TypeCode::float6_e3m2fn:
      return "float6";
    case TypeCode::float4_e2m1fn:
      return "float4";
    case TypeCode::datetime64:
      return "datetime64";
    case TypeCode::timedelta64:
      return "timedelta64";
    case TypeCode::fixed_bytes:
      return "bytes";
    case TypeCode::fixed_ucs4:
      return "str";
    case TypeCode::void_:
      return "void";
    case TypeCode::interned:
      return interned_type(d)->ndim > 0 ? "subarray" : "struct";
    default:
      return "float8";
  }
}

PyObject* get_name(PyObject* self, void*) { return Py_NewRef(as_dtype(self)->name); }
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromLongLong(as_dtype(self)->value.itemsize()); }
PyObject* get_kind(PyObject* self, void*) { return PyUnicode_InternFromString(kind_of(as_dtype(self)->value)); }
PyObject* get_padded(PyObject* self, void*) { return PyBool_FromLong(as_dtype(self)->value.padded()); }
PyObject* get_bits(PyObject* self, void*) {
  const DType d = as_dtype(self)->value;
  return PyLong_FromLongLong(d.is_scalar() || d.is_time() ? d.bits : d.itemsize() * 8);
}
PyObject* get_lanes(PyObject* self, void*) {
  const DType d = as_dtype(self)->value;
  return PyLong_FromUnsignedLong(d.is_scalar() ? d.count : 1);
}
PyObject* get_byteorder(PyObject* self, void*) {
  const DType d = as_dtype(self)->value;
  const std::int64_t part = d.is_complex() ? d.bits / 2 : d.bits;
  const bool none = part <= 8 || d.code == TypeCode::interned || d.code == TypeCode::void_;
  const bool little = PY_LITTLE_ENDIAN != 0;
  return PyUnicode_InternFromString(none ? "|" : !d.swapped() ? "=" : little ? ">" : "<");
}
PyObject* get_unit(PyObject* self, void*) {
  if (!as_dtype(self)->value.is_time()) Py_RETURN_NONE;
  const char* name = PyUnicode_AsUTF8(as_dtype(self)->name);
  if (name == nullptr) return nullptr;
  const char* unit = std::strchr(name, '[');  // "datetime64[10us]"
  if (unit == nullptr) return PyUnicode_FromString("generic");
  return PyUnicode_FromStringAndSize(unit + 1, static_cast<Py_ssize_t>(std::strlen(unit)) - 2);
}
PyObject* get_fields(PyObject* self, void*) {
  State* s = state_of_type(Py_TYPE(self));
  const InternedType* t = interned_type(as_dtype(self)->value);
  if (s == nullptr) return nullptr;
  if (t == nullptr || t->ndim > 0) Py_RETURN_NONE;
  Ref all(PyTuple_New(t->n_fields));
  for (std::uint32_t i = 0; all && i < t->n_fields; ++i) {
    PyObject* type = dtype_object(*s, t->fields[i].dtype);
    if (type == nullptr) return nullptr;
    PyObject* row = Py_BuildValue("(sNL)", t->fields[i].name, type, static_cast<long long>(t->fields[i].offset));
    if (row == nullptr) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, row);
  }
  return all.release();
}
PyObject* get_base(PyObject* self, void*) {
  State* s = state_of_type(Py_TYPE(self));
  const InternedType* t = interned_type(as_dtype(self)->value);
  if (s == nullptr) return nullptr;
  return t != nullptr && t->ndim > 0 ? dtype_object(*s, t->base) : Py_NewRef(self);
}
PyObject* get_shape(PyObject* self, void*) {
  const InternedType* t = interned_type(as_dtype(self)->value);
  return t != nullptr ? tuple_of(t->shape, t->ndim) : PyTuple_New(0);
}

/// Pickled and copied by name; a struct or sub-array by its parts.
PyObject* reduce(PyObject* self, PyObject*) {
  const DType d = as_dtype(self)->value;
  if (d.code != TypeCode::interned) {
    PyObject* name = PyUnicode_FromFormat("%U%s", as_dtype(self)->name, d.padded() ? "_padded" : "");
    return Py_BuildValue("O(N)", Py_TYPE(self), name);
  }
  State* s = state_of_type(Py_TYPE(self));
  Ref rebuild(s != nullptr ? package_function(*s, "_rebuild", "dtype") : nullptr);
  if (!rebuild) return nullptr;
  const InternedType& t = *interned_type(d);
  if (t.ndim > 0) return Py_BuildValue("O(NN)", rebuild.get(), get_base(self, nullptr), get_shape(self, nullptr));
  return Py_BuildValue("O(NL)", rebuild.get(), get_fields(self, nullptr), static_cast<long long>(t.itemsize));
}

PyGetSetDef getset[] = {
    {"name", get_name, nullptr, "The name, e.g. 'float32', '>f8', 'datetime64[us]'.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of an element; for a packed one, those that hold one.", nullptr},
    {"kind", get_kind, nullptr, "The kind of element: 'int', 'float', 'bfloat', 'struct', ...", nullptr},
    {"bits", get_bits, nullptr, "Bits of one lane; complex counts both parts.", nullptr},
    {"lanes", get_lanes, nullptr, "Lanes of a vector element; 1 for all others.", nullptr},
    {"byteorder", get_byteorder, nullptr, "'=' the machine's, '<' or '>' the other one, '|' where there is none.",
     nullptr},
    {"unit", get_unit, nullptr, "Unit of a datetime64 or timedelta64, e.g. 'us' or '10us'; None for others.", nullptr},
    {"padded", get_padded, nullptr, "Whether each sub-byte element fills a byte of its own.", nullptr},
    {"fields", get_fields, nullptr, "Fields of a struct as (name, DType, offset in bytes); None for others.", nullptr},
    {"base", get_base, nullptr, "Element type of a sub-array; the type itself for others.", nullptr},
    {"shape", get_shape, nullptr, "Shape of a sub-array; () for others.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool dtype_type_init(State& s, PyObject* module) noexcept {
  PyType_Slot slots[] = {
      {Py_tp_doc,
       const_cast<char*>("DType(dtype)\n--\n\nAn element type. Immutable; equal to every spelling of its name and to "
                         "the dtype objects of NumPy, torch,\nJAX and ml_dtypes that mean the same.")},
      {Py_tp_new, reinterpret_cast<void*>(construct)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_str, reinterpret_cast<void*>(str)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
      {Py_tp_getset, getset},
      {Py_tp_methods, methods},
      {0, nullptr}};
  PyType_Spec spec = {"anyarray.DType", sizeof(DTypeObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE, slots};
  s.dtype_type = new_type(s, module, spec, nullptr);
  s.dtypes = PyDict_New();
  return s.dtype_type != nullptr && s.dtypes != nullptr &&
         PyModule_AddObjectRef(module, "DType", reinterpret_cast<PyObject*>(s.dtype_type)) == 0;
}

PyObject* dtype_object(State& s, DType d) noexcept {
  if (is_tabled(d)) {
    PyObject*& slot = s.scalar_dtypes[static_cast<unsigned>(d.code)][d.bits / 8];
    if (slot == nullptr) slot = make(s, d);
    return Py_XNewRef(slot);
  }
  unsigned long long bits = 0;
  std::memcpy(&bits, &d, sizeof d);
  Ref key(PyLong_FromUnsignedLongLong(bits));
  if (!key || s.dtypes == nullptr) return key ? make(s, d) : nullptr;
  if (PyObject* known = PyDict_GetItemWithError(s.dtypes, key.get())) return Py_NewRef(known);
  if (PyErr_Occurred() != nullptr) return nullptr;
  Ref made(make(s, d));
  // Strings of ever new lengths must not fill the memory.
  if (PyDict_GET_SIZE(s.dtypes) >= 1024) PyDict_Clear(s.dtypes);
  if (!made || PyDict_SetItem(s.dtypes, key.get(), made.get()) < 0) return nullptr;
  return made.release();
}

namespace {

KnownSpelling& spelling_slot(State& s, PyObject* o) noexcept {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(o) >> 4;
  return s.known_spellings[(address ^ address >> 6) % known_spellings_max];
}

/// Keeps what an object stands for, if it can't come to stand for something else: structs of NumPy can be changed in
/// place. Classes are kept alive so, but for those that live as long as their libraries.
void remember_spelling(State& s, PyObject* o, DType d) noexcept {
  const bool text = PyUnicode_CheckExact(o);
  const bool heap_class = PyType_Check(o) && (reinterpret_cast<PyTypeObject*>(o)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
  if (interned_type(d) != nullptr || heap_class || (PyUnicode_Check(o) && !text)) return;
  KnownSpelling& known = spelling_slot(s, o);
  known.dtype = d;
  Py_XDECREF(std::exchange(known.object, Py_NewRef(o)));
}

bool read_dtype(State& s, PyObject* o, DType* out) noexcept;

}  // namespace

bool dtype_from_object(State& s, PyObject* o, DType* out) noexcept {
  if (Py_IS_TYPE(o, s.dtype_type)) {
    *out = as_dtype(o)->value;
    return true;
  }
  const KnownSpelling& known = spelling_slot(s, o);
  if (known.object == o) {
    *out = known.dtype;
    return true;
  }
  if (!read_dtype(s, o, out)) return false;
  remember_spelling(s, o, *out);
  return true;
}

namespace {

bool read_dtype(State& s, PyObject* o, DType* out) noexcept {
  if (PyUnicode_Check(o)) {
    if (from_text(o, out) == 1) return true;
    PyErr_Format(
        PyExc_ValueError,
        "%R isn't the name of a dtype; names are like 'float32', 'uint8', 'bfloat16', 'float8_e4m3fn', 'bool', "
        "'complex64', '>f8', 'datetime64[us]', 'S5', 'U3', 'V7', 'float32x4'",
        o);
    return false;
  }
  const int found = from_foreign(s, o, out);
  if (found == 0) {
    PyErr_Format(
        PyExc_TypeError,
        "%.200s isn't a dtype; give a DType, a name such as 'float32', a dtype of NumPy, torch, JAX or ml_dtypes, "
        "or one of bool, int, float, complex",
        Py_TYPE(o)->tp_name);
  }
  return found == 1;
}

}  // namespace

PyObject* dtype_struct(PyObject* module, PyObject* args) {
  State& s = state_of_module(module);
  PyObject* rows = nullptr;
  long long itemsize = 0;
  if (!PyArg_ParseTuple(args, "O!L", &PyTuple_Type, &rows, &itemsize)) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(rows);
  auto* fields = static_cast<Field*>(PyMem_Calloc(static_cast<std::size_t>(n) + 1, sizeof(Field)));
  if (fields == nullptr) return PyErr_NoMemory();
  DType d;
  Reason why;
  PyObject* result = nullptr;
  Py_ssize_t i = 0;
  for (; i < n; ++i) {
    PyObject* type = nullptr;
    long long offset = 0;
    PyObject* row = PyTuple_GET_ITEM(rows, i);
    if (!PyTuple_Check(row) || !PyArg_ParseTuple(row, "sO!L", &fields[i].name, s.dtype_type, &type, &offset)) {
      if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "a field is a tuple (name, DType, offset)");
      break;
    }
    fields[i].dtype = as_dtype(type)->value;
    fields[i].offset = offset;
  }
  if (i == n) {
    if (intern_struct(fields, static_cast<std::uint32_t>(n), itemsize, &d, &why) == Status::ok) {
      result = dtype_object(s, d);
    } else {
      PyErr_SetString(PyExc_ValueError, why.text);
    }
  }
  PyMem_Free(fields);
  return result;
}

PyObject* dtype_subarray(PyObject* module, PyObject* args) {
  State& s = state_of_module(module);
  PyObject *base = nullptr, *shape = nullptr;
  if (!PyArg_ParseTuple(args, "O!O!", s.dtype_type, &base, &PyTuple_Type, &shape)) return nullptr;
  const Py_ssize_t n = PyTuple_GET_SIZE(shape);
  if (n == 0 || n > max_ndim) return PyErr_Format(PyExc_ValueError, "a sub-array has 1 to %d dimensions", max_ndim);
  std::int64_t extents[max_ndim];
  for (Py_ssize_t i = 0; i < n; ++i) {
    extents[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    if (extents[i] == -1 && PyErr_Occurred() != nullptr) return nullptr;
  }
  DType d;
  Reason why;
  if (intern_subarray(as_dtype(base)->value, static_cast<std::int32_t>(n), extents, &d, &why) != Status::ok) {
    PyErr_SetString(PyExc_ValueError, why.text);
    return nullptr;
  }
  return dtype_object(s, d);
}

}  // namespace anyarray
