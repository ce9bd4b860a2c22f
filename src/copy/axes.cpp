// SPDX-License-Identifier: Apache-2.0
#include "src/copy/axes.h"

namespace anyarray {

int arrange(Axis* axes, int n) noexcept {
  int used = 0;
  for (int i = 0; i < n; ++i) {
    if (axes[i].extent > 1) axes[used++] = axes[i];
  }
  n = used;
  for (int i = 1; i < n; ++i) {
    const Axis axis = axes[i];
    int k = i;
    for (; k > 0 && magnitude(axes[k - 1].to) < magnitude(axis.to); --k) axes[k] = axes[k - 1];
    axes[k] = axis;
  }
  int kept = 0;
  for (int i = 1; i < n; ++i) {
    Axis& outer = axes[kept];
    const Axis& inner = axes[i];
    std::int64_t to = 0;
    std::int64_t from = 0;
    if (!__builtin_mul_overflow(inner.to, inner.extent, &to) && to == outer.to &&
        !__builtin_mul_overflow(inner.from, inner.extent, &from) && from == outer.from) {
      outer = {outer.extent * inner.extent, inner.to, inner.from};
    } else {
      axes[++kept] = inner;
    }
  }
  return n > 0 ? kept + 1 : 0;
}

}  // namespace anyarray
