// SPDX-License-Identifier: Apache-2.0
#include "src/support/owned.h"

#include <cstdlib>
#include <cstring>

#include "src/copy/convert_elements.h"

namespace anyarray {
namespace {

// token[0]: the memory.
void free_owned(Borrow* b) noexcept {
  std::free(b->token[0]);
  let_go(b);
}

}  // namespace

void* owned_memory(std::int64_t bytes) noexcept {
  const auto wanted = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
  std::size_t whole = 0;
  if (__builtin_add_overflow(wanted, owned_alignment - 1, &whole)) return nullptr;
  return std::aligned_alloc(owned_alignment, whole & ~(owned_alignment - 1));
}

bool owned_borrow(Context& cx, DType dtype, int ndim, const std::int64_t* shape, bool fortran, Borrow& out) noexcept {
  begin(out);
  std::int64_t* const extents = reserve_dims(out, ndim);
  if (extents == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  std::memcpy(extents, shape, sizeof(std::int64_t) * static_cast<std::size_t>(ndim));
  std::int64_t* const strides = extents + ndim;
  if (dtype.packed()) {
    out.desc.strides = nullptr;
  } else if (fortran) {
    f_strides(ndim, extents, dtype.itemsize(), strides);
  } else {
    c_strides(ndim, extents, dtype.itemsize(), strides);
  }
  out.desc.dtype = dtype;
  out.desc.device = cpu_device;
  out.desc.flags = 0;
  out.desc.data = owned_memory(out.desc.nbytes());
  if (out.desc.data == nullptr) {
    drop_dims(out);
    PyErr_NoMemory();
    return false;
  }
  out.protocol = no_protocol;
  out.token[0] = out.desc.data;
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
  convert_elements(target, from);
}

bool owned_copy(Context& cx, const Descriptor& from, DType dtype, bool fortran, Borrow& out) noexcept {
  if (!owned_borrow(cx, dtype, from.ndim, from.shape, fortran, out)) return false;
  convert_elements(out.desc, from);
  out.desc.flags = flag_copied;
  return true;
}

bool owned_copy(Context& cx, const Descriptor& from, Borrow& out) noexcept {
  return owned_copy(cx, from, from.dtype, from.f_contiguous() && !from.c_contiguous(), out);
}

}  // namespace anyarray
