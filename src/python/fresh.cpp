// SPDX-License-Identifier: Apache-2.0
// Arrays in memory of their own: the copies that convert() makes where a library can't hold the memory as it lies.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/python/handover.h"

namespace anyarray {
namespace {

constexpr std::size_t alignment = 64;  // what JAX shares without a copy, and a cache line

/// Copies elements of a size known at compile time, `n` of them `step` bytes apart.
template <std::size_t size>
void copy_row(char* to, const char* from, std::int64_t n, std::int64_t step) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to, from, size);
    to += size;
    from += step;
  }
}

void copy_any_row(char* to, const char* from, std::int64_t n, std::int64_t step, std::size_t size) noexcept {
  switch (size) {
    case 1:
      return copy_row<1>(to, from, n, step);
    case 2:
      return copy_row<2>(to, from, n, step);
    case 4:
      return copy_row<4>(to, from, n, step);
    case 8:
      return copy_row<8>(to, from, n, step);
    case 16:
      return copy_row<16>(to, from, n, step);
    default:
      for (std::int64_t i = 0; i < n; ++i, from += step, to += size) std::memcpy(to, from, size);
  }
}

/// Rows of the last dimension, in row-major order.
void copy_dims(char*& to, const char* from, const Descriptor& d, int dim, std::size_t size) noexcept {
  if (d.ndim == 0) {
    std::memcpy(to, from, size);
    return;
  }
  if (dim == d.ndim - 1) {
    copy_any_row(to, from, d.shape[dim], d.strides[dim], size);
    to += static_cast<std::size_t>(d.shape[dim]) * size;
    return;
  }
  for (std::int64_t i = 0; i < d.shape[dim]; ++i) copy_dims(to, from + i * d.strides[dim], d, dim + 1, size);
}

/// Bytes that are one number, whose order is the machine's or not.
std::size_t part_of(DType d) noexcept {
  if (d.code == TypeCode::fixed_ucs4) return 4;
  if (d.is_time()) return 8;
  const std::size_t lane = d.bits / 8u;
  return d.is_complex() ? lane / 2 : lane;
}

void swap_parts(char* p, std::size_t bytes, std::size_t part) noexcept {
  for (char* end = p + bytes; p < end; p += part) {
    for (std::size_t i = 0; i < part / 2; ++i) std::swap(p[i], p[part - 1 - i]);
  }
}

void release_fresh(Borrow* b) noexcept {
  std::free(b->token[0]);
  let_go(b);
}

}  // namespace

PyObject* fresh_copy(ArrayObject* a) noexcept {
  const Reading source(a);
  if (!source) return nullptr;
  const auto bytes = static_cast<std::size_t>(source->nbytes());
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1) != 0) return PyErr_NoMemory();
  State& s = *a->state;
  ArrayObject* made = array_reserve(s);
  std::int64_t* shape = nullptr;
  if (made != nullptr) {
    made->borrow.desc = *source;
    begin(made->borrow);
    shape = reserve_dims(made->borrow, source->ndim);
    if (shape == nullptr) array_discard(s, made);
  }
  if (shape == nullptr) {
    std::free(memory);
    return made == nullptr ? nullptr : PyErr_NoMemory();
  }
  Borrow& b = made->borrow;
  const std::size_t size = static_cast<std::size_t>(source->dtype.itemsize());
  std::memcpy(shape, source->shape, sizeof(std::int64_t) * static_cast<std::size_t>(source->ndim));
  if (source->strides == nullptr) {
    b.desc.strides = nullptr;
  } else {
    c_strides(source->ndim, shape, source->dtype.itemsize(), shape + source->ndim);
  }
  if (bytes > 0 && source->c_contiguous()) {
    std::memcpy(memory, source->data, bytes);
  } else if (bytes > 0) {
    char* to = static_cast<char*>(memory);
    copy_dims(to, static_cast<const char*>(source->data), *source, 0, size);
  }
  if (source->dtype.swapped() && interned_type(source->dtype) == nullptr) {
    swap_parts(static_cast<char*>(memory), bytes, part_of(source->dtype));
    b.desc.dtype = source->dtype.with_swapped(false);
  }
  b.desc.data = memory;
  b.desc.device = cpu_device;
  b.desc.flags = flag_copied;
  b.protocol = static_cast<std::uint8_t>(Protocol::dlpack);  // a row whose token the collector doesn't look into
  b.checked = 1;
  b.token[0] = memory;
  hold(s.cx, Py_None, b, release_fresh);
  return array_adopt(s, made);
}

}  // namespace anyarray
