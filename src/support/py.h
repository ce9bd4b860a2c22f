// SPDX-License-Identifier: Apache-2.0
// What all code that touches Python shares: an owning reference, the failure of one try, attribute
// look-up without exceptions, and version differences of CPython 3.10 to 3.13. Knows no protocol.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>
#include <utility>

#include "anyarray/status.h"

namespace anyarray {

/// An owning PyObject*. Moves, never copies.
class Ref {
 public:
  Ref() noexcept = default;
  explicit Ref(PyObject* owned) noexcept : p_(owned) {}
  static Ref borrow(PyObject* p) noexcept {
    Py_XINCREF(p);
    return Ref(p);
  }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref&& o) noexcept {
    PyObject* old = std::exchange(p_, std::exchange(o.p_, nullptr));
    Py_XDECREF(old);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(p_); }
  PyObject* get() const noexcept { return p_; }
  PyObject* release() noexcept { return std::exchange(p_, nullptr); }
  explicit operator bool() const noexcept { return p_ != nullptr; }

 private:
  PyObject* p_ = nullptr;
};

/// Why a try failed: a sentence and, where a producer raised, its exception (owned, normalised, with
/// traceback). Trivial to make, so that a try that succeeds pays nothing for it.
struct Failure {
  PyObject* exception;
  bool reading;  ///< it was raised on reading the protocol's attribute, not by what the attribute is
  Reason reason;

  Failure() noexcept : exception(nullptr), reading(false) { reason.text[0] = '\0'; }
  ~Failure() { Py_XDECREF(exception); }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;
};

/// The exception that is set now, cleared and normalised (a new reference; null if none is set).
PyObject* take_raised() noexcept;

/// Turns the exception that is set into the outcome of a try. What is never passed over (a BaseException that
/// isn't an Exception, MemoryError, RecursionError) stays set and gives `interrupted`; everything else is moved
/// into `why` (whose sentence becomes "Type: message", or keeps the one it has) and gives `otherwise`.
Status producer_raised(Failure& why, Status otherwise = Status::failed) noexcept;

/// As producer_raised(), for an exception on reading a protocol's attribute.
Status reading_raised(Failure& why) noexcept;

/// As lookup_attribute(), but None is an attribute as any other.
int lookup_raw(PyObject* obj, PyObject* name, PyObject** out) noexcept;

/// lookup_attribute() for types that look attributes up in a way of their own.
int lookup_by_type(PyObject* obj, PyObject* name, PyObject** out) noexcept;

/// Looks an attribute up on the instance without raising for a missing one: 1 found (new reference in
/// *out; None counts as missing), 0 missing or AttributeError, -1 another exception is set.
inline int lookup_attribute(PyObject* obj, PyObject* name, PyObject** out) noexcept {
  if (__builtin_expect(Py_TYPE(obj)->tp_getattro != PyObject_GenericGetAttr, 0)) return lookup_by_type(obj, name, out);
  // What the interpreter's own look-up without exceptions does for such a type, two calls less deep.
  PyObject* found = _PyObject_GenericGetAttrWithDict(obj, name, nullptr, 1);
  *out = found;
  if (found == nullptr) return PyErr_Occurred() == nullptr ? 0 : -1;
  if (__builtin_expect(found != Py_None, 1)) return 1;
  Py_DECREF(found);
  *out = nullptr;
  return 0;
}

/// Looks an attribute up on the type, as _PyType_Lookup: borrowed, null when missing, never raises.
PyObject* lookup_on_type(PyTypeObject* type, PyObject* name) noexcept;

/// A class's name without its module.
inline const char* short_name(PyTypeObject* type) noexcept {
  const char* dot = std::strrchr(type->tp_name, '.');
  return dot != nullptr ? dot + 1 : type->tp_name;
}

/// What stands in the dict of a loaded module, without its __getattr__ and without an import: borrowed, null when it
/// isn't there. Never raises.
PyObject* loaded(const char* module, const char* name) noexcept;

/// The characters of a str as C text; null, without an exception, where that can't be had or holds a NUL, at which
/// another text would seem to end. Borrowed from the object.
const char* c_text(PyObject* text) noexcept;

/// A sentence as a str; one that was cut may end inside a character.
inline PyObject* sentence(const Reason& reason) noexcept {
  return PyUnicode_DecodeUTF8(reason.text, static_cast<Py_ssize_t>(std::strlen(reason.text)), "ignore");
}

/// Keeps an exception that is set while a destructor runs code of others.
class SavedError {
 public:
  SavedError() noexcept { PyErr_Fetch(&type_, &value_, &traceback_); }
  ~SavedError() { PyErr_Restore(type_, value_, traceback_); }
  SavedError(const SavedError&) = delete;
  SavedError& operator=(const SavedError&) = delete;

 private:
  PyObject *type_, *value_, *traceback_;
};

/// Whether an exception is set in this thread, whose state is `thread`: PyErr_Occurred() without its call.
inline bool has_error(const PyThreadState* thread) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return thread->current_exception != nullptr;
#else
  return thread->curexc_type != nullptr;
#endif
}

/// Runs code of others where no exception may enter or come out: one that is set is kept, one that the code leaves
/// behind goes to sys.unraisablehook.
template <class F>
void apart_from_errors(F&& run) noexcept {
  const PyThreadState* const thread = PyThreadState_Get();
  if (__builtin_expect(!has_error(thread), 1)) {
    run();
    if (__builtin_expect(has_error(thread), 0)) PyErr_WriteUnraisable(nullptr);
    return;
  }
  SavedError saved;
  run();
  if (has_error(thread)) PyErr_WriteUnraisable(nullptr);
}

}  // namespace anyarray
