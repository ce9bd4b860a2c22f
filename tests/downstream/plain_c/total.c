// SPDX-License-Identifier: Apache-2.0
// An extension in C that takes any array: with the rows of the oldest table alone, in any number of interpreters.
#include <anyarray/c_python.h>
#include <string.h>

// Each interpreter has a module of its own, and a table of its own.
typedef struct State {
  const anyarray_c_api* api;
} State;

static double sum(const char* data, const int64_t* shape, const int64_t* strides, int32_t ndim) {
  double total = 0;
  if (ndim == 0) return *(const double*)(const void*)data;
  for (int64_t i = 0; i < *shape; ++i) total += sum(data + i * *strides, shape + 1, strides + 1, ndim - 1);
  return total;
}

// total(x): of the float64 array of any library, of any shape, without a copy.
static PyObject* total(PyObject* self, PyObject* x) {
  const anyarray_c_api* const api = ((const State*)PyModule_GetState(self))->api;
  anyarray_borrow a;
  double result;
  anyarray_request wanted = ANYARRAY_REQUEST_INIT;
  wanted.device.type = ANYARRAY_DEVICE_CPU;
  wanted.has_dtype = true;
  wanted.dtype = anyarray_make_dtype(ANYARRAY_CODE_FLOAT, 64);
  wanted.layout = ANYARRAY_LAYOUT_ELEMENTS;
  if (api->borrow_or_raise(api->context, x, &wanted, &a) != ANYARRAY_STATUS_OK) return NULL;
  result = sum(a.desc.data, a.desc.shape, a.desc.strides, a.desc.ndim);
  api->release(api->context, &a);
  return PyFloat_FromDouble(result);
}

static int start(PyObject* module) {
  State* const state = PyModule_GetState(module);
  state->api = anyarray_import(ANYARRAY_SINCE_borrow_or_raise);
  return state->api != NULL ? 0 : -1;
}

static PyMethodDef methods[] = {{"total", total, METH_O, NULL}, {NULL, NULL, 0, NULL}};
#if PY_VERSION_HEX >= 0x030C0000 && !defined(Py_LIMITED_API)
#define OWN_GIL {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#else
#define OWN_GIL
#endif
static PyModuleDef_Slot slots[] = {{Py_mod_exec, NULL}, OWN_GIL{0, NULL}};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "total", NULL, sizeof(State), methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_total(void) {
  int (*const exec)(PyObject*) = start;
  memcpy(&slots[0].value, &exec, sizeof exec);  // ISO C has no cast from a function to an object
  return PyModuleDef_Init(&module);
}
