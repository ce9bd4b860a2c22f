// SPDX-License-Identifier: Apache-2.0
// Whether a descriptor is what was asked for, and the sentence when it isn't.
#include "anyarray/request.h"

#include <cstring>

#include "anyarray/produce.h"
#include "src/core/text_writer.h"

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

/// The sentences about all conditions that aren't met, one after the other.
class Unmet {
 public:
  explicit Unmet(Reason* why) noexcept
      : text_(why != nullptr ? why->text : nullptr, why != nullptr ? sizeof why->text : 0) {}
  /// Where the next sentence goes.
  TextWriter& next() noexcept {
    if (status_ != Status::ok) text_.print("; ");
    status_ = Status::mismatch;
    return text_;
  }
  Status status() const noexcept { return status_; }

 private:
  TextWriter text_;
  Status status_ = Status::ok;
};

bool has_wanted_dtype(DType have, const Request& r) noexcept {
  for (std::uint32_t i = 0; i < r.n_dtypes; ++i) {
    if (have == r.dtypes[i]) return true;
  }
  return r.n_dtypes == 0 && (!r.has_dtype || have == r.dtype);
}

void wrong_dtype(DType have, const Request& r, TextWriter& text) noexcept {
  char name[80];
  format_dtype(have, name, sizeof name);
  const DType* const wanted = r.n_dtypes > 0 ? r.dtypes : &r.dtype;
  const std::uint32_t n = r.n_dtypes > 0 ? r.n_dtypes : 1;
  bool tell = false;
  for (std::uint32_t i = 0; i < n; ++i) tell |= have.padded() != wanted[i].padded();
  text.print("the array has dtype %s%s, ", name, padding(have, tell));
  for (std::uint32_t i = 0; i < n; ++i) {
    format_dtype(wanted[i], name, sizeof name);
    text.print("%s%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", name, padding(wanted[i], tell));
  }
  text.print(" was asked for: nothing is converted");
}

/// See layout_elements.
void check_elements(const Descriptor& d, Unmet& unmet) noexcept {
  const std::int64_t itemsize = d.dtype.itemsize();
  const std::int64_t alignment = alignment_of(d.dtype);
  if (d.size() == 0) return;
  if (alignment > 1 && reinterpret_cast<std::uintptr_t>(d.data) % static_cast<std::uintptr_t>(alignment) != 0) {
    unmet.next().print("the address %p isn't aligned for its elements: a multiple of %lld is needed", d.data,
                       static_cast<long long>(alignment));
  }
  for (int i = 0; d.strides != nullptr && itemsize > 0 && i < d.ndim; ++i) {
    if (d.shape[i] > 1 && d.strides[i] % itemsize != 0) {
      return unmet.next().print("stride %d is %lld bytes, which isn't a whole number of elements of %lld", i,
                                static_cast<long long>(d.strides[i]), static_cast<long long>(itemsize));
    }
  }
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
  Unmet unmet(why);
  if (r.ndim >= 0 && d.ndim != r.ndim)
    unmet.next().print("the array has ndim %d, %d was asked for", d.ndim, int{r.ndim});
  if (!has_wanted_dtype(d.dtype, r)) wrong_dtype(d.dtype, r, unmet.next());
  if (r.writable && d.readonly()) unmet.next().print("the array is read-only, writable memory was asked for");
  if (r.order == Order::c && !d.c_contiguous()) {
    unmet.next().print("the array isn't C-contiguous (row-major without gaps), as was asked for");
  }
  if (r.order == Order::f && !d.f_contiguous()) {
    unmet.next().print("the array isn't Fortran-contiguous (column-major without gaps), as was asked for");
  }
  if (d.dtype.packed() && r.layout != 0) {
    unmet.next().print("its elements are packed below a byte, so that no pointer can walk them");
  } else if ((r.layout & layout_elements) != 0) {
    check_elements(d, unmet);
  }
  return unmet.status();
}

std::uint32_t parse_waiver(const char* name) noexcept {
  for (const WaiverRow& row : waivers) {
    if (std::strcmp(row.name, name) == 0) return row.bit;
  }
  return 0;
}

}  // namespace anyarray
