// SPDX-License-Identifier: Apache-2.0
#include "src/support/owned.h"

#include <cstring>

#include "src/copy/convert_elements.h"

namespace anyarray {
namespace {

// token[0]: the memory.
void free_owned(Borrow* b) noexcept {
  free_memory(b->token[0]);
  let_go(b);
}

void fill(const Descriptor& to, const Descriptor& from) noexcept {
  run_copy(to.nbytes(), [&] {
    fill_elements(to, from);
    return Status::ok;
  });
}

/// owned_few(), where a call would be felt.
__attribute__((always_inline)) inline bool make_few(Context& cx, DType dtype, int ndim, const std::int64_t* shape,
                                                    bool fortran, Borrow& out) noexcept {
  if (ndim > inline_ndim || dtype.packed()) return false;
  begin(out);
  std::int64_t* const extents = reserve_dims(out, ndim);
  std::int64_t bytes = dtype.itemsize();
  for (int i = 0; i < ndim; ++i) {
    const int k = fortran ? i : ndim - 1 - i;
    extents[k] = shape[k];
    extents[ndim + k] = bytes;
    if (shape[k] <= 0 || __builtin_mul_overflow(bytes, shape[k], &bytes)) return false;
  }
  void* const memory = bytes > 0 && bytes < gil_bytes ? allocate_memory(bytes) : nullptr;
  if (memory == nullptr) return false;
  out.desc.data = memory;
  out.desc.dtype = dtype;
  out.desc.device = cpu_device;
  out.desc.flags = 0;
  out.protocol = no_protocol;
  out.checked = 1;
  out.token[0] = memory;
  hold(cx, Py_None, out, free_owned);
  return true;
}

}  // namespace

bool owned_few(Context& cx, DType dtype, int ndim, const std::int64_t* shape, bool fortran, Borrow& out) noexcept {
  return make_few(cx, dtype, ndim, shape, fortran, out);
}

bool owned_borrow(Context& cx, DType dtype, int ndim, const std::int64_t* shape, bool fortran, Borrow& out) noexcept {
  if (make_few(cx, dtype, ndim, shape, fortran, out)) return true;
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
  fill(target, from);
}

namespace {

/// Up to so many elements are moved here: to plan a copy takes longer.
constexpr std::int64_t few = 32;

template <std::size_t size>
void move_rows(char* to, const char* from, std::int64_t rows, std::int64_t row, std::int64_t n,
               std::int64_t step) noexcept {
  for (; rows > 0; --rows, from += row) {
    for (std::int64_t i = 0; i < n; ++i, to += size) std::memcpy(to, from + i * step, size);
  }
}

/// Moves the elements of a small vector or matrix to where they lie without gaps; false for all others.
bool move_few(const Descriptor& to, const Descriptor& from, bool fortran) noexcept {
  const int n = from.ndim;
  if (n < 1 || n > 2 || to.dtype != from.dtype) return false;
  const int inner = fortran ? 0 : n - 1;
  const int outer = n - 1 - inner;
  const std::int64_t rows = n == 2 ? from.shape[outer] : 1;
  const std::int64_t columns = from.shape[inner];
  if (rows > few || columns > few || rows * columns > few) return false;
  const std::int64_t row = from.strides[outer];
  const std::int64_t step = from.strides[inner];
  auto* const target = static_cast<char*>(to.data);
  const auto* const source = static_cast<const char*>(from.data);
  switch (from.dtype.itemsize()) {
    case 1:
      return move_rows<1>(target, source, rows, row, columns, step), true;
    case 2:
      return move_rows<2>(target, source, rows, row, columns, step), true;
    case 4:
      return move_rows<4>(target, source, rows, row, columns, step), true;
    case 8:
      return move_rows<8>(target, source, rows, row, columns, step), true;
    default:
      return false;
  }
}

}  // namespace

bool few_copied(Context& cx, const Descriptor& from, DType dtype, bool fortran, Borrow& out) noexcept {
  if (!make_few(cx, dtype, from.ndim, from.shape, fortran, out)) return false;
  if (!move_few(out.desc, from, fortran)) convert_elements(out.desc, from);
  out.desc.flags = flag_copied;
  return true;
}

bool owned_copy(Context& cx, const Descriptor& from, DType dtype, bool fortran, Borrow& out) noexcept {
  if (few_copied(cx, from, dtype, fortran, out)) return true;
  if (!owned_borrow(cx, dtype, from.ndim, from.shape, fortran, out)) return false;
  fill(out.desc, from);
  out.desc.flags = flag_copied;
  return true;
}

bool owned_copy(Context& cx, const Descriptor& from, Borrow& out) noexcept {
  return owned_copy(cx, from, from.dtype, from.f_contiguous() && !from.c_contiguous(), out);
}

}  // namespace anyarray
