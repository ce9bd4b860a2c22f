// SPDX-License-Identifier: Apache-2.0
// Functions with parameters and results of every kind that the pybind11 casters know, for test_pybind11.py.
#include <anyarray/casters/pybind11.h>

#include <anyarray/complex.h>
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>
#include <cstring>

namespace py = pybind11;
using anyarray::any_device;
using anyarray::any_of;
using anyarray::array;
using anyarray::c_order;
using anyarray::cuda;
using anyarray::dynamic_rank;
using anyarray::f_order;
using anyarray::given_as;
using anyarray::given_like;
using anyarray::or_copy;
using anyarray::strided;
using anyarray::view;
namespace library = anyarray::library;

namespace {

template <class View>
double sum(const View& x) {
  double total = 0;
  for (auto value : x) total += static_cast<double>(value);
  return total;
}

/// The address that a view shows, to see whether anything was copied.
template <class View>
std::uintptr_t address(const View& x) {
  return reinterpret_cast<std::uintptr_t>(x.data());
}

array<float, 1> twice(view<const float, 1> x) {
  auto made = array<float, 1>::make({x.extent(0)});
  for (std::int64_t i = 0; i < x.extent(0); ++i) made(i) = 2 * x(i);
  return made;
}

/// A class that keeps an array, lends memory of its own, and offers the buffer protocol by pybind11's means.
struct Model {
  array<const double, 1> weights;
  double memory[4] = {1, 2, 3, 4};

