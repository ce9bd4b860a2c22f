// SPDX-License-Identifier: Apache-2.0
// Memory of our own behind a borrow, for results that no producer lends: copies, and what pickles carry. Freed with the
// borrow. May include the core's public headers and the context of an interpreter.
#pragma once
#include "anyarray/descriptor.h"
#include "src/copy/memory.h"
#include "src/support/context.h"

namespace anyarray {

/// From so many bytes on a copy gives up the GIL.
inline constexpr std::int64_t gil_bytes = std::int64_t{1} << 20;

/// Runs `copy`, which calls nothing of Python, on so many bytes. Others may run meanwhile: the caller holds what the
/// source lies in (a `Reading` keeps an Array from being released), and nobody else has the target yet, or knows.
template <class F>
Status run_copy(std::int64_t bytes, F&& copy) noexcept {
  if (bytes < gil_bytes) return copy();
  PyThreadState* const thread = PyEval_SaveThread();
  const Status s = copy();
  PyEval_RestoreThread(thread);
  return s;
}

/// owned_borrow() for elements of whole bytes, some of them, less than gil_bytes in all, without questions: a small
/// array is made in the time of its allocation. False, and nothing set or held, elsewhere.
bool owned_few(Context& cx, DType dtype, int ndim, const std::int64_t* shape, bool fortran, Borrow& out) noexcept;

/// Fills `out` with new memory on the host for elements of this type, column-major where `fortran` is set, else
/// row-major; its owner is None. False with MemoryError set. Preconditions: validate() passes for such an array; packed
/// elements are row-major.
bool owned_borrow(Context& cx, DType dtype, int ndim, const std::int64_t* shape, bool fortran, Borrow& out) noexcept;

/// Copies the elements row by row, without gaps, to where nbytes() are free. The host must be able to read them.
void copy_row_major(const Descriptor& from, void* to) noexcept;

/// Fills `out` as owned_borrow() does, and copies the elements there: can_cast() says ok for the dtypes. The host must
/// be able to read them. False with MemoryError set.
bool owned_copy(Context& cx, const Descriptor& from, DType dtype, bool fortran, Borrow& out) noexcept;

/// owned_copy() where owned_few() has the memory; false elsewhere, as that.
bool few_copied(Context& cx, const Descriptor& from, DType dtype, bool fortran, Borrow& out) noexcept;

/// A copy in memory of our own, which is writable: column-major if the array is so and not row-major, else row-major.
/// False with MemoryError set.
bool owned_copy(Context& cx, const Descriptor& from, Borrow& out) noexcept;

}  // namespace anyarray
