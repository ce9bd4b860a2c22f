// SPDX-License-Identifier: Apache-2.0
#include "src/support/numpy_make.h"

namespace anyarray {
namespace {

// Indices of NumPy's function table, the same in 1.x and 2.x.
constexpr int index_dtype_type = 3;          // PyArrayDescr_Type
constexpr int index_dtype_from_number = 45;  // PyArray_DescrFromType
constexpr int index_new = 94;                // PyArray_NewFromDescr
constexpr int index_set_base = 282;          // PyArray_SetBaseObject

using DTypeFromNumber = PyObject* (*)(int);
using New = PyObject* (*)(PyTypeObject*, PyObject*, int, const Py_ssize_t*, const Py_ssize_t*, void*, int, PyObject*);
using SetBase = int (*)(PyObject*, PyObject*);

/// NumPy's number for each plain type, in the machine's order; 0 is bool's own and else means none.
struct Numbers {
  std::uint8_t of[8][17] = {};
  constexpr Numbers() noexcept {
    for (int n = numpy::num_builtin - 1; n >= 0; --n) {  // downwards: of two that are alike, NumPy's name has the lower
      const DType& d = numpy::plain_types.of[n];
      if (d.count == 1 && static_cast<unsigned>(d.code) < 8 && d.bits <= 128) {
        of[static_cast<unsigned>(d.code)][d.bits / 8] = static_cast<std::uint8_t>(n);
      }
    }
  }
};
constexpr Numbers numbers;

}  // namespace

bool numpy_can_make(Context& cx) noexcept { return numpy_seen(cx) && cx.numpy_table != nullptr; }

PyObject* numpy_plain_dtype(const Context& cx, DType d) noexcept {
  if (d.attributes != 0 || d.count != 1 || static_cast<unsigned>(d.code) >= 8 || d.bits > 128) return nullptr;
  const int number = numbers.of[static_cast<unsigned>(d.code)][d.bits / 8];
  if (number == 0 && d.code != TypeCode::bool_) return nullptr;
  return reinterpret_cast<DTypeFromNumber>(cx.numpy_table[index_dtype_from_number])(number);
}

bool numpy_is_dtype(const Context& cx, PyObject* o, std::int64_t itemsize) noexcept {
  auto* type = static_cast<PyTypeObject*>(cx.numpy_table[index_dtype_type]);
  return PyObject_TypeCheck(o, type) && numpy::elsize_of(cx, reinterpret_cast<const numpy::Descr*>(o)) == itemsize;
}

PyObject* numpy_make(const Context& cx, const Descriptor& d, PyObject* dtype, bool writable, PyObject* base) noexcept {
  static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "extents are handed over as they lie");
  static char nothing[16];  // NumPy allocates where it is given no address
  void* data = d.data != nullptr ? d.data : nothing;
  PyObject* made = reinterpret_cast<New>(cx.numpy_table[index_new])(
      cx.ndarray, dtype, d.ndim, reinterpret_cast<const Py_ssize_t*>(d.shape),
      reinterpret_cast<const Py_ssize_t*>(d.strides), data, writable ? static_cast<int>(numpy::writeable) : 0, nullptr);
  if (made == nullptr) {
    Py_DECREF(base);
    return nullptr;
  }
  if (reinterpret_cast<SetBase>(cx.numpy_table[index_set_base])(made, base) < 0) Py_CLEAR(made);
  return made;
}

}  // namespace anyarray
