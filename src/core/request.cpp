// SPDX-License-Identifier: Apache-2.0
// Whether a descriptor is what was asked for, and the sentence when it isn't.
#include "anyarray/request.h"

#include <cstring>

namespace anyarray {
namespace {

bool device_fits(Device have, Device want) noexcept {
  // Memory that the host can read serves a request for the host, whatever number it carries.
  if (want.type == DeviceType::cpu) return host_readable(have.type);
  return have.type == want.type && (want.id == -1 || have.id == want.id);
}

Status wrong_device(Device have, Device want, Reason* why) noexcept {
  char given[48];
  char wanted[48];
  format_device(have, given, sizeof given);
  format_device(want, wanted, sizeof wanted);
  return because(Status::device, why, "the array is on %s, %s was asked for", given, wanted);
}

// The same name stands for both, so the sentence has to tell them apart.
const char* padding(DType d, bool tell) noexcept {
  if (!tell || d.bits >= 8 || d.code > TypeCode::float4_e2m1fn) return "";
  return d.padded() ? " (padded to bytes)" : " (packed)";
}

Status wrong_dtype(DType have, DType want, Reason* why) noexcept {
  char given[80];
  char wanted[80];
  format_dtype(have, given, sizeof given);
  format_dtype(want, wanted, sizeof wanted);
  const bool tell = have.padded() != want.padded();
  return because(Status::mismatch, why, "the array has dtype %s%s, %s%s was asked for: nothing is converted", given,
                 padding(have, tell), wanted, padding(want, tell));
}

struct WaiverRow {
  const char* name;
  std::uint32_t bit;
};
constexpr WaiverRow waivers[] = {{"mask", waive_mask}, {"grad", waive_grad}, {"conj", waive_conj}, {"neg", waive_neg}};

}  // namespace

bool can_meet(Protocol row, Device wanted) noexcept {
  if (wanted.type == DeviceType::any) return true;
  if (wanted.type != DeviceType::cpu) {
    // Host rows call what they give cpu, also where it is pinned.
    return (row_traits[static_cast<int>(row)] & row_host) == 0 && serves(row, wanted.type);
  }
  return serves(row, DeviceType::cpu) || serves(row, DeviceType::cuda_host) || serves(row, DeviceType::cuda_managed);
}

Status meets(const Descriptor& d, const Request& r, Reason* why) noexcept {
  if (r.device.type != DeviceType::any && !device_fits(d.device, r.device)) {
    return wrong_device(d.device, r.device, why);
  }
  if (r.has_dtype && d.dtype != r.dtype) return wrong_dtype(d.dtype, r.dtype, why);
  if (r.ndim >= 0 && d.ndim != r.ndim) {
    return because(Status::mismatch, why, "the array has %d dimensions, %d were asked for", d.ndim, int{r.ndim});
  }
  if (r.writable && d.readonly()) {
    return because(Status::mismatch, why, "the array is read-only, writable memory was asked for");
  }
  if (r.order == Order::c && !d.c_contiguous()) {
    return because(Status::mismatch, why, "the array isn't C-contiguous (row-major without gaps), as was asked for");
  }
  if (r.order == Order::f && !d.f_contiguous()) {
    return because(Status::mismatch, why,
                   "the array isn't Fortran-contiguous (column-major without gaps), as was asked for");
  }
  return Status::ok;
}

std::uint32_t parse_waiver(const char* name) noexcept {
  for (const WaiverRow& row : waivers) {
    if (std::strcmp(row.name, name) == 0) return row.bit;
  }
  return 0;
}

}  // namespace anyarray
