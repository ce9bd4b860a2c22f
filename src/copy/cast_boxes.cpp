// SPDX-License-Identifier: Apache-2.0
// An array of any strides is cast in boxes: the source's items are moved together in the order in which the target
// lies, and cast as they lie there, or cast and moved apart where the target's rows are short. Boxes fit into the first
// cache; but where the order of the axes differs, they are large enough for long runs along both, and fit into the last
// one.
#include <atomic>
#include <cstring>

#include "src/copy/caches.h"
#include "src/copy/cast_layouts.h"
#include "src/copy/memory.h"
#include "src/copy/move.h"
#include "src/copy/threads.h"

namespace anyarray {
namespace {

/// Rows of the target that are shorter are cast together and then moved: a kernel's call would cost more.
constexpr std::int64_t least_row = 16;
/// What is read or written at once is a cache line at least.
constexpr std::int64_t line = 64;
/// Of a box that is turned round, on the side that is wider. Measured: at an eighth of it transposing takes half as
/// long again.
constexpr std::int64_t box_bytes = std::int64_t{1} << 21;

struct Boxes {
  const CastJob& job;
  char* to;
  const char* from;
  const Axis* axes;
  int n;
  bool stream;                    ///< the target goes past the caches, which couldn't hold it
  std::int64_t room;              ///< items that a box may have
  std::int64_t extent[max_axes];  ///< of a box; less at the ends
};

std::int64_t at_most(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
std::int64_t boxes_along(const Axis& axis, std::int64_t extent) noexcept { return (axis.extent + extent - 1) / extent; }

/// The axis along which the source lies densest.
int source_axis(const Axis* axes, int n) noexcept {
  int best = n - 1;
  for (int i = n - 2; i >= 0; --i) {
    if (magnitude(axes[i].from) < magnitude(axes[best].from)) best = i;
  }
  return best;
}

/// Lines of the source and runs of the target, along the axes on which these lie densest, then as much of the others,
/// from the innermost outwards, as fits.
void choose_extents(Boxes& b) noexcept {
  const int inner = b.n - 1;
  const int across = source_axis(b.axes, b.n);
  for (int i = 0; i < b.n; ++i) b.extent[i] = 1;
  std::int64_t room = b.room;
  if (across != inner) {
    const std::int64_t rows = at_most(64, room);
    const std::int64_t columns = room / rows;
    b.extent[inner] = at_most(columns, b.axes[inner].extent);
    b.extent[across] = at_most(room / b.extent[inner], b.axes[across].extent);
    if (b.extent[inner] == columns) b.extent[across] = at_most(rows, b.extent[across]);
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

/// What one thread works with.
struct Rooms {
  char* source;
  char* target;
  Scratch& scratch;
};

/// How many of the innermost axes lie without gaps, for items of so many bytes, in their order.
template <class Step>
int dense_axes(const Box& box, std::int64_t bytes, Step step) noexcept {
  int n = 0;
  for (int i = box.n - 1; i >= 0 && step(box.axes[i]) == bytes; --i, ++n) bytes *= box.axes[i].extent;
  return n;
}

const char* gathered(const CastJob& job, const Box& box, char* room) noexcept {
  const std::int64_t bytes = bytes_from(job.chain);
  if (job.turn_from <= 1 && dense_axes(box, bytes, [](const Axis& a) { return a.from; }) == box.n) return box.from;
  Axis axes[max_axes];
  std::int64_t step = bytes;
  for (int i = box.n - 1; i >= 0; --i) {
    axes[i] = {box.axes[i].extent, step, box.axes[i].from};
    step *= axes[i].extent;
  }
  move_elements(room, box.from, axes, box.n, {static_cast<std::size_t>(bytes), job.turn_from});
  return room;
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

/// Past the caches, but for parts of cache lines at the ends. `from` is Scratch::target, shifted as `to` is.
void stream_row(char* to, const char* from, std::int64_t bytes) noexcept {
  const auto shift = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line);
  const std::int64_t head = at_most((line - shift) % line, bytes);
  const std::int64_t lines = (bytes - head) / line * line;
  std::memcpy(to, from, static_cast<std::size_t>(head));
  if (lines > 0) cast_kernels().stream(to + head, from + head, lines, 0);
  std::memcpy(to + head + lines, from + head + lines, static_cast<std::size_t>(bytes - head - lines));
}

/// Items that lie without gaps on both sides.
void cast_row(const CastJob& job, char* to, const char* from, std::int64_t n, bool stream, Scratch& scratch) noexcept {
  const Chain& c = job.chain;
  if (c.steps == 1 && !stream) return run_step(c, 0, to, from, n);
  for (std::int64_t done = 0; done < n; done += job.block) {
    const std::int64_t count = at_most(job.block, n - done);
    char* const there = to + done * bytes_to(c);
    char* const made = stream ? scratch.target + reinterpret_cast<std::uintptr_t>(there) % line : there;
    run_steps(c, 0, c.steps, made, from + done * bytes_from(c), count, scratch);
    if (stream) stream_row(there, made, count * bytes_to(c));
  }
}

/// Rows of so many of the innermost axes.
void cast_rows(const CastJob& job, const Box& box, int dense, const char* from, bool stream,
               Scratch& scratch) noexcept {
  std::int64_t row = 1;
  for (int i = box.n - dense; i < box.n; ++i) row *= box.axes[i].extent;
  std::int64_t index[max_axes] = {};
  char* to = box.to;
  for (;;) {
    cast_row(job, to, from, row, stream, scratch);
    from += row * bytes_from(job.chain);
    int dim = box.n - dense - 1;
    for (; dim >= 0; --dim) {
      to += box.axes[dim].to;
      if (++index[dim] < box.axes[dim].extent) break;
      to -= box.axes[dim].to * box.axes[dim].extent;
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}

/// The lines of a box that is gathered next, so that they come while another one is cast.
void fetch(const Box& box) noexcept {
  int run = box.n - 1;
  for (int i = 0; i < box.n; ++i) {
    if (magnitude(box.axes[i].from) < magnitude(box.axes[run].from)) run = i;
  }
  const std::int64_t bytes = box.axes[run].extent * box.axes[run].from;
  std::int64_t index[max_axes] = {};
  const char* from = box.from;
  for (;;) {
    for (std::int64_t at = 0; at < bytes; at += line) __builtin_prefetch(from + at, 0, 2);
    int dim = box.n - 1;
    for (; dim >= 0; --dim) {
      if (dim == run) continue;
      from += box.axes[dim].from;
      if (++index[dim] < box.axes[dim].extent) break;
      from -= box.axes[dim].from * box.axes[dim].extent;
      index[dim] = 0;
    }
    if (dim < 0) return;
  }
}

void cast_box(const Boxes& b, const Box& box, const Box* next, const Rooms& rooms) noexcept {
  const CastJob& job = b.job;
  const std::int64_t bytes = bytes_to(job.chain);
  const char* const from = gathered(job, box, rooms.source);
  if (next != nullptr && from == rooms.source) fetch(*next);
  const int dense = job.turn_to > 1 ? 0 : dense_axes(box, bytes, [](const Axis& a) { return a.to; });
  if (dense == box.n || (dense > 0 && box.axes[box.n - dense].extent * box.axes[box.n - 1].extent >= least_row)) {
    return cast_rows(job, box, dense, from, b.stream, rooms.scratch);
  }
  cast_row(job, rooms.target, from, box.items, false, rooms.scratch);
  scatter(job, box, rooms.target);
}

Box box_at(const Boxes& b, const std::int64_t* index) noexcept {
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
  return box;
}

/// The boxes from number `begin` on, the innermost axis first.
void work_through(const Boxes& b, std::int64_t begin, std::int64_t end, const Rooms& rooms) noexcept {
  std::int64_t index[max_axes];
  std::int64_t left = begin;
  for (int i = b.n - 1; i >= 0; --i) {
    const std::int64_t count = boxes_along(b.axes[i], b.extent[i]);
    index[i] = left % count;
    left /= count;
  }
  Box box = box_at(b, index);
  for (std::int64_t k = begin; k < end; ++k) {
    for (int i = b.n - 1; i >= 0; --i) {
      if (++index[i] < boxes_along(b.axes[i], b.extent[i])) break;
      index[i] = 0;
    }
    const Box next = box_at(b, index);
    cast_box(b, box, k + 1 < end ? &next : nullptr, rooms);
    box = next;
  }
  if (b.stream) std::atomic_thread_fence(std::memory_order_seq_cst);  // what went past the caches is there for others
}

/// Boxes that fit into Scratch are there without memory.
bool is_small(const Boxes& b) noexcept { return b.room <= b.job.block; }

void boxes_part(void* what, std::int64_t begin, std::int64_t end) noexcept {
  const Boxes& b = *static_cast<const Boxes*>(what);
  Scratch scratch;
  if (is_small(b)) return work_through(b, begin, end, {scratch.source, scratch.target, scratch});
  const std::int64_t source = (b.room * bytes_from(b.job.chain) + line - 1) / line * line;
  auto* const rooms = static_cast<char*>(allocate_memory(source + b.room * bytes_to(b.job.chain)));
  if (rooms != nullptr) {
    work_through(b, begin, end, {rooms, rooms + source, scratch});
    return free_memory(rooms);
  }
  // Without memory, each of the boxes in boxes that need none.
  for (std::int64_t k = begin; k < end; ++k) {
    Axis axes[max_axes];
    char* to = b.to;
    const char* from = b.from;
    std::int64_t left = k;
    for (int i = b.n - 1; i >= 0; --i) {
      const std::int64_t count = boxes_along(b.axes[i], b.extent[i]);
      const std::int64_t first = left % count * b.extent[i];
      axes[i] = {at_most(b.extent[i], b.axes[i].extent - first), b.axes[i].to, b.axes[i].from};
      to += first * axes[i].to;
      from += first * axes[i].from;
      left /= count;
    }
    Boxes small{b.job, to, from, axes, b.n, b.stream, b.job.block, {}};
    choose_extents(small);
    std::int64_t count = 1;
    for (int i = 0; i < b.n; ++i) count *= boxes_along(axes[i], small.extent[i]);
    work_through(small, 0, count, {scratch.source, scratch.target, scratch});
  }
}

}  // namespace

void cast_boxes(const CastJob& job, char* to, const char* from, const Axis* axes, int n) noexcept {
  std::int64_t items = 1;
  for (int i = 0; i < n; ++i) items *= axes[i].extent;
  const std::int64_t bytes = items * (bytes_to(job.chain) + bytes_from(job.chain));
  Boxes b{job, to, from, axes, n, bytes >= last_cache(), job.block, {}};
  const std::int64_t wider = bytes_to(job.chain) > bytes_from(job.chain) ? bytes_to(job.chain) : bytes_from(job.chain);
  if (items > job.block && source_axis(axes, n) != n - 1) {
    // Several for each thread.
    const std::int64_t share = items / 8 > job.block ? items / 8 : job.block;
    b.room = at_most(share, box_bytes / wider);
  }
  choose_extents(b);
  std::int64_t count = 1;
  for (int i = 0; i < n; ++i) count *= boxes_along(axes[i], b.extent[i]);
  in_parts(count, 1, bytes, boxes_part, &b);
}

}  // namespace anyarray
