// SPDX-License-Identifier: Apache-2.0
// The example of docs/casters.md, word for word (test_nanobind.py compares them).
#include <anyarray/casters/nanobind.h>

#include <cmath>

using namespace anyarray;

NB_MODULE(docs_nb, m) {
  // Any float32 matrix of any library, whatever its strides, without a copy.
  m.def("norm", [](view<const float, 2> x) {
    double sum = 0;
    for (int i = 0; i < x.extent(0); ++i) {
      for (int j = 0; j < x.extent(1); ++j) sum += x(i, j) * x(i, j);
    }
    return std::sqrt(sum);
  });

  // Writes to the caller's memory: asks for memory that can be written.
  m.def("scale", [](view<float, 1> x, float by) {
    for (float& value : x) value *= by;
  });

  // Takes other dtypes too, by a copy, and gives the result to the caller's library: torch in, torch out.
  m.def("twice", [](or_copy<view<const double, 1>> x) {
    auto result = array<double, 1>::make({x.extent(0)});
    for (int i = 0; i < x.extent(0); ++i) result(i) = 2 * x(i);
    return given_like{result, x};
  });

  casters::install(m);  // last: from now on TypeErrors say why
}
