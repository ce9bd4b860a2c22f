// SPDX-License-Identifier: Apache-2.0
// DLPack's structs (dlpack.h 1.3, own definitions: checked against installed headers by the tests) and
// the codec between them and descriptors. No Python.
#pragma once
#include <cstdint>

#include "anyarray/descriptor.h"

namespace anyarray::dlpack {

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in ELEMENTS; null means row-major (lawful before 1.2)
  std::uint64_t byte_offset;
};
struct ManagedTensor {  ///< legacy; capsule "dltensor"
  Tensor tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
};
struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};
struct ManagedTensorVersioned {  ///< capsule "dltensor_versioned"
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};
enum : std::uint64_t { read_only = 1, is_copied = 2, is_subbyte_padded = 4 };

inline constexpr Version our_version{1, 3};
inline constexpr const char* legacy_name = "dltensor";
inline constexpr const char* legacy_used = "used_dltensor";
inline constexpr const char* versioned_name = "dltensor_versioned";
inline constexpr const char* versioned_used = "used_dltensor_versioned";
inline constexpr const char* exchange_name = "dlpack_exchange_api";

struct ExchangeHeader {
  Version version;
  ExchangeHeader* prev_api;
};
/// The C exchange table. PyObject* is void* here: this header knows no Python.
struct ExchangeApi {
  ExchangeHeader header;
  int (*managed_tensor_allocator)(Tensor*, ManagedTensorVersioned**, void*, void (*)(void*, const char*, const char*));
  int (*managed_tensor_from_py_object_no_sync)(void*, ManagedTensorVersioned**);
  int (*managed_tensor_to_py_object_no_sync)(ManagedTensorVersioned*, void**);
  int (*dltensor_from_py_object_no_sync)(void*, Tensor*);
  int (*current_work_stream)(DeviceType, std::int32_t, void**);
};

/// DLPack type → ours. `flags` are those of the versioned struct (0 for legacy): bit 2 says that
/// sub-byte elements are padded; sub-byte types with unknown bits are refused (they may change layout).
/// invalid: bits or lanes that the code can't have. unsupported: a code that isn't known.
Status decode_dtype(DataType t, std::uint64_t flags, DType* out, Reason* why) noexcept;

/// Ours → DLPack; sets is_subbyte_padded in `*flags` where due. unsupported: no code for it, or swapped.
Status encode_dtype(DType d, DataType* out, std::uint64_t* flags, Reason* why) noexcept;

/// A tensor's facts into `out.desc`, through reserve_dims: byte_offset added, strides in bytes, flags
/// from the versioned flags. Validates the tensor's own rules (ndim, shape pointer, dtype, device kind,
/// strides that overflow); the engine calls validate() on top. On failure no dims are left reserved.
Status decode(const Tensor& t, std::uint64_t flags, Borrow& out, Reason* why) noexcept;

/// A descriptor's facts into `t`; strides in elements go to `dims` (2 * ndim, owned by the caller). byte_offset
/// is 0, data null for size 0, strides filled. unsupported: dtype, or byte strides that no element stride can say.
Status encode(const Descriptor& d, Tensor* t, std::int64_t* dims, std::uint64_t* flags, Reason* why) noexcept;

}  // namespace anyarray::dlpack
