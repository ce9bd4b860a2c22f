// SPDX-License-Identifier: Apache-2.0
// Functions with parameters and results of every kind that the nanobind casters know, for test_nanobind.py.
#include <anyarray/casters/nanobind.h>

#include <anyarray/complex.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <cstring>

namespace nb = nanobind;
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

/// A class that keeps an array, and lends memory of its own.
struct Model {
  array<const double, 1> weights;
  double memory[4] = {1, 2, 3, 4};

  explicit Model(array<const double, 1> w) : weights(static_cast<array<const double, 1>&&>(w)) {}
  double dot(view<const double, 1> x) const {
    double total = 0;
    for (std::int64_t i = 0; i < x.extent(0); ++i) total += x(i) * weights(i);
    return total;
  }
};

void parameters(nb::module_& m) {
  m.def("matrix", [](view<const float, 2> x) { return address(x); }, nb::arg("x"));
  m.def("write", [](view<float, 1> x, float value) { x(0) = value; }, nb::arg("x"), nb::arg("value"));
  m.def("total", [](view<const double, 1> x) { return sum(x); });
  m.def("by_reference", [](const view<const double, 1>& x) { return sum(x); });
  m.def("c_contig", [](view<const float, 2, c_order> x) { return x.extent(1); });
  m.def("f_contig", [](view<const float, 2, f_order> x) { return x.extent(1); });
  m.def("any_rank", [](view<const float> x) { return x.rank(); });
  m.def("any_dtype", [](view<const void, 2> x) { return x.byte_stride(0); });
  m.def("anything", [](view<const void, dynamic_rank, strided, any_device> x) { return x.rank(); });
  m.def("on_cuda", [](view<const float, dynamic_rank, strided, cuda> x) { return x.device().id; });
  m.def("dispatch", [](view<any_of<const float, const double, const std::complex<double>>, 1> x) {
    return x.visit([](auto typed) { return std::string(1, "fd?z"[sizeof typed(0) / 4 - 1]); });
  });
  m.def("scalar", [](view<const double, 0> x) { return x(); });
  m.def("strides", [](view<const std::int16_t, 2> x) { return std::make_pair(x.stride(0), x.stride(1)); });
}

void nothing(nb::module_& m) {
  m.def("optional", [](std::optional<view<const float, 1>> x) { return x ? x->size() : -1; });
  m.def(
      "defaulted", [](int, std::optional<view<const float, 1>> x) { return x ? x->size() : -1; }, nb::arg("n"),
      nb::arg("x") = nb::none());
  m.def("optional_array", [](std::optional<array<const float, 1>> x) { return x; }, nb::arg("x").none());
  m.def(
      "none_allowed", [](view<const float, 1> x) { return x.source() != nullptr ? x.size() : -1; },
      nb::arg("x").none());
  m.def("none_array", [](array<const float, 1> x) { return x.ok(); }, nb::arg("x").none() = nb::none());
}

void overloads(nb::module_& m) {
  m.def("which", [](view<const float, 1>) { return "float32, 1"; });
  m.def("which", [](view<const float, 2, f_order>) { return "float32, 2, f_order"; });
  m.def("which", [](view<const float, 2>) { return "float32, 2"; });
  m.def("which", [](view<const double>) { return "float64"; });
  m.def("which", [](view<const float, dynamic_rank, strided, cuda>) { return "float32, cuda"; });
  m.def("which", [](int) { return "int"; });
  m.def("writable_first", [](view<float, 1>) { return "writable"; });
  m.def("writable_first", [](view<const float, 1>) { return "read-only"; });
  m.def("next", [](view<const float, 1>) -> int { throw nb::next_overload(); });
  m.def("next", [](view<const double, 1>) { return 2; });
  m.def("raises", [](view<const float, 1>) { return 1; });
  m.def("raises", [](nb::object) -> int { throw nb::type_error("raises(): incompatible types, says the function"); });
}

void copies(nb::module_& m) {
  m.def("copied", [](or_copy<view<const float, 1>> x) { return std::make_pair(address(x), x(0)); });
  m.def("never_copied", [](or_copy<view<const float, 1>> x) { return x(0); }, nb::arg("x").noconvert());
  m.def("kept_copy", [](or_copy<array<const float, 2, c_order>> x) { return array<const float, 2, c_order>(x); });
  m.def("exact_first", [](or_copy<view<const float, 1>>) { return "float32"; });
  m.def("exact_first", [](view<const double, 1>) { return "float64"; });
  m.def("optional_copy", [](std::optional<or_copy<view<const float, 1>>> x) { return x ? (*x)(0) : -1; });
  m.def("copied_list", [](std::vector<or_copy<view<const float, 1>>> xs) {
    float total = 0;
    for (const auto& x : xs) total += x(0);
    return total;
  });
}

void results(nb::module_& m) {
  m.def("make", [](std::int64_t n) { return array<double, 1>::make({n}); });
  m.def("adopt", [] { return array<int, 1>::adopt(std::vector<int>{1, 2, 3}); });
  m.def("empty_result", [] { return array<double, 1>(); });
  m.def("give_back", [](array<const float> x) { return x; });
  m.def("as_numpy", [](view<const float, 1> x) { return given_as<library::numpy, array<float, 1>>(twice(x)); });
  m.def("as_torch", [](view<const float, 1> x) { return given_as<library::torch, array<float, 1>>(twice(x)); });
  m.def("as_jax", [](view<const float, 1> x) { return given_as<library::jax, array<float, 1>>(twice(x)); });
  m.def("as_pyarrow", [](view<const float, 1> x) { return given_as<library::pyarrow, array<float, 1>>(twice(x)); });
  m.def("as_given", [](view<const float, 1> x) { return given_like{twice(x), x}; });
  m.def("as_given_array", [](array<const float, 1> x) { return given_like{twice(*x), x}; });
  m.def("as_given_copy", [](or_copy<view<const float, 1>> x) { return given_like{twice(x), x}; });
  m.def("as_given_object", [](nb::handle h) {
    const auto x = nb::cast<array<const float, 1>>(h);
    return given_like{twice(*x), h.ptr()};
  });
  m.def("copy_of", [](view<const float, 1> x) { return x; });
  m.def(
      "forever",
      [] {
        static float memory[] = {1, 2};
        return view<float, 1>(memory, {2});
      },
      nb::rv_policy::reference);
  m.def("maybe", [](bool is) { return is ? std::optional(array<double, 1>::make({1})) : std::nullopt; });
}

