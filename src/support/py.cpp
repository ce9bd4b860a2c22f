// SPDX-License-Identifier: Apache-2.0
#include "src/support/py.h"

#include <algorithm>
#include <cstring>

namespace anyarray {

PyObject* take_raised() noexcept {
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

Status producer_raised(Failure& why, Status otherwise) noexcept {
  if (PyErr_Occurred() == nullptr) {  // C code of others that fails without saying why
    return why.reason.text[0] != '\0' ? otherwise : because(otherwise, &why.reason, "failed without an exception");
  }
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError) ||
      PyErr_ExceptionMatches(PyExc_RecursionError)) {
    return Status::interrupted;
  }
  Py_XDECREF(why.exception);
  why.exception = take_raised();
  if (why.reason.text[0] != '\0' || why.exception == nullptr) return otherwise;
  Ref text(PyObject_Str(why.exception));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return Status::interrupted;
    PyErr_Clear();
    utf8 = "(its message can't be read)";
  }
  utf8 += std::strspn(utf8, " \t\r\n");
  // One line: what follows may be pages of another language's stack. The exception keeps all of it.
  const int length = static_cast<int>(std::min<std::size_t>(std::strcspn(utf8, "\r\n"), sizeof why.reason.text));
  return because(otherwise, &why.reason, length != 0 ? "%s: %.*s" : "%s%.*s", short_name(Py_TYPE(why.exception)),
                 length, utf8);
}

Status reading_raised(Failure& why) noexcept {
  why.reading = true;
  return producer_raised(why);
}

int lookup_raw(PyObject* obj, PyObject* name, PyObject** out) noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyObject_GetOptionalAttr(obj, name, out);
#else
  return _PyObject_LookupAttr(obj, name, out);
#endif
}

int lookup_by_type(PyObject* obj, PyObject* name, PyObject** out) noexcept {
  const int found = lookup_raw(obj, name, out);
  if (found == 1 && *out == Py_None) {
    Py_CLEAR(*out);
    return 0;
  }
  return found;
}

PyObject* loaded(const char* module, const char* name) noexcept {
  PyObject* modules = PyImport_GetModuleDict();  // not PyImport_GetModule, which asks the module's __spec__
  PyObject* found = modules != nullptr && PyDict_Check(modules) ? PyDict_GetItemString(modules, module) : nullptr;
  if (found == nullptr || !PyModule_Check(found)) return nullptr;
  const Ref held = Ref::borrow(found);
  return PyDict_GetItemString(PyModule_GetDict(found), name);
}

const char* c_text(PyObject* text) noexcept {
  Py_ssize_t n = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text, &n);
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 != nullptr && std::strlen(utf8) == static_cast<std::size_t>(n) ? utf8 : nullptr;
}

PyObject* lookup_on_type(PyTypeObject* type, PyObject* name) noexcept { return _PyType_Lookup(type, name); }

}  // namespace anyarray
