// SPDX-License-Identifier: Apache-2.0
// What an owner says of its memory, held to all that consumers rely on before anybody sees it.
#include "anyarray/produce.h"

#include <cstddef>
#include <cstring>

namespace anyarray {
namespace {

using Wide = long long;  // what printf calls it

constexpr std::uint32_t known_flags = flag_readonly | flag_copied | flag_copied_unknown | flag_device_unverified;

bool is_possible(DType d) noexcept {
  if (d.code == TypeCode::interned) {
    const InternedType* t = interned_type(d);
    return t != nullptr && t->itemsize == d.itemsize();
  }
  if (d.code > TypeCode::interned || (d.code > TypeCode::float4_e2m1fn && d.code < TypeCode::long_double)) return false;
  return !d.is_scalar() || (d.bits > 0 && d.count > 0);
}

Status check_aligned(const Descriptor& d, Reason* why) noexcept {
  const std::int64_t alignment = alignment_of(d.dtype);
  if (alignment == 1 || d.shape == nullptr || d.strides == nullptr || d.size() == 0) return Status::ok;
  char name[64];
  format_dtype(d.dtype, name, sizeof name);
  if (reinterpret_cast<std::uintptr_t>(d.data) % static_cast<std::uintptr_t>(alignment) != 0) {
    return because(Status::invalid, why, "the address %p isn't aligned for %s: a multiple of %lld is needed", d.data,
                   name, static_cast<Wide>(alignment));
  }
  for (int i = 0; i < d.ndim; ++i) {
    if (d.shape[i] > 1 && d.strides[i] % alignment != 0) {
      return because(
          Status::invalid, why,
          "stride %d (%lld bytes) leads to elements that aren't aligned for %s: a multiple of %lld is needed", i,
          static_cast<Wide>(d.strides[i]), name, static_cast<Wide>(alignment));
    }
  }
  return Status::ok;
}

}  // namespace

std::int64_t alignment_of(DType d) noexcept {
  if (const InternedType* t = interned_type(d); t != nullptr) return t->ndim > 0 ? alignment_of(t->base) : 1;
  if (d.is_time()) return alignof(std::int64_t);
  if (d.code == TypeCode::fixed_ucs4) return alignof(char32_t);
  if (!d.is_scalar()) return 1;
  const unsigned part = d.is_complex() ? d.bits / 2u : d.bits;
  const unsigned bytes = part % 8 == 0 ? part / 8 : 1;
  // Powers of two up to the strictest of C; 6-byte or 3-byte elements are arrays of bytes.
  return bytes > 1 && (bytes & (bytes - 1)) == 0 && bytes <= alignof(std::max_align_t) ? bytes : 1;
}

Status produce(const Descriptor& parts, void (*release)(void*), void* what, Borrow* out, Reason* why) noexcept {
  out->release_fn = nullptr;
  begin(*out);
  if (!is_possible(parts.dtype)) {
    return because(Status::invalid, why, "the dtype (code %u, %u bits, count %u) isn't one",
                   static_cast<unsigned>(parts.dtype.code), unsigned{parts.dtype.bits}, unsigned{parts.dtype.count});
  }
  if (!is_known(parts.device)) {
    return because(Status::invalid, why, "(%d, %d) isn't a device", static_cast<int>(parts.device.type),
                   static_cast<int>(parts.device.id));
  }
  if ((parts.flags & ~known_flags) != 0) {
    return because(Status::invalid, why, "the flags 0x%x have bits that aren't known", unsigned{parts.flags});
  }
  Descriptor d = parts;
  std::int64_t row_major[max_ndim];
  if (d.ndim == 0) d.shape = d.strides = row_major;
  const bool packed = d.dtype.packed();
  if (d.strides == nullptr && !packed && d.ndim > 0 && d.ndim <= max_ndim && d.shape != nullptr) {
    c_strides(d.ndim, d.shape, d.dtype.itemsize(), row_major);  // where they overflow, so do the bytes: refused below
    d.strides = row_major;
  }
  if (const Status s = validate(d, why); s != Status::ok) return s;
  if (const Status s = check_aligned(d, why); s != Status::ok) return s;
  std::int64_t* shape = reserve_dims(*out, d.ndim);
  if (shape == nullptr) return because(Status::no_memory, why, "out of memory");
  const std::size_t bytes = sizeof(std::int64_t) * static_cast<std::size_t>(d.ndim);
  if (d.shape != nullptr) std::memcpy(shape, d.shape, bytes);
  if (d.strides != nullptr) std::memcpy(shape + d.ndim, d.strides, bytes);
  out->desc.data = d.data;
  out->desc.dtype = d.dtype;
  out->desc.device = d.device;
  out->desc.flags = d.flags;
  if (packed) out->desc.strides = nullptr;
  detail::hold_parts(*out, release, what);
  return Status::ok;
}

}  // namespace anyarray
