// SPDX-License-Identifier: Apache-2.0
// The same functions with a parameter of nanobind's own and of anyarray's: what a call costs, and what is accepted.
#include <anyarray/casters/nanobind.h>
#include <nanobind/ndarray.h>

namespace nb = nanobind;

namespace {

/// All that a function with loops over the array reads of it.
template <class T>
void read(const anyarray::view<T, 2>& x) {
  asm volatile("" : : "r"(x.data()), "r"(x.extent(0)), "r"(x.extent(1)), "r"(x.stride(0)), "r"(x.stride(1)));
}
template <class... Types>
void read(const nb::ndarray<Types...>& x) {
  asm volatile("" : : "r"(x.data()), "r"(x.shape(0)), "r"(x.shape(1)), "r"(x.stride(0)), "r"(x.stride(1)));
}

template <class Array>
std::uintptr_t address(const Array& x) {
  return reinterpret_cast<std::uintptr_t>(x.data());
}

}  // namespace

NB_MODULE(bench_casters_nanobind, m) {
  m.def("noop", [](nb::handle) {});
  m.def("ours", [](anyarray::view<const float, 2> x) { read(x); });
  m.def("ours_kept", [](const anyarray::array<const float, 2>& x) { read(*x); });
  m.def("ours_optional", [](std::optional<anyarray::view<const float, 2>> x) { read(*x); });
  m.def("theirs", [](const nb::ndarray<const float, nb::ndim<2>>& x) { read(x); });
  m.def("theirs_any", [](const nb::ndarray<>& x) { read(x); });

  // The address, so that a copy is told from the array's own memory.
  m.def("accepts", [](anyarray::view<const void, anyarray::dynamic_rank, anyarray::strided, anyarray::any_device> x) {
    return address(x);
  });
  m.def("theirs_accepts", [](const nb::ndarray<nb::ro>& x) { return address(x); });
  anyarray::casters::install(m);
}
