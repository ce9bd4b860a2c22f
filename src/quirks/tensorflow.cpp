// SPDX-License-Identifier: Apache-2.0
// TensorFlow: dtypes whose __dlpack__ ends the process.
#include <cstring>

#include "src/quirks/hooks.h"

namespace anyarray::quirks {

Status tensorflow_before(Context&, PyObject* obj, const Request&, Failure& why) noexcept {
  Ref dtype(PyObject_GetAttrString(obj, "dtype"));
  Ref name(dtype ? PyObject_GetAttrString(dtype.get(), "name") : nullptr);
  if (!name || !PyUnicode_Check(name.get())) {
    if (name) PyErr_SetString(PyExc_TypeError, "the name of its dtype isn't a string");
    because(Status::guarded, &why.reason,
            "the tensor's dtype can't be read, and the export of some dtypes would end the process");
    return producer_raised(why, Status::guarded);
  }
  const char* text = PyUnicode_AsUTF8(name.get());
  if (text == nullptr) return producer_raised(why, Status::guarded);
  for (const char* opaque : {"string", "resource", "variant"}) {
    if (std::strncmp(text, opaque, std::strlen(opaque)) != 0) continue;
    return because(Status::guarded, &why.reason,
                   "a tensor of dtype %.40s has no memory to view, and its export would end the process; take "
                   "x.numpy() for its values",
                   text);
  }
  return Status::ok;
}

}  // namespace anyarray::quirks
