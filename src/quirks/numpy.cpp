// SPDX-License-Identifier: Apache-2.0
// NumPy: masked arrays, subclasses that answer for themselves, scalars whose protocols lose their type.
#include <cstring>

#include "src/quirks/hooks.h"

namespace anyarray::quirks {
namespace {

/// The rows of an ndarray that a subclass has by an attribute.
constexpr Protocol by_attribute[] = {Protocol::dlpack, Protocol::array_struct, Protocol::array_interface,
                                     Protocol::array_method};

getbufferproc buffer_of(PyTypeObject* type) noexcept {
  return type->tp_as_buffer != nullptr ? type->tp_as_buffer->bf_getbuffer : nullptr;
}

}  // namespace

Status numpy_masked_before(Context&, PyObject*, const Request& request, Failure& why) noexcept {
  if ((request.allow & waive_mask) != 0) return Status::ok;
  return because(Status::guarded, &why.reason,
                 "a masked array, and a view would drop the mask: take x.filled(value) or x.data, or pass "
                 "allow=(\"mask\",)");
}

Status drop_inherited(Context& cx, const Match& match, Route& route) noexcept {
  if (match.type == match.base) return Status::ok;
  ProtocolMask inherited = mask_of(Protocol::numpy);
  bool overrides = false;
  if (buffer_of(match.type) == buffer_of(match.base)) {
    inherited |= mask_of(Protocol::buffer);
  } else {
    overrides = true;
  }
  for (const Protocol row : by_attribute) {
    PyObject* name = cx.names.row_attribute[static_cast<int>(row)];
    PyObject* own = lookup_on_type(match.type, name);
    if (own == lookup_on_type(match.base, name)) {
      inherited |= mask_of(row);
    } else if (own != nullptr && own != Py_None) {  // None only takes its row away
      overrides = true;
    }
  }
  if (overrides) route.on_type &= ~inherited;
  return Status::ok;
}

Status mark_scalar(Context&, const Match& match, Route& route) noexcept {
  route.traits |= trait_dict_readonly;
  PyObject* mro = match.type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    if (std::strcmp(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i))->tp_name, "numpy.void") != 0) continue;
    route.traits |= trait_may_copy;  // an element of a structured array shows the array's memory, others their own
    return Status::ok;
  }
  route.traits |= trait_copies;
  return Status::ok;
}

Status drop_lossy(Context&, const Match& match, Route& route) noexcept {
  PyObject* mro = match.type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (base != match.base && is_of(base, "numpy")) return Status::ok;  // a kind of NumPy's own
  }
  route.on_type &= ~(mask_of(Protocol::buffer) | mask_of(Protocol::array_struct) | mask_of(Protocol::array_interface));
  route.traits |= trait_readonly;  // what __array__ makes of a scalar is writable
  return Status::ok;
}

}  // namespace anyarray::quirks
