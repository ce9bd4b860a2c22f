// SPDX-License-Identifier: Apache-2.0
// NumPy's C structs as far as they are read here (own definitions, NumPy 1.x and 2.x; its headers are never
// included) and the decoding of an ndarray in place. Used by the rows numpy and array_method and by the engine.
// The hottest path of the project is numpy_decode(): it is inline and calls nothing for plain numbers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "src/core/dtype_table.h"
#include "src/support/context.h"

namespace anyarray {

namespace numpy {

/// The start of PyArray_Descr, the same in 1.x and 2.x up to `type_num`.
struct Descr {
  PyObject_HEAD PyTypeObject* typeobj;
  char kind;
  char type;
  char byteorder;
  char flags1;  ///< 1.x only
  int type_num;
};
/// NumPy 1.x.
struct Descr1 {
  Descr head;
  int elsize;
  int alignment;
  void* subarray;
  PyObject* fields;
  PyObject* names;
};
/// NumPy 2.x; from `subarray` on only where 0 ≤ type_num < first_new_style.
struct Descr2 {
  Descr head;
  std::uint64_t flags;
  Py_ssize_t elsize;
  Py_ssize_t alignment;
  PyObject* metadata;
  Py_hash_t hash;
  void* reserved[2];
  void* subarray;
  PyObject* fields;
  PyObject* names;
};
/// PyArrayObject, the same in 1.x and 2.x; subclasses only append.
struct Array {
  PyObject_HEAD char* data;
  int nd;
  Py_ssize_t* dimensions;
  Py_ssize_t* strides;
  PyObject* base;
  Descr* descr;
  int flags;
};
inline constexpr std::size_t head_size = sizeof(PyObject);
static_assert(sizeof(void*) != 8 ||
              (offsetof(Array, data) == head_size && offsetof(Array, flags) == head_size + 48 &&
               offsetof(Descr, type_num) == head_size + 12 && offsetof(Descr1, elsize) == head_size + 16 &&
               offsetof(Descr1, names) == head_size + 40 && offsetof(Descr2, elsize) == head_size + 24 &&
               offsetof(Descr2, names) == head_size + 88));

inline constexpr unsigned owns_data = 0x4u;  ///< NPY_ARRAY_OWNDATA
/// NPY_ARRAY_WRITEABLE, and NPY_ARRAY_WARN_ON_WRITE: set on results of broadcast_arrays, whose elements may
/// share memory; NumPy's own buffers call these read-only too.
inline constexpr unsigned writeable = 0x400u;
inline constexpr unsigned warn_on_write = 1u << 31;

inline constexpr int num_object = 17;
inline constexpr int num_void = 20;
inline constexpr int num_builtin = 24;  ///< the numbers below are NumPy's own
inline constexpr int num_user = 256;    ///< from here on dtypes that extensions registered
inline constexpr int first_new_style = 2056;

/// dtypes that their number says all about, in the machine's order and swapped; `count` 0 elsewhere (object,
/// strings, void, times). Two tables, because patching a bit into a loaded entry stalls on the store.
struct PlainTypes {
  DType of[2 * num_builtin] = {};
  constexpr PlainTypes() noexcept {
    set(0, TypeCode::bool_, 8);
    set(1, TypeCode::int_, 8);
    set(2, TypeCode::uint, 8);
    set(3, TypeCode::int_, 8 * sizeof(short));
    set(4, TypeCode::uint, 8 * sizeof(short));
    set(5, TypeCode::int_, 8 * sizeof(int));
    set(6, TypeCode::uint, 8 * sizeof(int));
    set(7, TypeCode::int_, 8 * sizeof(long));
    set(8, TypeCode::uint, 8 * sizeof(long));
    set(9, TypeCode::int_, 64);
    set(10, TypeCode::uint, 64);
    set(11, TypeCode::float_, 32);
    set(12, TypeCode::float_, 64);
    const bool is_double = sizeof(long double) == sizeof(double);
    set(13, is_double ? TypeCode::float_ : TypeCode::long_double, 8 * sizeof(long double));
    set(14, TypeCode::complex, 64);
    set(15, TypeCode::complex, 128);
    set(16, is_double ? TypeCode::complex : TypeCode::complex_long_double, 16 * sizeof(long double));
    set(23, TypeCode::float_, 16);
  }

 private:
  constexpr void set(int number, TypeCode code, unsigned bits) noexcept {
    of[number] = make_dtype(code, bits);
    of[num_builtin + number] = make_dtype(code, bits).with_swapped(bits > 8);
  }
};
inline constexpr PlainTypes plain_types;

/// One known dtype. A descr can be changed in place (its names assigned, __setstate__), so an entry is valid
/// only while all that its meaning was read from is the same. The objects are strong references.
struct KnownDType {
  Descr* descr;
  PyObject* names;   ///< null but for void dtypes
  PyObject* fields;  ///< likewise
  std::int64_t elsize;
  std::uint64_t head;  ///< kind, type, byteorder, flags and type_num
  DType dtype;
};
inline constexpr std::size_t known_dtypes = 256;  ///< slots of Context::numpy_dtypes, direct-mapped

inline std::size_t slot_of(const Descr* d) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(d);
  return (address >> 4 ^ address >> 12) % known_dtypes;
}
inline std::uint64_t head_of(const Descr* d) noexcept {
  std::uint64_t head;
  std::memcpy(&head, &d->kind, sizeof head);
  return head;
}
inline std::int64_t elsize_of(const Context& cx, const Descr* d) noexcept {
  return cx.numpy2 ? reinterpret_cast<const Descr2*>(d)->elsize : reinterpret_cast<const Descr1*>(d)->elsize;
}
inline PyObject* names_of(const Context& cx, const Descr* d) noexcept {
  if (d->type_num != num_void) return nullptr;
  return cx.numpy2 ? reinterpret_cast<const Descr2*>(d)->names : reinterpret_cast<const Descr1*>(d)->names;
}
inline PyObject* fields_of(const Context& cx, const Descr* d) noexcept {
  if (d->type_num != num_void) return nullptr;
  return cx.numpy2 ? reinterpret_cast<const Descr2*>(d)->fields : reinterpret_cast<const Descr1*>(d)->fields;
}

/// Reads a dtype by asking the dtype object and fills its slot of the cache.
Status learn_dtype(Context& cx, const Array* array, DType* out, Failure& why) noexcept;

}  // namespace numpy

