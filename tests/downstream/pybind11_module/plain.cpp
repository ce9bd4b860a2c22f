// SPDX-License-Identifier: Apache-2.0
// An extension that only declares parameters and results: nothing is called at import.
#include <anyarray/casters/pybind11.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using anyarray::array;
using anyarray::view;

PYBIND11_MODULE(plain_pb, m) {
  m.def("size", [](view<const float, 1> x) { return x.size(); });
  m.def("size", [](view<const double, 1> x) { return -x.size(); });
  m.def("write", [](view<float, 2> x, float value) { x(0, 0) = value; }, py::arg("x"), py::arg("value"));
  m.def("make", [](std::int64_t n) { return array<double, 1>::make({n}); });
  m.def("as_numpy",
        [](std::optional<array<float>> x) { return anyarray::given_as<anyarray::library::numpy, array<float>>(*x); });
  m.def("sizes", [](const std::vector<array<const float>>& xs) { return xs.size(); });
}
