// SPDX-License-Identifier: Apache-2.0
// Entering an interpreter, across the versions of CPython.
#include "src/python/enter.h"

namespace anyarray {
namespace {

bool finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// The thread state under which this thread holds the GIL; null when it doesn't.
PyThreadState* current_thread() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#elif PY_VERSION_HEX >= 0x030C0000
  return _PyThreadState_UncheckedGet();
#else
  // Before 3.12 that call gives whichever thread holds the one GIL. PyGILState_Check tells, unless there are
  // subinterpreters: then it says yes always, and the state that runs says whose it is.
  if (PyGILState_Check() == 0) return nullptr;
  PyThreadState* now = _PyThreadState_UncheckedGet();
  if (now == nullptr || now == PyGILState_GetThisThreadState()) return now;
  return now->thread_id == PyThread_get_thread_ident() ? now : nullptr;
#endif
}

}  // namespace

bool run_inside(State& s, void (*run)(void*), void* argument) noexcept {
  if (Py_IsInitialized() == 0) return false;
  PyThreadState* now = current_thread();
  if (now != nullptr && PyInterpreterState_GetID(PyThreadState_GetInterpreter(now)) == s.interpreter_id) {
    run(argument);
    return true;
  }
  if (finalizing() || (!s.main_interpreter && s.closed)) return false;
  if (s.main_interpreter && now == nullptr) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    run(argument);
    PyGILState_Release(gil);
    return true;
  }
  // Another interpreter's thread, or a thread without one: enter ours, and come back.
  PyThreadState* mine = PyThreadState_New(s.interpreter);
  if (mine == nullptr) return false;
  if (now != nullptr) PyEval_SaveThread();
  PyEval_RestoreThread(mine);
  run(argument);
  PyThreadState_Clear(mine);
  PyThreadState_DeleteCurrent();
  if (now != nullptr) PyEval_RestoreThread(now);
  return true;
}

}  // namespace anyarray