/// Fills cx.ndarray (and masked_array) once NumPy is loaded; imports nothing. True when ndarrays can be
/// read. Called on a route miss and after __array__. Never leaves an exception set.
bool numpy_seen(Context& cx) noexcept;

/// Whether `o` is an array that owns its memory and that one reference alone holds, directly or through arrays of
/// which that is true: then its memory can't be a producer's, but was made for the caller.
inline bool numpy_made_for_us(const Context& cx, PyObject* o) noexcept {
  while (cx.ndarray != nullptr && Py_REFCNT(o) == 1 && PyObject_TypeCheck(o, cx.ndarray)) {
    const auto* a = reinterpret_cast<const numpy::Array*>(o);
    if (a->base == nullptr) return (static_cast<unsigned>(a->flags) & numpy::owns_data) != 0;
    o = a->base;
  }
  return false;
}

/// Gives the references of numpy_seen() and the known dtypes back.
void numpy_clear(Context& cx) noexcept;

/// The dtype of an array where no Python code is needed to tell; null otherwise.
__attribute__((always_inline)) inline const DType* numpy_known_dtype(const Context& cx,
                                                                     const numpy::Descr* descr) noexcept {
  const auto number = static_cast<unsigned>(descr->type_num);
  const unsigned row = number < numpy::num_builtin ? number : unsigned{numpy::num_object};
  const unsigned index = row + (descr->byteorder == swapped_order ? unsigned{numpy::num_builtin} : 0u);
  const DType* plain = &numpy::plain_types.of[index];
  if (__builtin_expect(plain->count != 0, 1)) return plain;
  const auto* slots = static_cast<const numpy::KnownDType*>(cx.numpy_dtypes);
  if (slots == nullptr) return nullptr;
  const numpy::KnownDType* known = &slots[numpy::slot_of(descr)];
  if (known->descr != descr || known->head != numpy::head_of(descr) || known->elsize != numpy::elsize_of(cx, descr)) {
    return nullptr;
  }
  const bool same = row != numpy::num_void ||
                    (known->names == numpy::names_of(cx, descr) && known->fields == numpy::fields_of(cx, descr));
  return same ? &known->dtype : nullptr;
}

/// Everything but the dtype; false when out of memory.
__attribute__((always_inline)) inline bool numpy_read_layout(const numpy::Array* a, Borrow& out) noexcept {
  const int n = a->nd;
  std::int64_t* shape = reserve_dims(out, n);
  if (__builtin_expect(shape == nullptr, 0)) return false;
  const Py_ssize_t* dimensions = a->dimensions;
  const Py_ssize_t* strides = a->strides;
  if (n == 1) {
    shape[0] = dimensions[0];
    shape[1] = strides[0];
  } else if (n == 2) {
    shape[0] = dimensions[0];
    shape[1] = dimensions[1];
    shape[2] = strides[0];
    shape[3] = strides[1];
  } else {
    for (int i = 0; i < n; ++i) {
      shape[i] = dimensions[i];
      shape[n + i] = strides[i];
    }
  }
  out.desc.data = a->data;
  out.desc.device = cpu_device;
  const auto flags = static_cast<unsigned>(a->flags);
  const bool writable = (flags & (numpy::writeable | numpy::warn_on_write)) == numpy::writeable;
  out.desc.flags = writable ? 0u : unsigned{flag_readonly};
  return true;
}

/// numpy_decode() where the dtype is known and nothing has to be allocated: without a call, so that the caller saves
/// no registers. False, and nothing done, elsewhere.
__attribute__((always_inline)) inline bool numpy_decode_known(Context& cx, PyObject* array, Borrow& out) noexcept {
  const auto* a = reinterpret_cast<const numpy::Array*>(array);
  const DType* dtype = numpy_known_dtype(cx, a->descr);
  if (__builtin_expect(dtype == nullptr || a->nd > inline_ndim || !numpy_read_layout(a, out), 0)) return false;
  out.desc.dtype = *dtype;
  return true;
}

/// An ndarray's facts into `out.desc`. Precondition: `array` is a cx.ndarray or of a subclass. Holds nothing: the
/// caller holds the array. unsupported: Python objects, variable-length strings, dtypes of extensions that
/// aren't known. On failure no dims are left reserved.
inline Status numpy_decode(Context& cx, PyObject* array, Borrow& out, Failure& why) noexcept {
  const auto* a = reinterpret_cast<const numpy::Array*>(array);
  const DType* dtype = numpy_known_dtype(cx, a->descr);
  DType learned;
  if (__builtin_expect(dtype == nullptr, 0)) {
    if (const Status s = numpy::learn_dtype(cx, a, &learned, why); s != Status::ok) return s;
    dtype = &learned;
  }
  // The layout is read after the dtype: learning one can run Python code.
  if (!numpy_read_layout(a, out)) return Status::no_memory;
  out.desc.dtype = *dtype;
  return Status::ok;
}

}  // namespace anyarray
