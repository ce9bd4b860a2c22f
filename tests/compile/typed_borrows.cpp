// SPDX-License-Identifier: Apache-2.0
// An extension whose functions take typed views and arrays, for test_typed_borrows.py. Each returns the facts of what
// it got, or raises.
#include <anyarray/python.h>

using namespace anyarray;

namespace {

const CApi* api;

struct alignas(4) Pixel {
  std::uint8_t rgba[4];
};

}  // namespace

template <>
struct anyarray::element<Pixel> {
  static constexpr DType dtype = make_void(4);
};

namespace {

template <class View>
PyObject* facts(const View& v) {
  PyObject* shape = PyTuple_New(v.rank());
  PyObject* strides = PyTuple_New(v.rank());
  for (int i = 0; i < v.rank(); ++i) {
    PyTuple_SetItem(shape, i, PyLong_FromLongLong(v.extent(i)));
    PyTuple_SetItem(strides, i, PyLong_FromLongLong(v.byte_stride(i)));
  }
  return Py_BuildValue("{s:N,s:N,s:K,s:O}", "shape", shape, "strides", strides, "ptr",
                       static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(v.data())), "source",
                       static_cast<const PyObject*>(v.source()));
}

template <class T, int Rank, class Layout = strided, class On = host>
PyObject* borrowed(PyObject*, PyObject* x) {
  const auto taken = borrow<T, Rank, Layout, On>(api, x);
  if (!taken.ok()) return nullptr;
  return facts(*taken);
}

template <class T, int Rank>
PyObject* held(PyObject*, PyObject* x) {
  const array<T, Rank> taken(api, x);
  if (!taken.ok()) return nullptr;
  return facts(*taken);
}

/// tried(x): the word of the status, without an exception; then the same object is taken once more by another type.
PyObject* tried(PyObject*, PyObject* x) {
  Taken<view<float, 1>> taken;
  const Status s = taken.take(api, x);
  if (s == Status::interrupted) return nullptr;
  if (PyErr_Occurred() != nullptr) return nullptr;
  return Py_BuildValue("(sO)", api->status_text(api->context, s), taken ? Py_True : Py_False);
}

/// both(x, y): one Taken takes x, then y: x is given back by then.
PyObject* both(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  PyObject* y = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &x, &y)) return nullptr;
  Taken<view<const void>> taken;
  if (taken.take_or_raise(api, x) != Status::ok) return nullptr;
  if (taken.take_or_raise(api, y) != Status::ok) {
    if (taken.ok()) PyErr_SetString(PyExc_AssertionError, "it holds something");
    return nullptr;
  }
  return facts(*taken);
}

/// waived(x): a masked array without its mask.
PyObject* waived(PyObject*, PyObject* x) {
  Request how;
  how.allow = waive_mask;
  how.ndim = 7;  // conditions are the view's
  Taken<view<const double, 1>> taken;
  return taken.take_or_raise(api, x, how) == Status::ok ? facts(*taken) : nullptr;
}

/// moved(x): what keeps the memory, on the heap.
PyObject* moved(PyObject*, PyObject* x) {
  Taken<view<const float>> taken(api, x);
  if (!taken.ok()) return nullptr;
  const array<const float> kept(Held(api, taken.hold()));
  if (taken.ok()) return PyErr_Format(PyExc_AssertionError, "it holds something still");
  return facts(*kept);
}

PyObject* total(PyObject*, PyObject* x) {
  const auto taken = borrow<const any_of<float, double, std::int64_t>, 1>(api, x);
  if (!taken) return nullptr;
  return PyFloat_FromDouble(taken->visit([](auto v) {
    double sum = 0;
    for (const auto value : v) sum += static_cast<double>(value);
    return sum;
  }));
}

/// made(): new memory, which outlives its last owner in C++.
PyObject* made(PyObject*, PyObject*) {
  auto a = array<float, 2, f_order>::make({2, 3});
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) a(i, j) = static_cast<float>(10 * i + j);
  }
  return a.to_array(api);
}

PyObject* empty(PyObject*, PyObject*) { return array<float, 2>().held().to_array(api); }

PyMethodDef methods[] = {{"matrix", borrowed<const float, 2>, METH_O, nullptr},
                         {"writable", borrowed<float, 1>, METH_O, nullptr},
                         {"any_rank", borrowed<const float, dynamic_rank>, METH_O, nullptr},
                         {"rows", borrowed<const float, 2, c_order>, METH_O, nullptr},
                         {"columns", borrowed<const float, 2, f_order>, METH_O, nullptr},
                         {"deep", borrowed<const float, 9>, METH_O, nullptr},
                         {"anything", borrowed<const void, dynamic_rank, strided, any_device>, METH_O, nullptr},
                         {"on_cuda", borrowed<const float, 1, strided, cuda>, METH_O, nullptr},
                         {"pixels", borrowed<const Pixel, 1>, METH_O, nullptr},
                         {"held_pixels", held<const Pixel, 1>, METH_O, nullptr},
                         {"held", held<const float, 2>, METH_O, nullptr},
                         {"tried", tried, METH_O, nullptr},
                         {"both", both, METH_VARARGS, nullptr},
                         {"waived", waived, METH_O, nullptr},
                         {"moved", moved, METH_O, nullptr},
                         {"total", total, METH_O, nullptr},
                         {"made", made, METH_NOARGS, nullptr},
                         {"empty", empty, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "typed_borrows", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_typed_borrows() {
  api = import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
