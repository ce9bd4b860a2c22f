// SPDX-License-Identifier: Apache-2.0
// says: move a container in
#include <anyarray/array.h>

#include <utility>
#include <vector>

bool adopted(std::vector<int> v) {
#ifdef REFUSED
  return anyarray::array<int, 1>::adopt(v).ok();
#else
  return anyarray::array<int, 1>::adopt(std::move(v)).ok();
#endif
}
