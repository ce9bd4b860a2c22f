// SPDX-License-Identifier: Apache-2.0
// The tensors that nearly all are, decoded without a loop or a call. Included by the codec, which decodes the others,
// and by the rows that have tensors. No Python.
#pragma once
#include <cstring>

#include "anyarray/protocols/dlpack.h"
#include "src/core/dtype_table.h"

namespace anyarray::dlpack {

inline constexpr unsigned n_codes = 18;

/// For each code, bit n - 1 is set when the table has it with n bits; complex128 alone is wider than 64.
struct Widths {
  std::uint64_t of[n_codes] = {};
  constexpr Widths() noexcept {
    for (const DTypeRow& row : dtype_table) {
      if (row.dlpack && row.bits <= 64) of[static_cast<unsigned>(row.code)] |= std::uint64_t{1} << (row.bits - 1);
    }
  }
};
inline constexpr Widths widths;

/// For each code that there could be, bit n is set when the table has it with n bytes: what decode_usual() takes.
struct Sizes {
  std::uint32_t of[256] = {};
  constexpr Sizes() noexcept {
    for (const DTypeRow& row : dtype_table) {
      if (row.dlpack && row.bits % 8 == 0) of[static_cast<unsigned>(row.code)] |= std::uint32_t{1} << (row.bits / 8);
    }
  }
};
inline constexpr Sizes sizes;

/// Whether the type is one of the table's, with lanes; sub-byte types included.
inline bool is_plain(DataType t) noexcept {
  if (t.code >= n_codes || t.lanes == 0) return false;
  const unsigned index = t.bits - 1u;
  if (index >= 64) return t.code == static_cast<unsigned>(TypeCode::complex) && t.bits == 128;
  return (widths.of[t.code] >> index & 1) != 0;
}

inline std::uint32_t descriptor_flags(std::uint64_t flags) noexcept {
  static_assert(std::uint64_t{flag_readonly} == std::uint64_t{read_only} &&
                    std::uint64_t{flag_copied} == std::uint64_t{is_copied},
                "the flags that both know have the same bits");
  return static_cast<std::uint32_t>(flags & (read_only | is_copied));
}

/// Writes a number's type in one store: readers load it whole, which would have to wait for narrower stores.
inline void write_dtype(std::uint8_t code, std::uint8_t bits, DType* out) noexcept {
  const DType d = make_dtype(static_cast<TypeCode>(code), bits);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  const std::uint64_t whole = code | static_cast<std::uint64_t>(bits) << 16 | std::uint64_t{1} << 32;
  static_assert(sizeof d == sizeof whole && offsetof(DType, bits) == 2 && offsetof(DType, count) == 4);
  std::memcpy(static_cast<void*>(out), &whole, sizeof whole);
#else
  *out = d;
#endif
}

/// One or two dimensions of single numbers of whole bytes on the CPU, all pointers there, and sizes so small that
/// nothing overflows (as anyarray::detail::is_usual). False for every other tensor; nothing is reserved then.
__attribute__((always_inline)) inline bool decode_usual(const Tensor& t, std::uint64_t flags, Borrow& out) noexcept {
  const DataType type = t.dtype;
  const unsigned itemsize = type.bits / 8u;
  if (t.data == nullptr || t.byte_offset != 0 || t.shape == nullptr || t.strides == nullptr || type.lanes != 1 ||
      (type.bits & 7) != 0 || (sizes.of[type.code] >> itemsize & 1) == 0 || t.device != cpu_device) {
    return false;
  }
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(t.data));
  const auto n = static_cast<std::uint64_t>(t.shape[0]), step = static_cast<std::uint64_t>(t.strides[0]);
  std::int64_t* const dims = out.dims;
  if (t.ndim == 1) {
    if (((n >> 27) | (step >> 29) | (address >> 63)) != 0) return false;  // a negative number is a huge one here
    dims[1] = static_cast<std::int64_t>(step * itemsize);
    out.desc.strides = dims + 1;
  } else if (t.ndim == 2) {
    const auto columns = static_cast<std::uint64_t>(t.shape[1]), inner = static_cast<std::uint64_t>(t.strides[1]);
    if ((((n | columns) >> 27) | ((step | inner) >> 29) | (address >> 63)) != 0) return false;
    dims[1] = static_cast<std::int64_t>(columns);
    dims[2] = static_cast<std::int64_t>(step * itemsize);
    dims[3] = static_cast<std::int64_t>(inner * itemsize);
    out.desc.strides = dims + 2;
  } else {
    return false;
  }
  dims[0] = static_cast<std::int64_t>(n);
  out.heap_dims = 0;
  out.checked = 1;
  out.desc.data = t.data;
  out.desc.shape = dims;
  write_dtype(type.code, type.bits, &out.desc.dtype);
  out.desc.device = cpu_device;
  out.desc.ndim = t.ndim;
  out.desc.flags = descriptor_flags(flags);
  return true;
}

}  // namespace anyarray::dlpack
