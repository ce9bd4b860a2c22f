// SPDX-License-Identifier: Apache-2.0
// Array-interface type strings ("<f4", "|b1", "<M8[us]") and PyArrayInterface, both ways. No Python.
#pragma once
#include <cstddef>
#include <cstdint>

#include "anyarray/descriptor.h"

namespace anyarray::typestr {

/// `length` bytes of a typestr → dtype. A missing byte order means the machine's ("f4", and "|f4" as dpnp
/// writes it). unsupported: 'O', 't' (bit fields), sizes that the kind doesn't have ("f3"), V and S of over
/// 2^32-1 bytes. invalid: no kind, no size. 'V' gives void_ (descr is the adapter's).
Status decode(const char* text, std::size_t length, DType* out, Reason* why) noexcept;

/// dtype → typestr, terminated. 'V<itemsize>' for structs. unsupported: what a typestr can't say (bfloat16,
/// fp8, sub-byte, lanes, sub-arrays, complex32).
Status encode(DType d, char* out, std::size_t size, Reason* why) noexcept;

/// NumPy's PyArrayInterface (the array-interface protocol's C side; own definition).
struct ArrayInterface {
  int two;
  int nd;
  char typekind;
  int itemsize;
  int flags;
  std::intptr_t* shape;
  std::intptr_t* strides;  ///< bytes
  void* data;
  void* descr;  ///< PyObject*, only with has_descr
};
enum : int {
  flag_c = 0x1,
  flag_f = 0x2,
  flag_aligned = 0x100,
  flag_notswapped = 0x200,
  flag_writeable = 0x400,
  has_descr = 0x800,
};

/// The struct's facts into `out.desc` (all but a descr, which the adapter reads). 'M' and 'm' are unsupported:
/// the struct can't carry their unit.
Status decode_struct(const ArrayInterface& s, Borrow& out, Reason* why) noexcept;

}  // namespace anyarray::typestr
