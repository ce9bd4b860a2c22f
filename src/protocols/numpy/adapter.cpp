// SPDX-License-Identifier: Apache-2.0
// Row `numpy`: an ndarray (exact, memmap, or a subclass that overrides no exchange attribute) read in place.
#include "src/protocols/adapters.h"
#include "src/support/numpy_struct.h"

namespace anyarray::adapters {

Status numpy(Context& cx, PyObject* obj, const Route&, const Request&, Borrow& out, Failure& why) noexcept {
  const Status s = numpy_decode(cx, obj, out, why);
  if (s == Status::ok) hold_uncounted(cx, obj, out, let_go_uncounted);
  return s;
}

}  // namespace anyarray::adapters
