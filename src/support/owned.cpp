// SPDX-License-Identifier: Apache-2.0
#include "src/support/owned.h"

#include <cstdlib>
#include <cstring>

namespace anyarray {
namespace {

// token[0]: the memory.
void free_owned(Borrow* b) noexcept {
  std::free(b->token[0]);
  let_go(b);
}

/// The trailing dimensions that lie without gaps: how many dimensions are before them, and how many bytes they are.
int outer_dims(const Descriptor& d, std::int64_t* run) noexcept {
  std::int64_t bytes = d.dtype.itemsize();
  int n = d.ndim;
  while (n > 0 && (d.shape[n - 1] == 1 || d.strides[n - 1] == bytes)) bytes *= d.shape[--n];
  *run = bytes;
  return n;
}

/// `n` runs of a size that the compiler knows, `step` bytes apart.
template <std::size_t size>
char* gather(char* to, const char* from, std::int64_t n, std::int64_t step) noexcept {
  for (std::int64_t i = 0; i < n; ++i, to += size, from += step) std::memcpy(to, from, size);
  return to;
}

char* gather_any(char* to, const char* from, std::int64_t n, std::int64_t step, std::size_t size) noexcept {
  switch (size) {
    case 1:
      return gather<1>(to, from, n, step);
    case 2:
      return gather<2>(to, from, n, step);
    case 4:
      return gather<4>(to, from, n, step);
    case 8:
      return gather<8>(to, from, n, step);
    case 16:
      return gather<16>(to, from, n, step);
    default:
      for (std::int64_t i = 0; i < n; ++i, to += size, from += step) std::memcpy(to, from, size);
      return to;
  }
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
  const std::int64_t bytes = from.nbytes();
  if (bytes == 0) return;
  if (from.c_contiguous()) {
    std::memcpy(to, from.data, static_cast<std::size_t>(bytes));
    return;
  }
  std::int64_t run = 0;
  const int inner = outer_dims(from, &run) - 1;  // not contiguous: there is one
  std::int64_t index[max_ndim] = {};
  const char* source = static_cast<const char*>(from.data);
  for (char* out = static_cast<char*>(to);;) {
    out = gather_any(out, source, from.shape[inner], from.strides[inner], static_cast<std::size_t>(run));
    int dim = inner - 1;
    for (; dim >= 0; --dim) {
      source += from.strides[dim];
      if (++index[dim] < from.shape[dim]) break;
      source -= from.strides[dim] * from.shape[dim];
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}

bool owned_copy(Context& cx, const Descriptor& from, Borrow& out) noexcept {
  const bool fortran = from.f_contiguous() && !from.c_contiguous();
  if (!owned_borrow(cx, from.dtype, from.ndim, from.shape, fortran, out)) return false;
  if (fortran) {
    std::memcpy(out.desc.data, from.data, static_cast<std::size_t>(from.nbytes()));
  } else {
    copy_row_major(from, out.desc.data);
  }
  out.desc.flags = flag_copied;
  return true;
}

}  // namespace anyarray
