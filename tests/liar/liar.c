// SPDX-License-Identifier: Apache-2.0
// A producer that breaks any rule on request, for the tests: DLPack capsules, exchange tables, buffers and
// PyArrayInterface structs with every field at will. It counts what is freed, how often, and under which
// circumstances. Own definitions of the foreign structs, so that a mistake in the library's isn't repeated here.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  void *data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} Tensor;

typedef struct Legacy {
  Tensor tensor;
  void *context;
  void (*deleter)(struct Legacy *);
} Legacy;

typedef struct Versioned {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct Versioned *);
  uint64_t flags;
  Tensor tensor;
} Versioned;

/* One tensor handed out. Never freed, so that a second deletion is seen and harms nothing. */
typedef struct Record {
  struct Record *next;
  union {
    Legacy legacy;
    Versioned versioned;
  } managed;
  int64_t shape[80], strides[80];
  char name[96];
  unsigned generation;
  int deletions, on_delete, is_versioned;
} Record;

enum { nothing, raises };

static Record *records;
/* Counts since reset(): of what was made before it, nothing is counted. */
static unsigned generation;
static long made, deleted, deleted_again, without_gil, after_exit, buffers_given, buffers_released;
static char memory[4096];

static void count_deletion(Record *r) {
  if (r->generation != generation) return;
  ++deleted;
  if (r->deletions++ != 0) ++deleted_again;
  if (PyGILState_GetThisThreadState() == NULL) { // Py_IsInitialized() is false before modules are torn down
    ++after_exit;
  } else if (!PyGILState_Check()) {
    ++without_gil;
  } else if (r->on_delete == raises) {
    PyErr_SetString(PyExc_ValueError, "set by the deleter");
  }
}

static void delete_legacy(Legacy *m) { count_deletion(m->context); }
static void delete_versioned(Versioned *m) { count_deletion(m->context); }

static void destroy_capsule(PyObject *capsule) {
  const char *name = PyCapsule_GetName(capsule);
  Record *r = PyCapsule_GetContext(capsule);
  if (name == NULL) PyErr_Clear();
  if (name != NULL && strncmp(name, "used_", 5) == 0) return;
  if (r->is_versioned ? r->managed.versioned.deleter == NULL : r->managed.legacy.deleter == NULL) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  count_deletion(r);
  if (type != NULL) PyErr_Restore(type, value, traceback);
}

/* A sequence of ints into `out`: its length, 0 for None (then *pointer is NULL), -1 with an exception. */
static Py_ssize_t read_ints(PyObject *source, int64_t *out, int64_t **pointer) {
  *pointer = NULL;
  if (source == NULL || source == Py_None) return 0;
  PyObject *items = PySequence_Fast(source, "shape and strides are sequences of ints or None");
  if (items == NULL) return -1;
  Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
  for (Py_ssize_t i = 0; i < n && i < 80; ++i) {
    out[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items, i));
    if (out[i] == -1 && PyErr_Occurred()) n = -1;
  }
  Py_DECREF(items);
  if (n > 80) {
    PyErr_SetString(PyExc_ValueError, "at most 80 dimensions");
    return -1;
  }
  *pointer = out;
  return n;
}

static void *address(PyObject *source) {
  if (source == NULL) return memory;
  return source == Py_None ? NULL : PyLong_AsVoidPtr(source);
}

