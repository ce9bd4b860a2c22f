// SPDX-License-Identifier: Apache-2.0
// What differs between the engine of the package and one that is built into an extension: where its module is found.
// Two files of src/home define it; one of them is linked.
#pragma once
#include "src/python/state.h"

namespace anyarray {

/// The engine's module in this interpreter. New reference; null with ImportError set.
PyObject* engine_module() noexcept;
/// The last step of making the module: what others find it by. False with an exception set.
bool settle(State& s, PyObject* module) noexcept;

}  // namespace anyarray
