// SPDX-License-Identifier: Apache-2.0
// Why no overload took the arguments. Binding libraries let a caster say no, and then give one TypeError without a
// place for reasons. So casters note what they refuse while a call of a wrapped function is under way, and only where
// that call ends in the TypeError of its library the objects are asked again, for the words. All of it under the GIL.
#pragma once
#include <anyarray/python.h>

#include <cstring>

/// Whether this extension was loaded by several interpreters, in a library where it may be. Defined by the library's
/// header, before it includes this one.
#if !defined(ANYARRAY_SEVERAL_INTERPRETERS)
#define ANYARRAY_SEVERAL_INTERPRETERS() false
#endif

/// What follows keeps state of one extension module: each has its own.
#if defined(__GNUC__)
#define ANYARRAY_HIDDEN __attribute__((visibility("hidden")))
#else
#define ANYARRAY_HIDDEN
#endif

namespace anyarray {
namespace ANYARRAY_HIDDEN casters {

/// Asks again for what was refused: the exception with the whole trace is set then. `ok` and no error: taken now.
using AskAgain = Status (*)(const CApi* api, PyObject* object);

namespace detail {

struct Note {
  PyObject* object;  // what was refused, or, where `ask` is null, an exception that waits to be raised; a reference
  AskAgain ask;
  const char* parameter;  // static: "view[const float32, 2]"
  unsigned long thread;
  std::uint64_t number;
};

/// Of one extension module: what it needs in every call, and what its casters refused in calls under way. Calls of
/// several threads may be, so notes are told apart by thread, and by number from those of the calls around them.
struct State {
  const CApi* api = nullptr;
  std::int64_t interpreter = -1;  // that `api` is of, where there are several
  std::uint64_t number = 0;       // grows with each note, and each wrapped call that fails
  std::uint32_t active = 0;       // wrapped calls under way, on all threads
  std::uint32_t n = 0;            // notes there are
  PyObject* failed = nullptr;     // `args` of the last exception of a wrapped call inside of others, held: no other has
                               // their address, while the exception, held, would keep the frames that it went through
  Note notes[64];  // see add_note()
};

inline State state;

/// The same of a thread, where interpreters, each with a lock of its own, run at the same time.
inline State& state_of_thread() noexcept {
  static thread_local State s;
  const std::int64_t interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
  if (s.interpreter != interpreter) {
    s.interpreter = interpreter;
    s.api = nullptr;
    s.failed = nullptr;  // of the other interpreter, whose lock isn't held
  }
  return s;
}
inline State& current_state() noexcept {
  return __builtin_expect(ANYARRAY_SEVERAL_INTERPRETERS(), 0) ? state_of_thread() : state;
}

}  // namespace detail

/// The function table of this extension, imported with the first use. Null with an exception set.
inline const CApi* table() noexcept {
  const CApi*& api = detail::current_state().api;
  if (__builtin_expect(api == nullptr, 0)) api = import_anyarray();
  return api;
}

namespace detail {

/// The exception that is set, normalised and with its traceback, taken away. Null where none is set.
inline PyObject* fetch_error() noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  return PyErr_GetRaisedException();
#else
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  if (type == nullptr) return nullptr;
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_DECREF(type);
  Py_XDECREF(traceback);
  return value;
#endif
}
/// Sets it again; takes the reference over.
inline void restore_error(PyObject* error) noexcept {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(error);
#else
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(error));
  Py_INCREF(type);
  PyErr_Restore(type, error, PyException_GetTraceback(error));
#endif
}

/// Notes something for the call under way on this thread; false where none is. Of too many refusals the later ones are
/// let go, which loses words alone; some room is left for exceptions.
inline bool add_note(PyObject* object, AskAgain ask, const char* parameter) noexcept {
  State& s = current_state();
  constexpr std::uint32_t most = sizeof s.notes / sizeof s.notes[0];
  if (s.active == 0 || s.n >= (ask != nullptr ? most - 8 : most)) return false;
  Py_INCREF(object);
  s.notes[s.n++] = {object, ask, parameter, PyThread_get_thread_ident(), ++s.number};
  return true;
}

}  // namespace detail

/// A caster's no. Cheap: a reference is kept until the call ends.
#if defined(__GNUC__)
__attribute__((cold, noinline))
#endif
inline void refused(PyObject* object, AskAgain ask, const char* parameter) noexcept {
  detail::add_note(object, ask, parameter);
}

/// An exception (a reference, taken over) that a caster has no way to raise, since what asked it goes on to other
/// candidates. A wrapped call raises it at its end. Without one, an interrupt is sent again, and all else is shown as
/// an exception that can't be raised.
#if defined(__GNUC__)
__attribute__((cold, noinline))
#endif
inline void raise_later(PyObject* error) noexcept {
  PyObject* const current = detail::fetch_error();
  if (!detail::add_note(error, nullptr, nullptr)) {
    if (PyErr_GivenExceptionMatches(error, PyExc_KeyboardInterrupt)) {
      PyErr_SetInterrupt();
    } else {
      Py_INCREF(error);
      detail::restore_error(error);
      PyErr_WriteUnraisable(nullptr);
    }
  }
  Py_DECREF(error);
  if (current != nullptr) detail::restore_error(current);
}

