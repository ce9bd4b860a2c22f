// SPDX-License-Identifier: Apache-2.0
// One template for eight element types: visit() calls it with the view of the type that is there.
#include <anyarray/python.h>

namespace {

using anyarray::any_of;
using Numbers = any_of<const std::int8_t, const std::int16_t, const std::int32_t, const std::int64_t,
                       const std::uint8_t, const std::uint16_t, const float, const double>;

const anyarray::CApi* api;

PyObject* to_python(double x) { return PyFloat_FromDouble(x); }
PyObject* to_python(std::int64_t x) { return PyLong_FromLongLong(x); }

template <class View>
PyObject* extrema_of(View x) {
  if (x.empty()) return PyErr_Format(PyExc_ValueError, "there is no least of no elements");
  using T = typename View::value_type;
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  T least = x(0, 0);
  T greatest = least;
  for (std::int64_t i = 0; i < x.extent(0); ++i) {
    for (std::int64_t j = 0; j < x.extent(1); ++j) {
      const T value = x(i, j);
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
  }
  return Py_BuildValue("NN", to_python(static_cast<Wide>(least)), to_python(static_cast<Wide>(greatest)));
}

PyObject* extrema(PyObject*, PyObject* object) {
  const auto x = anyarray::borrow<Numbers, 2>(api, object);
  if (!x.ok()) return nullptr;
  return (*x).visit([](auto typed) { return extrema_of(typed); });
}

PyMethodDef methods[] = {{"extrema", extrema, METH_O, "extrema(x, /)\n--\n\nThe least and the greatest element."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "extrema", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_extrema() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&definition) : nullptr;
}
