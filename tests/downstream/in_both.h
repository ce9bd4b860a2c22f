// SPDX-License-Identifier: Apache-2.0
// The functions that both binding libraries' modules offer, for the tests of in_both.py. Who includes this has the
// casters and says first: `bound`, the library's namespace; `return_policy`, its enumeration; and `held<T>`, a vector
// of T in containers, where nanobind knows views and pybind11 arrays only.
#pragma once

#include <anyarray/complex.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace in_both {

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

template <class View>
double sum(const View& x) {
  double total = 0;
  for (auto value : x) total += static_cast<double>(value);
  return total;
}

inline double sum(const array<const double, 1>& x) { return sum(*x); }

/// The address that a view shows, to see whether anything was copied.
template <class View>
std::uintptr_t address(const View& x) {
  return reinterpret_cast<std::uintptr_t>(x.data());
}

inline array<float, 1> twice(view<const float, 1> x) {
  auto made = array<float, 1>::make({x.extent(0)});
  for (std::int64_t i = 0; i < x.extent(0); ++i) made(i) = 2 * x(i);
  return made;
}

/// A class that keeps an array, and lends memory of its own.
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

inline void parameters(bound::module_& m) {
  m.def("matrix", [](view<const float, 2> x) { return address(x); }, bound::arg("x"));
  m.def("write", [](view<float, 1> x, float value) { x(0) = value; }, bound::arg("x"), bound::arg("value"));
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

inline void nothing(bound::module_& m) {
  m.def("optional", [](std::optional<view<const float, 1>> x) { return x ? x->size() : -1; });
  m.def(
      "defaulted", [](int, std::optional<view<const float, 1>> x) { return x ? x->size() : -1; }, bound::arg("n"),
      bound::arg("x") = bound::none());
  m.def("optional_array", [](std::optional<array<const float, 1>> x) { return x; }, bound::arg("x").none());
}

inline void overloads(bound::module_& m) {
  m.def("which", [](view<const float, 1>) { return "float32, 1"; });
  m.def("which", [](view<const float, 2, f_order>) { return "float32, 2, f_order"; });
  m.def("which", [](view<const float, 2>) { return "float32, 2"; });
  m.def("which", [](view<const double>) { return "float64"; });
  m.def("which", [](view<const float, dynamic_rank, strided, cuda>) { return "float32, cuda"; });
  m.def("which", [](int) { return "int"; });
  m.def("writable_first", [](view<float, 1>) { return "writable"; });
  m.def("writable_first", [](view<const float, 1>) { return "read-only"; });
}

inline void copies(bound::module_& m) {
  m.def("copied", [](or_copy<view<const float, 1>> x) { return std::make_pair(address(x), x(0)); });
  m.def("never_copied", [](or_copy<view<const float, 1>> x) { return x(0); }, bound::arg("x").noconvert());
  m.def("kept_copy", [](or_copy<array<const float, 2, c_order>> x) { return array<const float, 2, c_order>(x); });
  m.def("exact_first", [](or_copy<view<const float, 1>>) { return "float32"; });
  m.def("exact_first", [](view<const double, 1>) { return "float64"; });
  m.def("optional_copy", [](std::optional<or_copy<view<const float, 1>>> x) { return x ? (*x)(0) : -1; });
  m.def("copied_list", [](std::vector<or_copy<held<const float>>> xs) {
    float total = 0;
    for (const auto& x : xs) total += x(0);
    return total;
  });
}

inline void results(bound::module_& m) {
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
  m.def("as_given_object", [](bound::handle h) {
    const auto x = bound::cast<array<const float, 1>>(h);
    return given_like{twice(*x), h.ptr()};
  });
  m.def("copy_of", [](view<const float, 1> x) { return x; });
  m.def(
      "forever",
      [] {
        static float memory[] = {1, 2};
        return view<float, 1>(memory, {2});
      },
      return_policy::reference);
  m.def("maybe", [](bool is) { return is ? std::optional(array<double, 1>::make({1})) : std::nullopt; });
}

inline void containers(bound::module_& m) {
  m.def("list_sum", [](std::vector<held<const double>> xs) {
    double total = 0;
    for (const auto& x : xs) total += sum(x);
    return total;
  });
  m.def("pair_sum", [](std::pair<held<const double>, double> x) { return sum(x.first) * x.second; });
  m.def("nested", [](std::map<std::string, std::vector<std::tuple<held<const double>, int>>> all) {
    double total = 0;
    for (const auto& [name, pairs] : all) {
      for (const auto& [x, times] : pairs) total += sum(x) * times;
    }
    return total;
  });
  m.def("either",
        [](std::variant<int, held<const double>> x) { return x.index() == 0 ? std::get<0>(x) : sum(std::get<1>(x)); });
  m.def("list_of_optional", [](std::vector<std::optional<held<const double>>> xs) {
    double total = 0;
    for (const auto& x : xs) total += x ? sum(*x) : 1000;
    return total;
  });
  m.def("two", [](std::array<held<const double>, 2> xs) { return sum(xs[0]) - sum(xs[1]); });
  m.def("arrays_back", [](std::vector<array<const double, 1>> xs) { return xs; });
  m.def("cast_array", [](bound::handle h) {
    const auto x = bound::cast<array<const double, 1>>(h);
    return x->extent(0);
  });
}

/// What both offer of the class, and a module inside the module.
template <class Class>
void classes(bound::module_& m, Class& model) {
  model.def(bound::init<array<const double, 1>>(), bound::arg("weights"))
      .def("dot", &Model::dot)
      .def_static("norm", [](view<const double, 1> x) { return sum(x); })
      .def("__add__", [](const Model& self, view<const double, 1> x) { return self.dot(x); }, bound::is_operator());
  bound::module_ sub = m.def_submodule("sub");
  sub.def("total", [](view<const double, 1> x) { return sum(x); });
}

/// All of the above, but for the class, which each library makes in its own way.
inline void functions(bound::module_& m) {
  parameters(m);
  nothing(m);
  overloads(m);
  copies(m);
  results(m);
  containers(m);
}

}  // namespace in_both
