// SPDX-License-Identifier: Apache-2.0
// Numbers of the builtin types, read from their structs in one loop for each element type. The objects of a list lie
// anywhere on the heap: those ahead are fetched while the ones before are read.
#include "src/python/sequences_parts.h"
#if PY_VERSION_HEX < 0x030B0000
#include <longintrepr.h>
#endif

namespace anyarray::sequences {
namespace {

__attribute__((noinline)) bool read_long_int(PyObject* o, std::int64_t* out) noexcept {
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(o, &overflow);
  return overflow == 0;
}

constexpr digit last_digits = digit{1} << (63 - 2 * PyLong_SHIFT);

/// An int of up to three digits and 63 bits by its struct, which CPython's headers have in public; others by a call.
inline bool read_digits(PyObject* o, std::int64_t* out) noexcept {
#if PY_VERSION_HEX >= 0x030F0000
  return read_long_int(o, out);
#else
  const auto* const v = reinterpret_cast<const PyLongObject*>(o);
#if PY_VERSION_HEX >= 0x030C0000
  // The two lowest bits are 0 for positive, 1 for zero, 2 for negative; the number of digits stands above the third.
  const std::uintptr_t tag = v->long_value.lv_tag;
  const std::int64_t sign = 1 - static_cast<std::int64_t>(tag & 3);
  const digit* const digits = v->long_value.ob_digit;
  if (__builtin_expect(tag < 2u << 3, 1)) {
    *out = sign * static_cast<std::int64_t>(digits[0]);
    return true;
  }
  const std::uintptr_t n = tag >> 3;
#else
  const Py_ssize_t size = Py_SIZE(o);
  const digit* const digits = v->ob_digit;
  if (__builtin_expect(static_cast<std::size_t>(size + 1) <= 2, 1)) {
    *out = size * static_cast<std::int64_t>(digits[0]);
    return true;
  }
  const std::int64_t sign = size < 0 ? -1 : 1;
  const auto n = static_cast<std::size_t>(size < 0 ? -size : size);
#endif
  std::int64_t value = static_cast<std::int64_t>(digits[0]) | static_cast<std::int64_t>(digits[1]) << PyLong_SHIFT;
  if (n > 2) {
    if (n > 3 || digits[2] >= last_digits) return read_long_int(o, out);
    value |= static_cast<std::int64_t>(digits[2]) << 2 * PyLong_SHIFT;
  }
  *out = sign * value;
  return true;
#endif
}

constexpr Py_ssize_t ahead = 12;

/// Calls `take` for one item after the other until it gives false.
template <class Take>
__attribute__((always_inline)) inline Py_ssize_t take_while(PyObject* const* items, Py_ssize_t i, Py_ssize_t n,
                                                            Take take) noexcept {
  const Py_ssize_t fetched = n - ahead;
  for (; i < fetched; ++i) {
    __builtin_prefetch(items[i + ahead]);
    if (__builtin_expect(!take(items[i]), 0)) return i;
  }
  for (; i < n; ++i) {
    if (__builtin_expect(!take(items[i]), 0)) return i;
  }
  return n;
}

/// A bool or int.
__attribute__((always_inline)) inline bool read_whole(PyObject* o, const PyTypeObject* type,
                                                      std::int64_t* out) noexcept {
  if (type == &PyLong_Type) return read_digits(o, out);
  *out = o == Py_True ? 1 : 0;
  return type == &PyBool_Type;
}

Py_ssize_t take_bools(Gather& g, PyObject* const* items, Py_ssize_t i, Py_ssize_t n) noexcept {
  char* to = g.end();
  return take_while(items, i, n, [&to](PyObject* o) {
    const bool yes = o == Py_True;
    *to++ = yes ? 1 : 0;
    return yes || o == Py_False;
  });
}

template <class T>
Py_ssize_t take_ints(Gather& g, PyObject* const* items, Py_ssize_t i, Py_ssize_t n) noexcept {
  T* to = reinterpret_cast<T*>(g.end());
  return take_while(items, i, n, [&to](PyObject* o) {
    std::int64_t v;
    if (!read_whole(o, Py_TYPE(o), &v)) return false;
    *to = static_cast<T>(v);
    // An unsigned type of 64 bits holds what isn't negative.
    if (sizeof(T) < 8 ? static_cast<std::int64_t>(*to) != v : static_cast<T>(-1) > 0 && v < 0) return false;
    ++to;
    return true;
  });
}

template <class T>
Py_ssize_t take_reals(Gather& g, PyObject* const* items, Py_ssize_t i, Py_ssize_t n) noexcept {
  T* to = reinterpret_cast<T*>(g.end());
  const auto* const alike = reinterpret_cast<const PyTypeObject*>(g.real_array.get());
  return take_while(items, i, n, [&to, alike](PyObject* o) {
    const PyTypeObject* const type = Py_TYPE(o);
    if (__builtin_expect(type == &PyFloat_Type, 1) || type == alike) {
      *to++ = static_cast<T>(PyFloat_AS_DOUBLE(o));
      return true;
    }
    std::int64_t v;
    if (!read_whole(o, type, &v)) return false;
    *to++ = static_cast<T>(static_cast<double>(v));
    return true;
  });
}

template <class T>
Py_ssize_t take_complexes(Gather& g, PyObject* const* items, Py_ssize_t i, Py_ssize_t n) noexcept {
  T* to = reinterpret_cast<T*>(g.end());
  return take_while(items, i, n, [&to](PyObject* o) {
    const PyTypeObject* const type = Py_TYPE(o);
    double real = 0, imaginary = 0;
    std::int64_t v;
    if (type == &PyComplex_Type) {
      const Py_complex& c = reinterpret_cast<PyComplexObject*>(o)->cval;
      real = c.real;
      imaginary = c.imag;
    } else if (type == &PyFloat_Type) {
      real = PyFloat_AS_DOUBLE(o);
    } else if (read_whole(o, type, &v)) {
      real = static_cast<double>(v);
    } else {
      return false;
    }
    to[0] = static_cast<T>(real);
    to[1] = static_cast<T>(imaginary);
    to += 2;
    return true;
  });
}

using TakeRun = Py_ssize_t (*)(Gather&, PyObject* const*, Py_ssize_t, Py_ssize_t) noexcept;

/// In the order of Lane.
constexpr TakeRun loops[] = {
    take_bools,
    take_ints<std::int8_t>,
    take_ints<std::int16_t>,
    take_ints<std::int32_t>,
    take_ints<std::int64_t>,
    take_ints<std::uint8_t>,
    take_ints<std::uint16_t>,
    take_ints<std::uint32_t>,
    take_ints<std::uint64_t>,
    take_reals<float>,
    take_reals<double>,
    take_complexes<float>,
    take_complexes<double>,
};
static_assert(sizeof loops / sizeof *loops == static_cast<std::size_t>(Lane::other));

}  // namespace

Py_ssize_t take_run(Gather& g, PyObject* const* items, Py_ssize_t i, Py_ssize_t n) noexcept {
  const Py_ssize_t stopped = loops[static_cast<int>(g.lane)](g, items, i, n);
  g.filled += stopped - i;
  return stopped;
}

}  // namespace anyarray::sequences
