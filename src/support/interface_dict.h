// SPDX-License-Identifier: Apache-2.0
// The dict of __array_interface__, __cuda_array_interface__ and __sycl_usm_array_interface__, as far as they agree:
// shape, typestr, strides, descr, mask, and (address, read-only); and what the two of devices share besides. Used by
// their adapters; __array_struct__ uses read_descr().
#pragma once
#include <cstdint>

#include "src/support/context.h"

namespace anyarray {

/// The value of an exact int of one digit, which extents and strides mostly are, without a call.
inline bool short_int(PyObject* o, std::int64_t* out) noexcept {
  if (!PyLong_CheckExact(o)) return false;
  const auto* number = reinterpret_cast<const PyLongObject*>(o);
#if PY_VERSION_HEX >= 0x030C0000
  if (!PyUnstable_Long_IsCompact(number)) return false;
  *out = PyUnstable_Long_CompactValue(number);
#else
  const Py_ssize_t digits = Py_SIZE(o);
  if (digits < -1 || digits > 1) return false;
  *out = digits * static_cast<std::int64_t>(number->ob_digit[0]);
#endif
  return true;
}

/// The values under the keys that are known. They are borrowed from the dict, which the caller holds, and become
/// strong references before anything is done that can run code of others (which could change the dict).
class InterfaceDict {
 public:
  /// One pass over the dict, which runs no code of others. Precondition: PyDict_Check(dict).
  InterfaceDict(const Context& cx, PyObject* dict) noexcept;
  ~InterfaceDict() {
    if (held_) let_go_of_values();
  }
  InterfaceDict(const InterfaceDict&) = delete;
  InterfaceDict& operator=(const InterfaceDict&) = delete;

  /// Fills dtype, shape and strides (as the dict has them, or row-major in bytes) of `out.desc`; guarded for a mask
  /// that isn't waived. On failure no dims are left reserved.
  Status layout(const Request& request, Borrow& out, Failure& why) noexcept;

  /// Reads `data` as a tuple (address, read-only). With `may_be_none`, an address of None counts as 0.
  Status address(bool may_be_none, std::uintptr_t* pointer, bool* readonly, Failure& why) noexcept;

  /// For layouts whose dict counts strides in elements: makes them bytes. invalid where one overflows.
  Status elements_to_bytes(Borrow& out, Failure& why) noexcept;

  /// The address of device memory and its flag, read-only, for `d`, whose layout is known. An array of size 0 may do
  /// without either.
  Status device_address(Descriptor& d, Failure& why) noexcept {
    if (__builtin_expect(data() == nullptr || address_is_none(), 0)) return no_device_address(d, why);
    std::uintptr_t pointer = 0;
    bool readonly = false;
    const Status s = address(false, &pointer, &readonly, why);
    d.data = reinterpret_cast<void*>(pointer);
    d.flags = readonly ? unsigned{flag_readonly} : 0u;
    return s;
  }

  /// Reads an int (or what has __index__, but no bool) of 64 bits; invalid names the key otherwise.
  Status integer(PyObject* value, const char* key, std::int64_t* out, Failure& why) noexcept {
    return __builtin_expect(short_int(value, out), 1) ? Status::ok : other_integer(value, key, out, why);
  }

  /// Checks `version`, which is there: invalid unless it is an int from `oldest` on, unsupported where it is newer than
  /// `newest`. `interface` is the attribute's name.
  Status check_version(const char* interface, int oldest, int newest, Failure& why) noexcept {
    std::int64_t version = 0;
    const Status s = integer(values_[key_version], "version", &version, why);
    if (s != Status::ok || (version >= oldest && version <= newest)) return s;
    return refuse_version(version, interface, oldest, newest, why);
  }

  /// Makes the values strong references.
  void hold_values() noexcept;

  // Null where the key is missing or None.
  PyObject* data() const noexcept { return values_[key_data]; }
  bool address_is_none() const noexcept {
    PyObject* const data = values_[key_data];
    return PyTuple_Check(data) && PyTuple_GET_SIZE(data) == 2 && PyTuple_GET_ITEM(data, 0) == Py_None;
  }
  PyObject* offset() const noexcept { return values_[key_offset]; }
  PyObject* version() const noexcept { return values_[key_version]; }
  PyObject* stream() const noexcept { return values_[key_stream]; }

 private:
  enum Key {
    key_shape,
    key_typestr,
    key_data,
    key_strides,
    key_version,
    key_descr,
    key_mask,
    key_offset,
    key_stream,
    key_count
  };

  Status dtype(DType* out, Failure& why) noexcept;
  Status no_device_address(Descriptor& d, Failure& why) noexcept;
  static Status refuse_version(std::int64_t version, const char* interface, int oldest, int newest,
                               Failure& why) noexcept;
  static Key find_key(const Names& names, PyObject* key) noexcept;
  Status integers(PyObject* tuple, const char* key, std::int64_t* out, Py_ssize_t n, Failure& why) noexcept;
  Status other_integer(PyObject* value, const char* key, std::int64_t* out, Failure& why) noexcept;
  void let_go_of_values() noexcept;

  PyObject* values_[key_count + 1] = {};  ///< the last one is of keys that aren't known
  bool held_ = false;
};

/// A `descr` list, as the array interface defines it: tuples (name or (title, name), typestr or list[, shape]),
/// one behind the other without gaps; an empty name with a void type is padding. Gives a struct of `itemsize`
/// bytes; plain void where it names no field. invalid: another size, or not of this form.
Status read_descr(PyObject* descr, std::int64_t itemsize, DType* out, Failure& why) noexcept;

}  // namespace anyarray
