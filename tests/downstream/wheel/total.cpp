// SPDX-License-Identifier: Apache-2.0
#include "total.h"

#include <cstring>

bool total(const anyarray::CApi* api, PyObject* x, double* sum) {
  anyarray::Request request;
  request.ndim = 1;
  request.has_dtype = true;
  request.dtype = anyarray::make_dtype(anyarray::TypeCode::float_, 64);
  auto a = anyarray::borrow(api, x, &request);
  if (!a.ok()) return false;
  *sum = 0;
  for (std::int64_t i = 0; i < a->shape[0]; ++i) {
    double value;
    std::memcpy(&value, static_cast<const char*>(a->data) + i * a->strides[0], sizeof value);
    *sum += value;
  }
  return true;
}
