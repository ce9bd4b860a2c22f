// SPDX-License-Identifier: Apache-2.0
#include "src/support/interface_dict.h"

#include <cstring>

#include "anyarray/protocols/typestr.h"
#include "src/core/type_string.h"
#include "src/support/dict_items.h"
#include "src/support/field_list.h"

namespace anyarray {
namespace {

/// The value of an exact, positive int of two digits, which addresses mostly are, without a call.
inline bool two_digits([[maybe_unused]] PyObject* o, [[maybe_unused]] std::uintptr_t* out) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  if (!PyLong_CheckExact(o) || Py_SIZE(o) != 2 || sizeof(std::uintptr_t) < 8) return false;
  const digit* digits = reinterpret_cast<const PyLongObject*>(o)->ob_digit;
  *out = digits[0] | static_cast<std::uintptr_t>(digits[1]) << PyLong_SHIFT;
  return true;
#else
  return false;
#endif
}

/// The values of a tuple of ints of one digit; false where another object is among them.
inline bool short_ints(PyObject* tuple, std::int64_t* out, Py_ssize_t n) noexcept {
  bool all = true;
  for (Py_ssize_t i = 0; i < n; ++i) all &= short_int(PyTuple_GET_ITEM(tuple, i), &out[i]);
  return all;
}

const char* type_name(PyObject* o) noexcept { return Py_TYPE(o)->tp_name; }

/// Characters of a str or bytes, or null (without an error).
const char* text_of(PyObject* o, Py_ssize_t* length) noexcept {
  if (PyUnicode_Check(o)) {
    if (__builtin_expect(PyUnicode_IS_COMPACT_ASCII(o), 1)) {
      *length = PyUnicode_GET_LENGTH(o);
      return static_cast<const char*>(PyUnicode_DATA(o));
    }
    const char* text = PyUnicode_AsUTF8AndSize(o, length);
    if (text == nullptr) PyErr_Clear();
    return text;
  }
  if (!PyBytes_Check(o)) return nullptr;
  *length = PyBytes_GET_SIZE(o);
  return PyBytes_AS_STRING(o);
}

Status read_typestr(PyObject* value, const char* key, DType* out, Failure& why) noexcept {
  Py_ssize_t n = 0;
  const char* text = text_of(value, &n);
  if (n == 3 && text != nullptr && read_short_type_string(text, out)) return Status::ok;
  if (text == nullptr) {
    return because(Status::invalid, &why.reason, "%s must be a type string as '<f4', not %.100s", key,
                   type_name(value));
  }
  const Status s = typestr::decode(text, static_cast<std::size_t>(n), out, &why.reason);
  if (s == Status::invalid && std::memchr(text, '(', static_cast<std::size_t>(n)) != nullptr) {
    // What NumPy writes for dtypes that no type string can say, as "StringDType()".
    return because(Status::unsupported, &why.reason,
                   "%s '%.100s' is the name of a dtype that has no type string; use .astype()", key, text);
  }
  return s;
}

/// Reads `descr` lists, nested ones too.
class DescrReader {
 public:
  /// With `sizes_only` nothing is interned: dtypes are void of the right size, which tells a descr that doesn't fit.
  DescrReader(bool sizes_only, Failure& why) noexcept : why_(why), sizes_only_(sizes_only) {}
  /// `size` is what the fields add up to.
  Status read_list(PyObject* descr, int depth, DType* out, std::int64_t* size) noexcept;

 private:
  Status read_field(PyObject* field, Py_ssize_t index, int depth, FieldList& list, std::int64_t* offset) noexcept;
  Status read_shape(PyObject* shape, DType* dtype) noexcept;
  Status bad(const char* what) noexcept {
    return because(Status::invalid, &why_.reason, "'descr' isn't a list of (name, type[, shape]): %s", what);
  }
  Status only_size(std::int64_t size, DType* out) noexcept {
    if (size > UINT32_MAX) return bad("a part of it has over 2^32-1 bytes");
    *out = make_void(static_cast<std::uint32_t>(size));
    return Status::ok;
  }
  Failure& why_;
  bool sizes_only_;
  int budget_ = max_fields;
};

Status DescrReader::read_list(PyObject* descr, int depth, DType* out, std::int64_t* size) noexcept {
  if (depth > max_nesting) return bad("it is nested over 16 deep");
  if (!PyList_Check(descr)) return bad("it is no list");
  Ref fields(PyList_AsTuple(descr));  // the list itself may change while it is read
  if (!fields) return producer_raised(why_);
  FieldList list;
  std::int64_t offset = 0;
  const Py_ssize_t n = PyTuple_GET_SIZE(fields.get());
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Status s = read_field(PyTuple_GET_ITEM(fields.get(), i), i, depth, list, &offset);
    if (s != Status::ok) return s;
  }
  *size = offset;
  if (list.size() > 0) return sizes_only_ ? only_size(offset, out) : list.intern(offset, out, &why_.reason);
  if (offset > UINT32_MAX) return bad("it is nothing but padding, of over 2^32-1 bytes");
  *out = make_void(static_cast<std::uint32_t>(offset));
  return Status::ok;
}

