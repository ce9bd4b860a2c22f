// SPDX-License-Identifier: Apache-2.0
// Shares of an array's memory given back by consumers that know no Python: from any thread, with the GIL or without,
// from another interpreter, or after the end of Python.
#include "src/python/enter.h"

namespace anyarray {

void unshare_from_anywhere(ArrayObject* a) noexcept {
  // The state stays as long as an array of it lives; without an interpreter it isn't looked at.
  run_inside(*a->state, [](void* array) { unshare(static_cast<ArrayObject*>(array)); }, a);
}

}  // namespace anyarray
