// SPDX-License-Identifier: Apache-2.0
// pybind11's own imports: an ndarray as it is, array_t (converts through NumPy), and the buffer protocol.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace {

void read(const py::array& a) {
  asm volatile("" : : "r"(a.data()));
  for (py::ssize_t i = 0; i < a.ndim(); ++i) asm volatile("" : : "r"(a.shape(i)), "r"(a.strides(i)));
}

}  // namespace

PYBIND11_MODULE(bench_pybind11, m) {
  m.def("array", [](const py::array& a) { read(a); });
  m.def("array_t", [](const py::array_t<float>& a) { read(a); });
  m.def("buffer", [](const py::buffer& b) {
    const py::buffer_info info = b.request();
    asm volatile("" : : "r"(info.ptr));
    for (py::ssize_t i = 0; i < info.ndim; ++i) asm volatile("" : : "r"(info.shape[i]), "r"(info.strides[i]));
  });
}
