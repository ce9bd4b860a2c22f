// SPDX-License-Identifier: Apache-2.0
// Work in parts, on as many threads as num_threads() says. Includes copy.h alone.
#pragma once
#include <cstdint>

#include "anyarray/copy.h"

namespace anyarray {

/// From so many bytes read and written on, work is worth a second thread.
inline constexpr std::int64_t bytes_for_threads = std::int64_t{1} << 20;

/// Calls work(what, begin, end) for parts that cover [0, n), each a multiple of `grain` long but for the last one, on
/// this thread and others, and returns when all are done. On this thread alone, in one call, where `bytes` (read and
/// written in all) is less than bytes_for_threads, one thread is set, or other threads aren't to be had. Nested calls
/// run on the caller's thread. Any thread may call it, with or without the GIL; `work` must not call Python.
void in_parts(std::int64_t n, std::int64_t grain, std::int64_t bytes,
              void (*work)(void* what, std::int64_t begin, std::int64_t end) noexcept, void* what) noexcept;

}  // namespace anyarray
