// SPDX-License-Identifier: Apache-2.0
// Makes ndarrays over memory of others, through NumPy's own C function table, which is found at run time
// (numpy_struct.h): nothing of NumPy is needed to build. Knows no protocol.
#pragma once
#include "src/support/numpy_struct.h"

namespace anyarray {

/// Whether NumPy is loaded and its table has what numpy_make() calls.
bool numpy_can_make(Context& cx) noexcept;

/// NumPy's dtype for plain numbers in the machine's order; null, without an exception, for any other type. New
/// reference. Precondition: numpy_can_make().
PyObject* numpy_plain_dtype(const Context& cx, DType d) noexcept;

/// Whether this is a numpy.dtype of that size. Precondition: numpy_can_make().
bool numpy_is_dtype(const Context& cx, PyObject* o, std::int64_t itemsize) noexcept;

/// An ndarray of `dtype` (a numpy.dtype whose itemsize is that of the elements) with the layout of `d`, which must have
/// strides, over its memory, kept alive by `base`. Steals both references, also where it fails. Precondition:
/// numpy_can_make().
PyObject* numpy_make(const Context& cx, const Descriptor& d, PyObject* dtype, bool writable, PyObject* base) noexcept;

}  // namespace anyarray
