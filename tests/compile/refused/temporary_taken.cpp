// SPDX-License-Identifier: Apache-2.0
// says: (use of|overload resolution selected|uses|invokes a|to).*deleted
#include <anyarray/python.h>

float first(const anyarray::CApi* api, PyObject* obj) {
#ifdef REFUSED
  const auto x = *anyarray::borrow<const float, 1>(api, obj);
#else
  const auto taken = anyarray::borrow<const float, 1>(api, obj);
  if (!taken.ok()) return -1;
  const auto x = *taken;
#endif
  return x[0];
}
