// SPDX-License-Identifier: Apache-2.0
// Shares of an array's memory given back by consumers that know no Python: from any thread, with the GIL or without,
// from another interpreter, or after the end of Python.
#include "src/python/enter.h"
#include "src/python/state.h"

namespace anyarray {

// The state stays as long as an array of it lives. Where Python can't be entered any more, the memory stays, too.
void unshare_from_anywhere(ArrayObject* a) noexcept {
  run_inside(*a->state, [](void* array) { unshare(static_cast<ArrayObject*>(array)); }, a);
}

}  // namespace anyarray
