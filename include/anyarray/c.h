// SPDX-License-Identifier: Apache-2.0
// The function table and all that crosses it, for C99, and for every language that can say C structs (docs/abi.md).
// The same layouts as the C++ headers, under names of its own. Include Python.h before it, or c_python.h instead of it.
//   static const anyarray_c_api* api;          // an extension that lives in one interpreter
//   api = anyarray_import(ANYARRAY_SINCE_take) // in the module's init: see c_python.h
// The table belongs to one interpreter, and every function takes that interpreter's state first, `api->context`. An
// extension that lives in several keeps the pointer in its module state (PyModule_GetState), not in a static.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "anyarray/c_api_version.h"

#ifndef Py_OBJECT_H  // C99 knows no second typedef of a name
struct _object;
typedef struct _object PyObject;
#endif

/// How a try ended. The words: `api->status_text`.
typedef int32_t anyarray_status;
enum {
  ANYARRAY_STATUS_OK = 0,
  ANYARRAY_STATUS_NOT_OFFERED = 1,   ///< the object doesn't have the protocol
  ANYARRAY_STATUS_NOT_TRIED = 2,     ///< an earlier try ended the search
  ANYARRAY_STATUS_SKIPPED = 3,       ///< passed over by the policy
  ANYARRAY_STATUS_FAILED = 4,        ///< the producer raised
  ANYARRAY_STATUS_INVALID = 5,       ///< what came breaks a rule of the protocol
  ANYARRAY_STATUS_UNSUPPORTED = 6,   ///< lawful, but not to be had as a view
  ANYARRAY_STATUS_DEVICE = 7,        ///< on another device than was asked for
  ANYARRAY_STATUS_MISMATCH = 8,      ///< dtype, ndim, order or writability isn't what was asked for
  ANYARRAY_STATUS_GUARDED = 9,       ///< taking it would lose meaning silently (mask, conjugate bit, …)
  ANYARRAY_STATUS_INTERRUPTED = 10,  ///< KeyboardInterrupt, MemoryError, … of the producer: the Python error is set
  ANYARRAY_STATUS_NO_MEMORY = 11
};

/// What an element is: DLPack's codes up to 17, ours from 64 on.
typedef uint8_t anyarray_type_code;
enum {
  ANYARRAY_CODE_INT = 0,
  ANYARRAY_CODE_UINT = 1,
  ANYARRAY_CODE_FLOAT = 2,
  ANYARRAY_CODE_OPAQUE_HANDLE = 3,
  ANYARRAY_CODE_BFLOAT = 4,
  ANYARRAY_CODE_COMPLEX = 5,
  ANYARRAY_CODE_BOOL = 6,
  ANYARRAY_CODE_FLOAT8_E3M4 = 7,
  ANYARRAY_CODE_FLOAT8_E4M3 = 8,
  ANYARRAY_CODE_FLOAT8_E4M3B11FNUZ = 9,
  ANYARRAY_CODE_FLOAT8_E4M3FN = 10,
  ANYARRAY_CODE_FLOAT8_E4M3FNUZ = 11,
  ANYARRAY_CODE_FLOAT8_E5M2 = 12,
  ANYARRAY_CODE_FLOAT8_E5M2FNUZ = 13,
  ANYARRAY_CODE_FLOAT8_E8M0FNU = 14,
  ANYARRAY_CODE_FLOAT6_E2M3FN = 15,
  ANYARRAY_CODE_FLOAT6_E3M2FN = 16,
  ANYARRAY_CODE_FLOAT4_E2M1FN = 17,
  ANYARRAY_CODE_LONG_DOUBLE = 64,  ///< C's long double where it isn't double
  ANYARRAY_CODE_COMPLEX_LONG_DOUBLE = 65,
  ANYARRAY_CODE_DATETIME64 = 66,  ///< int64 ticks since 1970 of `count` units, INT64_MIN: not a time
  ANYARRAY_CODE_TIMEDELTA64 = 67,
  ANYARRAY_CODE_FIXED_BYTES = 68,  ///< `count` bytes, padded with NUL
  ANYARRAY_CODE_FIXED_UCS4 = 69,   ///< `count` code points of 4 bytes, padded with NUL
  ANYARRAY_CODE_VOID = 70,         ///< `count` bytes without a meaning
  ANYARRAY_CODE_INTERNED = 71      ///< struct or sub-array of `count` bytes; `bits` is its index in the library
};

