// SPDX-License-Identifier: Apache-2.0
#include "src/support/py_buffer.h"

#include "anyarray/protocols/pep3118.h"

namespace anyarray {
namespace {

using LongLong = long long;

Status bad_numbers(const Py_buffer& view, Reason* why) noexcept {
  if (view.itemsize <= 0) {
    return because(Status::invalid, why, "the buffer's itemsize is %lld", static_cast<LongLong>(view.itemsize));
  }
  return because(Status::invalid, why, "the buffer has ndim %d: 0 to %d are possible", view.ndim, max_ndim);
}

Status bad_length(const Py_buffer& view, LongLong elements, Reason* why) noexcept {
  return because(Status::invalid, why, "the buffer's len is %lld bytes, its shape says %lld elements of %lld",
                 static_cast<LongLong>(view.len), elements, static_cast<LongLong>(view.itemsize));
}

inline Status layout(const Py_buffer& view, Borrow& out, Reason* why) noexcept {
  out.desc.data = view.buf;
  out.desc.device = cpu_device;
  out.desc.flags = view.readonly != 0 ? std::uint32_t{flag_readonly} : 0;
  const int ndim = view.ndim;
  out.heap_dims = 0;  // nothing to drop where this fails before reserve_dims
  if (view.itemsize <= 0 || ndim < 0 || ndim > max_ndim) return bad_numbers(view, why);
  if (view.suboffsets != nullptr) {
    for (int i = 0; i < ndim; ++i) {
      if (view.suboffsets[i] >= 0) {
        return because(Status::unsupported, why,
                       "the buffer has suboffsets (rows behind pointers): no single strided block");
      }
    }
  }
  std::int64_t* const shape = reserve_dims(out, ndim);
  if (shape == nullptr) return Status::no_memory;
  std::int64_t* const strides = shape + ndim;
  if (view.shape != nullptr) {
    for (int i = 0; i < ndim; ++i) shape[i] = view.shape[i];
  } else if (ndim == 1) {
    shape[0] = view.len / view.itemsize;
  } else if (ndim != 0) {
    return because(Status::invalid, why, "the buffer has ndim %d and no shape", ndim);
  }
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  if (!element_count(ndim, shape, &elements) || __builtin_mul_overflow(elements, view.itemsize, &bytes)) {
    return because(Status::invalid, why, "the buffer's shape has a negative extent, or more bytes than 2^63-1");
  }
  if (bytes != view.len) return bad_length(view, elements, why);
  if (view.strides != nullptr) {
    for (int i = 0; i < ndim; ++i) strides[i] = view.strides[i];
  } else if (!c_strides(ndim, shape, view.itemsize, strides)) {
    return because(Status::invalid, why, "row-major strides of the buffer's shape overflow");
  }
  return Status::ok;
}

}  // namespace

Status buffer_layout(const Py_buffer& view, Borrow& out, Reason* why) noexcept { return layout(view, out, why); }

__attribute__((noinline)) Status detail::describe_any_buffer(const Py_buffer& view, Borrow& out, Reason* why) noexcept {
  const Status s = layout(view, out, why);
  return s == Status::ok ? pep3118::decode_format(view.format, view.itemsize, &out.desc.dtype, why) : s;
}

}  // namespace anyarray
