// SPDX-License-Identifier: Apache-2.0
// Names of devices, both ways, from the table in device.h. Includes that alone.
#include "anyarray/device.h"

#include <cstdio>
#include <cstring>

namespace anyarray {
namespace {

// Whether there can be several of the kind: pinned and managed memory is the host's.
bool is_numbered(DeviceType t) noexcept { return !host_readable(t); }

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

bool parse_device(const char* text, Device* out) noexcept {
  for (std::int32_t n = 0; n < static_cast<std::int32_t>(sizeof detail::device_names / sizeof(char*)); ++n) {
    const auto type = static_cast<DeviceType>(n);
    const char* const name = device_type_name(type);
    if (name == nullptr) continue;
    const std::size_t length = std::strlen(name);
    if (std::strncmp(text, name, length) != 0) continue;
    std::int32_t id = is_numbered(type) ? -1 : 0;
    if (text[length] == ':' ? !read_id(text + length + 1, &id) : text[length] != '\0') continue;
    *out = Device{type, id};
    return true;
  }
  return false;
}

std::size_t format_device(Device device, char* out, std::size_t size) noexcept {
  const char* const name = device_type_name(device.type);
  if (name == nullptr) {
    if (device.type == DeviceType::any) return written(std::snprintf(out, size, "any"));
    return written(std::snprintf(out, size, "unknown(%d):%d", static_cast<int>(device.type), device.id));
  }
  if (device.id == -1 || (device.id == 0 && !is_numbered(device.type)))
    return written(std::snprintf(out, size, "%s", name));
  return written(std::snprintf(out, size, "%s:%d", name, device.id));
}

}  // namespace anyarray
