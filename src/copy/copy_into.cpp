// SPDX-License-Identifier: Apache-2.0
// Copies into memory that is there, which may be the source's own.
#include <cstring>
#include <numeric>

#include "anyarray/copy.h"
#include "src/copy/checks.h"
#include "src/copy/convert_elements.h"
#include "src/copy/memory.h"
#include "src/core/text_writer.h"

namespace anyarray {
namespace {

bool same_shape(const Descriptor& a, const Descriptor& b) noexcept {
  const std::size_t bytes = sizeof(std::int64_t) * static_cast<std::size_t>(a.ndim);
  return a.ndim == b.ndim && (bytes == 0 || std::memcmp(a.shape, b.shape, bytes) == 0);
}

void print_shape(const Descriptor& d, TextWriter& text) noexcept {
  text.print("(");
  for (int i = 0; i < d.ndim; ++i) text.print("%s%lld", i > 0 ? ", " : "", static_cast<long long>(d.shape[i]));
  text.print(d.ndim == 1 ? ",)" : ")");
}

Status other_shape(const Descriptor& to, const Descriptor& from, Reason* why) noexcept {
  if (why == nullptr) return Status::invalid;
  TextWriter text(why->text, sizeof why->text);
  text.print("the target has shape ");
  print_shape(to, text);
  text.print(", the source ");
  print_shape(from, text);
  return Status::invalid;
}

Status check(const Descriptor& to, const Descriptor& from, Casting casting, Reason* why) noexcept {
  if (const Status s = validate(to, why); s != Status::ok) return s;
  if (const Status s = validate(from, why); s != Status::ok) return s;
  if (!same_shape(to, from)) return other_shape(to, from, why);
  if (to.readonly()) return because(Status::invalid, why, "the target is read-only");
  if (const Status s = check_host(to, "write", why); s != Status::ok) return s;
  if (const Status s = check_host(from, "read", why); s != Status::ok) return s;
  DType dtype;
  if (const Status s = choose_cast(from.dtype, &to.dtype, 1, casting, &dtype, why); s != Status::ok) return s;
  return check_apart(to, why);
}

/// The bytes that elements lie in: from `first` up to, but without, `end`.
struct Range {
  std::uintptr_t first;
  std::uintptr_t end;
};
Range range_of(const Descriptor& d) noexcept {
  std::int64_t low = 0;
  std::int64_t high = d.nbytes();
  if (d.strides != nullptr) byte_extent(d.ndim, d.shape, d.strides, d.dtype.itemsize(), &low, &high);
  const auto at = reinterpret_cast<std::uintptr_t>(d.data);
  return {at + static_cast<std::uintptr_t>(low), at + static_cast<std::uintptr_t>(high)};
}

/// A whole number of whose bytes all steps are; 0: there are none.
std::int64_t common_step(const Descriptor& d, std::int64_t step) noexcept {
  for (int i = 0; i < d.ndim; ++i) {
    if (d.shape[i] > 1) step = std::gcd(step, d.strides[i]);
  }
  return step;
}

/// Whether an element of one may share a byte with one of the other: no where their ranges are apart, and where they
/// take turns, as the real and the imaginary parts of complex numbers do.
bool may_meet(const Descriptor& a, const Descriptor& b) noexcept {
  const Range x = range_of(a);
  const Range y = range_of(b);
  if (x.end <= y.first || y.end <= x.first) return false;
  if (a.strides == nullptr || b.strides == nullptr) return true;
  const auto step = static_cast<std::uintptr_t>(common_step(b, common_step(a, 0)));
  if (step == 0) return true;
  const std::uintptr_t apart = (reinterpret_cast<std::uintptr_t>(b.data) - reinterpret_cast<std::uintptr_t>(a.data));
  // Of two addresses a power of two apart the remainder is right even where the difference wraps; else it is computed
  // from the lower one.
  const bool below = reinterpret_cast<std::uintptr_t>(b.data) < reinterpret_cast<std::uintptr_t>(a.data);
  const std::uintptr_t rest = below ? (step - (std::uintptr_t{0} - apart) % step) % step : apart % step;
  return rest < static_cast<std::uintptr_t>(a.dtype.itemsize()) ||
         rest + static_cast<std::uintptr_t>(b.dtype.itemsize()) > step;
}

/// Whether element for element lies at the same distance, and as the same type.
bool same_layout(const Descriptor& a, const Descriptor& b) noexcept {
  if (a.dtype != b.dtype) return false;
  for (int i = 0; i < a.ndim && a.strides != nullptr; ++i) {
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

/// As if all had been read first: through a copy. Where the source repeats an element, the copy has it once.
Status through_copy(const Descriptor& to, const Descriptor& from, Reason* why) noexcept {
  Descriptor once = from;
  std::int64_t extents[max_ndim];
  std::int64_t strides[max_ndim];
  if (from.strides != nullptr) {
    for (int i = 0; i < from.ndim; ++i) extents[i] = from.strides[i] == 0 ? 1 : from.shape[i];
    once.shape = extents;
  }
  Borrow held;
  if (const Status s = make_empty(from.dtype, once.ndim, once.shape, Order::c, &held, why); s != Status::ok) return s;
  convert_elements(held.desc, once);
  Descriptor all = from;
  all.data = held.desc.data;
  if (from.strides != nullptr) {
    for (int i = 0; i < from.ndim; ++i) strides[i] = from.strides[i] == 0 ? 0 : held.desc.strides[i];
    all.strides = strides;
  }
  convert_elements(to, all);
  release(held);
  return Status::ok;
}

}  // namespace

Status copy(const Descriptor& to, const Descriptor& from, Casting casting, Reason* why) noexcept {
  if (const Status s = check(to, from, casting, why); s != Status::ok) return s;
  if (to.size() == 0) return Status::ok;
  if (casting == Casting::same_value) {
    if (const Status s = check_values(from, to.dtype, why); s != Status::ok) return s;
  }
  if (!may_meet(to, from)) {
    convert_elements(to, from);
    return Status::ok;
  }
  if (same_layout(to, from)) {
    if (to.data == from.data) return Status::ok;
    if (to.strides != nullptr && to.c_contiguous()) {
      std::memmove(to.data, from.data, static_cast<std::size_t>(to.nbytes()));
      return Status::ok;
    }
  }
  return through_copy(to, from, why);
}

}  // namespace anyarray
