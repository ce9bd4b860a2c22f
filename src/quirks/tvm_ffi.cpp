// SPDX-License-Identifier: Apache-2.0
// tvm-ffi: the export that its __dlpack__ ends in when it is asked for a versioned capsule and nothing else.
#include "src/quirks/hooks.h"

namespace anyarray::quirks {
namespace {

PyObject* export_versioned(Context& cx, PyObject* obj) noexcept {
  // The object's own class answers: a class that only looks like the library's must not answer for others.
  const Ref function = Ref::borrow(lookup_on_type(Py_TYPE(obj), static_cast<State*>(cx.quirks)->to_dlpack_versioned));
  if (!function) return nullptr;
  PyObject* arguments[] = {nullptr, obj};
  PyObject* capsule = PyObject_Vectorcall(function.get(), arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr);
  return __builtin_expect(capsule != nullptr, 1) ? capsule : give_up();
}

}  // namespace

Status hook_tvm_ffi_export(Context& cx, const Match& match, Route& route) noexcept {
  if (!inherits(cx, match, Protocol::dlpack)) return Status::ok;
  State* s = state(cx);
  if (s == nullptr) return Status::interrupted;
  if (s->to_dlpack_versioned == nullptr) s->to_dlpack_versioned = PyUnicode_InternFromString("_to_dlpack_versioned");
  if (s->to_dlpack_versioned == nullptr) return Status::interrupted;
  PyObject* function = lookup_on_type(match.base, s->to_dlpack_versioned);
  if (function == nullptr || lookup_on_type(match.type, s->to_dlpack_versioned) != function) return Status::ok;
  if ((Py_TYPE(function)->tp_flags & Py_TPFLAGS_METHOD_DESCRIPTOR) == 0) return Status::ok;  // called unbound
  route.dlpack_export = export_versioned;
  return Status::ok;
}

}  // namespace anyarray::quirks
