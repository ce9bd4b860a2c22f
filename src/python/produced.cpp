// SPDX-License-Identifier: Apache-2.0
// Arrays over memory that their makers own: CApi::produce, and aa.from_pointer, which says the same in Python.
#include "anyarray/produce.h"

#include "src/python/state.h"

namespace anyarray {
namespace {

void release_produced(Borrow* b) noexcept {
  auto* const fn = reinterpret_cast<void (*)(void*)>(b->token[1]);
  if (fn != nullptr) fn(b->token[0]);
  let_go(b);
}

void set_error(Status s, const Reason& why, const char* given) noexcept {
  if (s == Status::no_memory) {
    PyErr_NoMemory();
  } else {
    PyErr_Format(PyExc_ValueError, "%s%s", why.text, given);
  }
}

/// "(3, -1)", with what doesn't fit cut off.
void write_integers(const std::int64_t* values, int n, char* out, std::size_t size) noexcept {
  std::size_t at = 0;
  for (int i = 0; i < n && at < size; ++i) {
    const int wrote =
        std::snprintf(out + at, size - at, "%s%lld", i == 0 ? "(" : ", ", static_cast<long long>(values[i]));
    at += static_cast<std::size_t>(wrote);
  }
  if (at < size) std::snprintf(out + at, size - at, n == 0 ? "()" : n == 1 ? ",)" : ")");
}

/// What was given, for the end of a refusal.
void write_given(const Descriptor& d, char* out, std::size_t size) noexcept {
  char shape[160] = "?";
  char strides[160] = "None";
  const bool countable = d.ndim >= 0 && d.ndim <= max_ndim;
  if (countable && (d.shape != nullptr || d.ndim == 0)) write_integers(d.shape, d.ndim, shape, sizeof shape);
  if (countable && d.strides != nullptr) write_integers(d.strides, d.ndim, strides, sizeof strides);
  std::snprintf(out, size, " (given: address %p, shape %s, strides %s)", d.data, shape, strides);
}

}  // namespace

PyObject* produce_array(State& s, const Descriptor& parts, PyObject* owner, void (*release)(void*),
                        void* what) noexcept {
  ArrayObject* a = array_reserve(s);
  if (a == nullptr) return nullptr;
  Reason why;
  const Status status = produce(parts, release, what, &a->borrow, &why);
  if (status != Status::ok) {
    array_discard(s, a);
    char given[400];
    write_given(parts, given, sizeof given);
    set_error(status, why, given);
    return nullptr;
  }
  own_produced(s.cx, a->borrow, owner != nullptr ? owner : Py_None);
  return array_adopt(s, a);
}

void own_produced(Context& cx, Borrow& b, PyObject* owner) noexcept { hold(cx, owner, b, release_produced); }

namespace {

bool read_address(PyObject* o, void** out) noexcept {
  if (!PyIndex_Check(o) || PyBool_Check(o)) {
    PyErr_Format(PyExc_TypeError, "ptr is an address as an int, not %.200s (of a ctypes pointer: ctypes.addressof)",
                 Py_TYPE(o)->tp_name);
    return false;
  }
  Ref number(PyNumber_Index(o));
  if (!number) return false;
  const unsigned long long address = PyLong_AsUnsignedLongLong(number.get());
  if (address == static_cast<unsigned long long>(-1) && PyErr_Occurred() != nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return false;
    PyErr_Format(PyExc_ValueError, "ptr=%R isn't an address: it must be from 0 to 2**64 - 1", number.get());
    return false;
  }
  *out = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return true;
}

bool read_integer(PyObject* o, const char* what, std::int64_t* out) noexcept {
  if (!PyIndex_Check(o) || PyBool_Check(o)) {
    PyErr_Format(PyExc_TypeError, "%s holds ints, not %.200s", what, Py_TYPE(o)->tp_name);
    return false;
  }
  Ref number(PyNumber_Index(o));
  if (!number) return false;
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  if (overflow == 0) return *out != -1 || PyErr_Occurred() == nullptr;
  PyErr_Format(PyExc_ValueError, "%s: %R is more than 64 bits can count", what, number.get());
  return false;
}

}  // namespace

int read_integers(PyObject* o, const char* what, bool one_is_enough, std::int64_t* out) noexcept {
  if (one_is_enough && PyIndex_Check(o) && !PyBool_Check(o)) return read_integer(o, what, out) ? 1 : -1;
  if (!PySequence_Check(o) || PyUnicode_Check(o) || PyBytes_Check(o)) {
    PyErr_Format(PyExc_TypeError, "%s is a tuple of ints, not %.200s", what, Py_TYPE(o)->tp_name);
    return -1;
  }
  Ref items(PySequence_Tuple(o));
  if (!items) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(items.get());
  if (n > max_ndim) {
    PyErr_Format(PyExc_ValueError, "%s has %zd dimensions: 0 to %d are possible", what, n, max_ndim);
    return -1;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!read_integer(PyTuple_GET_ITEM(items.get(), i), what, out + i)) return -1;
  }
  return static_cast<int>(n);
}

PyObject* from_pointer(PyObject* module, PyObject* args, PyObject* keywords) {
  State& s = state_of_module(module);
  static const char* const names[] = {"ptr", "shape", "dtype", "strides", "device", "readonly", "owner", nullptr};
  PyObject *ptr, *shape, *dtype, *strides = Py_None, *device = nullptr, *readonly = Py_False, *owner = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OOO|$OOOO:from_pointer", const_cast<char**>(names), &ptr, &shape,
                                  &dtype, &strides, &device, &readonly, &owner) == 0) {
    return nullptr;
  }
  if (owner == nullptr) {
    PyErr_SetString(PyExc_TypeError,
                    "from_pointer() needs owner=: the object that keeps the memory, or None for memory that is there "
                    "for good");
    return nullptr;
  }
  std::int64_t dims[2 * max_ndim];
  Descriptor d{nullptr, dims, nullptr, {}, cpu_device, 0, 0};
  if (!read_address(ptr, &d.data) || (d.ndim = read_integers(shape, "shape", true, dims)) < 0 ||
      !dtype_from_object(s, dtype, &d.dtype) || (device != nullptr && !device_from_object(device, &d.device))) {
    return nullptr;
  }
  if (d.device.id < 0) d.device.id = 0;
  if (strides != Py_None) {
    const int n = read_integers(strides, "strides", false, dims + max_ndim);
    if (n < 0) return nullptr;
    if (n != d.ndim) return PyErr_Format(PyExc_ValueError, "%d strides for a shape of %d dimensions", n, d.ndim);
    d.strides = dims + max_ndim;
  }
  if (!PyBool_Check(readonly)) {
    return PyErr_Format(PyExc_TypeError, "readonly is True or False, not %.200s", Py_TYPE(readonly)->tp_name);
  }
  if (readonly == Py_True) d.flags = flag_readonly;
  if (PySys_Audit("anyarray.from_pointer", "OOO", ptr, shape, dtype) < 0) return nullptr;
  return produce_array(s, d, owner, nullptr, nullptr);
}

}  // namespace anyarray
