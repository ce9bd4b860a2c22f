// SPDX-License-Identifier: Apache-2.0
// New memory: which dtype and order a copy has, where it lies, and the sentences where there is none.
#include "anyarray/copy.h"

#include <cstring>

#include "anyarray/produce.h"
#include "src/copy/checks.h"
#include "src/copy/convert_elements.h"
#include "src/copy/memory.h"
#include "src/core/dtype_table.h"

namespace anyarray {
namespace {

using Wide = long long;  // what printf calls it

DType in_machine_order(DType d) noexcept {
  return has_byte_order(d) && d.code != TypeCode::interned ? d.with_swapped(false) : d;
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
  return choose_cast(from, dtypes, n, casting, out, why);
}

/// Shape and strides, in `out`'s room, and how many bytes they take.
Status lay_out(DType dtype, int ndim, const std::int64_t* extents, Order order, Borrow* out, std::int64_t* bytes,
               Reason* why) noexcept {
  std::int64_t* const shape = reserve_dims(*out, ndim);
  if (shape == nullptr) return because(Status::no_memory, why, "out of memory");
  if (ndim > 0) std::memcpy(shape, extents, sizeof(std::int64_t) * static_cast<std::size_t>(ndim));
  std::int64_t* const strides = shape + ndim;
  const std::int64_t itemsize = dtype.itemsize();
  const bool fits =
      order == Order::f ? f_strides(ndim, shape, itemsize, strides) : c_strides(ndim, shape, itemsize, strides);
  std::int64_t n = 0;
  if (!element_count(ndim, shape, &n)) {
    return because(Status::no_memory, why, "the shape has more elements than 64 bits can count");
  }
  if (!fits || __builtin_mul_overflow(n, itemsize, bytes)) {
    return because(Status::no_memory, why, "%lld elements of %lld bytes are more bytes than 64 bits can count",
                   static_cast<Wide>(n), static_cast<Wide>(itemsize));
  }
  if (dtype.packed()) {
    out->desc.strides = nullptr;
    *bytes = out->desc.nbytes();
  }
  return Status::ok;
}

Status lay_out(DType dtype, int ndim, const std::int64_t* extents, Order order, Borrow* out, Reason* why) noexcept {
  out->desc.data = nullptr;
  out->desc.dtype = dtype;
  out->desc.device = cpu_device;
  out->desc.flags = flag_copied;
  std::int64_t bytes = 0;
  return lay_out(dtype, ndim, extents, order, out, &bytes, why);
}

Status allocate(Borrow* out, Reason* why) noexcept {
  const std::int64_t bytes = out->desc.nbytes();
  out->desc.data = allocate_memory(bytes);
  if (out->desc.data == nullptr) {
    return because(Status::no_memory, why, "out of memory: the array needs %lld bytes", static_cast<Wide>(bytes));
  }
  // The bits after the last packed element.
  if (out->desc.strides == nullptr && bytes > 0) static_cast<char*>(out->desc.data)[bytes - 1] = 0;
  return Status::ok;
}

Status make(const Descriptor& from, const Request& wanted, Casting casting, Borrow* out, Reason* why) noexcept {
  if (const Status s = validate(from, why); s != Status::ok) return s;
  if (const Status s = check_host(from, "read", why); s != Status::ok) return s;
  DType dtype;
  if (const Status s = choose(from.dtype, wanted, casting, &dtype, why); s != Status::ok) return s;
  if (const Status s = lay_out(dtype, from.ndim, from.shape, wanted.order, out, why); s != Status::ok) return s;
  const Status met = meets(out->desc, wanted, why);
  if (met == Status::device) {
    char name[48];
    format_device(wanted.device, name, sizeof name);
    return because(met, why, "a copy is made on the host, %s was asked for", name);
  }
  if (met != Status::ok) return met;
  if (casting == Casting::same_value) {
    if (const Status s = check_values(from, dtype, why); s != Status::ok) return s;
  }
  return allocate(out, why);
}

Status make_room(DType dtype, int ndim, const std::int64_t* shape, Order order, Borrow* out, Reason* why) noexcept {
  if (ndim < 0 || ndim > max_ndim) {
    return because(Status::invalid, why, "%d dimensions: from 0 to %d there can be", ndim, max_ndim);
  }
  for (int i = 0; i < ndim; ++i) {
    if (shape[i] < 0) {
      return because(Status::invalid, why, "extent %d is %lld, below 0", i, static_cast<Wide>(shape[i]));
    }
  }
  if (order == Order::f && dtype.packed() && ndim > 1) {
    return because(Status::invalid, why, "elements packed below a byte lie in C order only");
  }
  const Status s = lay_out(dtype, ndim, shape, order, out, why);
  return s == Status::ok ? allocate(out, why) : s;
}

/// The end of both: `out` holds the memory, or nothing.
Status keep(Status s, Borrow* out) noexcept {
  if (s == Status::ok) {
    detail::hold_parts(*out, free_memory, out->desc.data);
  } else {
    drop_dims(*out);
  }
  return s;
}

}  // namespace

Status copy_as(const Descriptor& from, const Request& wanted, Borrow* out, Reason* why, Casting casting) noexcept {
  out->release_fn = nullptr;
  begin(*out);
  const Status s = make(from, wanted, casting, out, why);
  if (s == Status::ok) fill_elements(out->desc, from);
  return keep(s, out);
}

Status make_empty(DType dtype, int ndim, const std::int64_t* shape, Order order, Borrow* out, Reason* why) noexcept {
  out->release_fn = nullptr;
  begin(*out);
  const Status s = make_room(dtype, ndim, shape, order, out, why);
  if (s == Status::ok) out->desc.flags = 0;
  return keep(s, out);
}

}  // namespace anyarray
