// SPDX-License-Identifier: Apache-2.0
// Shares of an array's memory given back by consumers that know no Python: from any thread, with the GIL or without,
// from another interpreter, or after the end of Python.
#include "src/python/state.h"

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

void unshare_from_anywhere(ArrayObject* a) noexcept {
  if (Py_IsInitialized() == 0) return;
  PyThreadState* now = current_thread();
  const State& s = *a->state;  // stays as long as an array of it lives
  if (now != nullptr && PyThreadState_GetInterpreter(now) == s.interpreter) return unshare(a);
  if (finalizing() || (!s.main_interpreter && s.closed)) return;
  if (s.main_interpreter && now == nullptr) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    unshare(a);
    PyGILState_Release(gil);
    return;
  }
  // Another interpreter's thread, or a thread without one: enter ours, and come back.
  PyThreadState* mine = PyThreadState_New(s.interpreter);
  if (mine == nullptr) return;
  if (now != nullptr) PyEval_SaveThread();
  PyEval_RestoreThread(mine);
  unshare(a);
  PyThreadState_Clear(mine);
  PyThreadState_DeleteCurrent();
  if (now != nullptr) PyEval_RestoreThread(now);
}

}  // namespace anyarray
