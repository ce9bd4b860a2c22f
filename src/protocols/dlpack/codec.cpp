// SPDX-License-Identifier: Apache-2.0
// DLPack tensors ↔ descriptors (dlpack.h 1.3). The decode path is hot: common types and layouts take no
// look-up and no division. No Python.
#include "anyarray/protocols/dlpack.h"

#include "src/core/dlpack_usual.h"
#include "src/core/dtype_table.h"

namespace anyarray::dlpack {
namespace {

using Wide = long long;  // what printf calls it

constexpr std::uint64_t known_flags = read_only | is_copied | is_subbyte_padded;

// The type's one width where the code has one only, otherwise 0.
unsigned only_width(unsigned code) noexcept {
  const std::uint64_t w = widths.of[code];
  const bool one = (w & (w - 1)) == 0 && code != static_cast<unsigned>(TypeCode::opaque_handle);
  return one ? static_cast<unsigned>(__builtin_ctzll(w)) + 1 : 0;
}

Status refuse_dtype(DataType t, Reason* why) noexcept {
  if (t.code >= n_codes) {
    return because(Status::unsupported, why, "the DLPack type code %u isn't known here (0 to %u are)", unsigned{t.code},
                   n_codes - 1);
  }
  if (t.lanes == 0) return because(Status::invalid, why, "a DLPack type with 0 lanes");
  if (t.bits == 0) return because(Status::invalid, why, "a DLPack type of 0 bits");
  const unsigned width = only_width(t.code);
  if (width != 0) {
    const DTypeRow* row = find_row(static_cast<TypeCode>(t.code), width);
    return because(Status::invalid, why, "DLPack says %u bits for %s, which has %u", unsigned{t.bits}, row->name,
                   width);
  }
  return because(Status::unsupported, why, "DLPack type code %u with %u bits: there is no such type here",
                 unsigned{t.code}, unsigned{t.bits});
}

// Handles, not addresses: nothing can be added to them.
constexpr bool data_is_handle(DeviceType t) noexcept {
  return t == DeviceType::opencl || t == DeviceType::vulkan || t == DeviceType::metal || t == DeviceType::webgpu;
}

Status decode_address(const Tensor& t, bool empty, void** out, Reason* why) noexcept {
  *out = nullptr;
  if (t.data == nullptr) {
    return empty ? Status::ok
                 : because(Status::invalid, why, "the DLPack tensor has elements, but its data pointer is null");
  }
  if (data_is_handle(t.device.type) && t.byte_offset != 0) {
    return because(Status::unsupported, why, "memory on %s is a handle, so the byte_offset of %llu can't be applied",
                   device_type_name(t.device.type), static_cast<unsigned long long>(t.byte_offset));
  }
  std::uintptr_t address = 0;
  if (__builtin_add_overflow(reinterpret_cast<std::uintptr_t>(t.data), t.byte_offset, &address)) {
    return because(Status::invalid, why, "the DLPack byte_offset of %llu leaves the address space",
                   static_cast<unsigned long long>(t.byte_offset));
  }
  *out = reinterpret_cast<void*>(address);
  return Status::ok;
}

// Elements that don't fill whole bytes: only compact row-major ones can be told, without strides.
Status check_compact(const Tensor& t, Reason* why) noexcept {
  if (t.strides == nullptr) return Status::ok;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] == 0) return Status::ok;
  }
  std::int64_t step = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] == 1) continue;
    if (t.strides[i] != step) {
      return because(Status::unsupported, why,
                     "packed elements of %u bits with stride %lld in dimension %d: only compact row-major tensors of "
                     "them can be taken; make the tensor contiguous",
                     unsigned{t.dtype.bits} * t.dtype.lanes, static_cast<Wide>(t.strides[i]), i);
    }
    if (__builtin_mul_overflow(step, t.shape[i], &step)) {
      return because(Status::invalid, why, "the DLPack shape has more elements than 64 bits can count");
    }
  }
  return Status::ok;
}

Status decode_strides(const Tensor& t, std::int64_t itemsize, std::int64_t* strides, Reason* why) noexcept {
  if (t.strides == nullptr) {
    if (c_strides(t.ndim, t.shape, itemsize, strides)) return Status::ok;
    return because(Status::invalid, why, "the DLPack shape needs more bytes than 64 bits can count");
  }
  for (int i = 0; i < t.ndim; ++i) strides[i] = t.strides[i];
  const int wide = strides_to_bytes(t.ndim, t.shape, itemsize, strides);
  if (wide < 0) return Status::ok;
  return because(Status::invalid, why, "the DLPack stride of %lld elements in dimension %d overflows in bytes",
                 static_cast<Wide>(t.strides[wide]), wide);
}