/* A new record from keywords; NULL with an exception. */
static Record *record_from(PyObject *args, PyObject *kwargs, const char **name, int *null_name) {
  static char *words[] = {"data",        "device",  "ndim",  "code",      "bits", "lanes",   "shape",     "strides",
                          "byte_offset", "version", "flags", "versioned", "name", "deleter", "on_delete", NULL};
  PyObject *data = NULL, *shape = NULL, *strides = Py_None, *ndim = NULL, *label = NULL;
  int device_type = 1, device_id = 0, code = 2, bits = 32, lanes = 1, versioned = 1, deleter = 1;
  unsigned long long byte_offset = 0, flags = 0;
  unsigned int major = 1, minor = 3;
  const char *on_delete = "";
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O(ii)OiiiOOK(II)KpOps:dlpack", words, &data, &device_type,
                                   &device_id, &ndim, &code, &bits, &lanes, &shape, &strides, &byte_offset, &major,
                                   &minor, &flags, &versioned, &label, &deleter, &on_delete)) {
    return NULL;
  }
  Record *r = calloc(1, sizeof *r);
  if (r == NULL) return (Record *)PyErr_NoMemory();
  Tensor t = {0};
  t.data = address(data);
  t.device_type = device_type;
  t.device_id = device_id;
  t.code = (uint8_t)code;
  t.bits = (uint8_t)bits;
  t.lanes = (uint16_t)lanes;
  t.byte_offset = byte_offset;
  t.ndim = 1;
  r->shape[0] = 3;
  t.shape = r->shape;
  if (shape != NULL) t.ndim = (int32_t)read_ints(shape, r->shape, &t.shape);
  read_ints(strides, r->strides, &t.strides);
  if (ndim != NULL) t.ndim = (int32_t)PyLong_AsLong(ndim);
  if (label != NULL && label != Py_None) {
    const char *text = PyUnicode_AsUTF8(label);
    if (text != NULL) strncpy(r->name, text, sizeof r->name - 1);
  }
  if (PyErr_Occurred()) {
    free(r);
    return NULL;
  }
  *null_name = label == Py_None;
  *name = label != NULL ? r->name : versioned ? "dltensor_versioned" : "dltensor";
  r->is_versioned = versioned;
  r->on_delete = strcmp(on_delete, "raises") == 0 ? raises : nothing;
  if (versioned) {
    r->managed.versioned = (Versioned){major, minor, r, deleter ? delete_versioned : NULL, flags, t};
  } else {
    r->managed.legacy = (Legacy){t, r, deleter ? delete_legacy : NULL};
  }
  r->generation = generation;
  r->next = records;
  records = r;
  ++made;
  return r;
}

static PyObject *dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  const char *name = NULL;
  int null_name = 0;
  Record *r = record_from(args, kwargs, &name, &null_name);
  if (r == NULL) return NULL;
  PyObject *capsule = PyCapsule_New(&r->managed, null_name ? NULL : name, destroy_capsule);
  if (capsule != NULL) PyCapsule_SetContext(capsule, r);
  return capsule;
}

/* The exchange table: its functions read `tensor` (keywords of dlpack()) and `result` on the object. */
static int answer(PyObject *obj, Record **out) {
  PyObject *result = PyObject_GetAttrString(obj, "result");
  PyObject *fields = PyObject_GetAttrString(obj, "tensor");
  PyObject *error = PyObject_GetAttrString(obj, "error");
  PyObject *none = PyTuple_New(0);
  const char *name;
  int null_name, code = -1;
  *out = NULL;
  if (result != NULL && fields != NULL && error != NULL && none != NULL) {
    code = (int)PyLong_AsLong(result);
    if (fields != Py_None) *out = record_from(none, fields, &name, &null_name);
    if (error != Py_None) PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  }
  Py_XDECREF(result);
  Py_XDECREF(fields);
  Py_XDECREF(error);
  Py_XDECREF(none);
  return code;
}

static int lend(void *obj, Tensor *out) {
  Record *r;
  int code = answer(obj, &r);
  if (r != NULL) *out = r->managed.versioned.tensor;
  return code;
}

static int give(void *obj, Versioned **out) {
  Record *r;
  int code = answer(obj, &r);
  *out = r != NULL ? &r->managed.versioned : NULL;
  return code;
}

typedef struct Table {
  uint32_t major, minor;
  struct Table *previous;
  void *allocate;
  int (*give)(void *, Versioned **);
  int (*to_python)(Versioned *, void **);
  int (*lend)(void *, Tensor *);
  void *stream;
} Table;

/* table(major=, minor=, lend=, give=, previous=capsule or None, name=): a capsule whose table lives on. */
static PyObject *table(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *words[] = {"major", "minor", "lend", "give", "previous", "name", NULL};
  unsigned int major = 1, minor = 3;
  int lends = 1, gives = 1;
  PyObject *previous = Py_None;
  const char *name = "dlpack_exchange_api";
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$IIppOz:table", words, &major, &minor, &lends, &gives, &previous,
                                   &name)) {
    return NULL;
  }
  Table *t = calloc(1, sizeof *t + 96);
  if (t == NULL) return PyErr_NoMemory();
  t->major = major;
  t->minor = minor;
  t->lend = lends ? lend : NULL;
  t->give = gives ? give : NULL;
  if (previous != Py_None) {
    t->previous = PyCapsule_GetPointer(previous, PyCapsule_GetName(previous));
    if (t->previous == NULL) {
      free(t);
      return NULL;
    }
  }
  char *label = (char *)(t + 1);
  if (name != NULL) strncpy(label, name, 95);
  return PyCapsule_New(t, name != NULL ? label : NULL, NULL);
}

