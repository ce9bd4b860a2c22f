// SPDX-License-Identifier: Apache-2.0
// Into the interpreter of a state, from wherever a consumer lets go: with its GIL, with that of another interpreter,
// or from a thread that Python has never seen.
#pragma once
#include "src/python/state.h"

namespace anyarray {

/// Runs `run(argument)` with the GIL of the state's interpreter, and comes back to what the thread had. False, and
/// nothing was run, where Python can't be entered any more: the process ends, or the interpreter has.
bool run_inside(State& s, void (*run)(void*), void* argument) noexcept;

}  // namespace anyarray
