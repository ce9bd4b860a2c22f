// SPDX-License-Identifier: Apache-2.0
// For extensions in C (C99 or newer): Python.h, the table's types (c.h), and its import. Nothing to link; works under
// the limited API from 3.10 on.
//   api = anyarray_import(ANYARRAY_SINCE_borrow);
//   if (api == NULL) return NULL;
// Where the pointer is kept: a static in an extension that lives in one interpreter; the module state in one that
// lives in several. Every function of the table takes `api->context` first.
#pragma once
#ifdef ANYARRAY_ENGINE
#error "The engine that is built in gives its table to C++: include anyarray/python.h there, and pass the pointer on"
#endif
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include "anyarray/c.h"

/// The table of this interpreter. NULL with an exception set: what the import of anyarray raised (ModuleNotFoundError
/// where it is missing); ImportError where it is of another major version or too old (the sentence says what to
/// upgrade). `minor`: that of the newest row that the extension can't do without (ANYARRAY_SINCE_…), or
/// ANYARRAY_C_API_MINOR; before it calls a newer row it asks `api->minor`.
ANYARRAY_INLINE const anyarray_c_api* anyarray_import(uint32_t minor) {
  char why[160];
  const anyarray_c_api* api;
  PyObject* const package =
      PyImport_ImportModule("anyarray"); /* PyCapsule_Import would hide why it can't be imported */
  if (package == NULL) return NULL;
  Py_DECREF(package);
  api = (const anyarray_c_api*)PyCapsule_Import(ANYARRAY_C_API_CAPSULE, 0);
  if (api == NULL) return NULL;
  if (anyarray_table_fits(api->size, api->major, api->minor, minor, why, sizeof why) != 0) return api;
  PyErr_SetString(PyExc_ImportError, why);
  return NULL;
}
