// SPDX-License-Identifier: Apache-2.0
// An extension that only declares parameters and results: nothing is called at import.
#include <anyarray/casters/nanobind.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using anyarray::array;
using anyarray::view;

NB_MODULE(plain_nb, m) {
  m.def("size", [](view<const float> x) { return x.size(); });
  m.def("size", [](view<const double> x) { return -x.size(); });
  m.def("write", [](view<float, 2> x, float value) { x(0, 0) = value; }, nb::arg("x"), nb::arg("value"));
  m.def("make", [](std::int64_t n) { return array<double, 1>::make({n}); });
  m.def("as_numpy",
        [](std::optional<array<float>> x) { return anyarray::given_as<anyarray::library::numpy, array<float>>(*x); });
  m.def("sizes", [](std::vector<array<const float>> xs) { return xs.size(); });
}
