// SPDX-License-Identifier: Apache-2.0
// PEP 3118 format strings: the whole grammar, both ways. No Python.
#pragma once
#include <cstddef>

#include "anyarray/dtype.h"

namespace anyarray::pep3118 {

/// A format string → dtype. Null means "B". Native ('@', '^', none) and standard ('=', '<', '>', '!') sizes,
/// repeats, sub-arrays "(2,3)f", structs "T{i:a:d:b:}", padding 'x', complex 'Z' (and 'F', 'D'), 's', 'w', 'u'.
/// `itemsize` is the exporter's: a format that says another size is invalid, except that 'g' and 'u' take theirs
/// from it. A top-level repeat or sub-array is a sub-array dtype; several top-level items are a struct (f0, f1, …).
/// unsupported by name: object 'O', pointers '&', 'P', functions 'X{}', bits 't', UCS2.
Status decode_format(const char* format, std::ptrdiff_t itemsize, DType* out, Reason* why) noexcept;

/// dtype → format, written to `out` (terminated; unsupported if it doesn't fit or there is no letter: bfloat16,
/// fp8, sub-byte, datetime, lanes). Native letters where order and alignment allow, as NumPy writes them.
Status encode_format(DType d, char* out, std::size_t size, Reason* why) noexcept;

}  // namespace anyarray::pep3118
