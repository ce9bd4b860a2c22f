// SPDX-License-Identifier: Apache-2.0
// The version of the function table, and what an extension says of one that doesn't suffice. For C99 and C++; no
// Python. Included by c.h and c_api.h.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
#define ANYARRAY_INLINE inline
#else
#define ANYARRAY_INLINE static inline
#endif

#define ANYARRAY_C_API_CAPSULE "anyarray._core._C_API"
/// Layouts of this major are fixed; another one can't be used at all.
#define ANYARRAY_C_API_MAJOR 0u

/// The minor that brought each row: `if (api->minor >= ANYARRAY_SINCE_take) api->take(…)`.
enum {
#define ANYARRAY_FUNCTION(since, result, name, parameters) ANYARRAY_SINCE_##name = (since),
#include "anyarray/c_api.def"
#undef ANYARRAY_FUNCTION
  ANYARRAY_SINCE_next  // the number after that of the last row
};
/// Grows with the rows.
#define ANYARRAY_C_API_MINOR (ANYARRAY_SINCE_next - 1)

/// Bytes of a table that has all rows up to this minor.
ANYARRAY_INLINE size_t anyarray_table_size(uint32_t minor) {
  const uint32_t since[] = {
#define ANYARRAY_FUNCTION(since, result, name, parameters) since,
#include "anyarray/c_api.def"
#undef ANYARRAY_FUNCTION
  };
  size_t rows = 0;
  while (rows < sizeof since / sizeof *since && since[rows] <= minor) ++rows;
  return 4 * sizeof(uint32_t) + (1 + rows) * sizeof(void*);
}

/// Whether a table that says this of itself has the rows up to `wanted`. If not, `why` is the sentence that says what
/// to upgrade.
ANYARRAY_INLINE int anyarray_table_fits(uint32_t size, uint32_t major, uint32_t minor, uint32_t wanted, char* why,
                                        size_t why_size) {
  if (major == ANYARRAY_C_API_MAJOR && minor >= wanted && size >= anyarray_table_size(wanted)) return 1;
  snprintf(why, why_size, "this extension was built for anyarray's C API %u.%u, the installed anyarray has %u.%u: %s",
           ANYARRAY_C_API_MAJOR, wanted, major, minor,
           major > ANYARRAY_C_API_MAJOR ? "rebuild the extension" : "upgrade the package anyarray");
  return 0;
}
