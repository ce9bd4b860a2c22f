// SPDX-License-Identifier: Apache-2.0
// As in moves, two axes are the kernel's: d, along which the target lies densest, and a, along which the source does. A
// block touches whole cache lines on both sides where it can, and blocks are walked in the order of the source.
#include "src/copy/cast_plan.h"

#include "src/copy/caches.h"

namespace anyarray {
namespace {

constexpr std::int64_t line = 64;
/// Items that lie next to each other on both sides and are fewer are moved as one element; more are cast as they lie.
constexpr std::int64_t least_row = 16;
/// From so many bytes on, what is read next is asked for: it lies beyond the second cache.
constexpr std::int64_t far = std::int64_t{512} << 10;
/// A block's run of the target, where it can be chosen: pairs of lines and more keep memory's pages open.
constexpr std::int64_t run_bytes = 512;
/// From so many bytes on, what is written wouldn't be in the caches any more when it is read. Systems that count the
/// caches of a whole machine as one report far more than a core can fill.
constexpr std::int64_t past_caches = std::int64_t{32} << 20;

std::int64_t at_most(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
std::int64_t parts_of(std::int64_t n, std::int64_t each) noexcept { return (n + each - 1) / each; }

enum class Kind : std::uint8_t { rows, gather, weave, split, transpose, each, any };

/// Which kernel moves elements along d and, where there is a second axis, a.
Kind kind_of(const CastPlan& p) noexcept {
  const Axis& d = p.axes[p.d];
  if (d.to == p.out && d.from == p.in) return Kind::rows;
  const int s = index_of_size(static_cast<std::size_t>(p.in));
  if (s < 0) return Kind::any;
  if (p.a < 0) return Kind::gather;
  const Axis& a = p.axes[p.a];
  const bool near = static_cast<std::int64_t>(magnitude(d.from)) <= p.moves->near[s] * p.in;
  if (a.from != p.in) return near ? Kind::gather : Kind::each;
  if (d.extent <= p.moves->strands[s] && p.a == p.n - 2) return Kind::weave;
  if (a.extent <= p.moves->strands[s] && d.from == a.extent * p.in) return Kind::split;
  return near && a.extent * p.in < 16 ? Kind::gather : Kind::transpose;
}

TileKernel kernel_of(const CastPlan& p, Kind kind) noexcept {
  const int s = index_of_size(static_cast<std::size_t>(p.in));
  switch (kind) {
    case Kind::gather:
      return p.moves->gather[s];
    case Kind::weave:
      return p.moves->weave[s];
    case Kind::split:
      return p.moves->split[s];
    case Kind::transpose:
      return p.moves->transpose[s];
    case Kind::each:
      return p.moves->each[s];
    case Kind::any:
      return p.moves->any;
    default:
      return nullptr;
  }
}

/// Lines along both axes, or all of a where the source's rows are short and follow each other. Not where much of the
/// last tile would be missing, nor where the target has gaps along d.
void choose_tiles(CastPlan& p, Kind kind) noexcept {
  p.tile_a = p.tile_d = 0;
  if (kind != Kind::transpose || p.axes[p.d].to != p.out) return;
  const std::int64_t narrower = p.in < p.out ? p.in : p.out;
  const std::int64_t na = p.axes[p.a].extent;
  const std::int64_t whole = na * p.in <= 4 * line && p.axes[p.d].from == na * p.in ? na : line / p.in;
  const std::int64_t tile = at_most(whole, na);
  if (p.axes[p.d].extent < line / narrower || (na % tile != 0 && na < 4 * tile)) return;
  p.tile_a = tile;
  p.tile_d = 2 * line / narrower;
}

void choose_blocks(CastPlan& p, Kind kind) noexcept {
  const std::int64_t wider = p.in > p.out ? p.in : p.out;
  const std::int64_t most = block_bytes / wider;
  std::int64_t volume = 1;
  for (int i = 0; i < p.n; ++i) {
    p.block[i] = 1;
    p.shift[i] = 0;
  }
  const auto grow = [&](int i, std::int64_t want) {
    std::int64_t b = at_most(at_most(want, p.axes[i].extent), most / (volume / p.block[i]));
    if (b < p.block[i]) b = p.block[i];
    volume = volume / p.block[i] * b;
    p.block[i] = b;
  };
  if (kind == Kind::transpose || kind == Kind::each) {
    grow(p.a, p.tile_a > 0 ? p.tile_a : line / p.in);
    grow(p.d, run_bytes / p.out);
    // Short runs of the target, then of the source, are completed by the axes that continue them.
    std::int64_t run = p.block[p.d] * p.out;
    for (int i = p.n - 1; i >= 0 && run < run_bytes; --i) {
      if (i != p.d) grow(i, parts_of(run_bytes, run));
      if (i != p.d) run *= p.block[i];
    }
    run = p.in;
    for (int k = p.n - 1; k >= 0 && run < line; --k) {
      const int i = p.order[k];
      if (p.axes[i].from == 0) continue;
      grow(i, parts_of(line, run));
      run *= p.block[i];
    }
    for (int k = p.n - 1; k >= 0 && 2 * volume <= most; --k) {
      grow(p.order[k], p.block[p.order[k]] * (most / volume));
    }
    return;
  }
  if (kind == Kind::split) grow(p.a, p.axes[p.a].extent);
  grow(p.d, most);
  for (int i = p.n - 1; i >= 0; --i) grow(i, most);
}

/// Lets blocks along an axis begin where a cache line does, as far as elements do.
void align(CastPlan& p, int i, const void* base, std::int64_t step) noexcept {
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base) % line);
  if (step <= 0 || over == 0 || over % step != 0 || p.block[i] >= p.axes[i].extent) return;
  p.shift[i] = over / step;
  if (p.shift[i] >= p.block[i]) p.shift[i] = 0;
}

/// What lies next to each other on both sides becomes an element where it is short.
void join_items(CastPlan& p) noexcept {
  p.items = 1;
  p.in = bytes_from(p.job->chain);
  p.out = bytes_to(p.job->chain);
  const Axis& inner = p.axes[p.n - 1];
  if (inner.to != p.out || inner.from != p.in || inner.extent >= least_row) return;
  p.items = inner.extent;
  p.in *= p.items;
  p.out *= p.items;
  --p.n;
}

}  // namespace