void containers(nb::module_& m) {
  m.def("list_sum", [](std::vector<view<const double, 1>> xs) {
    double total = 0;
    for (const auto& x : xs) total += sum(x);
    return total;
  });
  m.def("dynamic_list", [](std::vector<view<const double>> xs) {
    std::int64_t total = 0;
    for (const auto& x : xs) total += x.extent(x.rank() - 1) * 100 + x.stride(0);
    return total;
  });
  m.def("pair_sum", [](std::pair<view<const double, 1>, double> x) { return sum(x.first) * x.second; });
  m.def("nested", [](std::map<std::string, std::vector<std::tuple<view<const double, 1>, int>>> all) {
    double total = 0;
    for (const auto& [name, pairs] : all) {
      for (const auto& [x, times] : pairs) total += sum(x) * times;
    }
    return total;
  });
  m.def("either", [](std::variant<int, view<const double, 1>> x) {
    return x.index() == 0 ? std::get<0>(x) : sum(std::get<1>(x));
  });
  m.def("list_of_optional", [](std::vector<std::optional<view<const double, 1>>> xs) {
    double total = 0;
    for (const auto& x : xs) total += x ? sum(*x) : 1000;
    return total;
  });
  m.def("two", [](std::array<view<const double, 1>, 2> xs) { return sum(xs[0]) - sum(xs[1]); });
  m.def("variants", [](std::vector<std::variant<view<const float, 1>, view<const double, 1>>> xs) {
    double total = 0;
    for (const auto& x : xs) total += std::visit([](auto typed) { return sum(typed); }, x);
    return total;
  });
  m.def("first_copy_in", [](std::vector<or_copy<view<const float, 1>>> xs, nb::callable look) {
    look(nb::borrow(static_cast<PyObject*>(const_cast<void*>(xs[0].source()))));
    return given_like{twice(xs[0]), xs[0]};
  });
  m.def("arrays_back", [](std::vector<array<const double, 1>> xs) { return xs; });
  m.def("cast_view", [](nb::handle h) { return nb::cast<view<const double, 1>>(h).extent(0); });
  m.def("cast_array", [](nb::handle h) {
    const auto x = nb::cast<array<const double, 1>>(h);
    return x->extent(0);
  });
  m.def("is_vector", [](nb::handle h) { return nb::isinstance<view<const double, 1>>(h); });
}

void classes(nb::module_& m) {
  nb::class_<Model>(m, "Model")
      .def(nb::init<array<const double, 1>>())
      .def("dot", &Model::dot)
      .def_static("norm", [](view<const double, 1> x) { return sum(x); })
      .def_prop_rw(
          "weights", [](const Model& self) { return self.weights; },
          [](Model& self, array<const double, 1> w) { self.weights = w; })
      .def_prop_ro(
          "memory", [](Model& self) { return view<double, 1>(self.memory, {4}); }, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "copied", [](Model& self) { return view<double, 1>(self.memory, {4}); }, nb::rv_policy::copy)
      .def(
          "__add__", [](const Model& self, view<const double, 1> x) { return self.dot(x); }, nb::is_operator())
      .def("call", [](const Model&, nb::callable f, nb::object x) { return f(x); });
  nb::module_ sub = m.def_submodule("sub");
  sub.def("total", [](view<const double, 1> x) { return sum(x); });
}

void beside_ndarray(nb::module_& m) {
  m.def("mixed", [](nb::ndarray<const float, nb::ndim<1>> a, view<const float, 1> b) {
    return a.data() == b.data() ? a.shape(0) : 0;
  });
  m.def("either_kind", [](view<const float, 1>) { return "anyarray"; });
  m.def("either_kind", [](nb::ndarray<const double, nb::ndim<1>>) { return "nb::ndarray"; });
  m.def("ndarray", [](nb::ndarray<> x) { return x.ndim(); });
}

/// Calls `f` from several levels below, for errors that come from inside.
void inside(nb::module_& m) {
  m.def("call", [](nb::callable f, nb::args args) { return f(*args); });
  m.def("call", [](view<const float, 1> x, nb::callable) { return x.size(); });
  m.def("recurse", [](view<const float, 1>) { return 0; });
  m.def("recurse", [](nb::list l) -> nb::object {
    nb::module_ self = nb::module_::import_("arrays_nb");
    return self.attr("recurse")(l[0]);
  });
  m.def("without_gil", [](view<const double, 1> x, int rounds) {
    double total = 0;
    for (int i = 0; i < rounds; ++i) {
      nb::gil_scoped_release released;
      total += sum(x);
    }
    return total;
  });
}

}  // namespace

NB_MODULE(arrays_nb, m) {
  parameters(m);
  nothing(m);
  overloads(m);
  copies(m);
  results(m);
  containers(m);
  classes(m);
  beside_ndarray(m);
  inside(m);
  anyarray::casters::install(m);
}
