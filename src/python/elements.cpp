// SPDX-License-Identifier: Apache-2.0
// tolist() and item(): any element that the host can read, as the Python object that means exactly the same.
#include <cmath>
#include <cstring>
#include <limits>

#include "src/core/narrow_float.h"
#include "src/python/state.h"

namespace anyarray {
namespace {

constexpr bool little_endian = PY_LITTLE_ENDIAN != 0;

/// `n` bytes, at most 16, in the machine's order.
template <class T>
T load(const char* p, bool swapped) noexcept {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, p, sizeof(T));
  if (swapped) {
    for (std::size_t i = 0; i < sizeof(T) / 2; ++i) std::swap(bytes[i], bytes[sizeof(T) - 1 - i]);
  }
  T v;
  std::memcpy(&v, bytes, sizeof(T));
  return v;
}

/// An integer of any number of whole bytes up to 16.
PyObject* wide_int(const char* p, unsigned bytes, bool swapped, bool is_signed) noexcept {
  return _PyLong_FromByteArray(reinterpret_cast<const unsigned char*>(p), bytes, little_endian != swapped ? 1 : 0,
                               is_signed ? 1 : 0);
}

/// A float of `bits`: false when it is none that a double holds exactly.
bool load_float(DType d, unsigned bits, const char* p, double* out) noexcept {
  const bool swapped = d.swapped();
  if (bits == 64) return *out = load<double>(p, swapped), true;
  if (bits == 32) return *out = static_cast<double>(load<float>(p, swapped)), true;
  if (bits == 16) {
    *out = decode_float16(d.code, load<std::uint16_t>(p, swapped));
    return true;
  }
  return false;
}

PyObject* no_value(DType d) noexcept {
  char name[200];
  format_dtype(d, name, sizeof name);
  return PyErr_Format(PyExc_TypeError,
                      "elements of dtype %s have no Python value; read them through the library that made them", name);
}

/// A value of under 8 bits, already shifted down.
PyObject* small_value(DType d, std::uint32_t raw) noexcept {
  switch (d.code) {
    case TypeCode::bool_:
      return PyBool_FromLong(raw != 0);
    case TypeCode::uint:
      return PyLong_FromUnsignedLong(raw);
    case TypeCode::int_: {
      const std::uint32_t sign = 1u << (d.bits - 1);
      return PyLong_FromLong(static_cast<long>(raw ^ sign) - static_cast<long>(sign));
    }
    default: {
      const FloatFormat* f = narrow_format(d);
      return f != nullptr ? PyFloat_FromDouble(decode_float(raw, *f)) : no_value(d);
    }
  }
}

PyObject* float_object(DType d, const char* p) noexcept {
  double v = 0;
  return load_float(d, d.bits, p, &v) ? PyFloat_FromDouble(v) : no_value(d);
}

PyObject* long_double_pair(DType d, const char* p) noexcept {
  const auto re = load<long double>(p, d.swapped());
  const auto im = load<long double>(p + sizeof(long double), d.swapped());
  const auto exact = [](long double v) {
    return std::isnan(v) || static_cast<long double>(static_cast<double>(v)) == v;
  };
  if (exact(re) && exact(im)) return PyComplex_FromDoubles(static_cast<double>(re), static_cast<double>(im));
  // Python has no complex of decimals: the parts as a tuple lose nothing.
  return Py_BuildValue("(NN)", long_double_to_object(re), long_double_to_object(im));
}

/// One lane of a type with DLPack's codes or a long double, whole bytes.
PyObject* lane_to_object(DType d, const char* p) noexcept {
  switch (d.code) {
    case TypeCode::bool_: {
      bool any = false;
      for (int i = 0; i < d.bits / 8; ++i) any |= p[i] != 0;
      return PyBool_FromLong(any);
    }
    case TypeCode::int_:
      return d.bits % 8 == 0 ? wide_int(p, d.bits / 8u, d.swapped(), true) : no_value(d);
    case TypeCode::uint:
    case TypeCode::opaque_handle:
      return d.bits % 8 == 0 ? wide_int(p, d.bits / 8u, d.swapped(), false) : no_value(d);
    case TypeCode::float_:
    case TypeCode::bfloat:
      return float_object(d, p);
    case TypeCode::complex: {
      double re = 0, im = 0;
      const unsigned half = d.bits / 2u;
      DType part = make_dtype(TypeCode::float_, half).with_swapped(d.swapped());
      if (!load_float(part, half, p, &re) || !load_float(part, half, p + half / 8, &im)) return no_value(d);
      return PyComplex_FromDoubles(re, im);
    }
    case TypeCode::long_double:
      return long_double_to_object(load<long double>(p, d.swapped()));
    case TypeCode::complex_long_double:
      return long_double_pair(d, p);
    case TypeCode::float8_e8m0fnu:
      return PyFloat_FromDouble(decode_e8m0(static_cast<unsigned char>(*p)));
    default:
      return small_value(d, static_cast<unsigned char>(*p));
  }
}

/// A scalar of one lane or a tuple of them. `bit` counts from `p` where lanes are packed.
PyObject* scalar_to_object(DType d, const char* p, std::uint64_t bit) noexcept {
  const bool narrow = d.code <= TypeCode::float4_e2m1fn && d.bits < 8;
  const unsigned lane_bits = narrow && !d.padded() ? d.bits : (d.bits + 7u) & ~7u;
  const auto lane = [&](std::uint32_t i) -> PyObject* {
    const std::uint64_t at = bit + std::uint64_t{i} * lane_bits;
    return narrow ? small_value(d, load_bits(p, at, d.bits)) : lane_to_object(d, p + at / 8);
  };
  if (d.count == 1) return lane(0);
  Ref all(PyTuple_New(static_cast<Py_ssize_t>(d.count)));
  for (std::uint32_t i = 0; all && i < d.count; ++i) {
    PyObject* v = lane(i);
    if (v == nullptr) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, v);
  }
  return all.release();
}

