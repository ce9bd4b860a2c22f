// SPDX-License-Identifier: Apache-2.0
// What of a schema's metadata the codec reads: the extension's name, and what arrow.fixed_shape_tensor says of itself.
#pragma once
#include <cstddef>

#include "anyarray/protocols/arrow.h"

namespace anyarray::arrow {

inline constexpr char name_key[] = "ARROW:extension:name";
inline constexpr char content_key[] = "ARROW:extension:metadata";
inline constexpr char tensor_name[] = "arrow.fixed_shape_tensor";

/// Bytes of somebody else's.
struct Text {
  const char* bytes;  ///< null: it isn't there
  std::size_t size;
};

/// The values of ARROW:extension:name and ARROW:extension:metadata. invalid: lengths that no metadata has.
Status read_extension(const char* metadata, Text* name, Text* content, Reason* why) noexcept;

/// The JSON of a fixed_shape_tensor: appends its extents and the order of its dimensions to `out`, and gives the
/// number of its elements.
Status read_tensor(Text json, Type* out, std::int64_t* size, Reason* why) noexcept;

}  // namespace anyarray::arrow
