// SPDX-License-Identifier: Apache-2.0
// Few elements go one by one, at once; the rest is planned (move_plan.h).
#include "src/copy/move.h"

#include <cstring>

#include "src/copy/move_plan.h"
#include "src/copy/reversed.h"

namespace anyarray {
namespace {

/// Up to so many elements go one by one.
constexpr std::int64_t few = 32;
/// From so many bytes on, what is dense on both sides is cut into pieces instead of moved as one element.
constexpr std::size_t long_run = 4096;
/// Up to so many bytes next to each other are copied as they are.
constexpr std::size_t small = std::size_t{256} << 10;

template <std::size_t size>
void move_few(char* to, const char* from, const Axis* axes, int n) noexcept {
  const Axis inner = n > 0 ? axes[n - 1] : Axis{1, 0, 0};
  const Axis outer = n > 1 ? axes[n - 2] : Axis{1, 0, 0};
  if (n > 2) {
    for (std::int64_t i = 0; i < axes[0].extent; ++i) {
      move_few<size>(to + i * axes[0].to, from + i * axes[0].from, axes + 1, n - 1);
    }
    return;
  }
  for (std::int64_t i = 0; i < outer.extent; ++i, to += outer.to, from += outer.from) {
    for (std::int64_t k = 0; k < inner.extent; ++k) std::memcpy(to + k * inner.to, from + k * inner.from, size);
  }
}

/// The same for any unit.
void turn_few(char* to, const char* from, const Axis* axes, int n, Moved what) noexcept {
  if (n > 0) {
    for (std::int64_t i = 0; i < axes[0].extent; ++i) {
      turn_few(to + i * axes[0].to, from + i * axes[0].from, axes + 1, n - 1, what);
    }
    return;
  }
  for (std::size_t i = 0; i < what.size; ++i) to[i] = from[i - i % what.turn + what.turn - 1 - i % what.turn];
}

}  // namespace

void move_elements(char* to, const char* from, const Axis* axes, int n, Moved what) noexcept {
  Axis own[max_axes + 1];
  std::int64_t count = 1;
  for (int i = 0; i < n; ++i) {
    own[i] = axes[i];
    count *= axes[i].extent;
    if (own[i].to < 0) {  // backwards on both sides instead
      to += own[i].to * (own[i].extent - 1);
      from += own[i].from * (own[i].extent - 1);
      own[i].to = -own[i].to;
      own[i].from = -own[i].from;
    }
  }
  if (what.turn > 1 && what.turn < what.size) {  // unit by unit
    const auto unit = static_cast<std::int64_t>(what.turn);
    own[n++] = {static_cast<std::int64_t>(what.size) / unit, unit, unit};
    what.size = what.turn;
  }
  n = arrange(own, n);
  if (what.turn > 1) {
    // Kernels turn units of 2, 4, 8 and 16 bytes.
    if (count <= few || what.turn > 16 || (what.turn & (what.turn - 1)) != 0) return turn_few(to, from, own, n, what);
    return move_blocks(to, from, own, n, what);
  }
  if (n > 0 && own[n - 1].to == static_cast<std::int64_t>(what.size) && own[n - 1].from == own[n - 1].to) {
    what.size *= static_cast<std::size_t>(own[--n].extent);  // what is dense in both moves as one element
    count /= own[n].extent;
  }
  if (count <= few) {
    switch (what.size) {
      case 1:
        return move_few<1>(to, from, own, n);
      case 2:
        return move_few<2>(to, from, own, n);
      case 4:
        return move_few<4>(to, from, own, n);
      case 8:
        return move_few<8>(to, from, own, n);
      case 16:
        return move_few<16>(to, from, own, n);
      default:
        break;
    }
  }
  if (n == 0 && what.size <= small) {
    std::memcpy(to, from, what.size);
    return;
  }
  if (what.size >= long_run || n == 0) {
    own[n++] = {static_cast<std::int64_t>(what.size), 1, 1};
    what.size = 1;
  }
  move_blocks(to, from, own, n, what);
}

}  // namespace anyarray
