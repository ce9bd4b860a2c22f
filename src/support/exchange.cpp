// SPDX-License-Identifier: Apache-2.0
#include "src/support/exchange.h"

#include <cstring>

namespace anyarray {
namespace {

constexpr int longest_chain = 16;

}  // namespace

Status exchange_of(Context& cx, PyTypeObject* type, const dlpack::ExchangeApi** out, Failure& why) noexcept {
  *out = nullptr;
  Ref held = Ref::borrow(lookup_on_type(type, cx.names.row_attribute[static_cast<int>(Protocol::dlpack_exchange)]));
  if (!held) return because(Status::invalid, &why.reason, "the type has no exchange table");
  if (const descrgetfunc get = Py_TYPE(held.get())->tp_descr_get; get != nullptr) {
    Ref given(get(held.get(), nullptr, reinterpret_cast<PyObject*>(type)));
    if (!given) return producer_raised(why, Status::invalid);
    held = std::move(given);
  }
  PyObject* const attribute = held.get();
  if (PyLong_Check(attribute)) {
    return because(Status::invalid, &why.reason,
                   "the exchange table is given as an int, which can't be checked: a capsule named \"%s\" is needed",
                   dlpack::exchange_name);
  }
  if (!PyCapsule_CheckExact(attribute)) {
    return because(Status::invalid, &why.reason, "the exchange table is given as %.80s, not as a capsule",
                   Py_TYPE(attribute)->tp_name);
  }
  const char* name = PyCapsule_GetName(attribute);
  if (name == nullptr || std::strcmp(name, dlpack::exchange_name) != 0) {
    PyErr_Clear();
    return because(Status::invalid, &why.reason, "the exchange table's capsule is named \"%.80s\", not \"%s\"",
                   name != nullptr ? name : "", dlpack::exchange_name);
  }
  const auto* header = static_cast<const dlpack::ExchangeHeader*>(PyCapsule_GetPointer(attribute, name));
  const dlpack::Version newest = header->version;
  for (int i = 0; header != nullptr && header->version.major != dlpack::our_version.major; ++i) {
    header = i < longest_chain ? header->prev_api : nullptr;
  }
  if (header == nullptr) {
    return because(Status::invalid, &why.reason,
                   "the exchange table is of DLPack %u.%u and leads to none of major version %u",
                   static_cast<unsigned>(newest.major), static_cast<unsigned>(newest.minor),
                   static_cast<unsigned>(dlpack::our_version.major));
  }
  const auto* api = reinterpret_cast<const dlpack::ExchangeApi*>(header);
  if (api->dltensor_from_py_object_no_sync == nullptr && api->managed_tensor_from_py_object_no_sync == nullptr) {
    return because(Status::invalid, &why.reason, "the exchange table has no function that gives a tensor");
  }
  *out = api;
  return Status::ok;
}

}  // namespace anyarray
