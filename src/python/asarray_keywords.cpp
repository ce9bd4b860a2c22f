// SPDX-License-Identifier: Apache-2.0
// The keywords of asarray() and explain_asarray().
#include "src/python/asarray.h"

namespace anyarray {
namespace {

bool read_copies(PyObject* o, Copies* out) noexcept {
  if (o == Py_None || PyBool_Check(o)) {
    *out = o == Py_None ? Copies::as_needed : o == Py_True ? Copies::always : Copies::never;
    return true;
  }
  PyErr_Format(PyExc_TypeError, "copy is None, True or False, not %.200s", Py_TYPE(o)->tp_name);
  return false;
}

/// Text as long as needed, as NumPy spells it: "U", "S", str, bytes. Only what makes an array of objects knows how
/// long.
bool read_text(PyObject* o, DType* out) noexcept {
  const bool letter = PyUnicode_CheckExact(o) && PyUnicode_READY(o) == 0 && PyUnicode_GET_LENGTH(o) == 1;
  const Py_UCS4 which = letter ? PyUnicode_READ_CHAR(o, 0) : 0;
  if (which == 'U' || o == reinterpret_cast<PyObject*>(&PyUnicode_Type)) return *out = make_ucs4(0), true;
  if (which == 'S' || o == reinterpret_cast<PyObject*>(&PyBytes_Type)) return *out = make_bytes(0), true;
  return false;
}

bool read_one(State& s, int keyword, PyObject* value, AsArray& out) noexcept {
  switch (static_cast<Keyword>(keyword)) {
    case Keyword::copy:
      return read_copies(value, &out.copies);
    case Keyword::casting:
      return read_casting(value, &out.casting);
    case Keyword::out:
      out.out = value != Py_None ? value : nullptr;
      return true;
    case Keyword::dtype:
      out.has_dtype = value != Py_None;
      return value == Py_None || read_text(value, &out.dtype) || dtype_from_object(s, value, &out.dtype);
    case Keyword::order:
      return read_order(value, &out.order);
    default:
      return value == Py_None || read_keyword(s, static_cast<Keyword>(keyword), value, out.of_engine());
  }
}

bool no_such_keyword(const char* function, PyObject* name) noexcept {
  PyErr_Format(PyExc_TypeError,
               "%s() has no keyword %R; there are: dtype, device, copy, order, policy, casting, out, allow", function,
               name);
  return false;
}

}  // namespace

bool read_casting(PyObject* o, Casting* out) noexcept {
  for (int i = 0; PyUnicode_Check(o) && i < casting_count; ++i) {
    const auto casting = static_cast<Casting>(i);
    if (PyUnicode_CompareWithASCIIString(o, casting_name(casting)) == 0) return *out = casting, true;
  }
  PyErr_Format(PyUnicode_Check(o) ? PyExc_ValueError : PyExc_TypeError,
               "casting is 'no', 'equiv', 'safe', 'same_kind', 'same_value' or 'unsafe', not %R", o);
  return false;
}

bool parse_asarray(State& s, const char* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                   AsArray& out) noexcept {
  if (!is_one_object(function, nargs)) return false;
  const Py_ssize_t n = kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    const int keyword = find_keyword(s, name);
    const auto known = static_cast<Keyword>(keyword);
    if (keyword < 0 || known == Keyword::ndim || known == Keyword::writable) return no_such_keyword(function, name);
    if (!read_one(s, keyword, args[nargs + i], out)) return false;
  }
  if (out.copies == Copies::never && out.out != nullptr) {
    PyErr_SetString(PyExc_ValueError, "copy=False and out= contradict each other: out is filled by a copy");
    return false;
  }
  return out.engine == nullptr || policy_serves(out.engine->request);
}

}  // namespace anyarray
