// SPDX-License-Identifier: Apache-2.0
// Memory of our own behind a borrow, for results that no producer lends: copies, and what pickles carry. Freed with the
// borrow. May include the core's public headers and the context of an interpreter.
#pragma once
#include "anyarray/descriptor.h"
#include "src/copy/memory.h"
#include "src/support/context.h"

namespace anyarray {

/// Fills `out` with new memory on the host for elements of this type, column-major where `fortran` is set, else
/// row-major; its owner is None. False with MemoryError set. Preconditions: validate() passes for such an array; packed
/// elements are row-major.
bool owned_borrow(Context& cx, DType dtype, int ndim, const std::int64_t* shape, bool fortran, Borrow& out) noexcept;

/// Copies the elements row by row, without gaps, to where nbytes() are free. The host must be able to read them.
void copy_row_major(const Descriptor& from, void* to) noexcept;

/// Fills `out` as owned_borrow() does, and copies the elements there: can_cast() says ok for the dtypes. The host must
/// be able to read them. False with MemoryError set.
bool owned_copy(Context& cx, const Descriptor& from, DType dtype, bool fortran, Borrow& out) noexcept;

/// A copy in memory of our own, which is writable: column-major if the array is so and not row-major, else row-major.
/// False with MemoryError set.
bool owned_copy(Context& cx, const Descriptor& from, Borrow& out) noexcept;

}  // namespace anyarray
