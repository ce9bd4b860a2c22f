// SPDX-License-Identifier: Apache-2.0
// says: (use of|overload resolution selected|uses|invokes a|to|call to).*deleted
#include <anyarray/python.h>

using Matrix = anyarray::Taken<anyarray::view<const float, 2>>;

bool both(const anyarray::CApi* api, PyObject* obj) {
  const Matrix x(api, obj);
#ifdef REFUSED
  const Matrix y = x;
#else
  const Matrix& y = x;
#endif
  return y.ok();
}
