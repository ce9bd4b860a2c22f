// SPDX-License-Identifier: Apache-2.0
// The example of docs/casters.md, word for word (test_pybind11.py compares them).
#include <anyarray/casters/pybind11.h>

#include <cmath>

namespace py = pybind11;
using namespace anyarray;

PYBIND11_MODULE(docs_pb, m) {
  // Any float32 matrix of any library, whatever its strides, without a copy.
  m.def("norm", [](view<const float, 2> x) {
    double sum = 0;
    for (int i = 0; i < x.extent(0); ++i) {
      for (int j = 0; j < x.extent(1); ++j) sum += x(i, j) * x(i, j);
    }
    return std::sqrt(sum);
  });

  // Keeps an array for as long as the object lives, and lends it to Python.
  struct Signal {
    array<const double, 1> samples;
  };
  py::class_<Signal>(m, "Signal")
      .def(py::init<array<const double, 1>>(), py::arg("samples"))
      .def_readonly("samples", &Signal::samples);

  casters::install(m);  // last: from now on TypeErrors say why
}