Status DescrReader::read_field(PyObject* field, Py_ssize_t index, int depth, FieldList& list,
                               std::int64_t* offset) noexcept {
  const Py_ssize_t n = PyTuple_Check(field) ? PyTuple_GET_SIZE(field) : 0;
  if (n != 2 && n != 3) return bad("an entry is no tuple of 2 or 3");
  if (--budget_ < 0) return bad("it has over 65,536 fields");
  PyObject* name = PyTuple_GET_ITEM(field, 0);
  if (PyTuple_Check(name) && PyTuple_GET_SIZE(name) == 2) name = PyTuple_GET_ITEM(name, 1);
  if (!PyUnicode_Check(name)) return bad("a name is neither a str nor (title, name)");
  PyObject* type = PyTuple_GET_ITEM(field, 1);
  DType dtype;
  std::int64_t ignored = 0;
  Status s = PyList_Check(type) ? read_list(type, depth + 1, &dtype, &ignored)
                                : read_typestr(type, "a type in 'descr'", &dtype, why_);
  if (s == Status::ok && n == 3) s = read_shape(PyTuple_GET_ITEM(field, 2), &dtype);
  if (s != Status::ok) return s;
  const bool padding = dtype.code == TypeCode::void_ && PyUnicode_GET_LENGTH(name) == 0;
  if (!padding) {
    // NumPy's names for fields without one.
    Ref made(PyUnicode_GET_LENGTH(name) == 0 ? PyUnicode_FromFormat("f%zd", index) : nullptr);
    if (PyErr_Occurred() != nullptr) return producer_raised(why_);
    s = list.add(made ? made.get() : name, dtype, *offset, &why_.reason);
    if (s != Status::ok) return s;
  }
  return __builtin_add_overflow(*offset, dtype.itemsize(), offset) ? bad("its size overflows") : Status::ok;
}

Status DescrReader::read_shape(PyObject* shape, DType* dtype) noexcept {
  std::int64_t extents[max_ndim];
  const bool tuple = PyTuple_Check(shape);
  const Py_ssize_t n = tuple ? PyTuple_GET_SIZE(shape) : 1;
  if (n == 0) return Status::ok;
  if (n > max_ndim) return bad("a shape has over 64 dimensions");
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* extent = tuple ? PyTuple_GET_ITEM(shape, i) : shape;
    int overflow = 0;
    if (!PyLong_Check(extent) || PyBool_Check(extent)) return bad("a shape isn't made of ints");
    extents[i] = PyLong_AsLongLongAndOverflow(extent, &overflow);
    if (overflow != 0) return bad("a shape has an int of over 64 bits");
  }
  if (!sizes_only_) return intern_subarray(*dtype, static_cast<std::int32_t>(n), extents, dtype, &why_.reason);
  std::int64_t size = 0;
  if (!element_count(static_cast<int>(n), extents, &size) || __builtin_mul_overflow(size, dtype->itemsize(), &size)) {
    return bad("a shape has a negative extent, or more elements than 64 bits can count");
  }
  return only_size(size, dtype);
}

}  // namespace

Status read_descr(PyObject* descr, std::int64_t itemsize, DType* out, Failure& why) noexcept {
  // First the size alone: what is refused leaves nothing in the table of interned types, which is never emptied.
  std::int64_t size = 0;
  DType dtype;
  Status s = DescrReader(true, why).read_list(descr, 0, &dtype, &size);
  if (s == Status::ok && size == itemsize) s = DescrReader(false, why).read_list(descr, 0, &dtype, &size);
  if (s != Status::ok) return s;
  if (size != itemsize) {
    return because(Status::invalid, &why.reason, "'descr' adds up to %lld bytes, but the type string says %lld",
                   static_cast<long long>(size), static_cast<long long>(itemsize));
  }
  *out = dtype;
  return Status::ok;
}

