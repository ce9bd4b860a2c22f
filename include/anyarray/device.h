// SPDX-License-Identifier: Apache-2.0
// Where memory lies: DLPack's device kinds (also Arrow's), and which of them the host can read.
#pragma once
#include <cstddef>
#include <cstdint>

namespace anyarray {

/// DLPack's DLDeviceType numbers (dlpack.h 1.3). Other numbers aren't understood and are refused.
enum class DeviceType : std::int32_t {
  any = 0,  ///< in requests only: no condition
  cpu = 1,
  cuda = 2,
  cuda_host = 3,
  opencl = 4,
  vulkan = 7,
  metal = 8,
  vpi = 9,
  rocm = 10,
  rocm_host = 11,
  ext_dev = 12,
  cuda_managed = 13,
  oneapi = 14,
  webgpu = 15,
  hexagon = 16,
  maia = 17,
  trn = 18,
};

/// A device kind and its number; the number is 0 for cpu, pinned and managed memory.
struct Device {
  DeviceType type;
  std::int32_t id;
  constexpr bool operator==(const Device& o) const noexcept { return type == o.type && id == o.id; }
  constexpr bool operator!=(const Device& o) const noexcept { return !(*this == o); }
};

inline constexpr Device cpu_device{DeviceType::cpu, 0};

/// True for the kinds of DLPack 1.3.
constexpr bool is_known(DeviceType t) noexcept {
  const auto n = static_cast<std::int32_t>(t);
  return (n >= 1 && n <= 4) || (n >= 7 && n <= 18);
}

/// True for a device of those kinds with a number that can be one.
constexpr bool is_known(Device d) noexcept { return is_known(d.type) && d.id >= 0; }

/// True when the host may dereference such memory: cpu, pinned, and managed (the last after the
/// work on it is done). oneapi memory may be host-readable too, but only SYCL can tell.
constexpr bool host_readable(DeviceType t) noexcept {
  return t == DeviceType::cpu || t == DeviceType::cuda_host || t == DeviceType::rocm_host ||
         t == DeviceType::cuda_managed;
}

namespace detail {
/// By DLPack's number.
inline constexpr const char* device_names[] = {
    nullptr, "cpu",       "cuda",    "cuda_host",    "opencl", nullptr,  nullptr,   "vulkan", "metal", "vpi",
    "rocm",  "rocm_host", "ext_dev", "cuda_managed", "oneapi", "webgpu", "hexagon", "maia",   "trn"};
}  // namespace detail

/// "cpu", "cuda", "cuda_host", …; null for a number that isn't known. Static storage.
constexpr const char* device_type_name(DeviceType t) noexcept {
  return is_known(t) ? detail::device_names[static_cast<int>(t)] : nullptr;
}

/// Reads "cpu", "cuda", "cuda:1", … (case matters). A kind without a number gives id 0 where ids are always 0, and
/// otherwise -1: any of that kind. False when it isn't one.
bool parse_device(const char* text, Device* out) noexcept;

/// Writes "cpu" or "cuda:0" (kinds whose id is always 0 show it only when it isn't; -1 isn't shown). Returns
/// the length without the terminator, as snprintf does.
std::size_t format_device(Device device, char* out, std::size_t size) noexcept;

}  // namespace anyarray
