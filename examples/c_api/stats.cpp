// SPDX-License-Identifier: Apache-2.0
// Two functions over arrays of any library. The table belongs to an interpreter, so the module keeps it in its state:
// it works in several at once.
#include <anyarray/python.h>

namespace {

struct State {
  const anyarray::CApi* api;
};

const anyarray::CApi* table_of(PyObject* module) { return static_cast<State*>(PyModule_GetState(module))->api; }

// dot(x, y): of float64 vectors, whatever their strides. Nothing is copied.
PyObject* dot(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  if (n != 2) return PyErr_Format(PyExc_TypeError, "dot(x, y) takes 2 arguments, not %zd", n);
  const auto x = anyarray::borrow<const double, 1>(table_of(module), args[0]);
  if (!x.ok()) return nullptr;  // the exception is set: what was tried, and which conditions weren't met
  const auto y = anyarray::borrow<const double, 1>(table_of(module), args[1]);
  if (!y.ok()) return nullptr;
  const auto a = *x;
  const auto b = *y;
  if (a.size() != b.size()) {
    return PyErr_Format(PyExc_ValueError, "%lld elements and %lld", static_cast<long long>(a.size()),
                        static_cast<long long>(b.size()));
  }
  double sum = 0;
  for (std::int64_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return PyFloat_FromDouble(sum);
}

// cumulate(x): a new array with the sums of x up to each element.
PyObject* cumulate(PyObject* module, PyObject* const* args, Py_ssize_t n) {
  if (n != 1) return PyErr_Format(PyExc_TypeError, "cumulate(x) takes 1 argument, not %zd", n);
  const auto x = anyarray::borrow<const double, 1>(table_of(module), args[0]);
  if (!x.ok()) return nullptr;
  const auto in = *x;
  const auto out = anyarray::array<double, 1>::make({in.size()});
  if (!out.ok()) return PyErr_NoMemory();
  double sum = 0;
  for (std::int64_t i = 0; i < in.size(); ++i) out(i) = sum += in[i];
  return out.to_array(table_of(module));
}

int execute(PyObject* module) {
  static_cast<State*>(PyModule_GetState(module))->api = anyarray::import_anyarray();
  return table_of(module) != nullptr ? 0 : -1;
}

// METH_FASTCALL functions have three parameters; the table of methods holds those of two.
template <PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)>
PyCFunction fast() {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {{"dot", fast<dot>(), METH_FASTCALL, "dot(x, y, /)\n--\n\nThe sum of the products."},
                         {"cumulate", fast<cumulate>(), METH_FASTCALL, "cumulate(x, /)\n--\n\nThe sums so far."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "stats", nullptr, sizeof(State), methods, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_stats() { return PyModuleDef_Init(&definition); }
