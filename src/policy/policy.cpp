// SPDX-License-Identifier: Apache-2.0
// The registry as data and the presets. Includes policy.h alone: ids and bits, never objects.
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

namespace {

// np.asarray: a buffer that can't be had leads on, but once there is one, a bad format is final; of the attributes
// only AttributeError means "absent", every other error ends it. DLPack and CUDA are never looked at.
constexpr Policy numpy_policy() noexcept {
  Policy p = make_policy(
      {Protocol::numpy, Protocol::buffer, Protocol::array_struct, Protocol::array_interface, Protocol::array_method});
  p.lookup = Lookup::instance;
  p.end(mask_of(Protocol::array_struct) | mask_of(Protocol::array_interface) | mask_of(Protocol::array_method));
  p.end(Cause::content, mask_of(Protocol::numpy) | mask_of(Protocol::buffer));
  return p;
}

// mpi4py: any failure of the buffer leads on; an attribute that is there and fails is final.
constexpr Policy mpi4py_policy(Protocol second, Protocol third) noexcept {
  Policy p = make_policy({Protocol::buffer, second, third});
  p.lookup = Lookup::instance;
  p.end(mask_of(second) | mask_of(third));
  return p;
}

}  // namespace

const Preset presets[] = {
    {"default", default_policy,
     "the device first, then the cheapest route that keeps all meaning; goes on after a failure", "", "", "", "", "",
     "", false},
    {"numpy", numpy_policy(), "as np.asarray: buffer, __array_struct__, __array_interface__, __array__", "", "", "", "",
     "", "", false},
    {"mpi4py", mpi4py_policy(Protocol::dlpack, Protocol::cuda_array_interface),
     "as mpi4py: buffer, DLPack, CUDA array interface; a DLPack failure is final", "", "", "", "", "", "", false},
    {"mpi4py_proposed", mpi4py_policy(Protocol::cuda_array_interface, Protocol::dlpack),
     "as proposed for mpi4py: buffer, CUDA array interface, DLPack", "", "", "", "", "", "", false},
    {"device_first", default_policy,
     "asks __dlpack_device__ first, drops what can't serve that device, then the registry's order", "", "", "", "", "",
     "", false},
};
const int preset_count = sizeof presets / sizeof presets[0];

const char* cause_name(Cause cause) noexcept {
  static constexpr const char* names[cause_count] = {"none",         "read", "attribute_error", "type_error",
                                                     "buffer_error", "call", "content",         "read_only"};
  return names[static_cast<int>(cause)];
}

const Policy* find_preset(const char* name) noexcept {
  for (const Preset& preset : presets) {
    if (std::strcmp(preset.name, name) == 0) return &preset.policy;
  }
  return nullptr;
}

}  // namespace anyarray
