// SPDX-License-Identifier: Apache-2.0
// asarray() with a full account: explain_asarray(). The words are in python/anyarray/_convert/record.py.
#include "src/python/asarray.h"

namespace anyarray {
namespace {

/// The engine's lines, and one for the objects that were read instead.
PyObject* lines_of(Account& account) noexcept {
  Ref rows(attempts_tuple(account.trace));
  if (!rows || account.objects == ObjectKind::none) return rows.release();
  const Ref line(Py_BuildValue("((sssNOi))", account.objects == ObjectKind::scalar ? "scalar" : "sequence", "",
                               account.objects_status == Status::ok ? "ok" : "refused", sentence(account.objects_why),
                               Py_None, 0));
  return line ? PySequence_Concat(rows.get(), line.get()) : nullptr;
}

}  // namespace

PyObject* explain_array(State& s, PyObject* obj, AsArray& asked) noexcept {
  Account account;
  const Ref words(asked_words(s, asked));
  Policy storage;
  const Ref policy(policy_words(policy_of(s.cx, asked.request(), &storage)));
  if (!words || !policy) return nullptr;
  Ref error = Ref::borrow(Py_None);
  {
    const Ref made(make_array(s, obj, asked, &account));
    if (!made) {
      if (!PyErr_ExceptionMatches(PyExc_BufferError)) return nullptr;
      error = Ref(take_raised());
      account.way = "refused";
    }
  }
  const Ref lines(lines_of(account));
  const Ref make(package_function(s, "_convert.record", "make_record"));
  if (!lines || !make) return nullptr;
  PyObject* const facts = account.facts ? account.facts.get() : Py_None;
  PyObject* const reasons = account.reasons ? account.reasons.get() : Py_None;
  return PyObject_CallFunction(make.get(), "OsOOsOOOOO", obj, account.way, policy.get(), words.get(),
                               preset_named(policy_of(s.cx, asked.request(), &storage)), facts, reasons, error.get(),
                               lines.get(), asked.out != nullptr ? Py_True : Py_False);
}

}  // namespace anyarray
