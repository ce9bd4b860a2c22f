// SPDX-License-Identifier: Apache-2.0
// PaddlePaddle: what its exchange table doesn't check, which its __dlpack__ does: autograd, and tensors that aren't
// dense.
#include "src/quirks/hooks.h"

namespace anyarray::quirks {

Status find_paddle_flags(Context& cx, const Match& match, Route&) noexcept {
  State* s = state(cx);
  if (s == nullptr) return Status::interrupted;
  if (s->paddle_tensor != nullptr) return Status::ok;
  if (!find_flag(match.base, "is_dense", true, s->is_dense) ||
      !find_flag(match.base, "stop_gradient", false, s->stop_gradient)) {
    return Status::interrupted;
  }
  Py_INCREF(match.base);
  s->paddle_tensor = match.base;
  return Status::ok;
}

Status paddle_before(Context& cx, PyObject* obj, const Request& request, Failure& why) noexcept {
  const State& s = *static_cast<State*>(cx.quirks);
  const bool direct = PyType_IsSubtype(Py_TYPE(obj), s.paddle_tensor);
  const int dense = read_flag(s.is_dense, obj, direct);
  if (dense < 0) return producer_raised(why);
  if (dense == 0) {
    return because(Status::guarded, &why.reason,
                   "the tensor isn't dense (sparse, or its memory was freed), and its export would end the process: "
                   "take x.to_dense()");
  }
  if ((request.allow & waive_grad) != 0) return Status::ok;
  const int stops = read_flag(s.stop_gradient, obj, direct);
  if (stops < 0) return producer_raised(why);
  if (stops != 0) return Status::ok;
  return because(Status::guarded, &why.reason,
                 "the tensor has stop_gradient=False, and what is done through a view is unseen by autograd: take "
                 "x.detach(), or pass allow=(\"grad\",)");
}

}  // namespace anyarray::quirks
