// SPDX-License-Identifier: Apache-2.0
// An algorithm that somebody wrote for mdspan, given arrays of any library.
#include <anyarray/python.h>
#ifdef USE_LIBCUDACXX
#include <anyarray/mdspan_cuda.h>
using Kind = anyarray::cuda_mdspan;
#else
#include <anyarray/mdspan.h>
using Kind = anyarray::std_mdspan;
#endif

namespace {

// One step of the heat equation: it knows mdspan, and nothing of Python or anyarray.
template <class In, class Out>
void diffuse(const In& in, const Out& out, double rate) {
  const auto at = [](const auto& m, std::int64_t i, std::int64_t j) -> auto& {
    return m.accessor().access(m.data_handle(), static_cast<std::size_t>(m.mapping()(i, j)));
  };
  const std::int64_t rows = in.extent(0);
  const std::int64_t columns = in.extent(1);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const double here = at(in, i, j);
      double around = 0;
      around += i > 0 ? at(in, i - 1, j) - here : 0;
      around += i + 1 < rows ? at(in, i + 1, j) - here : 0;
      around += j > 0 ? at(in, i, j - 1) - here : 0;
      around += j + 1 < columns ? at(in, i, j + 1) - here : 0;
      at(out, i, j) = here + rate * around;
    }
  }
}

const anyarray::CApi* api;

// step(temperature, rate): the temperatures a step later, a new array in C order.
PyObject* step(PyObject*, PyObject* arguments) {
  PyObject* object = nullptr;
  double rate = 0;
  if (!PyArg_ParseTuple(arguments, "Od:step", &object, &rate)) return nullptr;
  const auto taken = anyarray::borrow<const double, 2>(api, object);
  if (!taken.ok()) return nullptr;
  const auto temperature = *taken;
  // Strides that are known when the program runs: layout_stride, which can't walk backwards.
  const auto in = temperature.mdspan<Kind>();
  if (!in) return PyErr_Format(PyExc_ValueError, "the temperatures: %s", in.why());
  const auto out = anyarray::array<double, 2, anyarray::c_order>::make({temperature.extent(0), temperature.extent(1)});
  if (!out.ok()) return PyErr_NoMemory();
  diffuse(*in, out->mdspan<Kind>(), rate);  // layout_right: known when it is compiled
  return out.to_array(api);
}

PyMethodDef methods[] = {
    {"step", step, METH_VARARGS, "step(temperature, rate, /)\n--\n\nThe temperatures a step later."},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT, "heat", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_heat() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&definition) : nullptr;
}