/// Bits of anyarray_dtype.attributes; the upper six are the unit of a time.
enum { ANYARRAY_DTYPE_SWAPPED = 1, ANYARRAY_DTYPE_PADDED = 2, ANYARRAY_DTYPE_UNIT_SHIFT = 2 };
/// Units of time, in NumPy's order.
enum {
  ANYARRAY_UNIT_NONE = 0,
  ANYARRAY_UNIT_Y = 1,
  ANYARRAY_UNIT_MONTH = 2,  ///< NumPy's M
  ANYARRAY_UNIT_W = 3,
  ANYARRAY_UNIT_D = 4,
  ANYARRAY_UNIT_H = 5,
  ANYARRAY_UNIT_MINUTE = 6,  ///< NumPy's m
  ANYARRAY_UNIT_S = 7,
  ANYARRAY_UNIT_MS = 8,
  ANYARRAY_UNIT_US = 9,
  ANYARRAY_UNIT_NS = 10,
  ANYARRAY_UNIT_PS = 11,
  ANYARRAY_UNIT_FS = 12,
  ANYARRAY_UNIT_AS = 13,
  ANYARRAY_UNIT_GENERIC = 14
};

/// An element type; equal types have equal bytes.
typedef struct anyarray_dtype {
  anyarray_type_code code;
  uint8_t attributes;  ///< ANYARRAY_DTYPE_SWAPPED, ANYARRAY_DTYPE_PADDED, the unit
  uint16_t bits;       ///< of one lane; complex counts both parts; an index for interned
  uint32_t count;      ///< lanes, 1 for plain numbers; length of text; multiplier of a unit; bytes of interned
} anyarray_dtype;

/// DLPack's device kinds.
typedef int32_t anyarray_device_type;
enum {
  ANYARRAY_DEVICE_ANY = 0,  ///< in requests only: no condition
  ANYARRAY_DEVICE_CPU = 1,
  ANYARRAY_DEVICE_CUDA = 2,
  ANYARRAY_DEVICE_CUDA_HOST = 3,
  ANYARRAY_DEVICE_OPENCL = 4,
  ANYARRAY_DEVICE_VULKAN = 7,
  ANYARRAY_DEVICE_METAL = 8,
  ANYARRAY_DEVICE_VPI = 9,
  ANYARRAY_DEVICE_ROCM = 10,
  ANYARRAY_DEVICE_ROCM_HOST = 11,
  ANYARRAY_DEVICE_EXT_DEV = 12,
  ANYARRAY_DEVICE_CUDA_MANAGED = 13,
  ANYARRAY_DEVICE_ONEAPI = 14,
  ANYARRAY_DEVICE_WEBGPU = 15,
  ANYARRAY_DEVICE_HEXAGON = 16,
  ANYARRAY_DEVICE_MAIA = 17,
  ANYARRAY_DEVICE_TRN = 18
};

/// A kind and its number; 0 for cpu, pinned and managed memory. In a request -1 is any of that kind.
typedef struct anyarray_device {
  anyarray_device_type type;
  int32_t id;
} anyarray_device;

/// Bits of anyarray_descriptor.flags.
enum {
  ANYARRAY_FLAG_READONLY = 1,          ///< must not be written
  ANYARRAY_FLAG_COPIED = 2,            ///< the producer said that it copied
  ANYARRAY_FLAG_COPIED_UNKNOWN = 4,    ///< the producer couldn't be asked not to copy
  ANYARRAY_FLAG_DEVICE_UNVERIFIED = 8  ///< the protocol can't say the device, and nothing else did
};

/// Where elements lie and what they are; owns nothing. Element [i, j, …] is at data + i*strides[0] + j*strides[1] + …
/// bytes.
typedef struct anyarray_descriptor {
  void* data;              ///< element [0, …, 0]; may be null when there are no elements
  const int64_t* shape;    ///< ndim extents in elements; never null
  const int64_t* strides;  ///< ndim strides in bytes; null only for elements that don't fill whole bytes
  anyarray_dtype dtype;
  anyarray_device device;
  int32_t ndim;    ///< 0 to 64
  uint32_t flags;  ///< ANYARRAY_FLAG_…
} anyarray_descriptor;

/// Ids of protocols, for anyarray_borrow.protocol.
enum {
#define ANYARRAY_PROTOCOL(id, attribute, traits, text) ANYARRAY_PROTOCOL_##id,
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL
  ANYARRAY_PROTOCOL_none = 0xff  ///< memory that came over none
};

/// A descriptor that is valid until `api->release`. Lives where you put it, and must not be copied or moved: the
/// descriptor points into it. All but `desc` and `protocol` is the library's.
typedef struct anyarray_borrow {
  anyarray_descriptor desc;
  void (*release_fn)(struct anyarray_borrow*);  ///< null when nothing is held
  void* owner;                                  ///< the object that it was taken from
  void* context;
  uint8_t protocol;  ///< that served: ANYARRAY_PROTOCOL_…
  uint8_t heap_dims;
  uint8_t checked;
  uint8_t reserved[5];
  void* token[10];
  int64_t dims[16];
} anyarray_borrow;