InterfaceDict::InterfaceDict(const Context& cx, PyObject* dict) noexcept {
  const Names& names = cx.names;
  for_each_item(cx, dict, [&](PyObject* key, PyObject* value) {
    // Keys of literals and keywords are interned: their addresses tell, in the order in which they are common.
    Key known = key == names.shape     ? key_shape
                : key == names.typestr ? key_typestr
                : key == names.data    ? key_data
                : key == names.strides ? key_strides
                : key == names.version ? key_version
                : key == names.descr   ? key_descr
                : key == names.stream  ? key_stream
                : key == names.mask    ? key_mask
                : key == names.offset  ? key_offset
                                       : key_count;
    if (__builtin_expect(known == key_count, 0)) known = find_key(names, key);
    if (value != Py_None) values_[known] = value;
  });
}

/// The key of this text, interned or not; key_count for all others.
__attribute__((noinline)) InterfaceDict::Key InterfaceDict::find_key(const Names& names, PyObject* key) noexcept {
  if (!PyUnicode_Check(key)) return key_count;
  PyObject* const keys[key_count] = {names.shape, names.typestr, names.data,   names.strides, names.version,
                                     names.descr, names.mask,    names.offset, names.stream};
  int i = 0;
  while (i < key_count && PyUnicode_Compare(key, keys[i]) != 0) ++i;
  return static_cast<Key>(i);
}

void InterfaceDict::hold_values() noexcept {
  if (held_) return;
  held_ = true;
  values_[key_count] = nullptr;  // of keys that aren't known
  for (PyObject* value : values_) Py_XINCREF(value);
}

void InterfaceDict::let_go_of_values() noexcept {
  for (PyObject* value : values_) Py_XDECREF(value);
}

Status InterfaceDict::other_integer(PyObject* value, const char* key, std::int64_t* out, Failure& why) noexcept {
  Ref number;
  if (!PyLong_CheckExact(value)) {
    if (PyBool_Check(value) || !PyIndex_Check(value)) {
      return because(Status::invalid, &why.reason, "'%s' must be made of ints, not of %.100s", key, type_name(value));
    }
    hold_values();
    number = Ref(PyNumber_Index(value));
    if (!number) return producer_raised(why);
    value = number.get();
  }
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow == 0) return Status::ok;
  return because(Status::invalid, &why.reason, "'%s' has an int of over 64 bits", key);
}

Status InterfaceDict::integers(PyObject* tuple, const char* key, std::int64_t* out, Py_ssize_t n,
                               Failure& why) noexcept {
  for (Py_ssize_t i = 0; i < n; ++i) {
    const Status s = integer(PyTuple_GET_ITEM(tuple, i), key, &out[i], why);
    if (s != Status::ok) return s;
  }
  return Status::ok;
}

Status InterfaceDict::dtype(DType* out, Failure& why) noexcept {
  if (values_[key_typestr] == nullptr) {
    return because(Status::invalid, &why.reason, "the dict has no 'typestr'");
  }
  const Status s = read_typestr(values_[key_typestr], "'typestr'", out, why);
  if (s != Status::ok || out->code != TypeCode::void_ || values_[key_descr] == nullptr) return s;
  hold_values();
  PyObject* const descr = values_[key_descr];
  if (PyList_Check(descr)) return read_descr(descr, out->itemsize(), out, why);
  Ref list(PyObject_GetAttrString(descr, "descr"));  // a NumPy dtype, which NumPy takes as well
  if (!list) {
    if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return producer_raised(why);
    PyErr_Clear();
    list = Ref::borrow(descr);
  }
  return read_descr(list.get(), out->itemsize(), out, why);
}