/* An object whose buffer has any fields. */
typedef struct {
  PyObject_HEAD
  Py_ssize_t shape[80], strides[80], suboffsets[80];
  Py_buffer view;
  char *format;
  int null_object, honours_flags;
} Buffer;

static int buffer_get(PyObject *self, Py_buffer *view, int flags) {
  Buffer *b = (Buffer *)self;
  if (b->honours_flags && (flags & PyBUF_WRITABLE) && b->view.readonly) {
    PyErr_SetString(PyExc_BufferError, "read-only");
    view->obj = NULL;
    return -1;
  }
  *view = b->view;
  view->obj = b->null_object ? NULL : Py_NewRef(self);
  ++buffers_given;
  return 0;
}

static void buffer_release(PyObject *self, Py_buffer *view) {
  (void)self;
  (void)view;
  ++buffers_released;
}

static void buffer_dealloc(PyObject *self) {
  free(((Buffer *)self)->format);
  PyTypeObject *type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyType_Slot buffer_slots[] = {{Py_bf_getbuffer, (void *)buffer_get},
                                     {Py_bf_releasebuffer, (void *)buffer_release},
                                     {Py_tp_dealloc, (void *)buffer_dealloc},
                                     {0, NULL}};
static PyType_Spec buffer_spec = {"liar.Buffer", sizeof(Buffer), 0, Py_TPFLAGS_DEFAULT, buffer_slots};
static PyObject *buffer_type;

static Py_ssize_t read_sizes(PyObject *source, Py_ssize_t *out, Py_ssize_t **pointer) {
  int64_t wide[80], *given;
  Py_ssize_t n = read_ints(source, wide, &given);
  *pointer = NULL;
  if (n < 0 || given == NULL) return n;
  for (Py_ssize_t i = 0; i < n; ++i) out[i] = (Py_ssize_t)wide[i];
  *pointer = out;
  return n;
}

/* buffer(data=, format=, itemsize=, ndim=, shape=, strides=, suboffsets=, length=, readonly=, null_object=,
   honours_flags=) */
static PyObject *buffer(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *words[] = {"data",   "format",   "itemsize",    "ndim",         "shape", "strides", "suboffsets",
                          "length", "readonly", "null_object", "honours_flags", NULL};
  PyObject *data = NULL, *ndim = NULL, *shape = NULL, *strides = NULL, *suboffsets = NULL, *length = NULL;
  const char *format = "f";
  Py_ssize_t itemsize = 4;
  int readonly = 0, null_object = 0, honours_flags = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OznOOOOOppp:buffer", words, &data, &format, &itemsize, &ndim,
                                   &shape, &strides, &suboffsets, &length, &readonly, &null_object, &honours_flags)) {
    return NULL;
  }
  Buffer *b = (Buffer *)PyType_GenericAlloc((PyTypeObject *)buffer_type, 0);
  if (b == NULL) return NULL;
  Py_buffer *v = &b->view;
  v->buf = address(data);
  v->itemsize = itemsize;
  v->readonly = readonly;
  v->ndim = 1;
  v->shape = b->shape;
  b->shape[0] = 3;
  b->null_object = null_object;
  b->honours_flags = honours_flags;
  if (format != NULL) v->format = b->format = strdup(format);
  if (shape != NULL) v->ndim = (int)read_sizes(shape, b->shape, &v->shape);
  if (strides != NULL) {
    read_sizes(strides, b->strides, &v->strides);
  } else {
    Py_ssize_t step = itemsize;
    for (int i = v->ndim - 1; i >= 0 && i < 80; --i) {
      b->strides[i] = step;
      step = (Py_ssize_t)((size_t)step * (size_t)b->shape[i]);
    }
    v->strides = b->strides;
  }
  read_sizes(suboffsets, b->suboffsets, &v->suboffsets);
  v->len = itemsize;
  for (int i = 0; i < v->ndim; ++i) v->len = (Py_ssize_t)((size_t)v->len * (size_t)b->shape[i]);
  if (ndim != NULL) v->ndim = (int)PyLong_AsLong(ndim);
  if (length != NULL) v->len = PyLong_AsSsize_t(length);
  if (PyErr_Occurred()) Py_CLEAR(b);
  return (PyObject *)b;
}

/* NumPy's PyArrayInterface in a capsule, to be put on an object as __array_struct__. */
typedef struct {
  int two, nd;
  char typekind;
  int itemsize, flags;
  Py_intptr_t *shape, *strides;
  void *data;
  PyObject *descr;
  Py_intptr_t shape_store[80], stride_store[80];
} Struct;

