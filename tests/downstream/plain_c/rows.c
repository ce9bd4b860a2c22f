// SPDX-License-Identifier: Apache-2.0
// Every row of the table up to minor 1, called from C.
#include <anyarray/c_python.h>
#include <stdlib.h>
#include <string.h>

static const anyarray_c_api* api;  // of the one interpreter that this extension lives in
static anyarray_holder* kept;
static int released;

// word(x): how a borrow of x ends.
static PyObject* word(PyObject* self, PyObject* x) {
  anyarray_borrow b;
  const anyarray_status s = api->borrow(api->context, x, NULL, &b);
  (void)self;
  if (s == ANYARRAY_STATUS_INTERRUPTED) return NULL;
  if (s == ANYARRAY_STATUS_OK) api->release(api->context, &b);
  return PyUnicode_FromString(api->status_text(api->context, s));
}

// array(x, preset): borrowed under a preset, made an aa.Array.
static PyObject* array(PyObject* self, PyObject* args) {
  PyObject* x;
  const char* name;
  anyarray_borrow b;
  anyarray_request request = anyarray_request_any();
  (void)self;
  if (!PyArg_ParseTuple(args, "Os", &x, &name)) return NULL;
  request.policy = api->preset(api->context, name);
  if (request.policy == NULL) return PyErr_Format(PyExc_ValueError, "no preset %s", name);
  if (api->borrow_or_raise(api->context, x, &request, &b) != ANYARRAY_STATUS_OK) return NULL;
  x = api->to_array(api->context, &b);
  api->release(api->context, &b);
  return x;
}

static PyObject* explain(PyObject* self, PyObject* x) {
  (void)self;
  return api->explain(api->context, x, NULL);
}

static void give_back(void* memory) {
  free(memory);
  ++released;
}

// made(n): an aa.Array of n int32, 0, 1, …
static PyObject* made(PyObject* self, PyObject* n_object) {
  const long n = PyLong_AsLong(n_object);
  const int64_t shape[] = {n};
  anyarray_descriptor parts = {NULL, shape, NULL, anyarray_make_dtype(ANYARRAY_CODE_INT, 32), {ANYARRAY_DEVICE_CPU, 0},
                               1,    0};
  int32_t* memory;
  PyObject* result;
  (void)self;
  if (n == -1 && PyErr_Occurred() != NULL) return NULL;
  memory = malloc((size_t)(n > 0 ? n : 1) * sizeof *memory);
  if (memory == NULL) return PyErr_NoMemory();
  for (int32_t i = 0; i < n; ++i) memory[i] = i;
  parts.data = memory;
  result = api->produce(api->context, &parts, NULL, give_back, memory);
  if (result == NULL) free(memory);
  return result;
}

static PyObject* release_count(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
  return PyLong_FromLong(released);
}

// keep(x): until let_go(); gives (bytes of all elements, id of x).
static PyObject* keep(PyObject* self, PyObject* x) {
  anyarray_holder* const before = kept;
  int64_t bytes;
  (void)self;
  kept = api->take(api->context, x, NULL);
  if (kept == NULL) {
    kept = before;
    return NULL;
  }
  api->drop(api->context, before);
  bytes = anyarray_itemsize(kept->borrow.desc.dtype);
  for (int32_t i = 0; i < kept->borrow.desc.ndim; ++i) bytes *= kept->borrow.desc.shape[i];
  return Py_BuildValue("(LO)", (long long)bytes, (PyObject*)kept->borrow.owner);
}

static PyObject* let_go(PyObject* self, PyObject* none) {
  (void)self;
  (void)none;
  if (kept != NULL) {
    anyarray_retain(kept);
    api->drop(api->context, kept);
    api->drop(api->context, kept);
  }
  kept = NULL;
  Py_INCREF(Py_None);
  return Py_None;
}

static PyMethodDef methods[] = {{"word", word, METH_O, NULL},
                                {"array", array, METH_VARARGS, NULL},
                                {"explain", explain, METH_O, NULL},
                                {"made", made, METH_O, NULL},
                                {"release_count", release_count, METH_NOARGS, NULL},
                                {"keep", keep, METH_O, NULL},
                                {"let_go", let_go, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "rows", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_rows(void) {
  api = anyarray_import(ANYARRAY_C_API_MINOR);
  return api != NULL ? PyModule_Create(&module) : NULL;
}
