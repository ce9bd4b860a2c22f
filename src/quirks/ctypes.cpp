// SPDX-License-Identifier: Apache-2.0
// The dtype of a ctypes object from its class. The formats that ctypes writes can't be relied upon: before CPython
// 3.12 they leave padding out, packed structs and unions are 'B', and bit fields and the fields of base classes
// don't show. The class says all of it: the descriptors' offsets and sizes, sizeof, the letters of simple types.
#include "anyarray/protocols/pep3118.h"
#include "src/core/dtype_table.h"
#include "src/quirks/hooks.h"
#include "src/support/field_list.h"

namespace anyarray::quirks {
namespace {

class Reader {
 public:
  explicit Reader(Failure& why) noexcept : why_(why) {}

  /// Looks up the classes that ctypes builds everything on.
  Status open() noexcept {
    const struct {
      const char* name;
      Ref* out;
    } wanted[] = {{"Structure", &structure_},
                  {"Union", &union_},
                  {"Array", &array_},
                  {"_SimpleCData", &simple_},
                  {"sizeof", &sizeof_}};
    for (const auto& w : wanted) {
      *w.out = Ref::borrow(loaded("_ctypes", w.name));
      const bool good = *w.out && (w.out == &sizeof_ || PyType_Check(w.out->get()));
      if (!good) return because(Status::failed, &why_.reason, "_ctypes.%s isn't what it should be", w.name);
    }
    return Status::ok;
  }

  /// The element's dtype: what is left of a class without the array dimensions outside, which are the buffer's shape.
  Status element(PyTypeObject* type, DType* out) noexcept {
    Ref held = Ref::borrow(reinterpret_cast<PyObject*>(type));
    for (int i = 0; i <= max_ndim && is(held.get(), array_); ++i) {
      held = Ref(PyObject_GetAttrString(held.get(), "_type_"));
      if (!held) return producer_raised(why_);
    }
    return any(held.get(), 0, out);
  }

