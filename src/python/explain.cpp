// SPDX-License-Identifier: Apache-2.0
// view() with a full account instead of a result: explain(). The words are in python/anyarray/explanation.py.
#include "src/python/state.h"

namespace anyarray {

const char* preset_named(const Policy& p) noexcept {
  for (int i = 0; i < preset_count; ++i) {
    if (&presets[i].policy == &p) return presets[i].name;
  }
  return "";
}

PyObject* explain_object(State& s, PyObject* obj, const Request* request) noexcept {
  Borrow borrow;
  borrow.release_fn = nullptr;
  borrow.heap_dims = 0;
  Trace trace(true);
  const Status status = take(s.cx, obj, request, borrow, trace);
  if (status == Status::interrupted || status == Status::no_memory)
    return raise_trace(s.cx, obj, request, status, trace);
  Ref facts = Ref::borrow(Py_None);
  Ref error = Ref::borrow(Py_None);
  if (status == Status::ok) {
    const Descriptor& d = borrow.desc;
    facts = Ref(Py_BuildValue("(sNNNN)", protocol_rows[borrow.protocol].name, tuple_of(d.shape, d.ndim),
                              dtype_object(s, d.dtype), device_object(s, d.device), PyBool_FromLong(d.readonly())));
    apart_from_errors([&borrow] { release(borrow); });
    if (!facts) return nullptr;
  } else {
    raise_trace(s.cx, obj, request, status, trace);
    if (!PyErr_ExceptionMatches(PyExc_BufferError)) return nullptr;
    error = Ref(take_raised());
  }
  Ref words(request_words(s, request));
  Ref attempts(attempts_tuple(trace));
  Policy storage;
  const Policy& policy = policy_of(s.cx, request, &storage);
  Ref policy_text(policy_words(policy));
  Ref make(package_function(s, "explanation", "make_explanation"));
  if (!words || !attempts || !policy_text || !make) return nullptr;
  return PyObject_CallFunction(make.get(), "OOsOsOOO", obj, policy_text.get(), preset_named(policy), words.get(),
                               status_name(status), facts.get(), error.get(), attempts.get());
}

}  // namespace anyarray
