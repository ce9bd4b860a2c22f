// SPDX-License-Identifier: Apache-2.0
#include "src/copy/move.h"

#include <algorithm>
#include <cstring>

#include "src/copy/reversed.h"

namespace anyarray {
namespace {

template <std::size_t size>
void move_run(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t n) noexcept {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
}
void move_any(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t n,
              std::size_t size) noexcept {
  switch (size) {
    case 1:
      return move_run<1>(to, to_stride, from, from_stride, n);
    case 2:
      return move_run<2>(to, to_stride, from, from_stride, n);
    case 4:
      return move_run<4>(to, to_stride, from, from_stride, n);
    case 8:
      return move_run<8>(to, to_stride, from, from_stride, n);
    case 16:
      return move_run<16>(to, to_stride, from, from_stride, n);
    default:
      for (std::int64_t i = 0; i < n; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
  }
}

template <class T>
void turn_each(char* p, const char* end) noexcept {
  for (; p < end; p += sizeof(T)) {
    T v;
    std::memcpy(&v, p, sizeof v);
    v = reversed(v);
    std::memcpy(p, &v, sizeof v);
  }
}
/// Reverses the bytes of each unit.
void turn_units(char* p, std::size_t size, std::size_t unit) noexcept {
  const char* const end = p + size;
  if (unit == 2) return turn_each<std::uint16_t>(p, end);
  if (unit == 4) return turn_each<std::uint32_t>(p, end);
  if (unit == 8) return turn_each<std::uint64_t>(p, end);
  for (; p < end; p += unit) std::reverse(p, p + unit);
}

void move_line(char* to, const char* from, const Axis& axis, Moved what) noexcept {
  const auto size = static_cast<std::int64_t>(what.size);
  if (axis.to == size && axis.from == size) {
    std::memcpy(to, from, static_cast<std::size_t>(axis.extent) * what.size);
  } else {
    move_any(to, axis.to, from, axis.from, axis.extent, what.size);
  }
  if (what.turn <= 1) return;
  for (std::int64_t i = 0; i < axis.extent; ++i) turn_units(to + i * axis.to, what.size, what.turn);
}

}  // namespace

void move_elements(char* to, const char* from, const Axis* axes, int n, Moved what) noexcept {
  Axis own[max_axes];
  std::copy(axes, axes + n, own);
  n = arrange(own, n);
  const auto size = static_cast<std::int64_t>(what.size);
  if (what.turn <= 1 && n > 1 && own[n - 1].to == size && own[n - 1].from == size) {
    what.size *= static_cast<std::size_t>(own[--n].extent);  // what is dense in both moves as one element
  }
  const Axis inner = n > 0 ? own[n - 1] : Axis{1, 0, 0};
  std::int64_t index[max_axes] = {};
  for (;;) {
    move_line(to, from, inner, what);
    int dim = n - 2;
    for (; dim >= 0; --dim) {
      const Axis& axis = own[dim];
      if (++index[dim] < axis.extent) {
        to += axis.to;
        from += axis.from;
        break;
      }
      index[dim] = 0;
      to -= axis.to * (axis.extent - 1);
      from -= axis.from * (axis.extent - 1);
    }
    if (dim < 0) return;
  }
}

}  // namespace anyarray
