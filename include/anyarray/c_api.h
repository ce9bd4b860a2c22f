// SPDX-License-Identifier: Apache-2.0
// The function table that anyarray hands to extensions in the capsule "anyarray._core._C_API". Nothing to
// link: one type cache for all, and an upgrade of anyarray teaches every extension the new protocols.
#pragma once
#include <cstddef>
#include <cstdint>

#include "anyarray/request.h"

struct _object;
typedef struct _object PyObject;

namespace anyarray {

inline constexpr const char* c_api_capsule = "anyarray._core._C_API";
/// Layouts of this major are fixed; another one can't be used at all.
inline constexpr std::uint32_t c_api_major = 0;
/// Grows with each row appended.
inline constexpr std::uint32_t c_api_minor = 2;

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
