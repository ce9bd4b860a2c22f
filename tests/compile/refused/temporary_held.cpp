// SPDX-License-Identifier: Apache-2.0
// says: (use of|overload resolution selected|uses|invokes a|to).*deleted
#include <anyarray/array.h>

int rank(const anyarray::CApi* api, PyObject* obj) {
#ifdef REFUSED
  const anyarray::Descriptor& d = *anyarray::Held(api, obj);
#else
  const anyarray::Held held(api, obj);
  if (!held.ok()) return -1;
  const anyarray::Descriptor& d = *held;
#endif
  return d.ndim;
}
