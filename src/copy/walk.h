// SPDX-License-Identifier: Apache-2.0
// Runs of elements, for casts that need no kernels of their own: on several threads where there are many, or one by one
// in C order.
#pragma once
#include "anyarray/descriptor.h"
#include "src/copy/axes.h"
#include "src/copy/threads.h"

namespace anyarray {

/// A run: n elements of both sides, with their steps in bytes.
using Run = void (*)(const void* how, char* to, std::int64_t to_step, const char* from, std::int64_t from_step,
                     std::int64_t n) noexcept;

/// Calls `run` for runs that are all elements. Precondition: both have strides, and elements.
void walk(const Descriptor& to, const Descriptor& from, Run run, const void* how) noexcept;

/// The number in C order of the first element for which `is` says no; -1 where there is none.
std::int64_t find_first(const Descriptor& d, bool (*is)(const void* how, const char* element) noexcept,
                        const void* how) noexcept;

}  // namespace anyarray
