// SPDX-License-Identifier: Apache-2.0
// New memory: empty(), empty_like(); and the rules about dtypes and threads that copies follow.
#include "src/engine/fast.h"
#include "src/python/asarray.h"

namespace anyarray {
namespace {

PyObject* new_array(State& s, DType dtype, int ndim, const std::int64_t* shape, Order order) noexcept {
  ArrayObject* const a = array_reserve(s);
  if (a == nullptr) return nullptr;
  if (owned_few(s.cx, dtype, ndim, shape, order == Order::f, a->borrow)) return array_adopt(s, a);
  Reason why;
  const Status status = make_empty(dtype, ndim, shape, order, &a->borrow, &why);
  if (status == Status::ok) {
    own_produced(s.cx, a->borrow, Py_None);
    return array_adopt(s, a);
  }
  array_discard(s, a);
  PyErr_SetString(status == Status::no_memory ? PyExc_MemoryError : PyExc_ValueError, why.text);
  return nullptr;
}

/// A dtype, or that of an array.
bool dtype_of(State& s, PyObject* o, DType* out) noexcept {
  if (is_array(s, o)) {
    const Descriptor* const d = array_descriptor(as_array(o));
    if (d != nullptr) *out = d->dtype;
    return d != nullptr;
  }
  return dtype_from_object(s, o, out);
}

/// "float64", after `format`'s first %U, and the other.
PyObject* about_two(State& s, const char* format, DType a, DType b) noexcept {
  const Ref first(dtype_object(s, a));
  const Ref second(dtype_object(s, b));
  if (first && second) PyErr_Format(PyExc_TypeError, format, first.get(), second.get());
  return nullptr;
}

}  // namespace

PyObject* empty(PyObject* module, PyObject* args, PyObject* keywords) {
  State& s = state_of_module(module);
  static const char* const names[] = {"", "dtype", "order", nullptr};
  PyObject *shape, *dtype = Py_None, *order = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|O$O:empty", const_cast<char**>(names), &shape, &dtype, &order) ==
      0) {
    return nullptr;
  }
  std::int64_t extents[max_ndim];
  DType d = make_dtype(TypeCode::float_, 64);
  Order o = Order::any;
  const int ndim = read_integers(shape, "shape", true, extents);
  if (ndim < 0 || (dtype != Py_None && !dtype_from_object(s, dtype, &d)) || !read_order(order, &o)) return nullptr;
  return new_array(s, d, ndim, extents, o);
}

PyObject* empty_like(PyObject* module, PyObject* args, PyObject* keywords) {
  State& s = state_of_module(module);
  static const char* const names[] = {"", "dtype", "order", nullptr};
  PyObject *like, *dtype = Py_None, *order = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|$OO:empty_like", const_cast<char**>(names), &like, &dtype,
                                  &order) == 0) {
    return nullptr;
  }
  DType wanted = {};
  Order o = Order::any;
  if ((dtype != Py_None && !dtype_from_object(s, dtype, &wanted)) || !read_order(order, &o)) return nullptr;
  const auto make = [&](const Descriptor& d) noexcept {
    if (o == Order::any && d.strides != nullptr && d.f_contiguous() && !d.c_contiguous()) o = Order::f;
    return new_array(s, dtype != Py_None ? wanted : d.dtype, d.ndim, d.shape, o);
  };
  if (is_array(s, like)) {
    const Reading d(as_array(like));
    return d && host_can(as_array(like), *d, "make memory like it") ? make(*d) : nullptr;
  }
  Request on_host;
  on_host.device = {DeviceType::cpu, -1};
  Borrow b;
  b.release_fn = nullptr;
  begin(b);
  if (take_as_asked(s.cx, like, &on_host, b, raise_trace) != Status::ok) return nullptr;
  PyObject* const made = make(b.desc);
  apart_from_errors([&b] { release(b); });
  return made;
}

PyObject* can_cast_objects(PyObject* module, PyObject* args, PyObject* keywords) {
  State& s = state_of_module(module);
  static const char* const names[] = {"", "", "casting", nullptr};
  PyObject *from, *to, *rule = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "OO|O:can_cast", const_cast<char**>(names), &from, &to, &rule) == 0) {
    return nullptr;
  }
  DType a, b;
  Casting casting = Casting::safe;
  if (!dtype_of(s, from, &a) || !dtype_of(s, to, &b) || (rule != nullptr && !read_casting(rule, &casting))) {
    return nullptr;
  }
  return PyBool_FromLong(can_cast(a, b, casting) == Status::ok);
}

PyObject* promote_types(PyObject* module, PyObject* args) {
  State& s = state_of_module(module);
  PyObject *first, *second;
  if (!PyArg_ParseTuple(args, "OO:promote_types", &first, &second)) return nullptr;
  DType a, b, both;
  if (!dtype_of(s, first, &a) || !dtype_of(s, second, &b)) return nullptr;
  if (promote(a, b, &both) == Status::ok) return dtype_object(s, both);
  return about_two(s, "there is no dtype that %S and %S can both be cast to without loss", a, b);
}

PyObject* get_num_threads(PyObject*, PyObject*) { return PyLong_FromLong(num_threads()); }

PyObject* set_num_threads_object(PyObject*, PyObject* number) {
  if (number == Py_None) return PyLong_FromLong(set_num_threads(0));
  if (!PyIndex_Check(number) || PyBool_Check(number)) {
    return PyErr_Format(PyExc_TypeError, "the number of threads is an int, or None, not %.200s",
                        Py_TYPE(number)->tp_name);
  }
  const Py_ssize_t n = PyNumber_AsSsize_t(number, nullptr);  // one that is beyond all counting is cut to the last
  if (n == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (n < 1 || n > INT32_MAX) {
    return PyErr_Format(PyExc_ValueError,
                        "the number of threads is from 1 on, or None for what it was at first; not %R", number);
  }
  return PyLong_FromLong(set_num_threads(static_cast<int>(n)));
}

}  // namespace anyarray
