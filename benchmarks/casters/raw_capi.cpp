// SPDX-License-Identifier: Apache-2.0
// Functions in raw C API with a typed view of their argument, beside one that does nothing: what casters are built on.
#include <anyarray/python.h>

namespace {

const anyarray::CApi* api;

/// All that a function with loops over the array reads of it.
void read(const anyarray::view<const float, 2>& x) {
  asm volatile("" : : "r"(x.data()), "r"(x.extent(0)), "r"(x.extent(1)), "r"(x.stride(0)), "r"(x.stride(1)));
}

PyObject* noop(PyObject*, PyObject* const*, Py_ssize_t) { Py_RETURN_NONE; }

PyObject* ours(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  const auto taken = anyarray::borrow<const float, 2>(api, arguments[0]);
  if (!taken.ok()) return nullptr;
  read(*taken);
  Py_RETURN_NONE;
}

PyObject* ours_kept(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  const anyarray::array<const float, 2> taken(api, arguments[0]);
  if (!taken.ok()) return nullptr;
  read(*taken);
  Py_RETURN_NONE;
}

template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyMethodDef row(const char* name) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, nullptr};
}
PyMethodDef methods[] = {
    row<noop>("noop"), row<ours>("ours"), row<ours_kept>("ours_kept"), {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bench_casters_raw", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_bench_casters_raw() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&definition) : nullptr;
}
