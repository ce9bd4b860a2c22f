// SPDX-License-Identifier: Apache-2.0
// The function table that anyarray hands to extensions in the capsule "anyarray._core._C_API". Nothing to
// link: one type cache for all, and an upgrade of anyarray teaches every extension the new protocols. For C: c.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "anyarray/c_api_version.h"
#include "anyarray/request.h"

struct _object;
typedef struct _object PyObject;

namespace anyarray {

inline constexpr const char* c_api_capsule = ANYARRAY_C_API_CAPSULE;
inline constexpr std::uint32_t c_api_major = ANYARRAY_C_API_MAJOR;
inline constexpr std::uint32_t c_api_minor = ANYARRAY_C_API_MINOR;

// The names by which the rows call the types.
using anyarray_status = Status;
using anyarray_request = Request;
using anyarray_borrow = Borrow;
using anyarray_policy = Policy;
using anyarray_descriptor = Descriptor;
using anyarray_holder = Holder;
using anyarray_reason = Reason;

/// Size and version first, so that both sides can tell which rows the other has.
struct CApi {
  std::uint32_t size;  ///< bytes of the provider's table
  std::uint32_t major;
  std::uint32_t minor;
  std::uint32_t reserved;
  void* context;  ///< of the interpreter that the capsule came from: first argument of every function
#define ANYARRAY_FUNCTION(since, result, name, parameters) result(*name) parameters;
#include "anyarray/c_api.def"
#undef ANYARRAY_FUNCTION
};

}  // namespace anyarray
