// SPDX-License-Identifier: Apache-2.0
#include "src/copy/threads.h"

#include <atomic>

namespace anyarray {
namespace {
std::atomic<int> threads{1};
}  // namespace

int num_threads() noexcept { return threads.load(std::memory_order_relaxed); }
int set_num_threads(int n) noexcept { return threads.exchange(n < 1 ? 1 : n, std::memory_order_relaxed); }

void in_parts(std::int64_t n, std::int64_t, std::int64_t,
              void (*work)(void* what, std::int64_t begin, std::int64_t end) noexcept, void* what) noexcept {
  if (n > 0) work(what, 0, n);
}

}  // namespace anyarray
