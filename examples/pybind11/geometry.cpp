// SPDX-License-Identifier: Apache-2.0
// Functions over points of any library, in pybind11; one parameter is NumPy's alone, as before.
#include <anyarray/casters/pybind11.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <optional>

namespace py = pybind11;
using anyarray::array;
using anyarray::view;

namespace {

// Overloads by the type of the elements: nothing is thrown to find the one that fits.
template <class T>
T length(view<const T, 2> points) {
  T sum = 0;
  for (std::int64_t i = 1; i < points.extent(0); ++i) {
    T square = 0;
    for (std::int64_t k = 0; k < points.extent(1); ++k) {
      const T d = points(i, k) - points(i - 1, k);
      square += d * d;
    }
    sum += std::sqrt(square);
  }
  return sum;
}

// None is allowed where the parameter is optional.
auto moved(view<const double, 2> points, std::optional<view<const double, 1>> by) {
  const std::int64_t n = points.extent(0);
  const std::int64_t dimensions = points.extent(1);
  if (by && by->size() != dimensions) throw std::invalid_argument("a shift has as many numbers as a point");
  auto out = array<double, 2>::make({n, dimensions});
  if (!out.ok()) throw std::bad_alloc();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < dimensions; ++k) out(i, k) = points(i, k) + (by ? (*by)[k] : 0);
  }
  return anyarray::given_like{out, points};
}

py::ssize_t bytes_of(const py::array& x) { return x.nbytes(); }

}  // namespace

PYBIND11_MODULE(geometry, m) {
  m.def("length", length<float>, py::arg("points"));
  m.def("length", length<double>, py::arg("points"));
  m.def("moved", moved, py::arg("points"), py::arg("by") = py::none());
  m.def("bytes_of", bytes_of);
  anyarray::casters::install(m);  // so that a TypeError says why an argument was refused
}
