// SPDX-License-Identifier: Apache-2.0
// What is known of the machine's caches. The C headers alone.
#pragma once
#include <cstdint>

namespace anyarray {

/// Bytes of the last cache; a usual size where the system doesn't say.
std::int64_t last_cache() noexcept;

}  // namespace anyarray
