// SPDX-License-Identifier: Apache-2.0
// Row `cuda_array_interface`: versions 0 to 3. The dict has no room for the device, so __dlpack_device__ is asked
// where there is one; otherwise it is cuda:0, marked as unverified.
#include "src/protocols/adapters.h"
#include "src/support/interface_dict.h"

namespace anyarray::adapters {
namespace {

constexpr std::int64_t newest_version = 3;

// token[0]: the dict.
void release(Borrow* b) noexcept {
  Py_DECREF(static_cast<PyObject*>(b->token[0]));
  let_go(b);
}

/// Whether memory behind this interface can be of that kind.
bool is_gpu_kind(long type) noexcept {
  switch (static_cast<DeviceType>(type)) {
    case DeviceType::cuda:
    case DeviceType::cuda_host:
    case DeviceType::cuda_managed:
    case DeviceType::rocm:
    case DeviceType::rocm_host:
      return true;
    default:
      return false;
  }
}

/// (type, id) as __dlpack_device__ answers it.
bool read_device(PyObject* answer, Device* out) noexcept {
  if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2) return false;
  long numbers[2];
  for (int i = 0; i < 2; ++i) {
    PyObject* number = PyTuple_GET_ITEM(answer, i);
    int overflow = 0;
    if (!PyLong_Check(number)) return false;
    numbers[i] = PyLong_AsLongAndOverflow(number, &overflow);
    if (overflow != 0 || numbers[i] < 0 || numbers[i] > INT32_MAX) return false;
  }
  if (!is_gpu_kind(numbers[0])) return false;
  *out = Device{static_cast<DeviceType>(numbers[0]), static_cast<std::int32_t>(numbers[1])};
  return true;
}

Status ask_device(Context& cx, PyObject* obj, Descriptor& d) noexcept {
  d.device = Device{DeviceType::cuda, 0};
  d.flags |= flag_device_unverified;
  PyObject* method = nullptr;
  const int found = lookup_attribute(obj, cx.names.dlpack_device, &method);
  if (found == 0) return Status::ok;
  Ref held(found > 0 ? method : nullptr);
  Ref answer(found > 0 ? PyObject_CallNoArgs(method) : nullptr);
  if (!answer) {
    Failure unheard;  // the memory is known all the same; only its device stays unverified
    return producer_raised(unheard) == Status::interrupted ? Status::interrupted : Status::ok;
  }
  if (read_device(answer.get(), &d.device)) d.flags &= ~unsigned{flag_device_unverified};
  return Status::ok;
}

Status check_version(InterfaceDict& dict, Failure& why) noexcept {
  if (dict.version() == nullptr) return Status::ok;
  std::int64_t version = 0;
  const Status s = dict.integer(dict.version(), "version", &version, why);
  if (s != Status::ok) return s;
  if (version < 0) return because(Status::invalid, &why.reason, "'version' is negative");
  if (version <= newest_version) return Status::ok;
  return because(Status::unsupported, &why.reason, "version %lld of __cuda_array_interface__ is newer than %lld",
                 static_cast<long long>(version), static_cast<long long>(newest_version));
}

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

/// The address; none is needed where there are no elements.
Status read_data(InterfaceDict& dict, Descriptor& d, Failure& why) noexcept {
  std::int64_t size = 0;
  const bool needs_none = dict.data() == nullptr || dict.address_is_none();
  const bool empty = needs_none && element_count(d.ndim, d.shape, &size) && size == 0;
  std::uintptr_t pointer = 0;
  bool readonly = false;
  if (dict.data() != nullptr) {
    const Status s = dict.address(empty, &pointer, &readonly, why);
    if (s != Status::ok) return s;
  } else if (!empty) {
    return because(Status::invalid, &why.reason, "the dict has no 'data', which only an array of size 0 may lack");
  }
  d.data = reinterpret_cast<void*>(pointer);
  d.flags = readonly ? unsigned{flag_readonly} : 0u;
  return Status::ok;
}

}  // namespace

Status cuda_array_interface(Context& cx, PyObject* obj, const Route&, const Request& request, Borrow& out,
                            Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const int found =
      lookup_attribute(obj, cx.names.row_attribute[static_cast<int>(Protocol::cuda_array_interface)], &attribute);
  if (found <= 0) return found == 0 ? Status::not_offered : reading_raised(why);
  Ref held(attribute);
  if (!PyDict_Check(attribute)) {
    return because(Status::invalid, &why.reason, "__cuda_array_interface__ must be a dict, not %.100s",
                   Py_TYPE(attribute)->tp_name);
  }
  InterfaceDict dict(cx, attribute);
  Status s = check_version(dict, why);
  if (s == Status::ok) s = check_stream(dict, why);
  if (s == Status::ok) s = dict.layout(request, out, why);
  if (s != Status::ok) return s;
  s = read_data(dict, out.desc, why);
  if (s == Status::ok) s = ask_device(cx, obj, out.desc);
  if (s != Status::ok) {
    drop_dims(out);
    return s;
  }
  out.token[0] = held.release();
  hold(cx, obj, out, release);
  return Status::ok;
}

}  // namespace anyarray::adapters
