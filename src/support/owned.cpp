// SPDX-License-Identifier: Apache-2.0
#include "src/support/owned.h"

#include "src/copy/convert_elements.h"

namespace anyarray {
namespace {

// token[0]: the memory.
void free_owned(Borrow* b) noexcept {
  free_memory(b->token[0]);
  let_go(b);
}

void convert(const Descriptor& to, const Descriptor& from) noexcept {
  run_copy(to.nbytes(), [&] {
    convert_elements(to, from);
    return Status::ok;
  });
}

}  // namespace

bool owned_borrow(Context& cx, DType dtype, int ndim, const std::int64_t* shape, bool fortran, Borrow& out) noexcept {
  if (make_empty(dtype, ndim, shape, fortran ? Order::f : Order::c, &out, nullptr) != Status::ok) {
    PyErr_NoMemory();
    return false;
  }
  hold(cx, Py_None, out, free_owned);
  return true;
}

void copy_row_major(const Descriptor& from, void* to) noexcept {
  std::int64_t strides[max_ndim];
  Descriptor target = from;
  target.data = to;
  if (from.strides != nullptr) {
    c_strides(from.ndim, from.shape, from.dtype.itemsize(), strides);
    target.strides = strides;
  }
  convert(target, from);
}

bool owned_copy(Context& cx, const Descriptor& from, DType dtype, bool fortran, Borrow& out) noexcept {
  if (!owned_borrow(cx, dtype, from.ndim, from.shape, fortran, out)) return false;
  convert(out.desc, from);
  out.desc.flags = flag_copied;
  return true;
}

bool owned_copy(Context& cx, const Descriptor& from, Borrow& out) noexcept {
  return owned_copy(cx, from, from.dtype, from.f_contiguous() && !from.c_contiguous(), out);
}

}  // namespace anyarray
