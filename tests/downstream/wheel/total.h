// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <anyarray/python.h>

/// The sum of a float64 array of one dimension; false with the exception set.
bool total(const anyarray::CApi* api, PyObject* x, double* sum);
