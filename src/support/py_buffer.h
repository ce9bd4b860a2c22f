// SPDX-License-Identifier: Apache-2.0
// A filled Py_buffer → descriptor, shared by the rows that have one (buffer, builtin). Runs no code of others and
// never keeps a pointer into the exporter's arrays.
#pragma once
#include "anyarray/descriptor.h"
#include "src/core/letters.h"
#include "src/support/py.h"

namespace anyarray {

/// Address, shape, strides and flags into `out.desc`, everything but the dtype. Invalid: a Py_buffer that breaks
/// a rule of PEP 3118; unsupported: suboffsets. What reserve_dims allocated is the caller's to drop on failure.
Status buffer_layout(const Py_buffer& view, Borrow& out, Reason* why) noexcept;

namespace detail {
Status describe_any_buffer(const Py_buffer& view, Borrow& out, Reason* why) noexcept;
}  // namespace detail

/// What most buffers are, without a loop or a call: `ndim` dimensions (1 or 2), a format of one letter, and numbers so
/// small that nothing overflows (as detail::is_usual). False for every other; nothing is reserved then.
/// `of_memoryview`: a memoryview's own, of `ndim` dimensions, whose extents and strides are in the memoryview itself.
template <int ndim, bool of_memoryview = false>
__attribute__((always_inline)) inline bool describe_usual_buffer(const Py_buffer& view, Borrow& out) noexcept {
  static_assert(ndim == 1 || ndim == 2);
  if (view.suboffsets != nullptr || view.buf == nullptr) return false;
  if (!of_memoryview && (view.ndim != ndim || view.shape == nullptr || view.strides == nullptr)) return false;
  const DType* dtype = pep3118::find_letter(view.format, view.itemsize);
  if (dtype == nullptr) return false;
  const auto n = static_cast<std::size_t>(view.shape[0]), step = static_cast<std::size_t>(view.strides[0]);
  const auto columns = static_cast<std::size_t>(ndim == 2 ? view.shape[ndim - 1] : 1);
  const auto inner = static_cast<std::size_t>(ndim == 2 ? view.strides[ndim - 1] : 0);
  const std::size_t address = reinterpret_cast<std::uintptr_t>(view.buf);
  if ((((n | columns) >> 27) | ((step | inner) >> 34) | (address >> 63)) != 0) return false;  // negative ones are huge
  if (n * columns * static_cast<std::size_t>(view.itemsize) != static_cast<std::size_t>(view.len)) return false;
  std::int64_t* const dims = out.dims;
  dims[0] = static_cast<std::int64_t>(n);
  if (ndim == 2) {
    dims[1] = static_cast<std::int64_t>(columns);
    dims[3] = static_cast<std::int64_t>(inner);
  }
  dims[ndim] = static_cast<std::int64_t>(step);
  out.heap_dims = 0;
  out.checked = 1;
  out.desc.data = view.buf;
  out.desc.shape = dims;
  out.desc.strides = dims + ndim;
  out.desc.dtype = *dtype;
  out.desc.device = cpu_device;
  out.desc.ndim = ndim;
  out.desc.flags = view.readonly != 0 ? std::uint32_t{flag_readonly} : 0;
  return true;
}

/// The same as buffer_layout() with the dtype that the format says.
inline Status describe_buffer(const Py_buffer& view, Borrow& out, Reason* why) noexcept {
  const bool usual = describe_usual_buffer<1>(view, out) || describe_usual_buffer<2>(view, out);
  return usual ? Status::ok : detail::describe_any_buffer(view, out, why);
}

}  // namespace anyarray
