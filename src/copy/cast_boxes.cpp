// SPDX-License-Identifier: Apache-2.0
// An array of any strides is cast in blocks that fit into the first cache: a block of the source is moved together in
// the order in which the target lies, by the kernels of moves, cast in one run, and written run by run; past the caches
// where it is large. None of the three waits for memory to be read, so the lines of later blocks are asked for
// meanwhile.
#include <cstring>

#include "src/copy/cast_plan.h"
#include "src/copy/move.h"
#include "src/copy/threads.h"

namespace anyarray {
namespace {

using Plan = CastPlan;

constexpr std::int64_t line = 64;
/// As far in front lines are asked for: as many as a second cache holds of lines a power of two apart.
constexpr std::int64_t lines_ahead = 64;
/// Runs of the target that are shorter aren't worth a kernel's call each: they are cast together, and then copied.
constexpr std::int64_t least_run = 32;
/// Up to so many items are moved one by one, without a plan.
constexpr std::int64_t few = 32;

std::int64_t at_most(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
std::int64_t parts_of(std::int64_t n, std::int64_t each) noexcept { return (n + each - 1) / each; }

/// Where a block starts, and how many elements it has along each axis.
struct Block {
  char* to;
  const char* from;
  std::int64_t extent[max_axes];
  std::int64_t count;
};

/// Counts through the axes that `axes` lists, the last one first, and keeps two addresses in step.
struct Counter {
  int count = 0;
  int axes[max_axes];
  std::int64_t index[max_axes];

  void add(int axis) noexcept {
    axes[count] = axis;
    index[count++] = 0;
  }
  template <class Step>
  bool next(const Block& block, Step step) noexcept {
    for (int k = count - 1; k >= 0; --k) {
      const int i = axes[k];
      if (++index[k] < block.extent[i]) {
        step(i, 1);
        return true;
      }
      index[k] = 0;
      step(i, 1 - block.extent[i]);
    }
    return false;
  }
};

/// Blocks one after the other, in the order of the plan.
class Walk {
 public:
  void start(const Plan& p, std::int64_t number) noexcept {
    for (int k = p.n - 1; k >= 0; --k) {
      const int i = p.order[k];
      at_[i] = number % p.blocks[i];
      number /= p.blocks[i];
    }
    find(p);
  }
  void next(const Plan& p) noexcept {
    for (int k = p.n - 1; k >= 0; --k) {
      const int i = p.order[k];
      if (++at_[i] < p.blocks[i]) break;
      at_[i] = 0;
    }
    find(p);
  }
  const Block& block() const noexcept { return block_; }

 private:
  void find(const Plan& p) noexcept {
    block_.to = p.to;
    block_.from = p.from;
    block_.count = 1;
    for (int i = 0; i < p.n; ++i) {
      const std::int64_t first = at_[i] * p.block[i] - p.shift[i];
      const std::int64_t start = first < 0 ? 0 : first;
      block_.extent[i] = at_most(first + p.block[i], p.axes[i].extent) - start;
      block_.count *= block_.extent[i];
      block_.to += start * p.axes[i].to;
      block_.from += start * p.axes[i].from;
    }
  }

  std::int64_t at_[max_axes];
  Block block_;
};

/// Asks for the source's cache lines in the order in which blocks need them, a few at a time: while one block is cast
/// and written, which doesn't wait for what is read, lines of later ones are on their way.
class Ahead {
 public:
  /// Nothing, where no blocks are left.
  void start(const Plan& p, std::int64_t first, std::int64_t blocks) noexcept {
    plan_ = &p;
    blocks_ = blocks;
    if (blocks == 0) return;
    walk_.start(p, first);
    begin_block();
  }
  /// Lines of a block that has this one's extents.
  void ask(std::int64_t n) noexcept {
    while (n > 0 && blocks_ > 0) {
      const std::int64_t row_step = plan_->axes[plan_->d].from;
      const std::int64_t count = at_most(n, rows_ - row_);
      const char* p = from_ + column_ * step_ + row_ * row_step;
      for (std::int64_t i = 0; i < count; ++i, p += row_step) __builtin_prefetch(p, 0, 2);
      n -= count;
      row_ += count;
      if (row_ < rows_) return;
      row_ = 0;
      if (++column_ < lines_) continue;
      column_ = 0;
      if (others_.next(walk_.block(), [&](int i, std::int64_t by) { from_ += by * plan_->axes[i].from; })) continue;
      if (--blocks_ == 0) return;
      walk_.next(*plan_);
      begin_block();
    }
  }

 private:
  void begin_block() noexcept {
    const Plan& p = *plan_;
    const Block& block = walk_.block();
    from_ = block.from;
    const int dense = p.a < 0 ? p.d : p.a;
    step_ = p.axes[dense].from;
    const auto bytes = block.extent[dense] * static_cast<std::int64_t>(magnitude(step_));
    if (magnitude(step_) < line) step_ = step_ < 0 ? -line : line;
    lines_ = parts_of(bytes, static_cast<std::int64_t>(magnitude(step_)));
    rows_ = p.a < 0 ? 1 : block.extent[p.d];
    row_ = column_ = 0;
    others_.count = 0;
    for (int i = 0; i < p.n; ++i) {
      if (i != p.d && i != p.a && block.extent[i] > 1) others_.add(i);
    }
  }

  const Plan* plan_;
  Walk walk_;
  std::int64_t blocks_;
  const char* from_;
  std::int64_t step_, lines_, rows_, row_, column_;
  Counter others_;
};

/// What one thread works with.
struct Rooms : Between {
  Ahead ahead;
  alignas(line) char source[block_bytes];
  alignas(line) char target[block_bytes];
};

/// Moves a block together: `room` has it without gaps, in the order of the axes.
void gather(const Plan& p, const Block& block, char* room, const std::int64_t* places) noexcept {
  Tile tile{};
  tile.to = room;
  tile.from = block.from;
  tile.to_d = places[p.d] * p.in;
  tile.from_d = p.axes[p.d].from;
  tile.nd = block.extent[p.d];
  tile.na = 1;
  if (p.a >= 0) {
    tile.to_a = places[p.a] * p.in;
    tile.from_a = p.axes[p.a].from;
    tile.na = block.extent[p.a];
  }
  tile.size = static_cast<std::size_t>(p.in);
  tile.ahead = p.tile_ahead;
  Counter others;
  for (int i = 0; i < p.n; ++i) {
    if (i != p.a && i != p.d && block.extent[i] > 1) others.add(i);
  }
  do {
    p.kernel(tile);
  } while (others.next(block, [&](int i, std::int64_t n) {
    tile.to += n * places[i] * p.in;
    tile.from += n * p.axes[i].from;
  }));
}

/// Elements that lie without gaps on both sides.
void cast_run(const Plan& p, char* to, const char* from, std::int64_t elements, Between& room) noexcept {
  const Chain& c = p.job->chain;
  const std::int64_t n = elements * p.items;
  if (c.steps == 1) return run_step(c, 0, to, from, n);
  for (std::int64_t done = 0; done < n; done += p.job->block) {
    run_steps(c, 0, c.steps, to + done * bytes_to(c), from + done * bytes_from(c), at_most(p.job->block, n - done),
              room);
  }
}

void turn(const Plan& p, char* to, const char* from, std::int64_t bytes, std::size_t unit) noexcept {
  p.moves->turn(to, from, static_cast<std::size_t>(bytes), unit, false);
}

/// Writes one run of the target, whose source lies without gaps.
void write_run(const Plan& p, char* to, const char* from, std::int64_t elements, Rooms& rooms) noexcept {
  if (!p.stream && p.job->turn_to <= 1) return cast_run(p, to, from, elements, rooms);
  const std::int64_t bytes = elements * p.out;
  cast_run(p, rooms.target, from, elements, rooms);
  if (p.job->turn_to > 1) {
    p.moves->turn(to, rooms.target, static_cast<std::size_t>(bytes), p.job->turn_to, p.stream);
  } else {
    p.moves->stream(to, rooms.target, static_cast<std::size_t>(bytes));
  }
}

/// Rows that lie without gaps on both sides.
void cast_rows(const Plan& p, const Block& block, Rooms& rooms) noexcept {
  Counter rows;
  for (int i = 0; i < p.n; ++i) {
    if (i != p.d && block.extent[i] > 1) rows.add(i);
  }
  char* to = block.to;
  const char* from = block.from;
  const std::int64_t n = block.extent[p.d];
  do {
    const char* source = from;
    if (p.job->turn_from > 1) {
      turn(p, rooms.source, from, n * p.in, p.job->turn_from);
      source = rooms.source;
    }
    write_run(p, to, source, n, rooms);
  } while (rows.next(block, [&](int i, std::int64_t by) {
    to += by * p.axes[i].to;
    from += by * p.axes[i].from;
  }));
}

/// Transposes a block in tiles of a line or two on both sides, so that one is moved and cast while what was made of
/// the tile before is still on its way to memory.
void cast_tiles(const Plan& p, const Block& block, Rooms& rooms) noexcept {
  Counter others;
  for (int i = 0; i < p.n; ++i) {
    if (i != p.a && i != p.d && block.extent[i] > 1) others.add(i);
  }
  const std::int64_t to_a = p.axes[p.a].to;
  const std::int64_t nd = block.extent[p.d];
  const std::int64_t na = block.extent[p.a];
  Tile tile{};
  tile.to = rooms.source;
  tile.to_d = p.in;
  tile.from_a = p.axes[p.a].from;
  tile.from_d = p.axes[p.d].from;
  tile.size = static_cast<std::size_t>(p.in);
  char* first_to = block.to;
  const char* first_from = block.from;
  do {
    for (std::int64_t a = 0; a < na; a += p.tile_a) {
      tile.na = at_most(p.tile_a, na - a);
      for (std::int64_t d = 0; d < nd; d += p.tile_d) {
        tile.nd = at_most(p.tile_d, nd - d);
        tile.from = first_from + a * tile.from_a + d * tile.from_d;
        tile.to_a = tile.nd * p.in;
        const std::int64_t count = tile.na * tile.nd;
        rooms.ahead.ask(tile.nd * parts_of(tile.na * p.in, line));
        p.kernel(tile);
        if (p.job->turn_from > 1) turn(p, rooms.source, rooms.source, count * p.in, p.job->turn_from);
        cast_run(p, rooms.target, rooms.source, count, rooms);
        if (p.job->turn_to > 1) turn(p, rooms.target, rooms.target, count * p.out, p.job->turn_to);
        char* const to = first_to + a * to_a + d * p.out;
        const std::int64_t run = tile.nd * p.out;
        if (p.stream && run % line == 0 && reinterpret_cast<std::uintptr_t>(to) % line == 0) {
          p.casts->stream(to, to_a, rooms.target, tile.na, run);
        } else {
          const Tile made{to, rooms.target, 0, to_a, 0, run, 1, tile.na, static_cast<std::size_t>(run), 0, false};
          p.moves->any(made);
        }
      }
    }
  } while (others.next(block, [&](int i, std::int64_t n) {
    first_to += n * p.axes[i].to;
    first_from += n * p.axes[i].from;
  }));
}

void cast_block(const Plan& p, const Block& block, Rooms& rooms) noexcept {
  if (p.kernel == nullptr) return cast_rows(p, block, rooms);
  if (p.tile_a > 0) return cast_tiles(p, block, rooms);
  std::int64_t places[max_axes];
  std::int64_t place = 1;
  int outer = p.n;  // the axes from there on make up a run of the target
  std::int64_t run = 1;
  for (int i = p.n - 1; i >= 0; --i) {
    places[i] = place;
    if (outer == i + 1 && run == place && p.axes[i].to == place * p.out) {
      run *= block.extent[i];
      outer = i;
    }
    place *= block.extent[i];
  }
  gather(p, block, rooms.source, places);
  if (p.job->turn_from > 1) turn(p, rooms.source, rooms.source, block.count * p.in, p.job->turn_from);
  Counter runs;
  for (int i = 0; i < outer; ++i) {
    if (block.extent[i] > 1) runs.add(i);
  }
  if (runs.count == 0 || (!p.stream && p.job->turn_to <= 1 && run * p.items >= least_run)) {
    const char* from = rooms.source;
    char* to = block.to;
    do {
      write_run(p, to, from, run, rooms);
      from += run * p.in;
    } while (runs.next(block, [&](int i, std::int64_t n) { to += n * p.axes[i].to; }));
    return;
  }
  cast_run(p, rooms.target, rooms.source, block.count, rooms);
  const bool stream = p.stream && run * p.out >= line;
  if (p.job->turn_to > 1) turn(p, rooms.target, rooms.target, block.count * p.out, p.job->turn_to);
  Tile tile{};
  tile.to = block.to;
  tile.from = rooms.target;
  tile.na = 1;
  tile.size = static_cast<std::size_t>(run * p.out);
  const int last = runs.axes[--runs.count];
  tile.to_d = p.axes[last].to;
  tile.from_d = run * p.out;
  tile.nd = block.extent[last];
  const int s = run == 1 ? index_of_size(tile.size) : -1;
  const TileKernel scatter = s < 0 ? p.moves->any : p.moves->each[s];
  do {
    if (stream) {
      char* to = tile.to;
      for (std::int64_t i = 0; i < tile.nd; ++i, to += tile.to_d) {
        rooms.ahead.ask(parts_of(run * p.in, line));
        p.moves->stream(to, tile.from + i * tile.from_d, tile.size);
      }
    } else {
      scatter(tile);
    }
    tile.from += tile.nd * tile.from_d;
  } while (runs.next(block, [&](int i, std::int64_t n) { tile.to += n * p.axes[i].to; }));
}

void cast_part(void* what, std::int64_t begin, std::int64_t end) noexcept {
  const Plan& p = *static_cast<const Plan*>(what);
  Rooms rooms;
  Walk walk;
  walk.start(p, begin);
  rooms.ahead.start(p, begin, p.ahead && p.tile_a > 0 ? end - begin : 0);
  rooms.ahead.ask(lines_ahead);
  for (std::int64_t left = end - begin;;) {
    cast_block(p, walk.block(), rooms);
    if (--left == 0) break;
    walk.next(p);
  }
  if (p.stream) p.moves->fence();
}

/// Sides of few items: gathered, cast, and put where they belong.
void cast_few(const CastJob& job, char* to, const char* from, const Axis* axes, int n, std::int64_t items) noexcept {
  const Chain& c = job.chain;
  Scratch room;
  Axis in[max_axes];
  Axis out[max_axes];
  Axis next{1, bytes_to(c), bytes_from(c)};
  for (int i = n - 1; i >= 0; --i) {
    in[i] = {axes[i].extent, next.from, axes[i].from};
    out[i] = {axes[i].extent, axes[i].to, next.to};
    next.to *= axes[i].extent;
    next.from *= axes[i].extent;
  }
  move_elements(room.source, from, in, n, {static_cast<std::size_t>(bytes_from(c)), job.turn_from});
  run_steps(c, 0, c.steps, room.target, room.source, items, room);
  move_elements(to, room.target, out, n, {static_cast<std::size_t>(bytes_to(c)), job.turn_to});
}

}  // namespace

void cast_boxes(const CastJob& job, char* to, const char* from, const Axis* axes, int n) noexcept {
  std::int64_t items = 1;
  for (int i = 0; i < n; ++i) items *= axes[i].extent;
  if (items <= few) return cast_few(job, to, from, axes, n, items);
  Plan p;
  plan_cast(&p, job, to, from, axes, n);
  const std::int64_t bytes = p.total * (p.in + p.out);
  in_parts(p.count, (1 << 17) / (bytes / p.count + 1) + 1, bytes, cast_part, &p);
}

}  // namespace anyarray
