// SPDX-License-Identifier: Apache-2.0
// A module that any number of interpreters may import, each with a lock of its own.
#include <anyarray/casters/pybind11.h>

namespace py = pybind11;
using anyarray::array;
using anyarray::view;

namespace {
/// What one interpreter gave, another lets go.
array<const std::uint8_t, 1> kept;

void define(py::module_& m) {
  m.def("size", [](view<const std::uint8_t, 1> x) { return x.size(); });
  m.def("size", [](view<const double, 1> x) { return -x.size(); });
  m.def("give_back", [](array<const std::uint8_t, 1> x) { return x; });
  m.def("keep", [](array<const std::uint8_t, 1> x) { kept = x; });
  anyarray::casters::install(m);
}
}  // namespace

#if PYBIND11_VERSION_HEX >= 0x03000000
PYBIND11_MODULE(each_pb, m, py::multiple_interpreters::per_interpreter_gil()) { define(m); }
#else
PYBIND11_MODULE(each_pb, m) { define(m); }
#endif