namespace detail {

/// The attribute, or null without an error.
inline PyObject* attribute(PyObject* object, const char* name) noexcept {
  PyObject* const found = PyObject_GetAttrString(object, name);
  if (found == nullptr) PyErr_Clear();
  return found;
}

/// How the TypeError begins with which a library says that no overload of `function` took the arguments. A new
/// reference; null where that can't be told.
using HeadOf = PyObject* (*)(PyObject* function);

/// Whether no Python code has seen this TypeError yet.
inline bool is_fresh(PyObject* error) noexcept {
  if (reinterpret_cast<PyObject*>(Py_TYPE(error)) != PyExc_TypeError) return false;
  PyObject* const traceback = PyException_GetTraceback(error);
  PyObject* const cause = PyException_GetCause(error);
  Py_XDECREF(traceback);
  Py_XDECREF(cause);
  return traceback == nullptr && cause == nullptr;
}

/// Whether it is that TypeError: made just now, not one that came out of what the function called.
inline bool is_overload_error(PyObject* error, PyObject* function, HeadOf head_of, const State& s) noexcept {
  if (!is_fresh(error)) return false;
  PyObject* const args = s.failed != nullptr ? attribute(error, "args") : nullptr;
  Py_XDECREF(args);
  if (args != nullptr && args == s.failed) return false;
  PyObject* const start = head_of(function);
  PyObject* const middle = PyUnicode_FromString(" arguments. The following argument types are supported:\n");
  PyObject* const text = PyObject_Str(error);
  const bool is = start != nullptr && middle != nullptr && text != nullptr &&
                  PyUnicode_Tailmatch(text, start, 0, PY_SSIZE_T_MAX, -1) == 1 && PyUnicode_Contains(text, middle) == 1;
  PyErr_Clear();
  Py_XDECREF(start);
  Py_XDECREF(middle);
  Py_XDECREF(text);
  return is;
}

/// "torch.Tensor". A new reference, or null.
inline PyObject* type_name(PyObject* object) noexcept {
  PyObject* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  PyObject* const name = attribute(type, "__qualname__");
  PyObject* const module = attribute(type, "__module__");
  PyObject* result = nullptr;
  if (name != nullptr && module != nullptr && PyUnicode_Check(module) &&
      PyUnicode_CompareWithASCIIString(module, "builtins") != 0) {
    result = PyUnicode_FromFormat("%U.%S", module, name);
  } else if (name != nullptr) {
    result = PyObject_Str(name);
  }
  PyErr_Clear();
  Py_XDECREF(name);
  Py_XDECREF(module);
  return result;
}

/// What ended the search, in one line: the reason of the last try that came to something, else the text without its
/// head. A new reference, or null.
inline PyObject* reason_of(PyObject* error) noexcept {
  PyObject* reason = nullptr;
  PyObject* const attempts = attribute(error, "attempts");
  for (Py_ssize_t i = attempts != nullptr && PyTuple_Check(attempts) ? PyTuple_Size(attempts) : 0; i > 0; --i) {
    PyObject* const attempt = PyTuple_GetItem(attempts, i - 1);
    PyObject* const status = attribute(attempt, "status");
    const bool counts = status != nullptr && PyUnicode_Check(status) &&
                        PyUnicode_CompareWithASCIIString(status, "not offered") != 0 &&
                        PyUnicode_CompareWithASCIIString(status, "not tried") != 0;
    Py_XDECREF(status);
    if (!counts) continue;
    reason = attribute(attempt, "reason");
    break;
  }
  Py_XDECREF(attempts);
  if (reason != nullptr && PyUnicode_Check(reason) && PyUnicode_GetLength(reason) > 0) return reason;
  Py_XDECREF(reason);
  PyObject* const text = PyObject_Str(error);
  if (text == nullptr) return PyErr_Clear(), nullptr;
  const Py_ssize_t length = PyUnicode_GetLength(text);
  Py_ssize_t end = length;
  Py_ssize_t start = PyUnicode_FindChar(text, '\n', 0, length, 1);
  if (start >= 0) {
    for (++start; start < length && PyUnicode_ReadChar(text, start) == ' ';) ++start;
    const Py_ssize_t next = PyUnicode_FindChar(text, '\n', start, length, 1);
    if (next >= 0) end = next;
  } else {
    start = PyUnicode_FindChar(text, ':', 0, length, 1);
    start = start < 0 ? 0 : start + 2;
  }
  PyObject* const line = start <= end ? PyUnicode_Substring(text, start, end) : nullptr;
  Py_DECREF(text);
  PyErr_Clear();
  return line;
}

/// The reason of one refusal as a line of `*lines`, which is replaced; `*cause` is its exception where there is none
/// yet. False with an exception set where the object, asked again, was interrupted.
inline bool add_reason(const Note& note, PyObject** lines, PyObject** cause) noexcept {
  const CApi* const api = table();  // another interpreter may have been here since
  const Status s = api != nullptr ? note.ask(api, note.object) : Status::interrupted;
  PyObject* const error = fetch_error();
  if (s == Status::interrupted && error != nullptr) return restore_error(error), false;
  PyObject* const type = type_name(note.object);
  PyObject* const reason =
      error != nullptr ? reason_of(error) : PyUnicode_FromString("it was refused, and taken when it was asked again");
  PyObject* const line =
      type != nullptr && reason != nullptr
          ? PyUnicode_FromFormat("%U\nanyarray: argument of type %U isn't %s: %U", *lines, type, note.parameter, reason)
          : nullptr;
  if (line != nullptr) {
    Py_DECREF(*lines);
    *lines = line;
  }
  PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(reason);
  if (*cause == nullptr) {
    *cause = error;
  } else {
    Py_XDECREF(error);
  }
  return true;
}

/// How many words for refusals are asked for inside of each other. An object that is asked may call functions that
/// refuse others, which are asked, and call: each level would double the questions.
struct Asking {
  static int& depth() noexcept {
    static thread_local int n = 0;
    return n;
  }
  Asking() noexcept { ++depth(); }
  ~Asking() { --depth(); }
};

/// Puts the reasons behind the text of `error`. False with another exception set.
inline bool add_reasons(PyObject* error, const Note* notes, std::uint32_t n) noexcept {
  PyObject* const head = PyObject_Str(error);
  PyObject* lines = head != nullptr ? PyUnicode_FromFormat("%U\n", head) : nullptr;
  PyObject* cause = nullptr;
  bool going = lines != nullptr;
  const Asking asking;
  for (std::uint32_t i = 0; going && i < n; ++i) {
    bool again = false;  // for the same parameter type: what was asked last is what the library gave up after
    for (std::uint32_t k = i + 1; k < n; ++k) {
      again |= notes[k].object == notes[i].object && std::strcmp(notes[k].parameter, notes[i].parameter) == 0;
    }
    if (!again) going = add_reason(notes[i], &lines, &cause);
  }
  PyObject* const args = going ? PyTuple_Pack(1, lines) : nullptr;
  if (args != nullptr && PyObject_SetAttrString(error, "args", args) == 0 && cause != nullptr) {
    PyException_SetCause(error, cause);
    cause = nullptr;
  }
  Py_XDECREF(args);
  Py_XDECREF(head);
  Py_XDECREF(lines);
  Py_XDECREF(cause);
  return !PyErr_Occurred();
}

/// The end of a wrapped call that failed, or in which something was noted. `before`: State::number when it began,
/// with the same State.
#if defined(__GNUC__)
__attribute__((cold, noinline))
#endif
inline PyObject* settle(State& s, PyObject* function, HeadOf head_of, PyObject* result, std::uint64_t before) noexcept {
  PyObject* error = result == nullptr ? fetch_error() : nullptr;
  Note mine[sizeof s.notes / sizeof s.notes[0]];
  std::uint32_t n = 0;
  std::uint32_t kept = 0;
  const unsigned long thread = PyThread_get_thread_ident();
  PyObject* waiting = nullptr;
  for (std::uint32_t i = 0; i < s.n; ++i) {
    const Note& note = s.notes[i];
    if (note.number <= before || note.thread != thread) {
      s.notes[kept++] = note;
    } else if (note.ask == nullptr && waiting == nullptr) {
      waiting = note.object;
    } else {
      mine[n++] = note;
    }
  }
  s.n = kept;
  if (waiting != nullptr) {
    Py_XDECREF(result);
    Py_XDECREF(error);
    result = nullptr;
    error = waiting;
  } else if (error != nullptr && n > 0 && Asking::depth() < 2 && is_overload_error(error, function, head_of, s) &&
             !add_reasons(error, mine, n)) {
    Py_DECREF(error);
    error = fetch_error();
  }
  for (std::uint32_t i = 0; i < n; ++i) Py_DECREF(mine[i].object);
  if (error != nullptr) ++s.number;  // for the calls around this one
  PyObject* const before_it = s.failed;
  s.failed = error != nullptr && s.active > 0 && is_fresh(error) ? attribute(error, "args") : nullptr;
  Py_XDECREF(before_it);
  if (error != nullptr) restore_error(error);
  return result;
}

}  // namespace detail
}  // namespace ANYARRAY_HIDDEN casters
}  // namespace anyarray
