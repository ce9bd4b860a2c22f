// SPDX-License-Identifier: Apache-2.0
// Row `sycl_usm_array_interface`: version 1. Strides and offset count elements. `syclobj` says whose memory it is, but
// only SYCL could tell which device that means, so __dlpack_device__ is asked where there is one; otherwise it is
// oneapi:0, marked as unverified. Reading the attribute has waited for the producer's queue.
#include <cstring>

#include "src/protocols/adapters.h"
#include "src/support/device_question.h"
#include "src/support/interface_dict.h"

namespace anyarray::adapters {
namespace {

Status check_version(InterfaceDict& dict, Failure& why) noexcept {
  if (dict.version() != nullptr) return dict.check_version("__sycl_usm_array_interface__", 1, 1, why);
  return because(Status::invalid, &why.reason, "the dict has no 'version', which must be 1");
}

/// Whether it is one of the forms in which a context or a queue may be handed over.
Status check_syclobj(const Context& cx, PyObject* attribute, InterfaceDict& dict, Failure& why) noexcept {
  dict.hold_values();  // a key that is no str may run code when it is compared
  const Ref held = Ref::borrow(PyDict_GetItemWithError(attribute, cx.names.syclobj));
  if (PyErr_Occurred() != nullptr) return producer_raised(why);
  PyObject* const syclobj = held.get();
  if (syclobj == nullptr || syclobj == Py_None) {
    return because(Status::invalid, &why.reason, "the dict has no 'syclobj', which says whose memory it is");
  }
  if (PyUnicode_Check(syclobj)) return Status::ok;
  if (PyCapsule_CheckExact(syclobj)) {
    const char* name = PyCapsule_GetName(syclobj);
    if (name != nullptr && (std::strcmp(name, "SyclContextRef") == 0 || std::strcmp(name, "SyclQueueRef") == 0)) {
      return Status::ok;
    }
    return because(Status::invalid, &why.reason,
                   "the capsule in 'syclobj' is named \"%.80s\", not \"SyclContextRef\" or \"SyclQueueRef\"",
                   name != nullptr ? name : "");
  }
  Ref method(PyObject_GetAttrString(syclobj, "_get_capsule"));
  if (method) return Status::ok;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return producer_raised(why);
  PyErr_Clear();
  return because(Status::invalid, &why.reason,
                 "'syclobj' must be a queue, a context, a capsule of one, or a filter string, not %.100s",
                 Py_TYPE(syclobj)->tp_name);
}

/// Moves the address, which is the allocation's, to element [0, ..., 0].
Status add_offset(InterfaceDict& dict, Descriptor& d, Failure& why) noexcept {
  if (dict.offset() == nullptr) return Status::ok;
  std::int64_t offset = 0;
  if (const Status s = dict.integer(dict.offset(), "offset", &offset, why); s != Status::ok) return s;
  if (offset < 0) {
    return because(Status::invalid, &why.reason,
                   "'offset' is %lld: it counts elements from the start of the allocation, before which there are none",
                   static_cast<long long>(offset));
  }
  if (d.data == nullptr) return Status::ok;
  const auto start = reinterpret_cast<std::uintptr_t>(d.data);
  std::int64_t bytes = 0;
  std::uintptr_t address = 0;
  if (__builtin_mul_overflow(offset, d.dtype.itemsize(), &bytes) || __builtin_add_overflow(start, bytes, &address)) {
    return because(Status::invalid, &why.reason, "'offset', %lld elements, leaves the address space",
                   static_cast<long long>(offset));
  }
  d.data = reinterpret_cast<void*>(address);
  return Status::ok;
}

}  // namespace

Status sycl_usm_array_interface(Context& cx, PyObject* obj, const Route& route, const Request& request, Borrow& out,
                                Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::sycl_usm_array_interface, &attribute, why);
  if (found != Status::ok) return found;
  Ref held(attribute);
  if (!PyDict_Check(attribute)) {
    return because(Status::invalid, &why.reason, "__sycl_usm_array_interface__ must be a dict, not %.100s",
                   Py_TYPE(attribute)->tp_name);
  }
  InterfaceDict dict(cx, attribute);
  Status s = check_version(dict, why);
  if (s == Status::ok) s = check_syclobj(cx, attribute, dict, why);
  if (s == Status::ok) s = dict.layout(request, out, why);
  if (s != Status::ok) return s;
  s = dict.elements_to_bytes(out, why);
  if (s == Status::ok) s = dict.device_address(out.desc, why);
  if ((route.traits & trait_dict_writable) != 0) out.desc.flags &= ~unsigned{flag_readonly};
  if (s == Status::ok) s = add_offset(dict, out.desc, why);
  if (s == Status::ok) {
    s = fill_device(cx, obj, Protocol::sycl_usm_array_interface, DeviceType::oneapi, out.desc);
  }
  if (s != Status::ok) {
    drop_dims(out);
    return s;
  }
  out.token[0] = held.release();  // the dict, which holds the syclobj
  hold(cx, obj, out, let_go_of_both);
  return Status::ok;
}

}  // namespace anyarray::adapters
