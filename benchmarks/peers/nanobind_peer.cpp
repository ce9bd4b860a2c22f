// SPDX-License-Identifier: Apache-2.0
// nanobind's own import, as an argument of a bound function: no condition, and typed and read-only.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

namespace {

template <class Array>
void read(const Array& a) {
  asm volatile("" : : "r"(a.data()));
  for (std::size_t i = 0; i < a.ndim(); ++i) asm volatile("" : : "r"(a.shape(i)), "r"(a.stride(i)));
}

}  // namespace

NB_MODULE(bench_nanobind, m) {
  m.def("any", [](const nb::ndarray<>& a) { read(a); });
  m.def("any_ro", [](const nb::ndarray<nb::ro>& a) { read(a); });
  m.def("float_ro", [](const nb::ndarray<const float>& a) { read(a); });
}
