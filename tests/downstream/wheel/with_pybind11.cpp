// SPDX-License-Identifier: Apache-2.0
#include <pybind11/pybind11.h>

#include "total.h"

PYBIND11_MODULE(with_pybind11, m) {
  static const anyarray::CApi* api = anyarray::import_anyarray();
  if (api == nullptr) throw pybind11::error_already_set();
  m.def("total", [](pybind11::handle x) {
    double sum;
    if (!total(api, x.ptr(), &sum)) throw pybind11::error_already_set();
    return sum;
  });
}
