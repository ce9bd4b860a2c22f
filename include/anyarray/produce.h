// SPDX-License-Identifier: Apache-2.0
// From plain parts to a borrow: pointer, shape, strides, dtype, device and a release callback, checked. For who owns
// memory and offers it. Without Python; extensions give the parts to CApi::produce (c_api.h), which checks the same.
#pragma once
#include "anyarray/descriptor.h"

namespace anyarray {

/// What an address of such elements must be a multiple of; 1 for text, raw bytes, structs (they may be packed) and
/// everything below a byte.
std::int64_t alignment_of(DType d) noexcept;

/// Fills `out` from the parts of an array; its protocol is no_protocol, token[0] and token[1] are what the release
/// callback is called with, and the callback. `parts.strides` may be null: C order. Shape and strides are copied, the
/// memory isn't: it must stay valid until `release(what)` is called, once, at the borrow's release(). Both may be
/// null: the memory is then there for good. For shared ownership: make_holder(*out, …).
/// invalid, with the reason: what validate() refuses (negative extents, sizes that overflow, NULL with elements), an
/// address or strides that aren't aligned for the dtype, a dtype, device or flag that isn't one. no_memory. `out`
/// holds nothing then, and `release` isn't called.
Status produce(const Descriptor& parts, void (*release)(void* what), void* what, Borrow* out, Reason* why) noexcept;

namespace detail {
/// The end of a borrow of plain parts: token[0] and token[1] are what the callback is called with, and the callback.
inline void release_parts(Borrow* b) noexcept {
  auto* const fn = reinterpret_cast<void (*)(void*)>(b->token[1]);
  if (fn != nullptr) fn(b->token[0]);
}
/// The rest of a borrow whose descriptor is filled and right.
inline void hold_parts(Borrow& b, void (*release)(void* what), void* what) noexcept {
  b.owner = nullptr;
  b.context = nullptr;
  b.protocol = no_protocol;
  b.checked = 1;
  b.token[0] = what;
  b.token[1] = reinterpret_cast<void*>(release);
  b.release_fn = release_parts;
}
}  // namespace detail

}  // namespace anyarray
