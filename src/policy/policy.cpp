// SPDX-License-Identifier: Apache-2.0
// The registry as data. Includes policy.h alone: ids and bits, never objects.
#include "anyarray/policy.h"

#include <cstring>

namespace anyarray {

const ProtocolRow protocol_rows[protocol_count] = {
#define ANYARRAY_PROTOCOL(id, attribute, traits, text) {#id, attribute, traits, text},
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL
};

bool parse_protocol(const char* name, Protocol* out) noexcept {
  for (int i = 0; i < protocol_count; ++i) {
    if (std::strcmp(protocol_rows[i].name, name) == 0) {
      *out = static_cast<Protocol>(i);
      return true;
    }
  }
  return false;
}

const char* cause_name(Cause cause) noexcept {
  static constexpr const char* names[cause_count] = {"none",       "read",         "attribute_error",
                                                     "type_error", "buffer_error", "not_implemented",
                                                     "call",       "content",      "read_only"};
  return names[static_cast<int>(cause)];
}

}  // namespace anyarray
