// SPDX-License-Identifier: Apache-2.0
// Warp: bfloat16, which its array interface calls uint16.
#include <cstring>

#include "src/quirks/hooks.h"

namespace anyarray::quirks {

Status warp_after(Context&, PyObject* obj, const Request&, const Borrow& taken, Failure& why) noexcept {
  if (taken.protocol != static_cast<std::uint8_t>(Protocol::array_interface)) return Status::ok;
  if (taken.desc.dtype != make_dtype(TypeCode::uint, 16)) return Status::ok;
  Ref dtype(PyObject_GetAttrString(obj, "dtype"));
  if (!dtype) return producer_raised(why);
  // Of vectors and matrices: the type of what is in them.
  Ref scalar_name(PyUnicode_InternFromString("_wp_scalar_type_"));
  if (!scalar_name) return Status::interrupted;
  PyObject* scalar = nullptr;
  if (lookup_attribute(dtype.get(), scalar_name.get(), &scalar) < 0) return producer_raised(why);
  if (scalar != nullptr) dtype = Ref(scalar);
  if (!PyType_Check(dtype.get())) return Status::ok;
  if (std::strcmp(short_name(reinterpret_cast<PyTypeObject*>(dtype.get())), "bfloat16") != 0) return Status::ok;
  return because(Status::unsupported, &why.reason,
                 "its array interface says uint16 for bfloat16: DLPack keeps the type");
}

}  // namespace anyarray::quirks
