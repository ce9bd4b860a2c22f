// SPDX-License-Identifier: Apache-2.0
// The errors of asarray(), copyto() and their kin. The words around the reasons are in python/anyarray/errors.py.
#include <cstring>

#include "src/python/asarray.h"

namespace anyarray {
namespace {

const char* object_row(ObjectKind kind) noexcept { return kind == ObjectKind::scalar ? "scalar" : "sequence"; }

/// The fields of each Attempt: what served, and the copy that didn't.
PyObject* attempts_until(const Refusal& where, const char* kind, PyObject* reason, PyObject* cause) noexcept {
  if (std::strcmp(kind, "nothing") == 0) return PyTuple_New(0);
  PyObject* const raised = cause != nullptr ? cause : Py_None;
  if (where.objects != ObjectKind::none) {
    return Py_BuildValue("((sssOOi))", object_row(where.objects), "", "refused", reason, raised, 0);
  }
  if (where.protocol == no_protocol) return Py_BuildValue("((sssOOi))", "copy", "", "refused", reason, raised, 0);
  const ProtocolRow& row = protocol_rows[where.protocol];
  return Py_BuildValue("((ssssOi)(sssOOi))", row.name, row.attribute, "ok", "", Py_None, 0, "copy", "", "refused",
                       reason, raised, 0);
}

/// The reasons as one text.
PyObject* joined(PyObject* reason) noexcept {
  if (!PyList_Check(reason)) return Py_NewRef(reason);
  const Ref semicolon(PyUnicode_FromString("; "));
  return semicolon ? PyUnicode_Join(semicolon.get(), reason) : nullptr;
}

const char* kind_of(Status status) noexcept {
  switch (status) {
    case Status::mismatch:
      return "cast";
    case Status::unsupported:
      return "no cast";
    case Status::device:
      return "device";
    default:
      return "invalid";
  }
}

PyObject* raise_no_memory(const Reason& why) noexcept {
  if (why.text[0] == '\0') return PyErr_NoMemory();
  PyErr_SetString(PyExc_MemoryError, why.text);
  return nullptr;
}

}  // namespace

bool offers_nothing(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace) noexcept {
  if (trace.refusal.reason.text[0] != '\0') return false;
  for (int i = 0; i < trace.size(); ++i) {
    const Status s = trace.at(i).status;
    if (s != Status::not_offered && s != Status::not_tried) return false;
  }
  Policy storage;
  return status == Status::not_offered && (offered_by_type(cx, obj) & ~policy_of(cx, request, &storage).mask) == 0 &&
         PyErr_Occurred() == nullptr;
}

PyObject* asked_words(State& s, const AsArray& asked) noexcept {
  Request r;
  if (asked.engine != nullptr) r = asked.engine->request;
  r.has_dtype = asked.has_dtype;
  r.dtype = asked.dtype;
  r.order = asked.order;
  const Ref words(request_words(s, &r));
  if (!words || asked.copies == Copies::as_needed) return Py_XNewRef(words.get());
  return PyUnicode_FromFormat("%U%scopy=%s", words.get(), PyUnicode_GET_LENGTH(words.get()) > 0 ? ", " : "",
                              asked.copies == Copies::always ? "True" : "False");
}

PyObject* raise_refusal(State& s, const Refusal& where, const char* kind, PyObject* reason, PyObject* cause) noexcept {
  const Ref text(joined(reason));
  const Ref words(where.asked != nullptr ? asked_words(s, *where.asked) : PyUnicode_FromString(""));
  const Ref attempts(text ? attempts_until(where, kind, text.get(), cause) : nullptr);
  const Ref make(package_function(s, "errors", "make_refusal"));
  if (!text || !words || !attempts || !make) return nullptr;
  const Ref error(PyObject_CallFunction(make.get(), "sOOOOOO", kind, where.obj,
                                        where.target != nullptr ? where.target : Py_None, words.get(), text.get(),
                                        attempts.get(), cause != nullptr ? cause : Py_None));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

PyObject* raise_copy(State& s, const Refusal& where, Status status, const Reason& why) noexcept {
  if (status == Status::no_memory) return raise_no_memory(why);
  const Ref text(sentence(why));
  return text ? raise_refusal(s, where, kind_of(status), text.get()) : nullptr;
}

PyObject* raise_objects(State& s, const Refusal& where, Status status, Failure& why) noexcept {
  if (status == Status::interrupted) return nullptr;
  if (status == Status::no_memory) return raise_no_memory(why.reason);
  const char* kind = status == Status::invalid ? "sequence" : kind_of(status);
  if (status == Status::not_offered) kind = "nothing";
  if (status == Status::failed) kind = "failed";
  if (why.exception != nullptr && PyErr_GivenExceptionMatches(why.exception, PyExc_OverflowError) != 0) {
    kind = "overflow";
  }
  const Ref text(sentence(why.reason));
  return text ? raise_refusal(s, where, kind, text.get(), why.exception) : nullptr;
}

}  // namespace anyarray
