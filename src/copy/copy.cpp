// SPDX-License-Identifier: Apache-2.0
// Which dtype and order a copy has, its memory, and the sentences where there is none.
#include "anyarray/copy.h"

#include <cstdlib>
#include <cstring>

#include "anyarray/produce.h"
#include "src/copy/convert_elements.h"
#include "src/core/dtype_table.h"
#include "src/core/text_writer.h"

namespace anyarray {
namespace {

constexpr std::int64_t alignment = 64;

DType in_machine_order(DType d) noexcept {
  return has_byte_order(d) && d.code != TypeCode::interned ? d.with_swapped(false) : d;
}

Status no_cast(DType from, const DType* wanted, std::uint32_t n, Status s, Reason* why) noexcept {
  if (why == nullptr) return s;
  TextWriter text(why->text, sizeof why->text);
  char name[80];
  format_dtype(from, name, sizeof name);
  text.print("elements of dtype %s can't be cast to ", name);
  for (std::uint32_t i = 0; i < n; ++i) {
    format_dtype(wanted[i], name, sizeof name);
    text.print("%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", name);
  }
  text.print(s == Status::mismatch ? " (by the rule same_kind of NumPy)" : ": no such conversion is there");
  return s;
}

/// The dtype that the copy has.
Status choose(DType from, const Request& wanted, Casting casting, DType* out, Reason* why) noexcept {
  *out = in_machine_order(from);
  if (wanted.n_dtypes == 0 && !wanted.has_dtype) return Status::ok;
  const DType* const dtypes = wanted.n_dtypes > 0 ? wanted.dtypes : &wanted.dtype;
  const std::uint32_t n = wanted.n_dtypes > 0 ? wanted.n_dtypes : 1;
  const DType as_it_is[] = {*out, from};
  for (const DType own : as_it_is) {
    for (std::uint32_t i = 0; i < n; ++i) {
      if (dtypes[i] == own) return *out = own, Status::ok;
    }
  }
  Status unmet = Status::mismatch;
  for (std::uint32_t i = 0; i < n; ++i) {
    *out = dtypes[i];
    const Status s = can_cast(from, dtypes[i], casting);
    if (s == Status::ok) return s;
    if (s == Status::unsupported) unmet = s;
  }
  return no_cast(from, dtypes, n, unmet, why);
}

/// Shape and strides of the copy, in `out`'s room.
Status lay_out(const Descriptor& from, DType dtype, Order order, Borrow* out, Reason* why) noexcept {
  std::int64_t* const shape = reserve_dims(*out, from.ndim);
  if (shape == nullptr) return because(Status::no_memory, why, "out of memory");
  if (from.ndim > 0) std::memcpy(shape, from.shape, sizeof(std::int64_t) * static_cast<std::size_t>(from.ndim));
  std::int64_t* const strides = shape + from.ndim;
  const std::int64_t itemsize = dtype.itemsize();
  std::int64_t bytes = 0;
  std::int64_t room = 0;
  const bool fits = order == Order::f ? f_strides(from.ndim, shape, itemsize, strides)
                                      : c_strides(from.ndim, shape, itemsize, strides);
  if (!fits || __builtin_mul_overflow(from.size(), itemsize, &bytes) ||
      __builtin_add_overflow(bytes, alignment, &room)) {
    return because(Status::no_memory, why, "%lld elements of %lld bytes are more bytes than 64 bits can count",
                   static_cast<long long>(from.size()), static_cast<long long>(itemsize));
  }
  if (dtype.packed()) out->desc.strides = nullptr;
  out->desc.data = nullptr;
  out->desc.dtype = dtype;
  out->desc.device = cpu_device;
  out->desc.flags = flag_copied;
  return Status::ok;
}

Status allocate(Borrow* out, Reason* why) noexcept {
  const std::int64_t bytes = out->desc.nbytes();
  const auto room = static_cast<std::size_t>(bytes > 0 ? (bytes + alignment - 1) / alignment * alignment : alignment);
  out->desc.data = std::aligned_alloc(alignment, room);
  if (out->desc.data != nullptr) return Status::ok;
  return because(Status::no_memory, why, "out of memory: the copy needs %lld bytes", static_cast<long long>(bytes));
}

Status make(const Descriptor& from, const Request& wanted, Casting casting, Borrow* out, Reason* why) noexcept {
  if (const Status s = validate(from, why); s != Status::ok) return s;
  if (!host_readable(from.device.type)) {
    char name[48];
    format_device(from.device, name, sizeof name);
    return because(Status::device, why, "the array is on %s, whose memory the host can't read", name);
  }
  DType dtype;
  if (const Status s = choose(from.dtype, wanted, casting, &dtype, why); s != Status::ok) return s;
  if (const Status s = lay_out(from, dtype, wanted.order, out, why); s != Status::ok) return s;
  const Status met = meets(out->desc, wanted, why);
  if (met == Status::device) {
    char name[48];
    format_device(wanted.device, name, sizeof name);
    return because(met, why, "a copy is made on the host, %s was asked for", name);
  }
  if (met != Status::ok) return met;
  return allocate(out, why);
}

}  // namespace

Status copy_as(const Descriptor& from, const Request& wanted, Borrow* out, Reason* why, Casting casting) noexcept {
  out->release_fn = nullptr;
  begin(*out);
  const Status s = make(from, wanted, casting, out, why);
  if (s != Status::ok) {
    drop_dims(*out);
    return s;
  }
  convert_elements(out->desc, from);
  detail::hold_parts(*out, [](void* memory) { std::free(memory); }, out->desc.data);
  return Status::ok;
}

}  // namespace anyarray