PyObject* text_to_object(DType d, const char* p) noexcept {
  Py_ssize_t n = static_cast<Py_ssize_t>(d.count);
  if (d.code == TypeCode::fixed_bytes) {
    while (n > 0 && p[n - 1] == '\0') --n;
    return PyBytes_FromStringAndSize(p, n);
  }
  while (n > 0 && load<std::uint32_t>(p + 4 * (n - 1), false) == 0) --n;
  int order = (little_endian != d.swapped()) ? -1 : 1;
  return PyUnicode_DecodeUTF32(p, 4 * n, "surrogatepass", &order);
}

PyObject* nested(DType base, const InternedType& t, int dim, const char*& p) noexcept {
  if (dim == t.ndim) {
    PyObject* v = element_to_object(base, p);
    p += base.itemsize();
    return v;
  }
  Ref list(PyList_New(static_cast<Py_ssize_t>(t.shape[dim])));
  for (std::int64_t i = 0; list && i < t.shape[dim]; ++i) {
    PyObject* v = nested(base, t, dim + 1, p);
    if (v == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), v);
  }
  return list.release();
}

PyObject* interned_to_object(DType d, const char* p) noexcept {
  const InternedType& t = *interned_type(d);
  if (t.ndim > 0) return nested(t.base, t, 0, p);
  Ref all(PyTuple_New(t.n_fields));
  for (std::uint32_t i = 0; all && i < t.n_fields; ++i) {
    PyObject* v = element_to_object(t.fields[i].dtype, p + t.fields[i].offset);
    if (v == nullptr) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, v);
  }
  return all.release();
}

/// Rows of a strided array. `bit` numbers the elements of a packed one.
PyObject* list_of(const Descriptor& d, int dim, const char* p, std::uint64_t& element) noexcept {
  if (dim == d.ndim) {
    if (d.strides != nullptr) return element_to_object(d.dtype, p);
    const std::uint64_t bits = std::uint64_t{d.dtype.bits} * d.dtype.count;
    return scalar_to_object(d.dtype, p, bits * element++);
  }
  Ref list(PyList_New(static_cast<Py_ssize_t>(d.shape[dim])));
  for (std::int64_t i = 0; list && i < d.shape[dim]; ++i) {
    PyObject* v = list_of(d, dim + 1, d.strides != nullptr ? p + i * d.strides[dim] : p, element);
    if (v == nullptr) return nullptr;
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), v);
  }
  return list.release();
}

PyObject* all_elements(const Descriptor& d) noexcept {
  std::uint64_t element = 0;
  return list_of(d, 0, static_cast<const char*>(d.data), element);
}

}  // namespace

PyObject* element_to_object(DType d, const char* p) noexcept {
  switch (d.code) {
    case TypeCode::datetime64:
      return datetime_to_object(d, load<std::int64_t>(p, d.swapped()));
    case TypeCode::timedelta64:
      return timedelta_to_object(d, load<std::int64_t>(p, d.swapped()));
    case TypeCode::fixed_bytes:
    case TypeCode::fixed_ucs4:
      return text_to_object(d, p);
    case TypeCode::void_:
      return PyBytes_FromStringAndSize(p, static_cast<Py_ssize_t>(d.count));
    case TypeCode::interned:
      return interned_to_object(d, p);
    default:
      return scalar_to_object(d, p, 0);
  }
}

PyObject* long_double_to_object(long double v) noexcept {
  if (std::isnan(v) || static_cast<long double>(static_cast<double>(v)) == v)
    return PyFloat_FromDouble(static_cast<double>(v));
  // Exactly: an integer of the mantissa's bits times a power of two, from which decimal makes all digits.
  int exponent = 0;
  long double m = std::frexp(v, &exponent);
  constexpr int digits = std::numeric_limits<long double>::digits;
  const bool negative = m < 0;
  m = negative ? -m : m;
  Ref mantissa(PyLong_FromLong(0));
  for (int done = 0; mantissa && done < digits; done += 32) {
    m = std::ldexp(m, 32);
    const auto part = static_cast<std::uint32_t>(m);
    m -= static_cast<long double>(part);
    Ref shift(PyLong_FromLong(32));
    Ref low(PyLong_FromUnsignedLong(part));
    Ref high(shift ? PyNumber_Lshift(mantissa.get(), shift.get()) : nullptr);
    mantissa = Ref(high && low ? PyNumber_Or(high.get(), low.get()) : nullptr);
    exponent -= 32;
  }
  State* s = state_here();
  Ref exact(s != nullptr ? package_function(*s, "_numbers", "scaled_decimal") : nullptr);
  if (!mantissa || !exact) return nullptr;
  return PyObject_CallFunction(exact.get(), "OiO", mantissa.get(), exponent, negative ? Py_True : Py_False);
}

PyObject* array_tolist(PyObject* self, PyObject*) {
  const Reading d(as_array(self));
  return d && host_can(as_array(self), *d, "read the result") ? all_elements(*d) : nullptr;
}

PyObject* array_item(PyObject* self, PyObject*) {
  const Reading d(as_array(self));
  if (!d || !host_can(as_array(self), *d, "read the result")) return nullptr;
  if (d->size() != 1) {
    return PyErr_Format(PyExc_ValueError, "item() is for arrays of one element; this one has %lld",
                        static_cast<long long>(d->size()));
  }
  Descriptor one = *d;
  one.ndim = 0;
  return all_elements(one);
}

}  // namespace anyarray
