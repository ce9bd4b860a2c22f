// SPDX-License-Identifier: Apache-2.0
// The functions of in_both.h with the nanobind casters, and what these alone know, for test_nanobind.py.
#include <anyarray/casters/nanobind.h>

#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
namespace bound = nanobind;
using return_policy = nb::rv_policy;
template <class T>
using held = anyarray::view<T, 1>;

#include "../in_both.h"

using namespace in_both;

namespace {

void nothing_by_annotation(nb::module_& m) {
  m.def(
      "none_allowed", [](view<const float, 1> x) { return x.source() != nullptr ? x.size() : -1; },
      nb::arg("x").none());
  m.def("none_array", [](array<const float, 1> x) { return x.ok(); }, nb::arg("x").none() = nb::none());
}

void errors_of_functions(nb::module_& m) {
  m.def("next", [](view<const float, 1>) -> int { throw nb::next_overload(); });
  m.def("next", [](view<const double, 1>) { return 2; });
  m.def("raises", [](view<const float, 1>) { return 1; });
  m.def("raises", [](nb::object) -> int { throw nb::type_error("raises(): incompatible types, says the function"); });
}

void views_in_containers(nb::module_& m) {
  m.def("dynamic_list", [](std::vector<view<const double>> xs) {
    std::int64_t total = 0;
    for (const auto& x : xs) total += x.extent(x.rank() - 1) * 100 + x.stride(0);
    return total;
  });
  m.def("variants", [](std::vector<std::variant<view<const float, 1>, view<const double, 1>>> xs) {
    double total = 0;
    for (const auto& x : xs) total += std::visit([](auto typed) { return sum(typed); }, x);
    return total;
  });
  m.def("first_copy_in", [](std::vector<or_copy<view<const float, 1>>> xs, nb::callable look) {
    look(nb::borrow(static_cast<PyObject*>(const_cast<void*>(xs[0].source()))));
    return given_like{twice(xs[0]), xs[0]};
  });
  m.def("cast_view", [](nb::handle h) { return nb::cast<view<const double, 1>>(h).extent(0); });
  m.def("is_vector", [](nb::handle h) { return nb::isinstance<view<const double, 1>>(h); });
}

void a_class(nb::module_& m) {
  nb::class_<Model> model(m, "Model");
  classes(m, model);
  model
      .def_prop_rw(
          "weights", [](const Model& self) { return self.weights; },
          [](Model& self, array<const double, 1> w) { self.weights = w; })
      .def_prop_ro("memory", &Model::lend, nb::rv_policy::reference_internal)
      .def_prop_ro("copied", &Model::lend, nb::rv_policy::copy)
      .def("call", [](const Model&, nb::callable f, nb::object x) { return f(x); });
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
  functions(m);
  nothing_by_annotation(m);
  errors_of_functions(m);
  views_in_containers(m);
  a_class(m);
  beside_ndarray(m);
  inside(m);
  anyarray::casters::install(m);
}
