// SPDX-License-Identifier: Apache-2.0
// Runs code under the GIL of the interpreter that a state belongs to, from wherever a consumer called back: another
// thread, without the GIL, from another interpreter, after finalisation. For deleters of what was handed out.
#pragma once
#include "src/python/state.h"

namespace anyarray {

namespace home {

inline bool finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// The thread state under which this thread holds the GIL; null when it doesn't.
inline PyThreadState* current_thread() noexcept {
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

}  // namespace home

/// Runs `f` at home. False, and nothing run, where Python can't be entered any more: what `f` would free is then left
/// to the end of the process.
template <class F>
bool run_at_home(State& s, F&& f) noexcept {
  if (Py_IsInitialized() == 0) return false;
  PyThreadState* now = home::current_thread();
  if (__builtin_expect(now != nullptr && PyThreadState_GetInterpreter(now) == s.interpreter, 1)) {
    f();
    return true;
  }
  if (home::finalizing() || (!s.main_interpreter && s.closed)) return false;
  if (s.main_interpreter && now == nullptr) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    f();
    PyGILState_Release(gil);
    return true;
  }
  // Another interpreter's thread, or a thread without one: enter ours, and come back.
  PyThreadState* mine = PyThreadState_New(s.interpreter);
  if (mine == nullptr) return false;
  if (now != nullptr) PyEval_SaveThread();
  PyEval_RestoreThread(mine);
  f();
  PyThreadState_Clear(mine);
  PyThreadState_DeleteCurrent();
  if (now != nullptr) PyEval_RestoreThread(now);
  return true;
}

}  // namespace anyarray
