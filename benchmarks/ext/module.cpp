// SPDX-License-Identifier: Apache-2.0
// The extension anyarray_bench, built apart from anyarray and linked with nothing of it: the timer that all
// columns share, the no-op, the floors, and imports through anyarray's C function table.
#include <ctime>

#include "anyarray/python.h"
#include "floors.h"

namespace bench {

Setup setup;
Names names;

namespace {

const anyarray::CApi* api;

// The timer ----------------------------------------------------------------------------------------------

std::int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

/// time(function, args, n, kwnames=None): nanoseconds a call, over n calls in one C loop, results dropped.
PyObject* time_calls(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs < 3 || nargs > 4 || !PyTuple_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "time(function, args, n, kwnames=None)");
    return nullptr;
  }
  PyObject* kwnames = nargs == 4 && args[3] != Py_None ? args[3] : nullptr;
  const Py_ssize_t n = PyLong_AsSsize_t(args[2]);
  if (n <= 0 || (kwnames != nullptr && !PyTuple_Check(kwnames))) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "n must be positive, kwnames a tuple");
    return nullptr;
  }
  PyObject* const function = args[0];
  PyObject* const* const items = reinterpret_cast<PyTupleObject*>(args[1])->ob_item;
  const Py_ssize_t named = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  const Py_ssize_t positional = PyTuple_GET_SIZE(args[1]) - named;
  if (positional < 0) {
    PyErr_SetString(PyExc_ValueError, "more names than arguments");
    return nullptr;
  }
  const std::int64_t start = now_ns();
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* result = PyObject_Vectorcall(function, items, static_cast<std::size_t>(positional), kwnames);
    if (result == nullptr) return nullptr;
    Py_DECREF(result);
  }
  return PyFloat_FromDouble(static_cast<double>(now_ns() - start) / static_cast<double>(n));
}

PyObject* noop(PyObject*, PyObject*) { Py_RETURN_NONE; }

/// Replaces one object that the floors need; None where the library is missing.
void keep(PyObject*& slot, PyObject* value) noexcept {
  PyObject* old = slot;
  slot = value == Py_None ? nullptr : value;
  Py_XINCREF(slot);
  Py_XDECREF(old);
}

PyObject* set_up(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 3) {
    PyErr_SetString(PyExc_TypeError, "setup(ndarray, jax_export, single_device_sharding)");
    return nullptr;
  }
  keep(setup.ndarray, args[0]);
  keep(setup.jax_export, args[1]);
  keep(setup.single_device_sharding, args[2]);
  Py_RETURN_NONE;
}

// anyarray through its function table ----------------------------------------------------------------------

PyObject* connect(PyObject*, PyObject*) {
  api = anyarray::import_anyarray();
  if (api == nullptr) return nullptr;
  Py_RETURN_NONE;
}

PyObject* not_connected() noexcept {
  PyErr_SetString(PyExc_RuntimeError, "call connect() first");
  return nullptr;
}

/// Takes the whole descriptor with its token, reads it, gives it back.
inline PyObject* take(PyObject* obj, const anyarray::Request* request) noexcept {
  const anyarray::Borrowed a(api, obj, request);
  if (!a.ok()) return nullptr;
  read(a->data);
  read(a->flags);
  read(a->dtype.code);
  read(a->device.type);
  for (int i = 0; i < a->ndim; ++i) {
    read(a->shape[i]);
    if (a->strides != nullptr) read(a->strides[i]);
  }
  Py_RETURN_NONE;
}

PyObject* borrow(PyObject*, PyObject* obj) {
  if (api == nullptr) return not_connected();
  return take(obj, nullptr);
}

/// borrow_policy(obj, name): under the preset of this name, looked up when the name is another than before.
PyObject* borrow_policy(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  static PyObject* last_name;
  static const anyarray::Policy* last_policy;
  if (api == nullptr) return not_connected();
  if (nargs != 2 || !PyUnicode_Check(args[1])) {
    PyErr_SetString(PyExc_TypeError, "borrow_policy(obj, name)");
    return nullptr;
  }
  if (args[1] != last_name) {
    const char* name = PyUnicode_AsUTF8(args[1]);
    if (name == nullptr) return nullptr;
    const anyarray::Policy* policy = api->preset(api->context, name);
    if (policy == nullptr) {
      PyErr_Format(PyExc_ValueError, "there is no preset named %R", args[1]);
      return nullptr;
    }
    Py_INCREF(args[1]);
    Py_XDECREF(last_name);
    last_name = args[1];
    last_policy = policy;
  }
  anyarray::Request request;
  request.policy = last_policy;
  return take(args[0], &request);
}

