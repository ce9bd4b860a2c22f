// SPDX-License-Identifier: Apache-2.0
// The copies that convert() makes where a library can't hold the memory as it lies: in the machine's byte order, for
// which most libraries have dtypes alone.
#include <utility>

#include "src/python/handover.h"
#include "src/support/owned.h"

namespace anyarray {
namespace {

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

}  // namespace

PyObject* fresh_copy(ArrayObject* a) noexcept {
  const Reading source(a);
  if (!source) return nullptr;
  State& s = *a->state;
  ArrayObject* made = array_reserve(s);
  if (made == nullptr) return nullptr;
  const bool swaps = source->dtype.swapped() && interned_type(source->dtype) == nullptr;
  const DType dtype = swaps ? source->dtype.with_swapped(false) : source->dtype;
  if (!owned_borrow(s.cx, dtype, source->ndim, source->shape, false, made->borrow)) {
    array_discard(s, made);
    return nullptr;
  }
  copy_row_major(*source, made->borrow.desc.data);
  if (swaps) {
    swap_parts(static_cast<char*>(made->borrow.desc.data), static_cast<std::size_t>(source->nbytes()), part_of(dtype));
  }
  made->borrow.desc.flags = flag_copied;
  made->borrow.checked = 1;
  return array_adopt(s, made);
}

}  // namespace anyarray
