// SPDX-License-Identifier: Apache-2.0
#include "src/copy/walk.h"

namespace anyarray {
namespace {

struct Walk {
  Run run;
  const void* how;
  char* to;
  const char* from;
  const Axis* axes;
  int n;
};

void go(const Walk& w, int dim, char* to, const char* from, std::int64_t begin, std::int64_t end) noexcept {
  const Axis& axis = w.axes[dim];
  to += begin * axis.to;
  from += begin * axis.from;
  if (dim + 1 == w.n) return w.run(w.how, to, axis.to, from, axis.from, end - begin);
  for (; begin < end; ++begin, to += axis.to, from += axis.from) go(w, dim + 1, to, from, 0, w.axes[dim + 1].extent);
}

}  // namespace

void walk(const Descriptor& to, const Descriptor& from, Run run, const void* how) noexcept {
  Axis axes[max_axes];
  for (int i = 0; i < to.ndim; ++i) axes[i] = {to.shape[i], to.strides[i], from.strides[i]};
  int n = arrange(axes, to.ndim);
  if (n == 0) axes[n++] = {1, 0, 0};
  const Walk all{run, how, static_cast<char*>(to.data), static_cast<const char*>(from.data), axes, n};
  in_parts(
      axes[0].extent, 1, to.nbytes() + from.nbytes(),
      [](void* what, std::int64_t begin, std::int64_t end) noexcept {
        const auto& w = *static_cast<const Walk*>(what);
        go(w, 0, w.to, w.from, begin, end);
      },
      const_cast<Walk*>(&all));
}

std::int64_t find_first(const Descriptor& d, bool (*is)(const void* how, const char* element) noexcept,
                        const void* how) noexcept {
  const std::int64_t n = d.size();
  std::int64_t index[max_ndim] = {};
  const char* at = static_cast<const char*>(d.data);
  for (std::int64_t i = 0; i < n; ++i) {
    if (!is(how, at)) return i;
    for (int dim = d.ndim - 1; dim >= 0; --dim) {
      at += d.strides[dim];
      if (++index[dim] < d.shape[dim]) break;
      at -= d.strides[dim] * d.shape[dim];
      index[dim] = 0;
    }
  }
  return -1;
}

}  // namespace anyarray
