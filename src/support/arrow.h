// SPDX-License-Identifier: Apache-2.0
// What the Arrow rows share: the struct in a capsule, and the borrow that owns an array.
#pragma once
#include "anyarray/protocols/arrow.h"
#include "src/support/context.h"

namespace anyarray {

/// The struct in a capsule of this name; what gave it is named in the sentence. invalid: it is something else.
Status arrow_struct(const Context& cx, PyObject* capsule, const char* name, const char* method, void** out,
                    Failure& why) noexcept;

/// Releases a schema, an array or a stream that is ours, if it wasn't already. It may run code of others.
template <class Struct>
void arrow_release(Struct& ours) noexcept {
  if (ours.release == nullptr) return;
  apart_from_errors([&ours] { ours.release(&ours); });
  ours.release = nullptr;  // as its callback should have done
}

/// Moves the array into the token, where it stays until the borrow is released. It is moved, which takes 80 bytes,
/// rather than left in a capsule that is held: whoever else has the capsule could move it from there, and release it
/// under the borrow.
void hold_arrow(Context& cx, PyObject* obj, arrow::Array& from, Borrow& out) noexcept;

}  // namespace anyarray
