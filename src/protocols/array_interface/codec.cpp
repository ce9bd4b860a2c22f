// SPDX-License-Identifier: Apache-2.0
// Type strings and PyArrayInterface ↔ dtypes and descriptors; shared by the rows array_interface,
// array_struct and cuda_array_interface. The grammar itself stands in src/core/type_string.cpp. No Python.
#include "anyarray/protocols/typestr.h"

#include "src/core/type_string.h"

namespace anyarray::typestr {

Status decode(const char* text, std::size_t length, DType* out, Reason* why) noexcept {
  return read_type_string(text, length, out, why);
}

Status encode(DType d, char* out, std::size_t size, Reason* why) noexcept {
  return write_type_string(d, out, size, why);
}

Status decode_struct(const ArrayInterface& s, Borrow& out, Reason* why) noexcept {
  if (s.two != 2) {
    return because(Status::invalid, why, "the array struct starts with %d, not with 2: it is something else", s.two);
  }
  if (s.nd < 0 || s.nd > max_ndim) {
    return because(Status::invalid, why, "an array struct of %d dimensions: 0 to %d are possible", s.nd, max_ndim);
  }
  if (s.nd > 0 && s.shape == nullptr) {
    return because(Status::invalid, why, "the array struct has %d dimensions, but no shape", s.nd);
  }
  if (s.itemsize < 0) return because(Status::invalid, why, "the array struct has elements of %d bytes", s.itemsize);
  if (s.typekind == 'M' || s.typekind == 'm') {
    return because(Status::unsupported, why, "an array struct can't carry the unit of datetimes and timedeltas");
  }
  const Status type = read_kind(s.typekind, static_cast<std::uint64_t>(s.itemsize), (s.flags & flag_notswapped) == 0,
                                &out.desc.dtype, why);
  if (type != Status::ok) return type;
  std::int64_t* const shape = reserve_dims(out, s.nd);
  if (shape == nullptr) return because(Status::no_memory, why, "no memory for the shape of %d dimensions", s.nd);
  for (int i = 0; i < s.nd; ++i) shape[i] = s.shape[i];
  std::int64_t* const strides = shape + s.nd;
  if (s.strides != nullptr) {
    for (int i = 0; i < s.nd; ++i) strides[i] = s.strides[i];
  } else if (!c_strides(s.nd, shape, s.itemsize, strides)) {
    drop_dims(out);
    return because(Status::invalid, why, "the shape of the array struct needs more bytes than 64 bits can count");
  }
  out.desc.data = s.data;
  out.desc.device = cpu_device;
  out.desc.flags = (s.flags & flag_writeable) != 0 ? 0u : std::uint32_t{flag_readonly};
  return Status::ok;
}

}  // namespace anyarray::typestr