/// What `api->take` gives: a borrow that is shared by count, for what outlives a call.
typedef struct anyarray_holder {
  anyarray_borrow borrow;
  int64_t references;  ///< changed by anyarray_retain and `api->drop` alone
} anyarray_holder;

/// A policy: which protocol is tried first. Got by its name, `api->preset`.
typedef struct anyarray_policy anyarray_policy;

/// A sentence that says why a function returned another status; always terminated.
typedef struct anyarray_reason {
  char text[240];
} anyarray_reason;

/// Memory order as a condition.
typedef uint8_t anyarray_order;
enum { ANYARRAY_ORDER_ANY = 0, ANYARRAY_ORDER_C = 1, ANYARRAY_ORDER_F = 2 };
/// Bits of anyarray_request.allow: guards that are waived.
enum { ANYARRAY_WAIVE_MASK = 1, ANYARRAY_WAIVE_GRAD = 2, ANYARRAY_WAIVE_CONJ = 4, ANYARRAY_WAIVE_NEG = 8 };
/// Bits of anyarray_request.layout.
enum {
  ANYARRAY_LAYOUT_ELEMENTS = 1,  ///< strides are whole elements, and the address is aligned for the dtype
  ANYARRAY_LAYOUT_BYTES = 2      ///< elements fill whole bytes, so that there are strides
};

/// What is asked for. Every condition is required, never converted. Begin with ANYARRAY_REQUEST_INIT, which asks for
/// nothing, as a null pointer does.
typedef struct anyarray_request {
  const anyarray_policy* policy;  ///< null: the default preset
  anyarray_device device;         ///< type ANYARRAY_DEVICE_ANY: no condition; id -1: any of that kind
  bool has_dtype;                 ///< whether `dtype` is a condition
  bool writable;                  ///< memory must be writable
  anyarray_order order;
  int8_t ndim;     ///< -1: no condition
  uint32_t allow;  ///< ANYARRAY_WAIVE_…
  anyarray_dtype dtype;
  uint32_t layout;               ///< ANYARRAY_LAYOUT_…
  uint32_t n_dtypes;             ///< > 0: any of `dtypes` is a condition, instead of `dtype`
  const anyarray_dtype* dtypes;  ///< the caller's, for as long as the request
  uintptr_t reserved[2];         ///< must be 0
} anyarray_request;

#define ANYARRAY_REQUEST_INIT \
  {NULL, {ANYARRAY_DEVICE_ANY, -1}, false, false, ANYARRAY_ORDER_ANY, -1, 0, {0, 0, 0, 0}, 0, 0, NULL, {0, 0}}

/// Size and version first, so that both sides can tell which rows the other has. The functions: c_api.def.
typedef struct anyarray_c_api {
  uint32_t size;  ///< bytes of the provider's table
  uint32_t major;
  uint32_t minor;
  uint32_t reserved;
  void* context;  ///< of the interpreter that the table is for: first argument of every function
#define ANYARRAY_FUNCTION(since, result, name, parameters) result(*name) parameters;
#include "anyarray/c_api.def"
#undef ANYARRAY_FUNCTION
} anyarray_c_api;

/// A request that asks for nothing, where an initialiser can't stand.
ANYARRAY_INLINE anyarray_request anyarray_request_any(void) {
  const anyarray_request r = ANYARRAY_REQUEST_INIT;
  return r;
}

/// A plain number: ANYARRAY_CODE_FLOAT and 64 for double.
ANYARRAY_INLINE anyarray_dtype anyarray_make_dtype(anyarray_type_code code, uint16_t bits) {
  const anyarray_dtype d = {code, 0, bits, 1};
  return d;
}

/// Bytes of an element; those that hold one where elements don't fill whole bytes.
ANYARRAY_INLINE int64_t anyarray_itemsize(anyarray_dtype d) {
  int64_t lane = d.bits;
  if (d.code == ANYARRAY_CODE_DATETIME64 || d.code == ANYARRAY_CODE_TIMEDELTA64) return 8;
  if (d.code == ANYARRAY_CODE_INTERNED) return d.count;
  if ((d.attributes & ANYARRAY_DTYPE_PADDED) != 0) lane = (lane + 7) / 8 * 8;
  return (lane * d.count + 7) / 8;
}

/// One reference more of a holder, which `api->drop` takes. From any thread.
ANYARRAY_INLINE void anyarray_retain(anyarray_holder* holder) {
  __atomic_fetch_add(&holder->references, 1, __ATOMIC_RELAXED);
}
