// SPDX-License-Identifier: Apache-2.0
// The same functions with a parameter of pybind11's own and of anyarray's: what a call costs, and what is accepted.
#include <anyarray/casters/pybind11.h>
#include <pybind11/numpy.h>

namespace py = pybind11;

namespace {

/// All that a function with loops over the array reads of it.
template <class T>
void read(const anyarray::view<T, 2>& x) {
  asm volatile("" : : "r"(x.data()), "r"(x.extent(0)), "r"(x.extent(1)), "r"(x.stride(0)), "r"(x.stride(1)));
}
void read(const py::array& x) {
  asm volatile("" : : "r"(x.data()), "r"(x.shape(0)), "r"(x.shape(1)), "r"(x.strides(0)), "r"(x.strides(1)));
}

template <class Array>
std::uintptr_t address(const Array& x) {
  return reinterpret_cast<std::uintptr_t>(x.data());
}

}  // namespace

PYBIND11_MODULE(bench_casters_pybind11, m) {
  m.def("noop", [](const py::handle&) {});
  m.def("ours", [](anyarray::view<const float, 2> x) { read(x); });
  m.def("ours_kept", [](const anyarray::array<const float, 2>& x) { read(*x); });
  m.def("ours_optional", [](std::optional<anyarray::view<const float, 2>> x) { read(*x); });
  m.def("theirs", [](const py::array_t<float>& x) { read(x); });
  m.def("theirs_any", [](const py::array& x) { read(x); });

  // The address, so that a copy is told from the array's own memory.
  m.def("accepts", [](anyarray::view<const void, anyarray::dynamic_rank, anyarray::strided, anyarray::any_device> x) {
    return address(x);
  });
  m.def("theirs_accepts", [](const py::array& x) { return address(x); });
  m.def("theirs_accepts_float", [](const py::array_t<float>& x) { return address(x); });
  anyarray::casters::install(m);
}