Status refuse_tensor(const Tensor& t, Reason* why) noexcept {
  if (t.ndim < 0 || t.ndim > max_ndim) {
    return because(Status::invalid, why, "a DLPack tensor of %d dimensions: 0 to %d are possible", int{t.ndim},
                   max_ndim);
  }
  if (t.ndim > 0 && t.shape == nullptr) {
    return because(Status::invalid, why, "the DLPack tensor has %d dimensions, but no shape", int{t.ndim});
  }
  if (is_known(t.device.type)) {
    return because(Status::invalid, why, "the DLPack tensor lies on device number %d of its kind: numbers start at 0",
                   int{t.device.id});
  }
  return because(Status::unsupported, why, "the DLPack device kind %d isn't known here",
                 static_cast<int>(t.device.type));
}

// Everything but the type and the room for dims, with every rule looked at. `out` has its dims and its type.
Status decode_carefully(const Tensor& t, Borrow& out, Reason* why) noexcept {
  std::int64_t* const shape = const_cast<std::int64_t*>(out.desc.shape);
  bool empty = false;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.shape[i] < 0) {
      return because(Status::invalid, why, "extent %d of the DLPack shape is negative (%lld)", i,
                     static_cast<Wide>(t.shape[i]));
    }
    shape[i] = t.shape[i];
    empty |= t.shape[i] == 0;
  }
  Status s = Status::ok;
  if (out.desc.dtype.packed()) {
    s = check_compact(t, why);
    out.desc.strides = nullptr;
  } else {
    s = decode_strides(t, out.desc.dtype.itemsize(), shape + t.ndim, why);
  }
  return s == Status::ok ? decode_address(t, empty, &out.desc.data, why) : s;
}

// Any tensor. Not inlined: the quick path stays a leaf.
__attribute__((noinline)) Status decode_any(const Tensor& t, std::uint64_t flags, Borrow& out, Reason* why) noexcept {
  if (t.ndim < 0 || t.ndim > max_ndim || (t.ndim > 0 && t.shape == nullptr) || !is_known(t.device)) {
    return refuse_tensor(t, why);
  }
  Status s = decode_dtype(t.dtype, flags, &out.desc.dtype, why);
  if (s != Status::ok) return s;
  if (reserve_dims(out, t.ndim) == nullptr) {
    return because(Status::no_memory, why, "no memory for the shape of %d dimensions", int{t.ndim});
  }
  out.desc.device = t.device;
  out.desc.flags = descriptor_flags(flags);
  s = decode_carefully(t, out, why);
  if (s != Status::ok) drop_dims(out);
  return s;
}

// Byte strides → strides in elements of `itemsize` bytes.
Status encode_strides(const Descriptor& d, std::int64_t itemsize, bool empty, std::int64_t* out, Reason* why) noexcept {
  std::int64_t step = 1;  // the row-major stride, for dimensions where none counts
  for (int i = d.ndim - 1; i >= 0; --i) {
    const bool counts = !empty && d.shape[i] != 1;
    if (d.strides[i] % itemsize == 0) {
      out[i] = d.strides[i] / itemsize;
    } else if (!counts) {
      out[i] = step;
    } else {
      return because(Status::unsupported, why,
                     "DLPack counts strides in elements: %lld bytes in dimension %d are no multiple of %lld",
                     static_cast<Wide>(d.strides[i]), i, static_cast<Wide>(itemsize));
    }
    if (!empty) step *= d.shape[i];
  }
  return Status::ok;
}

}  // namespace

Status decode_dtype(DataType t, std::uint64_t flags, DType* out, Reason* why) noexcept {
  if (__builtin_expect(!is_plain(t), 0)) return refuse_dtype(t, why);
  DType d = make_dtype(static_cast<TypeCode>(t.code), t.bits, t.lanes);
  if (__builtin_expect(t.bits < 8, 0)) {
    if ((flags & ~known_flags) != 0) {
      return because(Status::unsupported, why,
                     "DLPack flags 0x%llx that aren't known here may change how elements of %u bits lie",
                     static_cast<unsigned long long>(flags & ~known_flags), unsigned{t.bits});
    }
    d = d.with_padded((flags & is_subbyte_padded) != 0);
  }
  *out = d;
  return Status::ok;
}

