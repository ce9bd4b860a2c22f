// SPDX-License-Identifier: Apache-2.0
// Row `cuda_array_interface`: versions 0 to 3. The dict has no room for the device, so __dlpack_device__ is asked
// where there is one; otherwise it is cuda:0, marked as unverified.
#include "src/protocols/adapters.h"
#include "src/support/device_question.h"
#include "src/support/interface_dict.h"

namespace anyarray::adapters {
namespace {

constexpr int newest_version = 3;

Status check_stream(InterfaceDict& dict, Failure& why) noexcept {
  if (dict.stream() == nullptr) return Status::ok;
  std::int64_t stream = 0;
  const Status s = dict.integer(dict.stream(), "stream", &stream, why);
  if (s != Status::ok) return s;
  if (stream != 0) return Status::ok;
  return because(Status::invalid, &why.reason,
                 "'stream' is 0, which the interface forbids as ambiguous: 1 is the legacy default stream, 2 the "
                 "per-thread one");
}

}  // namespace

Status cuda_array_interface(Context& cx, PyObject* obj, const Route&, const Request& request, Borrow& out,
                            Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::cuda_array_interface, &attribute, why);
  if (found != Status::ok) return found;
  Ref held(attribute);
  if (!PyDict_Check(attribute)) {
    return because(Status::invalid, &why.reason, "__cuda_array_interface__ must be a dict, not %.100s",
                   Py_TYPE(attribute)->tp_name);
  }
  InterfaceDict dict(cx, attribute);
  Status s =
      dict.version() == nullptr ? Status::ok : dict.check_version("__cuda_array_interface__", 0, newest_version, why);
  if (s == Status::ok) s = check_stream(dict, why);
  if (s == Status::ok) s = dict.layout(request, out, why);
  if (s != Status::ok) return s;
  s = dict.device_address(out.desc, why);
  if (s == Status::ok) s = fill_device(cx, obj, Protocol::cuda_array_interface, DeviceType::cuda, out.desc);
  if (s != Status::ok) {
    drop_dims(out);
    return s;
  }
  out.token[0] = held.release();
  hold(cx, obj, out, let_go_of_both);
  return Status::ok;
}

}  // namespace anyarray::adapters
