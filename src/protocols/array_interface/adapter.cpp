// SPDX-License-Identifier: Apache-2.0
// Row `array_interface`: NumPy's array interface, version 3. The memory is an address, the buffer of another
// object, or the object's own buffer. The dict is held besides the object: what was made for it lives there.
// A void type stays void ("V2"): bfloat16 under '<V2' can't be told from plain bytes.
#include <cstdlib>

#include "src/protocols/adapters.h"
#include "src/support/interface_dict.h"
#include "src/support/numpy_struct.h"

namespace anyarray::adapters {
namespace {

// token[0]: the dict; token[1]: a Py_buffer on the heap, or null.
void release(Borrow* b) noexcept {
  if (auto* view = static_cast<Py_buffer*>(b->token[1])) {
    PyBuffer_Release(view);
    std::free(view);
  }
  let_go_of_both(b);
}

/// Points `d` into the buffer, `offset` bytes from its start; every element must lie inside.
Status place(const Py_buffer& view, std::int64_t offset, Descriptor& d, Failure& why) noexcept {
  std::int64_t size = 0, low = 0, high = 0;
  if (!element_count(d.ndim, d.shape, &size) ||
      !byte_extent(d.ndim, d.shape, d.strides, d.dtype.itemsize(), &low, &high)) {
    return because(Status::invalid, &why.reason,
                   "'shape' and 'strides' say a negative size, or one that 64 bits can't address");
  }
  const bool inside = offset >= 0 && offset <= view.len && low >= -offset && high <= view.len - offset;
  if (!inside || (size > 0 && view.buf == nullptr)) {
    return because(Status::invalid, &why.reason,
                   "elements at bytes %lld to %lld from offset %lld don't lie inside the buffer of %lld bytes",
                   static_cast<long long>(low), static_cast<long long>(high), static_cast<long long>(offset),
                   static_cast<long long>(view.len));
  }
  d.data = view.buf == nullptr ? nullptr : static_cast<char*>(view.buf) + offset;
  if (view.readonly != 0) d.flags |= flag_readonly;
  return Status::ok;
}

/// Memory from a buffer: of `data`, or of the object itself.
Status from_buffer(PyObject* obj, InterfaceDict& dict, Borrow& out, Failure& why) noexcept {
  dict.hold_values();
  PyObject* source = dict.data() != nullptr ? dict.data() : obj;
  if (!PyObject_CheckBuffer(source)) {
    return dict.data() == nullptr
               ? because(Status::invalid, &why.reason, "the dict has no 'data', and %.100s has no buffer",
                         Py_TYPE(obj)->tp_name)
               : because(Status::invalid, &why.reason,
                         "'data' must be (address, read-only), an object with a buffer, or None, not %.100s",
                         Py_TYPE(source)->tp_name);
  }
  std::int64_t offset = 0;
  if (dict.offset() != nullptr) {
    const Status s = dict.integer(dict.offset(), "offset", &offset, why);
    if (s != Status::ok) return s;
  }
  auto* view = static_cast<Py_buffer*>(std::malloc(sizeof(Py_buffer)));
  if (view == nullptr) return Status::no_memory;
  if (PyObject_GetBuffer(source, view, PyBUF_SIMPLE) != 0) {
    std::free(view);
    return producer_raised(why);
  }
  if (PyErr_Occurred() != nullptr) {  // C code of others that gave a buffer and raised
    const Status raised = producer_raised(why);
    apart_from_errors([view] { PyBuffer_Release(view); });
    std::free(view);
    return raised;
  }
  const Status s = place(*view, offset, out.desc, why);
  if (s != Status::ok) {
    PyBuffer_Release(view);
    std::free(view);
    return s;
  }
  out.token[1] = view;
  return Status::ok;
}

/// Whether nobody but the caller holds the dict, nor anybody but the dict the object in it, whose memory is its own:
/// it can't be the producer's then. Asked before anything else holds the values.
bool is_made_for_us(const Context& cx, PyObject* dict, PyObject* data) noexcept {
  if (data == nullptr || Py_REFCNT(dict) != 1 || Py_REFCNT(data) != 1) return false;
  return PyBytes_CheckExact(data) || PyByteArray_CheckExact(data) || numpy_made_for_us(cx, data);
}

Status from_address(InterfaceDict& dict, Borrow& out, Failure& why) noexcept {
  std::uintptr_t pointer = 0;
  bool readonly = false;
  const Status s = dict.address(false, &pointer, &readonly, why);
  if (s != Status::ok) return s;
  if (dict.offset() != nullptr) {
    std::int64_t offset = 0;
    const Status t = dict.integer(dict.offset(), "offset", &offset, why);
    if (t != Status::ok) return t;
    if (offset != 0) {
      return because(Status::invalid, &why.reason, "'offset' counts only with a buffer, but 'data' is an address");
    }
  }
  out.desc.data = reinterpret_cast<void*>(pointer);
  if (readonly) out.desc.flags |= flag_readonly;
  return Status::ok;
}

}  // namespace

Status array_interface(Context& cx, PyObject* obj, const Route& route, const Request& request, Borrow& out,
                       Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::array_interface, &attribute, why);
  if (found != Status::ok) return found;
  Ref held(attribute);
  if (!PyDict_Check(attribute)) {
    return because(Status::invalid, &why.reason, "__array_interface__ must be a dict, not %.100s",
                   Py_TYPE(attribute)->tp_name);
  }
  InterfaceDict dict(cx, attribute);
  const bool made_for_us = is_made_for_us(cx, attribute, dict.data());
  Status s = dict.layout(request, out, why);
  if (s != Status::ok) return s;
  out.desc.device = cpu_device;
  out.desc.flags = (route.traits & trait_dict_readonly) != 0 ? unsigned{flag_readonly} : 0u;
  out.token[1] = nullptr;
  s = dict.data() != nullptr && PyTuple_Check(dict.data()) ? from_address(dict, out, why)
                                                           : from_buffer(obj, dict, out, why);
  if (s != Status::ok) {
    drop_dims(out);
    return s;
  }
  if (out.token[1] != nullptr && made_for_us) out.desc.flags |= flag_copied;
  out.token[0] = held.release();
  hold(cx, obj, out, release);
  return Status::ok;
}

}  // namespace anyarray::adapters