 private:
  static bool is(PyObject* type, const Ref& base) noexcept {
    return PyType_Check(type) != 0 &&
           PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), reinterpret_cast<PyTypeObject*>(base.get())) != 0;
  }
  static const char* name_of(PyObject* type) noexcept {
    return PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type)->tp_name : Py_TYPE(type)->tp_name;
  }

  /// A number of ctypes' own; `text` says what it is.
  Status whole_number(PyObject* number, const char* text, std::int64_t* out) noexcept {
    if (number == nullptr) return producer_raised(why_);
    *out = PyLong_AsLongLong(number);
    if (*out == -1 && PyErr_Occurred() != nullptr) return producer_raised(why_);
    return *out >= 0 ? Status::ok : because(Status::invalid, &why_.reason, "ctypes says a negative %s", text);
  }
  Status attribute(PyObject* obj, const char* name, std::int64_t* out) noexcept {
    return whole_number(Ref(PyObject_GetAttrString(obj, name)).get(), name, out);
  }
  Status size_of(PyObject* type, std::int64_t* out) noexcept {
    return whole_number(Ref(PyObject_CallOneArg(sizeof_.get(), type)).get(), "size", out);
  }

  Status any(PyObject* type, int depth, DType* out) noexcept {
    if (depth > max_nesting)
      return because(Status::invalid, &why_.reason, "ctypes types nested over %d deep", max_nesting);
    if (--budget_ < 0) return because(Status::invalid, &why_.reason, "a ctypes type of over %d fields", max_fields);
    Status s = Status::unsupported;
    if (is(type, simple_)) {
      s = simple(type, out);
    } else if (is(type, array_)) {
      s = array(type, depth, out);
    } else if (is(type, structure_) || is(type, union_)) {
      s = structure(type, depth, out);
    } else {
      return because(s, &why_.reason, "%.100s holds an address (a pointer or a function): not to be taken as a value",
                     name_of(type));
    }
    std::int64_t size = 0;
    if (s == Status::ok) s = size_of(type, &size);
    if (s != Status::ok || out->itemsize() == size) return s;
    return because(Status::invalid, &why_.reason,
                   "%.100s was changed after it was made: its parts have %lld bytes, not %lld", name_of(type),
                   static_cast<long long>(out->itemsize()), static_cast<long long>(size));
  }

  Status simple(PyObject* type, DType* out) noexcept {
    Ref letter(PyObject_GetAttrString(type, "_type_"));
    const char* text = letter ? PyUnicode_AsUTF8(letter.get()) : nullptr;
    if (text == nullptr) return producer_raised(why_);
    std::int64_t size = 0;
    if (const Status s = size_of(type, &size); s != Status::ok) return s;
    if (pep3118::decode_format(text, static_cast<std::ptrdiff_t>(size), out, nullptr) != Status::ok) {
      return because(Status::unsupported, &why_.reason,
                     "%.100s (ctypes' '%.4s') has no dtype: not a number or text in place", name_of(type), text);
    }
    bool swapped = false;
    if (const Status s = is_swapped(type, &swapped); s != Status::ok) return s;
    if (swapped && has_byte_order(*out)) *out = out->with_swapped(true);
    return Status::ok;
  }

  /// A type in the other byte order is its own twin of that order, and isn't its twin of the machine's.
  Status is_swapped(PyObject* type, bool* out) noexcept {
    PyObject* twin[2] = {nullptr, nullptr};
    const char* const names[2] = {little_endian ? "__ctype_le__" : "__ctype_be__",
                                  little_endian ? "__ctype_be__" : "__ctype_le__"};
    for (int i = 0; i < 2; ++i) {
      Ref name(PyUnicode_FromString(names[i]));
      if (!name || lookup_attribute(type, name.get(), &twin[i]) < 0) {
        Py_XDECREF(twin[0]);
        return producer_raised(why_);
      }
    }
    *out = twin[1] == type && twin[0] != type;
    Py_XDECREF(twin[0]);
    Py_XDECREF(twin[1]);
    return Status::ok;
  }

  Status array(PyObject* type, int depth, DType* out) noexcept {
    Ref inner(PyObject_GetAttrString(type, "_type_"));
    if (!inner) return producer_raised(why_);
    std::int64_t length = 0;
    if (const Status s = attribute(type, "_length_", &length); s != Status::ok) return s;
    DType element;
    if (const Status s = any(inner.get(), depth + 1, &element); s != Status::ok) return s;
    return intern_subarray(element, 1, &length, out, &why_.reason);
  }

  /// Structure or Union, the fields of its bases first.
  Status structure(PyObject* type, int depth, DType* out) noexcept {
    FieldList fields;
    PyObject* const mro = reinterpret_cast<PyTypeObject*>(type)->tp_mro;
    Ref held = Ref::borrow(mro);
    for (Py_ssize_t i = PyTuple_GET_SIZE(mro) - 1; i >= 0; --i) {
      if (const Status s = own_fields(PyTuple_GET_ITEM(mro, i), depth, &fields); s != Status::ok) return s;
    }
    std::int64_t size = 0;
    if (const Status s = size_of(type, &size); s != Status::ok) return s;
    return fields.intern(size, out, &why_.reason);
  }

  /// What one class of the line adds.
  Status own_fields(PyObject* cls, int depth, FieldList* fields) noexcept {
    if (!is(cls, structure_) && !is(cls, union_)) return Status::ok;
    Ref dict(PyObject_GetAttrString(cls, "__dict__"));
    if (!dict) return producer_raised(why_);
    Ref list(PyMapping_GetItemString(dict.get(), "_fields_"));
    if (!list) {
      if (PyErr_ExceptionMatches(PyExc_KeyError) == 0) return producer_raised(why_);
      PyErr_Clear();
      return Status::ok;
    }
    Ref items(PySequence_Tuple(list.get()));
    if (!items) return producer_raised(why_);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
      const Status s = field(PyTuple_GET_ITEM(items.get(), i), dict.get(), depth, fields);
      if (s != Status::ok) return s;
    }
    return Status::ok;
  }

  /// (name, type) or (name, type, bits).
  Status field(PyObject* item, PyObject* dict, int depth, FieldList* fields) noexcept {
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) < 2 || !PyUnicode_Check(PyTuple_GET_ITEM(item, 0))) {
      return because(Status::invalid, &why_.reason, "an entry of _fields_ that isn't a tuple (name, type)");
    }
    PyObject* const name = PyTuple_GET_ITEM(item, 0);
    if (PyTuple_GET_SIZE(item) > 2) {
      const char* text = PyUnicode_AsUTF8(name);
      if (text == nullptr) PyErr_Clear();
      return because(Status::unsupported, &why_.reason, "field '%.80s' is a bit field: a dtype has whole bytes alone",
                     text != nullptr ? text : "?");
    }
    DType dtype;
    if (const Status s = any(PyTuple_GET_ITEM(item, 1), depth + 1, &dtype); s != Status::ok) return s;
    Ref descriptor(PyObject_GetItem(dict, name));
    if (!descriptor) return producer_raised(why_);
    std::int64_t offset = 0;
    std::int64_t size = 0;
    Status s = attribute(descriptor.get(), "offset", &offset);
    if (s == Status::ok) s = attribute(descriptor.get(), "size", &size);
    if (s != Status::ok) return s;
    if (size != dtype.itemsize()) {
      return because(Status::invalid, &why_.reason, "a field of %lld bytes whose type has %lld",
                     static_cast<long long>(size), static_cast<long long>(dtype.itemsize()));
    }
    return fields->add(name, dtype, offset, &why_.reason);
  }

  Failure& why_;
  int budget_ = max_fields;
  Ref structure_, union_, array_, simple_, sizeof_;
};

}  // namespace

Status ctypes_dtype(Context&, PyObject* exporter, DType* out, Failure& why) noexcept {
  if (PyMemoryView_Check(exporter)) {  // the object behind it, unless its format was changed by a cast
    const auto* mv = reinterpret_cast<const PyMemoryViewObject*>(exporter);
    if (mv->view.obj == nullptr || mv->view.format != mv->mbuf->master.format) return Status::not_offered;
    exporter = mv->view.obj;
  }
  PyObject* simple = loaded("_ctypes", "_SimpleCData");
  if (simple == nullptr || !PyType_Check(simple)) return Status::not_offered;
  PyTypeObject* const data = reinterpret_cast<PyTypeObject*>(simple)->tp_base;  // what all types of ctypes come from
  if (data == nullptr || !PyType_IsSubtype(Py_TYPE(exporter), data)) return Status::not_offered;
  Reader reader(why);
  const Status s = reader.open();
  return s == Status::ok ? reader.element(Py_TYPE(exporter), out) : s;
}

}  // namespace anyarray::quirks
