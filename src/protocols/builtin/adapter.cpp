// SPDX-License-Identifier: Apache-2.0
// Row `builtin`: bytes, bytearray, memoryview and array.array by their C structs. The elements of a memoryview that has
// its exporter's format still are what the exporter's class says, where the route has a hook that knows it.
#include "src/protocols/adapters.h"
#include "src/support/builtin_struct.h"

namespace anyarray {

Status adapters::builtin(Context& cx, PyObject* obj, const Route& route, const Request&, Borrow& out,
                         Failure& why) noexcept {
  if (!PyMemoryView_Check(obj) || route.buffer_dtype == nullptr) return take_builtin(cx, obj, out, &why.reason);
  PyMemoryViewObject* const mv = builtin::memoryview_of(obj);
  if (builtin::is_released(mv) || builtin::is_restricted(mv) || !builtin::asks_exporter(mv)) {
    return take_builtin(cx, obj, out, &why.reason);
  }
  DType dtype;
  ++mv->exports;  // the hook may run code of others, under which the memory must stay
  Status s = route.buffer_dtype(cx, mv->view.obj, &dtype, why);
  --mv->exports;
  if (s == Status::not_offered) return take_builtin(cx, obj, out, &why.reason);
  if (s != Status::ok) return s;
  s = buffer_layout(mv->view, out, &why.reason);
  if (s == Status::ok && dtype.itemsize() != mv->view.itemsize) {
    s = because(Status::invalid, &why.reason, "its exporter has elements of %lld bytes, its itemsize is %lld",
                static_cast<long long>(dtype.itemsize()), static_cast<long long>(mv->view.itemsize));
  }
  if (s != Status::ok) {
    drop_dims(out);
    return s;
  }
  out.desc.dtype = dtype;
  builtin::lock_memoryview(cx, obj, out);
  return Status::ok;
}

}  // namespace anyarray
