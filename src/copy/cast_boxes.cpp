// SPDX-License-Identifier: Apache-2.0
// An array of any strides is cast in boxes that fit into the first cache: the source's items are moved together in the
// order in which the target lies, cast as they lie there, and moved apart where the target has gaps.
#include <cstring>

#include "src/copy/cast_layouts.h"
#include "src/copy/move.h"
#include "src/copy/threads.h"

namespace anyarray {
namespace {

/// Rows of the target that are shorter are cast together and then moved: a kernel's call would cost more.
constexpr std::int64_t least_row = 16;
/// What is read or written at once is a cache line at least.
constexpr std::int64_t line = 64;

struct Boxes {
  const CastJob& job;
  char* to;
  const char* from;
  const Axis* axes;
  int n;
  std::int64_t extent[max_axes];  ///< of a box; less at the ends
};

std::int64_t at_most(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
std::int64_t magnitude(std::int64_t v) noexcept { return v < 0 ? -v : v; }
std::int64_t boxes_along(const Axis& axis, std::int64_t extent) noexcept { return (axis.extent + extent - 1) / extent; }

/// The axis along which the source lies densest.
int source_axis(const Axis* axes, int n) noexcept {
  int best = n - 1;
  for (int i = n - 2; i >= 0; --i) {
    if (magnitude(axes[i].from) < magnitude(axes[best].from)) best = i;
  }
  return best;
}

/// A square, so to say, of whole cache lines on both sides, then as much of the axes from the innermost outwards as
/// fits.
void choose_extents(Boxes& b) noexcept {
  const int inner = b.n - 1;
  const int across = source_axis(b.axes, b.n);
  for (int i = 0; i < b.n; ++i) b.extent[i] = 1;
  std::int64_t room = b.job.block;
  if (across != inner) {
    const Chain& c = b.job.chain;
    std::int64_t rows = at_most(at_most(line / bytes_from(c) + 15, 64) / 16 * 16, room / 16);
    std::int64_t columns = at_most(at_most(line / bytes_to(c) + 15, 64) / 16 * 16, room / rows);
    while (rows * columns * 2 <= room) (rows < columns ? rows : columns) *= 2;
    b.extent[inner] = at_most(columns, b.axes[inner].extent);
    b.extent[across] = at_most(room / b.extent[inner], at_most(rows, b.axes[across].extent));
    room /= b.extent[inner] * b.extent[across];
  }
  for (int i = inner; i >= 0 && room > 1; --i) {
    const std::int64_t more = at_most(room, boxes_along(b.axes[i], b.extent[i]));
    room /= more;
    b.extent[i] = at_most(b.extent[i] * more, b.axes[i].extent);
  }
}

/// One box: its axes, whose `to` are those of the target and `from` those of the source.
struct Box {
  char* to;
  const char* from;
  Axis axes[max_axes];
  int n;
  std::int64_t items;
};

/// Whether items of so many bytes lie without gaps, in the order of the axes.
template <class Step>
bool is_dense(const Box& box, std::int64_t bytes, Step step) noexcept {
  for (int i = box.n - 1; i >= 0; --i) {
    if (step(box.axes[i]) != bytes) return false;
    bytes *= box.axes[i].extent;
  }
  return true;
}

const char* gathered(const CastJob& job, const Box& box, char* room) noexcept {
  const std::int64_t bytes = bytes_from(job.chain);
  if (job.turn_from <= 1 && is_dense(box, bytes, [](const Axis& a) { return a.from; })) return box.from;
  Axis axes[max_axes];
  std::int64_t step = bytes;
  for (int i = box.n - 1; i >= 0; --i) {
    axes[i] = {box.axes[i].extent, step, box.axes[i].from};
    step *= axes[i].extent;
  }
  move_elements(room, box.from, axes, box.n, {static_cast<std::size_t>(bytes), job.turn_from});
  return room;
}

/// The last step, a row of the target at a time.
void cast_rows(const Chain& c, const Box& box, const char* from) noexcept {
  const int outer = box.n - 1;
  const std::int64_t row = box.axes[outer].extent;
  const int last = c.steps - 1;
  std::int64_t index[max_axes] = {};
  char* to = box.to;
  for (;;) {
    run_step(c, last, to, from, row);
    from += row * c.bits[last] / 8;
    int dim = outer - 1;
    for (; dim >= 0; --dim) {
      to += box.axes[dim].to;
      if (++index[dim] < box.axes[dim].extent) break;
      to -= box.axes[dim].to * box.axes[dim].extent;
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}

void scatter(const CastJob& job, const Box& box, const char* from) noexcept {
  const std::int64_t bytes = bytes_to(job.chain);
  Axis axes[max_axes];
  std::int64_t step = bytes;
  for (int i = box.n - 1; i >= 0; --i) {
    axes[i] = {box.axes[i].extent, box.axes[i].to, step};
    step *= axes[i].extent;
  }
  move_elements(box.to, from, axes, box.n, {static_cast<std::size_t>(bytes), job.turn_to});
}

void cast_box(const CastJob& job, const Box& box, Scratch& scratch) noexcept {
  const Chain& c = job.chain;
  const char* from = gathered(job, box, scratch.source);
  if (job.turn_to <= 1) {
    const std::int64_t bytes = bytes_to(c);
    if (is_dense(box, bytes, [](const Axis& a) { return a.to; })) {
      return run_steps(c, 0, c.steps, box.to, from, box.items, scratch);
    }
    if (box.axes[box.n - 1].to == bytes && box.axes[box.n - 1].extent >= least_row) {
      if (c.steps > 1) {
        run_steps(c, 0, c.steps - 1, scratch.target, from, box.items, scratch);
        from = scratch.target;
      }
      return cast_rows(c, box, from);
    }
  }
  run_steps(c, 0, c.steps, scratch.target, from, box.items, scratch);
  scatter(job, box, scratch.target);
}

/// The boxes from number `begin` on, the innermost axis first.
void boxes_part(void* what, std::int64_t begin, std::int64_t end) noexcept {
  const Boxes& b = *static_cast<const Boxes*>(what);
  std::int64_t index[max_axes];
  std::int64_t left = begin;
  for (int i = b.n - 1; i >= 0; --i) {
    const std::int64_t count = boxes_along(b.axes[i], b.extent[i]);
    index[i] = left % count;
    left /= count;
  }
  Scratch scratch;
  for (std::int64_t k = begin; k < end; ++k) {
    Box box;
    box.to = b.to;
    box.from = b.from;
    box.n = 0;
    box.items = 1;
    for (int i = 0; i < b.n; ++i) {
      const Axis& axis = b.axes[i];
      const std::int64_t first = index[i] * b.extent[i];
      const std::int64_t extent = at_most(b.extent[i], axis.extent - first);
      box.to += first * axis.to;
      box.from += first * axis.from;
      box.items *= extent;
      if (extent > 1) box.axes[box.n++] = {extent, axis.to, axis.from};
    }
    if (box.n == 0) box.axes[box.n++] = {1, bytes_to(b.job.chain), bytes_from(b.job.chain)};
    cast_box(b.job, box, scratch);
    for (int i = b.n - 1; i >= 0; --i) {
      if (++index[i] < boxes_along(b.axes[i], b.extent[i])) break;
      index[i] = 0;
    }
  }
}

}  // namespace

void cast_boxes(const CastJob& job, char* to, const char* from, const Axis* axes, int n) noexcept {
  Boxes b{job, to, from, axes, n, {}};
  choose_extents(b);
  std::int64_t count = 1;
  std::int64_t items = 1;
  for (int i = 0; i < n; ++i) {
    count *= boxes_along(axes[i], b.extent[i]);
    items *= axes[i].extent;
  }
  const std::int64_t bytes = items * (bytes_to(job.chain) + bytes_from(job.chain));
  in_parts(count, 1, bytes, boxes_part, &b);
}

}  // namespace anyarray
