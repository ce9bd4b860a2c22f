// SPDX-License-Identifier: Apache-2.0
// The out-of-line half of validate(): one pass over what is usual; what that can't wave through is told apart and
// put into words.
#include "anyarray/descriptor.h"

namespace anyarray::detail {
namespace {

using Wide = long long;  // what printf calls it

Status validate_packed(const Descriptor& d, std::int64_t n, Reason* why) noexcept {
  if (d.strides != nullptr && d.ndim > 0) {
    return because(Status::invalid, why, "packed elements of %u bits can't have byte strides: they lie row-major",
                   unsigned{d.dtype.bits} * d.dtype.count);
  }
  std::int64_t bits = 0;
  const auto element = static_cast<std::int64_t>(d.dtype.bits) * static_cast<std::int64_t>(d.dtype.count);
  if (__builtin_mul_overflow(n, element, &bits) || __builtin_add_overflow(bits, std::int64_t{7}, &bits) ||
      static_cast<std::uint64_t>(bits / 8) > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(d.data)) {
    return because(Status::invalid, why, "%lld elements of %lld bits don't fit the address space", static_cast<Wide>(n),
                   static_cast<Wide>(element));
  }
  return Status::ok;
}

Status validate_slowly(const Descriptor& d, Reason* why) noexcept {
  if (d.ndim < 0 || d.ndim > max_ndim) {
    return because(Status::invalid, why, "an array of %d dimensions: 0 to %d are possible", d.ndim, max_ndim);
  }
  if (d.ndim > 0 && d.shape == nullptr) {
    return because(Status::invalid, why, "the shape is missing (null with %d dimensions)", d.ndim);
  }
  for (int i = 0; i < d.ndim; ++i) {
    if (d.shape[i] < 0) {
      return because(Status::invalid, why, "extent %d of the shape is negative (%lld)", i,
                     static_cast<Wide>(d.shape[i]));
    }
  }
  std::int64_t n = 0;
  if (!element_count(d.ndim, d.shape, &n)) {
    return because(Status::invalid, why, "the shape has more elements than 64 bits can count");
  }
  const bool packed = d.dtype.packed();
  if (!packed && d.ndim > 0 && d.strides == nullptr) {
    return because(Status::invalid, why, "the strides are missing (null with %d dimensions)", d.ndim);
  }
  if (n == 0) return packed ? validate_packed(d, n, why) : Status::ok;
  if (d.data == nullptr) {
    return because(Status::invalid, why, "the address is null, but the shape has %lld elements", static_cast<Wide>(n));
  }
  if (packed) return validate_packed(d, n, why);
  const std::int64_t itemsize = d.dtype.itemsize();
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(n, itemsize, &bytes)) {
    return because(Status::invalid, why, "%lld elements of %lld bytes are more bytes than 64 bits can count",
                   static_cast<Wide>(n), static_cast<Wide>(itemsize));
  }
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (!byte_extent(d.ndim, d.shape, d.strides, itemsize, &low, &high)) {
    return because(Status::invalid, why, "shape and strides reach further than 64 bits can address");
  }
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(d.data);
  if (address < std::uint64_t{0} - static_cast<std::uint64_t>(low) ||
      static_cast<std::uint64_t>(high) > UINTPTR_MAX - address) {
    return because(Status::invalid, why,
                   "shape and strides reach from %lld to %lld bytes around address %p: outside the address space",
                   static_cast<Wide>(low), static_cast<Wide>(high), d.data);
  }
  return Status::ok;
}

}  // namespace

// Without divisions, branches or overflow checks over what is usual. Not inlined: its callers have a shorter way.
__attribute__((noinline)) Status validate_any(const Descriptor& d, Reason* why) noexcept {
  if (__builtin_expect(static_cast<std::uint32_t>(d.ndim) <= static_cast<std::uint32_t>(max_ndim) &&
                           d.data != nullptr && (d.ndim == 0 || (d.shape != nullptr && d.strides != nullptr)) &&
                           !d.dtype.packed(),
                       1)) {
    // With extents, strides and itemsize below 2^28 and at most 64 dimensions no sum comes near 2^63, and a count
    // that was below 2^34 before each product doesn't either. An extent under 1 sets the upper bits of `wide`.
    const auto itemsize = static_cast<std::uint64_t>(d.dtype.itemsize());
    std::uint64_t wide = itemsize;
    std::uint64_t counts = 0;
    std::uint64_t n = 1;
    std::uint64_t low = 0;  // sums of signed reaches, modulo 2^64
    std::uint64_t sum = 0;
    for (int i = 0; i < d.ndim; ++i) {
      const std::uint64_t steps = static_cast<std::uint64_t>(d.shape[i]) - 1;
      const std::int64_t stride = d.strides[i];
      const auto reach = static_cast<std::int64_t>(steps * static_cast<std::uint64_t>(stride));
      wide |= steps | static_cast<std::uint64_t>(stride ^ (stride >> 63));
      n *= steps + 1;
      counts |= n;
      low += static_cast<std::uint64_t>(reach & (reach >> 63));
      sum += static_cast<std::uint64_t>(reach);
    }
    const std::uint64_t below = std::uint64_t{0} - low;
    const std::uint64_t above = sum + below + itemsize;
    const std::uint64_t address = reinterpret_cast<std::uintptr_t>(d.data);
    if (__builtin_expect((wide >> 28) == 0 && (counts >> 34) == 0 && below <= address && above <= UINTPTR_MAX - address,
                         1)) {
      return Status::ok;
    }
  }
  return validate_slowly(d, why);
}

}  // namespace anyarray::detail
