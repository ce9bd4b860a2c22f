// SPDX-License-Identifier: Apache-2.0
// The fields of a struct dtype while it is being read from Python objects: names are kept alive until they are
// interned. Used by numpy_struct.cpp, interface_dict.cpp and src/quirks/ctypes.cpp.
#pragma once
#include <cstdlib>
#include <cstring>

#include "anyarray/dtype.h"
#include "src/support/py.h"

namespace anyarray {

/// Fields that one dtype may have in all. Structs that share their parts have few objects and any number of fields.
inline constexpr int max_fields = 65536;

/// Grows as needed; frees itself.
class FieldList {
 public:
  FieldList() noexcept = default;
  ~FieldList() {
    for (std::uint32_t i = 0; i < n_; ++i) Py_DECREF(names_[i]);
    std::free(names_);
    std::free(fields_);
  }
  FieldList(const FieldList&) = delete;
  FieldList& operator=(const FieldList&) = delete;

  /// Appends a field. unsupported: a name that isn't text without NUL.
  Status add(PyObject* name, DType dtype, std::int64_t offset, Reason* why) noexcept {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &length) : nullptr;
    if (text == nullptr || std::strlen(text) != static_cast<std::size_t>(length)) {
      PyErr_Clear();
      return because(Status::unsupported, why, "the name of field %u isn't text that UTF-8 without NUL can hold",
                     static_cast<unsigned>(n_));
    }
    if (n_ == capacity_ && !grow()) return Status::no_memory;
    Py_INCREF(name);
    names_[n_] = name;
    fields_[n_++] = Field{text, dtype, offset};
    return Status::ok;
  }
  Status intern(std::int64_t itemsize, DType* out, Reason* why) const noexcept {
    return intern_struct(fields_, n_, itemsize, out, why);
  }
  std::uint32_t size() const noexcept { return n_; }

 private:
  bool grow() noexcept {
    const std::uint32_t capacity = capacity_ == 0 ? 8 : 2 * capacity_;
    auto* fields = static_cast<Field*>(std::realloc(fields_, capacity * sizeof(Field)));
    if (fields == nullptr) return false;
    fields_ = fields;
    auto* names = static_cast<PyObject**>(std::realloc(names_, capacity * sizeof(PyObject*)));
    if (names == nullptr) return false;
    names_ = names;
    capacity_ = capacity;
    return true;
  }

  Field* fields_ = nullptr;
  PyObject** names_ = nullptr;
  std::uint32_t n_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace anyarray