// The usual tensor is through after one pass; whatever isn't usual starts again in decode_any(). Not inlined: one or
// two dimensions are decode_usual()'s.
__attribute__((noinline)) Status decode(const Tensor& t, std::uint64_t flags, Borrow& out, Reason* why) noexcept {
  const int ndim = t.ndim;
  const bool usual = static_cast<unsigned>(ndim) <= static_cast<unsigned>(inline_ndim) && t.data != nullptr &&
                     t.byte_offset == 0 && (ndim == 0 || (t.shape != nullptr && t.strides != nullptr)) &&
                     is_known(t.device) && t.dtype.bits >= 8 && is_plain(t.dtype);
  if (__builtin_expect(!usual, 0)) return decode_any(t, flags, out, why);
  const std::int64_t itemsize = (t.dtype.bits / 8) * t.dtype.lanes;
  std::int64_t* const shape = out.dims;
  std::int64_t* const strides = shape + ndim;
  // An itemsize is below 2^22, so strides and extents below 2^40 can't overflow; a negative extent sets the top bit.
  std::uint64_t wide = 0;
  for (int i = 0; i < ndim; ++i) {
    const std::int64_t extent = t.shape[i];
    const std::int64_t stride = t.strides[i];
    wide |= static_cast<std::uint64_t>(extent) | static_cast<std::uint64_t>(stride ^ (stride >> 63));
    shape[i] = extent;
    strides[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(itemsize));
  }
  if (__builtin_expect((wide >> 40) != 0, 0)) return decode_any(t, flags, out, why);
  out.heap_dims = 0;
  out.desc.data = t.data;
  out.desc.shape = shape;
  out.desc.strides = strides;
  out.desc.dtype = make_dtype(static_cast<TypeCode>(t.dtype.code), t.dtype.bits, t.dtype.lanes);
  out.desc.device = t.device;
  out.desc.ndim = ndim;
  out.desc.flags = descriptor_flags(flags);
  return Status::ok;
}

Status encode_dtype(DType d, DataType* out, std::uint64_t* flags, Reason* why) noexcept {
  const DTypeRow* row = d.is_scalar() ? find_row(d) : nullptr;
  const bool reordered = d.swapped() && has_byte_order(d);
  if (row == nullptr || !row->dlpack || d.count == 0 || d.count > UINT16_MAX || reordered) {
    char name[120];
    format_dtype(d, name, sizeof name);
    return because(Status::unsupported, why,
                   reordered ? "DLPack can't say the other byte order: %s" : "DLPack has no code for %s", name);
  }
  *out = DataType{static_cast<std::uint8_t>(d.code), static_cast<std::uint8_t>(d.bits),
                  static_cast<std::uint16_t>(d.count)};
  if (d.padded() && d.bits < 8) *flags |= is_subbyte_padded;
  return Status::ok;
}

Status encode(const Descriptor& d, Tensor* t, std::int64_t* dims, std::uint64_t* flags, Reason* why) noexcept {
  std::uint64_t bits = d.flags & (flag_readonly | flag_copied);
  const Status type = encode_dtype(d.dtype, &t->dtype, &bits, why);
  if (type != Status::ok) return type;
  std::int64_t n = 0;
  if (!element_count(d.ndim, d.shape, &n)) {
    return because(Status::invalid, why, "the shape has a negative extent or more elements than 64 bits can count");
  }
  std::int64_t* const strides = dims + d.ndim;
  for (int i = 0; i < d.ndim; ++i) dims[i] = d.shape[i];
  if (d.strides != nullptr) {
    const Status s = encode_strides(d, d.dtype.itemsize(), n == 0, strides, why);
    if (s != Status::ok) return s;
  } else {
    c_strides(d.ndim, d.shape, 1, strides);  // in elements, and the count didn't overflow
  }
  t->data = n == 0 ? nullptr : d.data;
  t->device = d.device;
  t->ndim = d.ndim;
  t->shape = dims;
  t->strides = strides;
  t->byte_offset = 0;
  *flags = bits;
  return Status::ok;
}

}  // namespace anyarray::dlpack
