// SPDX-License-Identifier: Apache-2.0
// From a trace to Python: the attempts as tuples, and the one error (its words are in python/anyarray/errors.py).
#include <cstring>

#include "src/python/state.h"

namespace anyarray {

PyObject* attempts_tuple(Trace& trace) noexcept {
  Ref all(PyTuple_New(trace.size()));
  for (int i = 0; all && i < trace.size(); ++i) {
    Attempt& t = trace.at(i);
    const ProtocolRow& row = protocol_rows[static_cast<int>(t.protocol)];
    PyObject* line =
        Py_BuildValue("(sssNOL)", row.name, row.attribute, status_name(t.status), sentence(t.why.reason),
                      t.why.exception != nullptr ? t.why.exception : Py_None, static_cast<long long>(t.ns));
    if (line == nullptr) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, line);
  }
  return all.release();
}

namespace {

/// What the type offers outside of the policy, and what the policy names: (names, names). Null with an exception set.
PyObject* passed_by(Context& cx, PyObject* obj, const Request* request) noexcept {
  Policy storage;
  const ProtocolMask named = policy_of(cx, request, &storage).mask;
  const ProtocolMask outside = offered_by_type(cx, obj) & ~named;
  if (PyErr_Occurred() != nullptr) return nullptr;
  Ref lists[2];
  for (int i = 0; i < 2; ++i) {
    lists[i] = Ref(PyList_New(0));
    for (int row = 0; lists[i] && row < protocol_count; ++row) {
      if (((i == 0 ? outside : named) & mask_of(static_cast<Protocol>(row))) == 0) continue;
      Ref name(PyUnicode_FromString(protocol_rows[row].name));
      if (!name || PyList_Append(lists[i].get(), name.get()) != 0) return nullptr;
    }
  }
  return lists[0] && lists[1] ? PyTuple_Pack(2, lists[0].get(), lists[1].get()) : nullptr;
}

}  // namespace

PyObject* raise_trace(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace) noexcept {
  return raise_failed(cx, obj, request, status, trace, "view");
}

PyObject* raise_failed(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace,
                       const char* action) noexcept {
  if (status == Status::interrupted && PyErr_Occurred() != nullptr) return nullptr;
  if (PyErr_Occurred() != nullptr) PyErr_WriteUnraisable(obj);  // left behind by C code of others
  if (status == Status::no_memory) return PyErr_NoMemory();
  State& s = state_of(cx);
  Ref words(request_words(s, request));
  Ref attempts(attempts_tuple(trace));
  Ref policy(passed_by(cx, obj, request));
  Ref make(package_function(s, "errors", "make_error"));
  if (!words || !attempts || !policy || !make) return nullptr;
  PyObject* refusal = trace.refusal.exception != nullptr ? trace.refusal.exception : Py_None;
  Ref error(PyObject_CallFunction(make.get(), "OOsNOOOs", obj, words.get(), status_name(status),
                                  sentence(trace.refusal.reason), refusal, attempts.get(), policy.get(), action));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

}  // namespace anyarray
