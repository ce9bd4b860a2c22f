// SPDX-License-Identifier: Apache-2.0
#include <nanobind/nanobind.h>

#include "total.h"

NB_MODULE(with_nanobind, m) {
  static const anyarray::CApi* api = anyarray::import_anyarray();
  if (api == nullptr) nanobind::raise_python_error();
  m.def("total", [](nanobind::handle x) {
    double sum;
    if (!total(api, x.ptr(), &sum)) nanobind::raise_python_error();
    return sum;
  });
}
