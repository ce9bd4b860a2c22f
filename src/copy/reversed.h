// SPDX-License-Identifier: Apache-2.0
// Unsigned integers by their size, and with their bytes turned round. The C headers and <type_traits> alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace anyarray {

template <std::size_t size>
using Unsigned = std::conditional_t<
    size == 1, std::uint8_t,
    std::conditional_t<size == 2, std::uint16_t, std::conditional_t<size == 4, std::uint32_t, std::uint64_t>>>;

inline std::uint8_t reversed(std::uint8_t v) noexcept { return v; }
inline std::uint16_t reversed(std::uint16_t v) noexcept { return __builtin_bswap16(v); }
inline std::uint32_t reversed(std::uint32_t v) noexcept { return __builtin_bswap32(v); }
inline std::uint64_t reversed(std::uint64_t v) noexcept { return __builtin_bswap64(v); }

}  // namespace anyarray