Status InterfaceDict::layout(const Request& request, Borrow& out, Failure& why) noexcept {
  if (values_[key_mask] != nullptr && (request.allow & waive_mask) == 0) {
    return because(Status::guarded, &why.reason,
                   "the array has a mask, and a view would drop it: fill in the masked elements first, or take the "
                   "data as it lies with allow=(\"mask\",)");
  }
  PyObject* const shape = values_[key_shape];
  if (shape == nullptr || !PyTuple_Check(shape)) {
    return shape == nullptr
               ? because(Status::invalid, &why.reason, "the dict has no 'shape'")
               : because(Status::invalid, &why.reason, "'shape' must be a tuple, not %.100s", type_name(shape));
  }
  PyObject* const strides = values_[key_strides];
  const Py_ssize_t n = PyTuple_GET_SIZE(shape);
  if (n > max_ndim) {
    return because(Status::invalid, &why.reason, "'shape' has %zd dimensions, over the limit of %d", n, max_ndim);
  }
  if (strides != nullptr && (!PyTuple_Check(strides) || PyTuple_GET_SIZE(strides) != n)) {
    return because(Status::invalid, &why.reason, "'strides' must be None or a tuple as long as 'shape' (%zd)", n);
  }
  DType type;
  Status s = dtype(&type, why);
  if (s != Status::ok) return s;
  std::int64_t* const extents = reserve_dims(out, static_cast<int>(n));
  if (extents == nullptr) return Status::no_memory;
  std::int64_t* const steps = extents + n;
  if (!short_ints(shape, extents, n)) s = integers(shape, "shape", extents, n, why);
  if (s == Status::ok && strides != nullptr && !short_ints(strides, steps, n)) {
    s = integers(strides, "strides", steps, n, why);
  }
  if (s == Status::ok && strides == nullptr && !c_strides(static_cast<int>(n), extents, type.itemsize(), steps)) {
    s = because(Status::invalid, &why.reason, "'shape' is larger than 64 bits can address");
  }
  if (s != Status::ok) {
    drop_dims(out);
    return s;
  }
  out.desc.dtype = type;
  return Status::ok;
}

Status InterfaceDict::elements_to_bytes(Borrow& out, Failure& why) noexcept {
  if (values_[key_strides] == nullptr) return Status::ok;  // they were made, in bytes
  auto* const steps = const_cast<std::int64_t*>(out.desc.strides);
  const int wide = strides_to_bytes(out.desc.ndim, out.desc.shape, out.desc.dtype.itemsize(), steps);
  if (wide < 0) return Status::ok;
  return because(Status::invalid, &why.reason, "the stride of %lld elements in dimension %d overflows in bytes",
                 static_cast<long long>(steps[wide]), wide);
}

Status InterfaceDict::no_device_address(Descriptor& d, Failure& why) noexcept {
  std::int64_t size = 0;
  d.data = nullptr;
  d.flags = 0;
  const bool empty = element_count(d.ndim, d.shape, &size) && size == 0;
  if (data() == nullptr) {
    if (empty) return Status::ok;
    return because(Status::invalid, &why.reason, "the dict has no 'data', which only an array of size 0 may lack");
  }
  std::uintptr_t pointer = 0;
  bool readonly = false;
  const Status s = address(empty, &pointer, &readonly, why);
  if (readonly) d.flags = flag_readonly;
  return s;
}

Status InterfaceDict::refuse_version(std::int64_t version, const char* interface, int oldest, int newest,
                                     Failure& why) noexcept {
  if (version > newest) {
    return because(Status::unsupported, &why.reason, "version %lld of %s is newer than %d",
                   static_cast<long long>(version), interface, newest);
  }
  if (version < 0) return because(Status::invalid, &why.reason, "'version' is negative");
  return because(Status::invalid, &why.reason, "'version' is %lld, but the versions of %s begin at %d",
                 static_cast<long long>(version), interface, oldest);
}

Status InterfaceDict::address(bool may_be_none, std::uintptr_t* pointer, bool* readonly, Failure& why) noexcept {
  PyObject* const data = values_[key_data];
  if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2) {
    return because(Status::invalid, &why.reason, "'data' must be a tuple (address, read-only), not %.100s",
                   PyTuple_Check(data) ? "one of another length" : type_name(data));
  }
  PyObject* number = PyTuple_GET_ITEM(data, 0);
  Ref index;
  if (number == Py_None && may_be_none) {
    *pointer = 0;
  } else if (!two_digits(number, pointer)) {
    if (!PyLong_CheckExact(number)) {
      if (PyBool_Check(number) || !PyIndex_Check(number)) {
        return because(Status::invalid, &why.reason, "the address in 'data' must be an int, not %.100s",
                       type_name(number));
      }
      hold_values();
      index = Ref(PyNumber_Index(number));
      if (!index) return producer_raised(why);
      number = index.get();
    }
    *pointer = PyLong_AsSize_t(number);
    if (*pointer == static_cast<std::size_t>(-1) && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return because(Status::invalid, &why.reason, "the address in 'data' is negative or too large for a pointer");
    }
  }
  PyObject* const flag = PyTuple_GET_ITEM(data, 1);
  if (PyBool_Check(flag)) {
    *readonly = flag == Py_True;
    return Status::ok;
  }
  hold_values();
  const int truth = PyObject_IsTrue(flag);
  if (truth < 0) return producer_raised(why);
  *readonly = truth != 0;
  return Status::ok;
}

}  // namespace anyarray
