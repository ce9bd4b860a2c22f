// SPDX-License-Identifier: Apache-2.0
// Names of devices, both ways, from one table. Includes device.h alone.
#include "anyarray/device.h"

#include <cstdio>
#include <cstring>

namespace anyarray {
namespace {

struct DeviceRow {
  DeviceType type;
  const char* name;
  bool numbered;  // whether there can be several of the kind
};

constexpr DeviceRow device_table[] = {
    {DeviceType::cpu, "cpu", false},
    {DeviceType::cuda, "cuda", true},
    {DeviceType::cuda_host, "cuda_host", false},
    {DeviceType::opencl, "opencl", true},
    {DeviceType::vulkan, "vulkan", true},
    {DeviceType::metal, "metal", true},
    {DeviceType::vpi, "vpi", true},
    {DeviceType::rocm, "rocm", true},
    {DeviceType::rocm_host, "rocm_host", false},
    {DeviceType::ext_dev, "ext_dev", true},
    {DeviceType::cuda_managed, "cuda_managed", false},
    {DeviceType::oneapi, "oneapi", true},
    {DeviceType::webgpu, "webgpu", true},
    {DeviceType::hexagon, "hexagon", true},
    {DeviceType::maia, "maia", true},
    {DeviceType::trn, "trn", true},
};

const DeviceRow* find(DeviceType t) noexcept {
  for (const DeviceRow& row : device_table) {
    if (row.type == t) return &row;
  }
  return nullptr;
}

// Digits up to INT32_MAX and nothing else.
bool read_id(const char* p, std::int32_t* out) noexcept {
  std::int64_t n = 0;
  if (*p == '\0') return false;
  for (; *p != '\0'; ++p) {
    if (*p < '0' || *p > '9') return false;
    n = n * 10 + (*p - '0');
    if (n > INT32_MAX) return false;
  }
  *out = static_cast<std::int32_t>(n);
  return true;
}

std::size_t written(int n) noexcept { return n < 0 ? 0 : static_cast<std::size_t>(n); }

}  // namespace

const char* device_type_name(DeviceType t) noexcept {
  const DeviceRow* row = find(t);
  return row != nullptr ? row->name : nullptr;
}

bool parse_device(const char* text, Device* out) noexcept {
  for (const DeviceRow& row : device_table) {
    const std::size_t length = std::strlen(row.name);
    if (std::strncmp(text, row.name, length) != 0) continue;
    std::int32_t id = row.numbered ? -1 : 0;
    if (text[length] == ':' ? !read_id(text + length + 1, &id) : text[length] != '\0') continue;
    *out = Device{row.type, id};
    return true;
  }
  return false;
}

std::size_t format_device(Device device, char* out, std::size_t size) noexcept {
  const DeviceRow* row = find(device.type);
  if (row == nullptr) {
    if (device.type == DeviceType::any) return written(std::snprintf(out, size, "any"));
    return written(std::snprintf(out, size, "unknown(%d):%d", static_cast<int>(device.type), device.id));
  }
  if (device.id == -1 || (device.id == 0 && !row->numbered)) return written(std::snprintf(out, size, "%s", row->name));
  return written(std::snprintf(out, size, "%s:%d", row->name, device.id));
}

}  // namespace anyarray