void plan_cast(CastPlan* out, const CastJob& job, char* to, const char* from, const Axis* axes, int n) noexcept {
  CastPlan& p = *out;
  p.job = &job;
  p.to = to;
  p.from = from;
  p.moves = &move_kernels();
  p.casts = &cast_kernels();
  p.n = n;
  for (int i = 0; i < n; ++i) {
    p.axes[i] = axes[i];
    p.order[i] = i;
  }
  join_items(p);
  p.d = p.n - 1;
  p.a = p.d;
  p.total = 1;
  for (int i = p.n - 1; i >= 0; --i) {
    const Axis& axis = p.axes[i];
    p.total *= axis.extent;
    if (axis.from != 0 && (p.axes[p.a].from == 0 || magnitude(axis.from) < magnitude(p.axes[p.a].from))) p.a = i;
  }
  if (p.a == p.d || p.axes[p.d].from == 0) p.a = -1;
  if (p.a >= 0 && p.axes[p.a].from < 0) {  // kernels read forwards, and write rows in any order
    Axis& a = p.axes[p.a];
    p.to += a.to * (a.extent - 1);
    p.from += a.from * (a.extent - 1);
    a = {a.extent, -a.to, -a.from};
  }
  const Kind kind = kind_of(p);
  p.kernel = kernel_of(p, kind);
  if (kind == Kind::rows) p.a = -1;
  if (p.a >= 0) {  // the longest steps of the source first
    for (int i = 0; i < p.n; ++i) {
      int k = i;
      for (; k > 0 && magnitude(p.axes[p.order[k - 1]].from) < magnitude(p.axes[i].from); --k) {
        p.order[k] = p.order[k - 1];
      }
      p.order[k] = i;
    }
  }
  std::int64_t reach = p.in;  // of the source
  for (int i = 0; i < p.n; ++i) {
    reach += (p.axes[i].extent - 1) * static_cast<std::int64_t>(magnitude(p.axes[i].from));
  }
  const std::int64_t touched = at_most(reach, p.total * (p.in > line ? p.in : line));
  p.ahead = p.total * p.in >= far;
  p.tile_ahead = !p.ahead ? 0 : kind == Kind::gather && p.a < 0 && p.n > 1 ? p.axes[p.n - 2].from : 4 * line;
  p.stream = p.axes[p.d].to == p.out && p.total * p.out + touched >= at_most(last_cache(), past_caches);
  bool lines = line % p.out == 0 && reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(p.out) == 0;
  for (int i = 0; i < p.n; ++i) lines = lines && (i == p.d || p.axes[i].to % line == 0);
  if (kind == Kind::transpose || kind == Kind::each) p.stream = p.stream && lines;
  choose_tiles(p, kind);
  choose_blocks(p, kind);
  if (lines) align(p, p.d, p.to, p.out);
  if (p.a >= 0) {
    bool source_lines = true;
    for (int i = 0; i < p.n; ++i) source_lines = source_lines && (i == p.a || p.axes[i].from % line == 0);
    if (source_lines) align(p, p.a, p.from, p.axes[p.a].from);
  }
  p.count = 1;
  for (int i = 0; i < p.n; ++i) {
    p.blocks[i] = parts_of(p.axes[i].extent + p.shift[i], p.block[i]);
    p.count *= p.blocks[i];
  }
}

}  // namespace anyarray
