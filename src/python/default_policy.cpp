// SPDX-License-Identifier: Apache-2.0
// The policy that holds where none is named: one for the interpreter, and over it one of the context (a thread's or a
// task's). As long as nobody sets one, Context::current_policy is null, and nothing is asked.
#include "src/python/state.h"

namespace anyarray {
namespace {

/// What holds here and now: never fails, since a context variable with a default can always be read.
void current(Context& cx, Policy* out) noexcept {
  State& s = state_of(cx);
  *out = s.process_policy;
  PyObject* found = nullptr;
  if (s.scoped_policy == nullptr || PyContextVar_Get(s.scoped_policy, Py_None, &found) < 0) {
    PyErr_Clear();
    return;
  }
  const Ref held(found);
  if (found != nullptr && Py_IS_TYPE(found, s.policy_type)) *out = policy_of_object(found);
}

/// Policy, name or order as a Policy object.
PyObject* as_policy(State& s, PyObject* o) noexcept {
  if (Py_IS_TYPE(o, s.policy_type)) return Py_NewRef(o);
  return PyObject_CallOneArg(reinterpret_cast<PyObject*>(s.policy_type), o);
}

}  // namespace

PyObject* get_default_policy(PyObject* module, PyObject*) {
  State& s = state_of_module(module);
  Policy storage;
  return policy_object(s, policy_of(s.cx, nullptr, &storage));
}

PyObject* set_default_policy(PyObject* module, PyObject* o) {
  State& s = state_of_module(module);
  Ref old(policy_object(s, s.process_policy));
  if (!old) return nullptr;
  if (o == Py_None) {
    s.process_policy = default_policy;
  } else {
    const Ref policy(as_policy(s, o));
    if (!policy) return nullptr;
    s.process_policy = policy_of_object(policy.get());
  }
  const bool plain = s.process_policy == default_policy && s.scoped_policy == nullptr;
  s.cx.current_policy = plain ? nullptr : current;
  return old.release();
}

PyObject* scope_policy(PyObject* module, PyObject* o) {
  State& s = state_of_module(module);
  const Ref policy(as_policy(s, o));
  if (!policy) return nullptr;
  if (s.scoped_policy == nullptr) {
    Ref variable(PyContextVar_New("anyarray.default_policy", nullptr));
    if (!variable) return nullptr;
    // A collection may have run code that came here first.
    if (s.scoped_policy == nullptr) s.scoped_policy = variable.release();
  }
  // Stays from now on: a task that was started inside keeps the policy when the scope has ended.
  s.cx.current_policy = current;
  return PyContextVar_Set(s.scoped_policy, policy.get());
}

PyObject* unscope_policy(PyObject* module, PyObject* token) {
  State& s = state_of_module(module);
  if (s.scoped_policy == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "no default policy was set in a context");
    return nullptr;
  }
  if (PyContextVar_Reset(s.scoped_policy, token) < 0) return nullptr;
  Py_RETURN_NONE;
}

}  // namespace anyarray
