// SPDX-License-Identifier: Apache-2.0
#include "src/support/device_question.h"

namespace anyarray {
namespace {

/// One of the two numbers; -1, which is none, where it isn't an int of 32 bits. ok or interrupted.
Status read_number(PyObject* o, std::int32_t* out) noexcept {
  *out = -1;
  if (!PyIndex_Check(o)) return Status::ok;
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(o, &overflow);
  if (number == -1 && PyErr_Occurred() != nullptr) {
    Failure unheard;
    return producer_raised(unheard, Status::ok);
  }
  if (overflow == 0 && number == static_cast<std::int32_t>(number)) *out = static_cast<std::int32_t>(number);
  return Status::ok;
}

/// What calling the method gives, where the look-up found one.
Status read_answer(int found, PyObject* method, Device* out) noexcept {
  *out = Device{DeviceType::any, 0};
  Failure unheard;  // an object that doesn't answer may have memory all the same
  Ref held(found > 0 ? method : nullptr);
  Ref answer(found > 0 ? PyObject_CallNoArgs(method) : nullptr);
  if (!answer) return producer_raised(unheard, Status::ok);
  if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) return Status::ok;
  std::int32_t type = 0;
  std::int32_t id = 0;
  Status s = read_number(PyTuple_GET_ITEM(answer.get(), 0), &type);
  if (s == Status::ok) s = read_number(PyTuple_GET_ITEM(answer.get(), 1), &id);
  if (s == Status::ok && is_known(static_cast<DeviceType>(type))) *out = Device{static_cast<DeviceType>(type), id};
  return s;
}

}  // namespace

Status ask_device(Context& cx, PyObject* obj, Device* out) noexcept {
  *out = Device{DeviceType::any, 0};
  PyObject* method = nullptr;
  const int found = lookup_attribute(obj, cx.names.dlpack_device, &method);
  return found == 0 ? Status::ok : read_answer(found, method, out);
}

Status fill_answered(int found, PyObject* method, Protocol row, Descriptor& d) noexcept {
  Device said;
  const Status s = read_answer(found, method, &said);
  if (s == Status::ok && is_known(said) && serves(row, said.type)) {
    d.device = said;
    d.flags &= ~unsigned{flag_device_unverified};
  }
  return s;
}

}  // namespace anyarray
