// SPDX-License-Identifier: Apache-2.0
// A module without the line that makes its TypeErrors say why.
#include <anyarray/casters/pybind11.h>

PYBIND11_MODULE(plain_pb, m) {
  m.def("size", [](anyarray::view<const float, 1> x) { return x.size(); });
  m.def("size", [](anyarray::view<const double, 1> x) { return -x.size(); });
}
