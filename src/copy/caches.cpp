// SPDX-License-Identifier: Apache-2.0
#include "src/copy/caches.h"

#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif

namespace anyarray {
namespace {

std::int64_t ask() noexcept {
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const std::int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (bytes > 0) return bytes;
#endif
  return std::int64_t{16} << 20;
}

}  // namespace

std::int64_t last_cache() noexcept {
  static const std::int64_t bytes = ask();
  return bytes;
}

}  // namespace anyarray
