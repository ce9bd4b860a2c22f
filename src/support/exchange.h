// SPDX-License-Identifier: Apache-2.0
// The checked look-up of a type's DLPack C exchange table. Used by the engine, once a type, and by the row's
// adapter, to say why a table can't be used.
#pragma once
#include "src/support/context.h"

namespace anyarray {

/// The table in what a type has as __dlpack_c_exchange_api__, as the type itself gives it (a descriptor is asked): only
/// from a capsule of the right name, of major version 1 (itself or along prev_api), with a function that gives tensors.
/// The table lives as long as the process. invalid otherwise; never leaves an exception set, but for `interrupted`.
Status exchange_of(Context& cx, PyTypeObject* type, const dlpack::ExchangeApi** out, Failure& why) noexcept;

}  // namespace anyarray
