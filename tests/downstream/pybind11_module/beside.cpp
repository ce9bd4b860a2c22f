// SPDX-License-Identifier: Apache-2.0
// One function, written with pybind11's own array types in each of their ways, and with anyarray's.
#include <anyarray/casters/pybind11.h>
#include <pybind11/numpy.h>

namespace py = pybind11;

PYBIND11_MODULE(beside_pb, m) {
  m.def("array", [](const py::array& x) { return x.ndim(); });
  m.def("array_t", [](const py::array_t<double>& x) { return x.ndim(); });
  m.def("buffer", [](const py::buffer& x) { return x.request().ndim; });
  m.def("view", [](anyarray::view<const void> x) { return x.rank(); });
  m.def("view_of_double", [](anyarray::view<const double> x) { return x.rank(); });

  // What array_t converts.
  m.def("first", [](const py::array_t<double>& x) { return x.at(0); });
  m.def("first_exact", [](const py::array_t<double>& x) { return x.at(0); }, py::arg("x").noconvert());
  m.def("first_integer", [](const py::array_t<int>& x) { return x.at(0); });
  m.def("c_style", [](const py::array_t<double, py::array::c_style | py::array::forcecast>& x) {
    return reinterpret_cast<std::uintptr_t>(x.data());
  });
  m.def("facts", [](const py::array_t<double>& x) {
    const auto r = x.unchecked<3>();
    return py::make_tuple(r.ndim(), r.shape(0), r.shape(1), r.shape(2), r.size(), r(1, 2, 3));
  });
  m.def("add_one", [](py::array_t<double> x) {
    auto r = x.mutable_unchecked<3>();  // throws where the array can't be written
    for (py::ssize_t i = 0; i < r.shape(0); ++i)
      for (py::ssize_t j = 0; j < r.shape(1); ++j)
        for (py::ssize_t k = 0; k < r.shape(2); ++k) r(i, j, k) += 1.0;
  });
}
