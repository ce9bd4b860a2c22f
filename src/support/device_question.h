// SPDX-License-Identifier: Apache-2.0
// __dlpack_device__, asked of an object whose row can't say its device: by the adapters of such rows, and by the
// engine before it tries one.
#pragma once
#include "src/support/context.h"

namespace anyarray {

/// What __dlpack_device__ answers; type `any` where there is no such method, it raises, or its answer is no pair that
/// begins with a kind that is known. The number is as it came, -1 where it is none. ok or interrupted.
Status ask_device(Context& cx, PyObject* obj, Device* out) noexcept;

/// fill_device() where the look-up of the method came to `found` and `method`, which it takes.
Status fill_answered(int found, PyObject* method, Protocol row, Descriptor& d) noexcept;

/// Fills the device of what `row` gave: as __dlpack_device__ says it, where that is a device of the row's kinds;
/// otherwise the first of kind `otherwise`, marked as unverified. ok or interrupted.
inline Status fill_device(Context& cx, PyObject* obj, Protocol row, DeviceType otherwise, Descriptor& d) noexcept {
  d.device = Device{otherwise, 0};
  d.flags |= flag_device_unverified;
  PyObject* method = nullptr;
  const int found = lookup_attribute(obj, cx.names.dlpack_device, &method);
  return found == 0 ? Status::ok : fill_answered(found, method, row, d);
}

}  // namespace anyarray
