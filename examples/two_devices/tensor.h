// SPDX-License-Identifier: Apache-2.0
// The library itself: float64 tensors on the host, or on an accelerator (simulated: its memory is told from the host's
// by its device alone, and only the functions here go near it). Knows neither Python nor anyarray's engine.
#pragma once
#include <anyarray/device.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace two_devices {

inline constexpr int max_rank = 4;
inline constexpr anyarray::Device host = anyarray::cpu_device;
inline constexpr anyarray::Device accelerator{anyarray::DeviceType::ext_dev, 0};

struct Tensor {
  double* data;
  anyarray::Device device;
  std::int32_t rank;
  std::int64_t shape[max_rank];

  std::size_t size() const noexcept {
    std::size_t n = 1;
    for (int i = 0; i < rank; ++i) n *= static_cast<std::size_t>(shape[i]);
    return n;
  }
};

/// The accelerator's driver: allocates, copies and computes where its memory is.
namespace driver {
inline double* allocate(std::size_t n) noexcept {
  return static_cast<double*>(std::malloc(n > 0 ? n * sizeof(double) : sizeof(double)));
}
inline void copy(double* to, const double* from, std::size_t n) noexcept { std::memcpy(to, from, n * sizeof(double)); }
inline double total(const double* data, std::size_t n) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += data[i];
  return sum;
}
inline void fill(double* data, std::size_t n, double value) noexcept {
  for (std::size_t i = 0; i < n; ++i) data[i] = value;
}
}  // namespace driver

}  // namespace two_devices
