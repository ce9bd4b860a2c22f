// SPDX-License-Identifier: Apache-2.0
#include "src/copy/checks.h"

#include <algorithm>

#include "src/copy/convert_elements.h"
#include "src/copy/memory.h"
#include "src/copy/print_element.h"
#include "src/copy/rules.h"
#include "src/core/text_writer.h"

namespace anyarray {
namespace {

Status no_cast(DType from, const DType* wanted, std::uint32_t n, Casting casting, Status s, Reason* why) noexcept {
  if (why == nullptr) return s;
  TextWriter text(why->text, sizeof why->text);
  char name[80];
  format_dtype(from, name, sizeof name);
  text.print("elements of dtype %s can't be cast to ", name);
  for (std::uint32_t i = 0; i < n; ++i) {
    format_dtype(wanted[i], name, sizeof name);
    text.print("%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", name);
  }
  if (s == Status::mismatch) {
    text.print(" (by the rule %s)", casting_name(casting));
  } else {
    text.print(": no such conversion is there");
  }
  return s;
}

/// Whether no two of them are nearer than an element, by looking at all. False without memory.
bool are_apart(const Descriptor& d, std::int64_t itemsize) noexcept {
  const auto n = static_cast<std::size_t>(d.size());
  auto* const places = static_cast<std::int64_t*>(allocate_memory(d.size() * std::int64_t{sizeof(std::int64_t)}));
  if (places == nullptr) return false;
  std::int64_t index[max_ndim] = {};
  std::int64_t at = 0;
  for (std::size_t i = 0; i < n; ++i) {
    places[i] = at;
    for (int dim = d.ndim - 1; dim >= 0; --dim) {
      at += d.strides[dim];
      if (++index[dim] < d.shape[dim]) break;
      at -= d.strides[dim] * d.shape[dim];
      index[dim] = 0;
    }
  }
  std::sort(places, places + n);
  bool apart = true;
  for (std::size_t i = 1; i < n; ++i) apart &= places[i] - places[i - 1] >= itemsize;
  free_memory(places);
  return apart;
}

}  // namespace

Status check_host(const Descriptor& d, const char* can_not, Reason* why) noexcept {
  if (host_readable(d.device.type)) return Status::ok;
  char name[48];
  format_device(d.device, name, sizeof name);
  return because(Status::device, why, "the array is on %s, whose memory the host can't %s", name, can_not);
}

Status choose_cast(DType from, const DType* wanted, std::uint32_t n, Casting casting, DType* out,
                   Reason* why) noexcept {
  Status unmet = Status::mismatch;
  for (std::uint32_t i = 0; i < n; ++i) {
    *out = wanted[i];
    const Status s = can_cast(from, wanted[i], casting);
    if (s == Status::ok) return s;
    if (s == Status::unsupported) unmet = s;
  }
  return no_cast(from, wanted, n, casting, unmet, why);
}

Status check_values(const Descriptor& from, DType to, Reason* why) noexcept {
  if (differ_in_order_alone(from.dtype, to) || from.size() == 0) return Status::ok;
  const std::int64_t number = first_changed_value(from, to);
  if (number < 0 || why == nullptr) return number < 0 ? Status::ok : Status::mismatch;
  TextWriter text(why->text, sizeof why->text);
  char name[80];
  format_dtype(to, name, sizeof name);
  OneElement one;
  find_element(from, number, &one);
  text.print("element ");
  print_index(from, number, text);
  text.print(" is ");
  if (!print_element(one, text)) text.print("a value");
  text.print(", which %s can't hold", name);
  const DType whole = to.bits < 8 && to.packed() ? to.with_padded(true) : to;
  alignas(16) char room[8 * 32];
  const std::int64_t step = whole.itemsize();
  if (step * one.extent > std::int64_t{sizeof room} || can_cast(from.dtype, whole, Casting::unsafe) != Status::ok) {
    return Status::mismatch;
  }
  OneElement changed = one;
  changed.desc.data = room;
  changed.desc.dtype = whole;
  changed.desc.shape = &changed.extent;
  changed.stride = step;
  changed.desc.strides = &changed.stride;
  convert_elements(changed.desc, one.desc);
  changed.desc.data = room + step * one.skipped;
  changed.extent = 1;
  changed.skipped = 0;
  char became[sizeof why->text];
  TextWriter words(became, sizeof became);
  if (print_element(changed, words)) text.print(" (it would become %s)", became);
  return Status::mismatch;
}

Status check_apart(const Descriptor& to, Reason* why) noexcept {
  if (to.c_contiguous()) return Status::ok;
  // What can be looked at in some milliseconds.
  constexpr std::int64_t few = 1 << 16;
  const std::int64_t itemsize = to.dtype.itemsize();
  const Overlap overlap = self_overlap(to.ndim, to.shape, to.strides, itemsize);
  if (overlap == Overlap::none || (overlap == Overlap::maybe && to.size() <= few && are_apart(to, itemsize))) {
    return Status::ok;
  }
  return because(Status::invalid, why, "elements of the target %s memory: what is in it would depend on their order",
                 overlap == Overlap::some || to.size() <= few ? "share" : "may share");
}

}  // namespace anyarray