  explicit Model(array<const double, 1> w) : weights(std::move(w)) {}
  double dot(view<const double, 1> x) const {
    double total = 0;
    for (std::int64_t i = 0; i < x.extent(0); ++i) total += x(i) * weights(i);
    return total;
  }
  view<double, 1> lend() { return view<double, 1>(memory, {4}); }
};

void parameters(py::module_& m) {
  m.def("matrix", [](view<const float, 2> x) { return address(x); }, py::arg("x"));
  m.def("write", [](view<float, 1> x, float value) { x(0) = value; }, py::arg("x"), py::arg("value"));
  m.def("total", [](view<const double, 1> x) { return sum(x); });
  m.def("by_reference", [](const view<const double, 1>& x) { return sum(x); });
  m.def("by_rvalue", [](view<const double, 1>&& x) { return sum(x); });
  m.def("array_by_reference", [](const array<const double, 1>& x) { return sum(*x); });
  m.def("c_style", [](view<const float, 2, c_order> x) { return x.extent(1); });
  m.def("f_style", [](view<const float, 2, f_order> x) { return x.extent(1); });
  m.def("any_rank", [](view<const float> x) { return x.rank(); });
  m.def("any_dtype", [](view<const void, 2> x) { return x.byte_stride(0); });
  m.def("anything", [](view<const void, dynamic_rank, strided, any_device> x) { return x.rank(); });
  m.def("on_cuda", [](view<const float, dynamic_rank, strided, cuda> x) { return x.device().id; });
  m.def("dispatch", [](view<any_of<const float, const double, const std::complex<double>>, 1> x) {
    return x.visit([](auto typed) { return std::string(1, "fd?z"[sizeof typed(0) / 4 - 1]); });
  });
  m.def("scalar", [](view<const double, 0> x) { return x(); });
  m.def("strides", [](view<const std::int16_t, 2> x) { return std::make_pair(x.stride(0), x.stride(1)); });
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
}

void nothing(py::module_& m) {
  m.def("optional", [](std::optional<view<const float, 1>> x) { return x ? x->size() : -1; });
  m.def(
      "defaulted", [](int, std::optional<view<const float, 1>> x) { return x ? x->size() : -1; }, py::arg("n"),
      py::arg("x") = py::none());
  m.def("optional_array", [](std::optional<array<const float, 1>> x) { return x; }, py::arg("x").none(true));
  m.def("no_none", [](std::optional<view<const float, 1>> x) { return x.has_value(); }, py::arg("x").none(false));
}

void overloads(py::module_& m) {
  m.def("which", [](view<const float, 1>) { return "float32, 1"; });
  m.def("which", [](view<const float, 2, f_order>) { return "float32, 2, f_order"; });
  m.def("which", [](view<const float, 2>) { return "float32, 2"; });
  m.def("which", [](view<const double>) { return "float64"; });
  m.def("which", [](view<const float, dynamic_rank, strided, cuda>) { return "float32, cuda"; });
  m.def("which", [](int) { return "int"; });
  m.def("writable_first", [](view<float, 1>) { return "writable"; });
  m.def("writable_first", [](view<const float, 1>) { return "read-only"; });
  m.def("raises", [](view<const float, 1>) { return 1; });
  m.def("raises", [](const py::object&) -> int {
    throw py::type_error(
        "raises(): incompatible function arguments. The following argument types are supported:\n    1. ours");
  });
  m.def("calls_itself", [](view<const float, 1>) { return 1; });
  m.def("calls_itself", [m](const py::list& x) { return m.attr("calls_itself")(x[0]).cast<int>(); });
}

void copies(py::module_& m) {
  m.def("copied", [](or_copy<view<const float, 1>> x) { return std::make_pair(address(x), x(0)); });
  m.def("integers", [](or_copy<view<const int, 1>> x) { return x(0); });
  m.def("never_copied", [](or_copy<view<const float, 1>> x) { return x(0); }, py::arg("x").noconvert());
  m.def("c_copied", [](or_copy<view<const double, 2, c_order>> x) { return std::make_pair(address(x), x(0, 1)); });
  m.def("f_copied", [](or_copy<view<const double, 2, f_order>> x) { return std::make_pair(address(x), x(0, 1)); });
  m.def("kept_copy", [](or_copy<array<const float, 2, c_order>> x) { return array<const float, 2, c_order>(x); });
  m.def("exact_first", [](or_copy<view<const float, 1>>) { return "float32"; });
  m.def("exact_first", [](view<const double, 1>) { return "float64"; });
  m.def("optional_copy", [](std::optional<or_copy<view<const float, 1>>> x) { return x ? (*x)(0) : -1; });
  m.def("copied_list", [](const std::vector<or_copy<array<const float, 1>>>& xs) {
    float total = 0;
    for (const auto& x : xs) total += x(0);
    return total;
  });
}

void results(py::module_& m) {
  m.def("make", [](std::int64_t n) { return array<double, 1>::make({n}); });
  m.def("adopt", [] { return array<int, 1>::adopt(std::vector<int>{1, 2, 3}); });
  m.def("empty_result", [] { return array<double, 1>(); });
  m.def("maybe", [](bool it) { return it ? std::make_optional(array<double, 1>::make({1})) : std::nullopt; });
  m.def("give_back", [](array<const float> x) { return x; });
  m.def("as_numpy", [](view<const float, 1> x) { return given_as<library::numpy, array<float, 1>>(twice(x)); });
  m.def("as_torch", [](view<const float, 1> x) { return given_as<library::torch, array<float, 1>>(twice(x)); });
  m.def("as_jax", [](view<const float, 1> x) { return given_as<library::jax, array<float, 1>>(twice(x)); });
  m.def("as_given", [](view<const float, 1> x) { return given_like{twice(x), x}; });
  m.def("as_given_array", [](array<const float, 1> x) { return given_like{twice(*x), x}; });
  m.def("as_given_copy", [](or_copy<view<const float, 1>> x) { return given_like{twice(x), x}; });
  m.def("pair_of_results", [](view<const float, 1> x) { return std::make_pair(twice(x), twice(x)); });
  m.def("copy_of", [](view<const float, 1> x) { return x; });
  m.def(
      "forever",
      [] {
        static double memory[2] = {1, 2};
        return view<double, 1>(memory, {2});
      },
      py::return_value_policy::reference);
  m.def("child", [](const py::object&) { return array<double, 1>::make({2}); }, py::keep_alive<0, 1>());
}

void containers(py::module_& m) {
  m.def("list_sum", [](const std::vector<array<const double, 1>>& xs) {
    double total = 0;
    for (const auto& x : xs) total += sum(*x);
    return total;
  });
  m.def("arrays_back", [](std::vector<array<const double, 1>> xs) { return xs; });
  m.def("pair_sum", [](std::pair<array<const double, 1>, double> x) { return sum(*x.first) * x.second; });
  m.def("nested", [](const std::map<std::string, std::vector<std::pair<array<const double, 1>, int>>>& all) {
    double total = 0;
    for (const auto& [name, list] : all)
      for (const auto& [x, factor] : list) total += sum(*x) * factor;
    return total;
  });
  m.def("either", [](const std::variant<int, array<const double, 1>>& x) {
    return x.index() == 0 ? std::get<0>(x) : sum(*std::get<1>(x));
  });
  m.def("list_of_optional", [](const std::vector<std::optional<array<const double, 1>>>& xs) {
    double total = 0;
    for (const auto& x : xs) total += x ? sum(**x) : 1000;
    return total;
  });
  m.def("two", [](std::array<array<const double, 1>, 2> x) { return sum(*x[0]) - sum(*x[1]); });
  m.def("called", [](const std::function<array<const double, 1>(array<const double, 1>)>& f, array<const double, 1> x) {
    const array<const double, 1> given = f(x);
    return sum(*given);
  });
  m.def("cast_array", [](const py::object& x) {
    const auto taken = py::cast<array<const double, 1>>(x);
    return taken->size();
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

void classes(py::module_& m) {
  py::class_<Model> model(m, "Model", py::buffer_protocol());
  model.def(py::init<array<const double, 1>>(), py::arg("weights"))
      .def("dot", &Model::dot)
      .def_static("norm", [](view<const double, 1> x) { return sum(x); })
      .def_readwrite("weights", &Model::weights)
      .def_property_readonly("memory", &Model::lend, py::return_value_policy::reference_internal)
      .def_property_readonly("copied", &Model::lend, py::return_value_policy::copy)
      .def_property_static(
          "shared", [](const py::object&) { return 0; }, [](const py::object&, view<const double, 1>) {})
      .def(
          "__add__", [](const Model&, view<const double, 1> x) { return sum(x); }, py::is_operator())
      .def(
          "keep", [](Model&, array<const double, 1>) {}, py::keep_alive<1, 2>())
      .def("__call__", &Model::dot)
      .def_buffer([](Model& self) { return py::buffer_info(self.memory, 4); });
  model.attr("__module__") = "somewhere.else";
  py::module_ inner = m.def_submodule("inner");
  inner.def("total", [](view<const double, 1> x) { return sum(x); });
}

}  // namespace

PYBIND11_MODULE(arrays_pb, m) {
  parameters(m);
  nothing(m);
  overloads(m);
  copies(m);
  results(m);
  containers(m);
  classes(m);
  // pybind11's own array types in the same module, and in the same function.
  m.def("numpy_alone", [](const py::array_t<double>& x) { return x.size(); });
  m.def("beside_numpy", [](const py::array_t<double>& x, view<const float, 1> y) { return x.size() + y.size(); });
  m.def("mixed", [](view<const float, 1>) { return "float32"; });
  m.def("mixed", [](const py::array_t<double, py::array::c_style | py::array::forcecast>&) { return "converted"; });
  anyarray::casters::install(m);
  m.def("late", [](view<const float, 1> x) { return x.size(); });
  m.def("install_again", [m] { anyarray::casters::install(m); });
}
