// SPDX-License-Identifier: Apache-2.0
// The copies that convert() makes where a library can't hold the memory as it lies: in the machine's byte order, for
// which most libraries have dtypes alone.
#include "src/python/handover.h"
#include "src/support/owned.h"

namespace anyarray {

PyObject* fresh_copy(ArrayObject* a) noexcept {
  const Reading source(a);
  if (!source) return nullptr;
  State& s = *a->state;
  ArrayObject* made = array_reserve(s);
  if (made == nullptr) return nullptr;
  const bool swaps = source->dtype.swapped() && interned_type(source->dtype) == nullptr;
  const DType dtype = swaps ? source->dtype.with_swapped(false) : source->dtype;
  if (!owned_copy(s.cx, *source, dtype, false, made->borrow)) {
    array_discard(s, made);
    return nullptr;
  }
  made->borrow.checked = 1;
  return array_adopt(s, made);
}

}  // namespace anyarray
