// SPDX-License-Identifier: Apache-2.0
// The functions of in_both.h with the pybind11 casters, and what these alone know, for test_pybind11.py.
#include <anyarray/casters/pybind11.h>

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>

namespace py = pybind11;
namespace bound = pybind11;
using return_policy = py::return_value_policy;
template <class T>
using held = anyarray::array<T, 1>;

#include "../in_both.h"

using namespace in_both;

namespace {

void more_parameters(py::module_& m) {
  m.def("by_rvalue", [](view<const double, 1>&& x) { return sum(x); });
  m.def("array_by_reference", [](const array<const double, 1>& x) { return sum(*x); });
  m.def("facts", [](view<const double, 3> x) {
    return py::make_tuple(x.rank(), x.extent(0), x.extent(1), x.extent(2), x.size(), x(1, 2, 3));
  });
  m.def("add_one", [](view<double, 3> x) {
    for (std::int64_t i = 0; i < x.extent(0); ++i)
      for (std::int64_t j = 0; j < x.extent(1); ++j)
        for (std::int64_t k = 0; k < x.extent(2); ++k) x(i, j, k) += 1.0;
  });
  m.def(
      "several", [](int, view<const float, 1> x, py::args rest, py::kwargs) { return x.size() + py::len(rest); },
      py::arg("n"), py::arg("x"));
  m.def(
      "keyword_only", [](view<const float, 1> x, view<const double, 1> y) { return x.size() - y.size(); }, py::arg("x"),
      py::kw_only(), py::arg("y"));
  m.def("no_none", [](std::optional<view<const float, 1>> x) { return x.has_value(); }, py::arg("x").none(false));
}

void errors_of_functions(py::module_& m) {
  m.def("raises", [](view<const float, 1>) { return 1; });
  m.def("raises", [](const py::object&) -> int {
    throw py::type_error(
        "raises(): incompatible function arguments. The following argument types are supported:\n    1. ours");
  });
  m.def("calls_itself", [](view<const float, 1>) { return 1; });
  m.def("calls_itself", [m](const py::list& x) { return m.attr("calls_itself")(x[0]).cast<int>(); });
}

void more_copies(py::module_& m) {
  m.def("integers", [](or_copy<view<const int, 1>> x) { return x(0); });
  m.def("c_copied", [](or_copy<view<const double, 2, c_order>> x) { return std::make_pair(address(x), x(0, 1)); });
  m.def("f_copied", [](or_copy<view<const double, 2, f_order>> x) { return std::make_pair(address(x), x(0, 1)); });
}

void more_results(py::module_& m) {
  m.def("pair_of_results", [](view<const float, 1> x) { return std::make_pair(twice(x), twice(x)); });
  m.def("child", [](const py::object&) { return array<double, 1>::make({2}); }, py::keep_alive<0, 1>());
  m.def("called", [](const std::function<array<const double, 1>(array<const double, 1>)>& f, array<const double, 1> x) {
    const array<const double, 1> given = f(x);
    return sum(*given);
  });
  m.def("cast_list", [](const std::vector<double>& xs) {
    py::list list;
    for (double x : xs) {
      auto one = array<double, 1>::make({1});
      one(0) = x;
      list.append(one);
    }
    return list;
  });
}

/// It offers the buffer protocol, too, by pybind11's means.
void a_class(py::module_& m) {
  py::class_<Model> model(m, "Model", py::buffer_protocol());
  classes(m, model);
  model.def_readwrite("weights", &Model::weights)
      .def_property_readonly("memory", &Model::lend, py::return_value_policy::reference_internal)
      .def_property_readonly("copied", &Model::lend, py::return_value_policy::copy)
      .def_property_static(
          "shared", [](const py::object&) { return 0; }, [](const py::object&, view<const double, 1>) {})
      .def(
          "keep", [](Model&, array<const double, 1>) {}, py::keep_alive<1, 2>())
      .def("__call__", &Model::dot)
      .def_buffer([](Model& self) { return py::buffer_info(self.memory, 4); });
  model.attr("__module__") = "somewhere.else";
}

}  // namespace

PYBIND11_MODULE(arrays_pb, m) {
  functions(m);
  more_parameters(m);
  errors_of_functions(m);
  more_copies(m);
  more_results(m);
  a_class(m);
  // pybind11's own array types in the same module, and in the same function.
  m.def("numpy_alone", [](const py::array_t<double>& x) { return x.size(); });
  m.def("beside_numpy", [](const py::array_t<double>& x, view<const float, 1> y) { return x.size() + y.size(); });
  m.def("mixed", [](view<const float, 1>) { return "float32"; });
  m.def("mixed", [](const py::array_t<double, py::array::c_style | py::array::forcecast>&) { return "converted"; });
  anyarray::casters::install(m);
  m.def("late", [](view<const float, 1> x) { return x.size(); });
  m.def("install_again", [m] { anyarray::casters::install(m); });
}
