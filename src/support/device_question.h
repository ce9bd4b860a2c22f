// SPDX-License-Identifier: Apache-2.0
// __dlpack_device__, asked of an object whose row can't say its device: by the adapters of such rows, and by the
// engine before it tries one.
#pragma once
#include "src/support/context.h"

namespace anyarray {

/// What __dlpack_device__ answers; type `any` where there is no such method, it raises, or its answer is no pair that
/// begins with a kind that is known. The number is as it came, -1 where it is none. ok or interrupted.
Status ask_device(Context& cx, PyObject* obj, Device* out) noexcept;

/// Fills the device of what `row` gave: as __dlpack_device__ says it, where that is a device of the row's kinds;
/// otherwise the first of kind `otherwise`, marked as unverified. ok or interrupted.
Status fill_device(Context& cx, PyObject* obj, Protocol row, DeviceType otherwise, Descriptor& d) noexcept;

}  // namespace anyarray
