// SPDX-License-Identifier: Apache-2.0
// Memory for results: aligned to a cache line, in huge pages where it is large. Includes the C headers alone.
#pragma once
#include <cstddef>
#include <cstdint>

namespace anyarray {

/// Own memory starts at a cache line, where every vector instruction may read it.
inline constexpr std::size_t owned_alignment = 64;

/// Room for so many bytes (for 0 as well), aligned, not initialised; given back by free_memory(), from any thread. Null
/// when there is none.
void* allocate_memory(std::int64_t bytes) noexcept;
void free_memory(void* memory) noexcept;

}  // namespace anyarray
