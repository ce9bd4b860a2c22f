// SPDX-License-Identifier: Apache-2.0
// The rows of minor 2, called from C: arrays for other libraries, and copies.
#include <anyarray/c_python.h>

static const anyarray_c_api* api;

// give(x, to), like(x, example)
static PyObject* give(PyObject* self, PyObject* args) {
  PyObject* x;
  PyObject* to;
  (void)self;
  return PyArg_ParseTuple(args, "OO", &x, &to) ? api->convert(api->context, x, to) : NULL;
}

static PyObject* like(PyObject* self, PyObject* args) {
  PyObject* x;
  PyObject* example;
  (void)self;
  return PyArg_ParseTuple(args, "OO", &x, &example) ? api->convert_like(api->context, x, example) : NULL;
}

// narrowed(x): an aa.Array of float32, copied.
static PyObject* narrowed(PyObject* self, PyObject* x) {
  anyarray_borrow from;
  anyarray_borrow made;
  anyarray_reason why;
  anyarray_status s;
  PyObject* result;
  anyarray_request wanted = ANYARRAY_REQUEST_INIT;
  (void)self;
  if (api->borrow_or_raise(api->context, x, NULL, &from) != ANYARRAY_STATUS_OK) return NULL;
  wanted.has_dtype = true;
  wanted.dtype = anyarray_make_dtype(ANYARRAY_CODE_FLOAT, 32);
  s = api->copy(api->context, &from.desc, &wanted, &made, &why);
  api->release(api->context, &from);
  if (s != ANYARRAY_STATUS_OK) {
    return PyErr_Format(PyExc_ValueError, "%s: %s", api->status_text(api->context, s), why.text);
  }
  result = api->to_array(api->context, &made);
  api->release(api->context, &made);
  return result;
}

static PyMethodDef methods[] = {{"give", give, METH_VARARGS, NULL},
                                {"like", like, METH_VARARGS, NULL},
                                {"narrowed", narrowed, METH_O, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "given", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_given(void) {
  api = anyarray_import(ANYARRAY_SINCE_copy);
  return api != NULL ? PyModule_Create(&module) : NULL;
}
