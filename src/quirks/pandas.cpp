// SPDX-License-Identifier: Apache-2.0
// pandas: which Series hold Arrow's memory. Of all others the Arrow stream is a conversion.
#include "src/quirks/hooks.h"

namespace anyarray::quirks {
namespace {

Status skip_stream(Context& cx, PyObject* obj, Failure& why) noexcept {
  PyObject* dtype = nullptr;
  const int found = lookup_attribute(obj, static_cast<State*>(cx.quirks)->dtype_name, &dtype);
  if (found < 0) return producer_raised(why, Status::skipped);
  const Ref held(dtype);
  PyObject* arrow = loaded("pandas", "ArrowDtype");
  const bool is_arrow = found > 0 && arrow != nullptr && PyType_Check(arrow) &&
                        PyObject_TypeCheck(dtype, reinterpret_cast<PyTypeObject*>(arrow));
  if (is_arrow) return Status::ok;
  return because(Status::skipped, &why.reason, "its memory isn't Arrow's: the stream would hold a conversion of it");
}

}  // namespace

Status hook_pandas_series(Context& cx, const Match&, Route& route) noexcept {
  State* s = state(cx);
  if (s == nullptr) return Status::interrupted;
  if (s->dtype_name == nullptr) s->dtype_name = PyUnicode_InternFromString("dtype");
  if (s->dtype_name == nullptr) return Status::interrupted;
  route.skip_stream = skip_stream;
  return Status::ok;
}

}  // namespace anyarray::quirks