static void destroy_struct(PyObject *capsule) {
  Struct *s = PyCapsule_GetContext(capsule);
  ++deleted;
  Py_XDECREF(s->descr);
  free(s);
}

/* array_struct(two=, nd=, typekind=, itemsize=, flags=, shape=, strides=, data=, descr=, name=) → capsule */
static PyObject *array_struct(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self;
  static char *words[] = {"two",     "nd",   "typekind", "itemsize", "flags", "shape",
                          "strides", "data", "descr",    "name",     NULL};
  PyObject *nd = NULL, *shape = NULL, *strides = NULL, *data = NULL, *descr = NULL;
  int two = 2, typekind = 'f', itemsize = 4, flags = 0x1 | 0x100 | 0x200 | 0x400;
  const char *name = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$iOCiiOOOOz:array_struct", words, &two, &nd, &typekind, &itemsize,
                                   &flags, &shape, &strides, &data, &descr, &name)) {
    return NULL;
  }
  Struct *s = calloc(1, sizeof *s);
  if (s == NULL) return PyErr_NoMemory();
  s->two = two;
  s->typekind = (char)typekind;
  s->itemsize = itemsize;
  s->flags = flags;
  s->data = address(data);
  s->nd = 1;
  s->shape_store[0] = 3;
  s->shape = s->shape_store;
  if (shape != NULL) s->nd = (int)read_sizes(shape, s->shape_store, &s->shape);
  s->strides = s->stride_store;
  s->stride_store[0] = itemsize;
  if (strides != NULL) read_sizes(strides, s->stride_store, &s->strides);
  if (nd != NULL) s->nd = (int)PyLong_AsLong(nd);
  PyObject *capsule = PyErr_Occurred() ? NULL : PyCapsule_New(s, name, destroy_struct);
  if (capsule == NULL) {
    free(s);
    return NULL;
  }
  s->descr = Py_XNewRef(descr);
  PyCapsule_SetContext(capsule, s);
  ++made;
  return capsule;
}

static PyObject *counts(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  return Py_BuildValue("{s:l,s:l,s:l,s:l,s:l,s:l,s:l}", "made", made, "deleted", deleted, "deleted_again",
                       deleted_again,
                       "without_gil", without_gil, "after_exit", after_exit, "buffers_given", buffers_given,
                       "buffers_released", buffers_released);
}

static PyObject *reset(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  for (Record *r = records; r != NULL; r = r->next) {
    for (int i = 0; i < 80; ++i) r->shape[i] = r->strides[i] = -1;
  }
  ++generation;
  made = deleted = deleted_again = without_gil = after_exit = buffers_given = buffers_released = 0;
  for (int i = 0; i < (int)(sizeof memory / sizeof(float)); ++i) ((float *)memory)[i] = (float)i;
  Py_RETURN_NONE;
}

static PyObject *memory_address(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  return PyLong_FromVoidPtr(memory);
}

/* At exit: nothing may be deleted afterwards. Printed by the C library, when Python is gone. */
static void report(void) {
  if (after_exit != 0) {
    fprintf(stderr, "liar: %ld deletions after the interpreter's end\n", after_exit);
    fflush(stderr);
  }
}

static PyObject *report_at_exit(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  if (Py_AtExit(report) != 0) return PyErr_Format(PyExc_RuntimeError, "no room for an exit function");
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"dlpack", (PyCFunction)(void (*)(void))dlpack, METH_VARARGS | METH_KEYWORDS, "A DLPack capsule."},
    {"table", (PyCFunction)(void (*)(void))table, METH_VARARGS | METH_KEYWORDS, "An exchange table's capsule."},
    {"buffer", (PyCFunction)(void (*)(void))buffer, METH_VARARGS | METH_KEYWORDS, "An object with a buffer."},
    {"array_struct", (PyCFunction)(void (*)(void))array_struct, METH_VARARGS | METH_KEYWORDS, "A capsule."},
    {"counts", counts, METH_NOARGS, "What was made and freed since reset()."},
    {"reset", reset, METH_NOARGS, "Counts to 0, the memory to 0., 1., 2., …, every shape to -1."},
    {"address", memory_address, METH_NOARGS, "The memory that data points to unless told otherwise."},
    {"report_at_exit", report_at_exit, METH_NOARGS, "Reports deletions that come after the interpreter's end."},
    {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "liar", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_liar(void) {
  PyObject *m = PyModule_Create(&module);
  buffer_type = m != NULL ? PyType_FromSpec(&buffer_spec) : NULL;
  if (buffer_type == NULL) return NULL;
  Py_DECREF(reset(NULL, NULL));
  return m;
}
