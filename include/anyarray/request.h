// SPDX-License-Identifier: Apache-2.0
// What a consumer asks for. Every condition is required, never converted: an array that was decoded but
// doesn't meet one ends the search; only a device that doesn't fit lets the engine go on.
#pragma once
#include <cstdint>

#include "anyarray/descriptor.h"
#include "anyarray/policy.h"

namespace anyarray {

/// Guards that a caller may waive by name, a bit each.
enum Waiver : std::uint32_t {
  waive_mask = 1u << 0,  ///< "mask": take the data of a masked array and drop the mask
  waive_grad = 1u << 1,  ///< "grad": take a tensor that requires grad; writes are unseen by autograd
  waive_conj = 1u << 2,  ///< "conj": take the memory of a conjugated tensor as it lies
  waive_neg = 1u << 3,   ///< "neg": take the memory of a negated tensor as it lies
};

/// Memory order as a condition.
enum class Order : std::uint8_t { any, c, f };

/// What else may be asked of the layout. Bits of Request::layout.
enum LayoutCondition : std::uint32_t {
  /// A pointer to elements can walk it: strides are whole numbers of elements, and the address is aligned for the
  /// dtype.
  layout_elements = 1u << 0,
  /// Elements fill whole bytes, so that there are strides.
  layout_bytes = 1u << 1,
};

/// A request. A default-made one asks for nothing; a null `Request*` means the same.
struct Request {
  const Policy* policy = nullptr;         ///< null: the default preset
  Device device = {DeviceType::any, -1};  ///< type `any`: no condition; id -1: any of that kind
  bool has_dtype = false;                 ///< whether `dtype` is a condition
  bool writable = false;                  ///< memory must be writable
  Order order = Order::any;
  std::int8_t ndim = -1;    ///< -1: no condition
  std::uint32_t allow = 0;  ///< Waiver bits
  DType dtype = {};
  std::uint32_t layout = 0;             ///< LayoutCondition bits
  std::uint32_t n_dtypes = 0;           ///< > 0: any of `dtypes` is a condition, instead of `dtype`
  const DType* dtypes = nullptr;        ///< the caller's, for as long as the request
  std::uintptr_t reserved[2] = {0, 0};  ///< streams come here; must be 0

  /// Whether anything is asked of the descriptor.
  constexpr bool has_conditions() const noexcept {
    return device.type != DeviceType::any || has_dtype || writable || order != Order::any || ndim >= 0 || layout != 0 ||
           n_dtypes != 0;
  }
};

/// Whether anything that this row gives can meet a request for that device.
bool can_meet(Protocol row, Device wanted) noexcept;

/// Whether the descriptor meets the request: ok, `device`, or `mismatch` with all that was given and wanted otherwise.
Status meets(const Descriptor& d, const Request& r, Reason* why) noexcept;

/// "mask" → waive_mask, …; 0 when there is no such guard.
std::uint32_t parse_waiver(const char* name) noexcept;

}  // namespace anyarray