/// Under a policy made here, at compile time.
PyObject* borrow_own_policy(PyObject*, PyObject* obj) {
  using anyarray::Protocol;
  static constexpr anyarray::Policy policy =
      anyarray::make_policy({Protocol::numpy, Protocol::builtin, Protocol::dlpack_exchange, Protocol::buffer,
                             Protocol::dlpack, Protocol::array_interface, Protocol::cuda_array_interface});
  if (api == nullptr) return not_connected();
  anyarray::Request request;
  request.policy = &policy;
  return take(obj, &request);
}

// The module ---------------------------------------------------------------------------------------------

template <class F>
constexpr PyMethodDef row(const char* name, F function, int flags, const char* doc) noexcept {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), flags, doc};
}

PyMethodDef* methods() noexcept {
  static PyMethodDef table[] = {
      row("time", time_calls, METH_FASTCALL, "time(function, args, n, kwnames=None) -> ns a call"),
      row("setup", set_up, METH_FASTCALL, "setup(ndarray, jax_export, single_device_sharding)"),
      row("connect", connect, METH_NOARGS, "Fetches anyarray's function table."),
      row("noop", noop, METH_O, "Does nothing."),
      row("borrow", borrow, METH_O, "Whole descriptor with its token, read and released."),
      row("borrow_policy", borrow_policy, METH_FASTCALL, "borrow_policy(obj, preset)"),
      row("borrow_own_policy", borrow_own_policy, METH_O, "The same under a policy of one's own."),
      row("floor_memcpy", floor_memcpy, METH_FASTCALL, "floor_memcpy(to, from, n, threads)"),
      row("floor_new", floor_new, METH_FASTCALL, "floor_new(from, n)"),
#define FLOOR(name) row(#name, name, METH_O, "A floor: see floors.h.")
      FLOOR(floor_float_list),
      FLOOR(floor_ndarray),
      FLOOR(floor_bytes),
      FLOOR(floor_bytearray),
      FLOOR(floor_memoryview),
      FLOOR(floor_buffer),
      FLOOR(floor_exchange),
      FLOOR(floor_exchange_take),
      FLOOR(floor_dlpack),
      FLOOR(floor_dlpack_legacy),
      FLOOR(floor_tvm_export),
      FLOOR(floor_jax_export),
      FLOOR(floor_array_struct),
      FLOOR(floor_array_interface),
      FLOOR(floor_cuda_array_interface),
#undef FLOOR
      {nullptr, nullptr, 0, nullptr},
  };
  return table;
}

bool make_names() noexcept {
  const struct {
    PyObject** slot;
    const char* text;
  } rows[] = {
      {&names.dlpack, "__dlpack__"},
      {&names.exchange, "__dlpack_c_exchange_api__"},
      {&names.array_struct, "__array_struct__"},
      {&names.array_interface, "__array_interface__"},
      {&names.cuda_array_interface, "__cuda_array_interface__"},
      {&names.sharding, "_sharding"},
      {&names.tvm_export, "_to_dlpack_versioned"},
      {&names.shape, "shape"},
      {&names.typestr, "typestr"},
      {&names.data, "data"},
      {&names.strides, "strides"},
  };
  for (const auto& r : rows) {
    if ((*r.slot = PyUnicode_InternFromString(r.text)) == nullptr) return false;
  }
  names.kw_max_version = Py_BuildValue("(N)", PyUnicode_InternFromString("max_version"));
  names.our_version = Py_BuildValue("(ii)", 1, 3);
  return names.kw_max_version != nullptr && names.our_version != nullptr;
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "anyarray_bench",
                          "Timer, floors and borrows of the benchmarks.",
                          -1,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace bench

PyMODINIT_FUNC PyInit_anyarray_bench() {
  bench::definition.m_methods = bench::methods();
  if (!bench::make_names()) return nullptr;
  return PyModule_Create(&bench::definition);
}
