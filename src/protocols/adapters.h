// SPDX-License-Identifier: Apache-2.0
// One consume function a registry row (src/protocols/<row>/adapter.cpp), declared from the registry.
#pragma once
#include "src/support/context.h"

namespace anyarray::adapters {

#define ANYARRAY_PROTOCOL(id, attribute, traits, text) \
  Status id(Context& cx, PyObject* obj, const Route& route, const Request& request, Borrow& out, Failure& why) noexcept;
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL

}  // namespace anyarray::adapters
