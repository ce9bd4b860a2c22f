// SPDX-License-Identifier: Apache-2.0
// An Array given to another library through that library's own C entry, its DLPack exchange table; and the copies for
// those that can't hold the memory. Used by convert() alone, which has made sure that the library can hold what it is
// given and won't write where it mustn't: nothing of that is checked here.
#pragma once
#include "src/python/state.h"

namespace anyarray {

/// The library's array over the memory of `a`, made by its exchange table. The array is kept until the library calls
/// the deleter, from any thread. Null with an exception set.
PyObject* hand_over(ArrayObject* a, const dlpack::ExchangeApi& api) noexcept;

/// The same for memory that `d` describes and `owner` keeps: no Array is made. Null with an exception set.
PyObject* hand_over(State& s, const Descriptor& d, PyObject* owner, const dlpack::ExchangeApi& api) noexcept;

/// A new Array with the same elements in memory of its own: row-major, in the machine's order, aligned to 64 bytes.
/// Null with an exception set. Precondition: the host can read the memory.
PyObject* fresh_copy(ArrayObject* a) noexcept;

}  // namespace anyarray
