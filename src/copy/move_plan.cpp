// SPDX-License-Identifier: Apache-2.0
// Two axes are the kernel's: d, along which the target lies densest, and a, along which the source does. A block holds
// part of them and, where they are short, of others, so that on both sides it touches whole cache lines. Blocks are
// walked in the order of the source, since reads are what the processor fetches ahead. What goes past the cache
// goes in whole lines: straight from registers where lines and blocks can begin together, else through a buffer.
#include "src/copy/move_plan.h"

#include <unistd.h>

#include <atomic>

#include "src/copy/move_blocks.h"
#include "src/copy/threads.h"

namespace anyarray {
namespace {

/// Up to so many bytes need no blocks.
constexpr std::int64_t at_once = std::int64_t{16} << 10;
/// From so many bytes on, what is read next is asked for: it lies beyond the second cache.
constexpr std::int64_t far = std::int64_t{512} << 10;
/// A block's run of the target, where it can be chosen: pairs of lines and more keep memory's pages open.
constexpr std::int64_t run_bytes = 512;

/// Where source and target, each of so many bytes, fill three quarters of the last cache, what was written first isn't
/// there any more when it is read. Systems that count the caches of a whole machine as one report far more than a core
/// can fill.
std::int64_t most_cached() noexcept {
  std::int64_t bytes = std::int64_t{12} << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const std::int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache > 0 && cache / 8 * 3 < bytes) bytes = cache / 8 * 3;
#endif
  return bytes;
}
std::atomic<std::int64_t> streamed{-1};
std::int64_t stream_from() noexcept {
  static const std::int64_t cached = most_cached();
  const std::int64_t asked = streamed.load(std::memory_order_relaxed);
  return asked >= 0 ? asked : cached;
}

/// Lets blocks along an axis begin where a cache line does, as far as elements do.
void align(Plan& p, int i, const void* base, std::int64_t step) noexcept {
  const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base) % line);
  if (step <= 0 || over == 0 || over % step != 0 || p.block[i] >= p.axes[i].extent) return;
  p.shift[i] = over / step;
  if (p.shift[i] >= p.block[i]) p.shift[i] = 0;
}

/// The axes in the order of the source's steps, the longest first; where it stands still it is read again at once.
void order_by_source(Plan& p) noexcept {
  for (int i = 0; i < p.n; ++i) {
    int k = i;
    for (; k > 0 && magnitude(p.axes[p.order[k - 1]].from) < magnitude(p.axes[i].from); --k) {
      p.order[k] = p.order[k - 1];
    }
    p.order[k] = i;
  }
}

/// The kind of kernel for elements along d and, where there is a second axis, a.
MoveKind kind_for(const MoveKernels& kernels, std::int64_t size, const Axis& d, const Axis* a) noexcept {
  const int s = index_of_size(static_cast<std::size_t>(size));
  if (d.to == size && d.from == size) return MoveKind::runs;
  if (s < 0) return MoveKind::any;
  if (d.to != size) return MoveKind::each;
  if (a == nullptr) return MoveKind::gather;
  const bool near = static_cast<std::int64_t>(magnitude(d.from)) <= kernels.near[s] * size;
  if (a->from != size) return near ? MoveKind::gather : MoveKind::each;
  if (d.extent <= kernels.strands[s] && a->to == d.extent * size) return MoveKind::weave;
  if (a->extent <= kernels.strands[s] && d.from == a->extent * size) return MoveKind::split;
  return near && a->extent * size < 16 ? MoveKind::gather : MoveKind::transpose;
}

/// Null for runs.
TileKernel kernel_for(const MoveKernels& kernels, std::int64_t size, MoveKind kind) noexcept {
  const int s = index_of_size(static_cast<std::size_t>(size));
  switch (kind) {
    case MoveKind::any:
      return kernels.any;
    case MoveKind::each:
      return kernels.each[s];
    case MoveKind::gather:
      return kernels.gather[s];
    case MoveKind::weave:
      return kernels.weave[s];
    case MoveKind::split:
      return kernels.split[s];
    case MoveKind::transpose:
      return kernels.transpose[s];
    default:
      return nullptr;
  }
}

/// Short runs of the source that other axes continue become one: they are transposed as one into the buffer, and only
/// from there go to the rows that each belongs to.
void fuse(Plan& p) noexcept {
  const auto size = static_cast<std::int64_t>(p.size);
  const Axis& a = p.axes[p.a];
  if (p.axes[p.d].extent * size < 8 || a.extent * size >= 16) return;
  std::int64_t run = a.extent * size;
  for (int k = p.n - 1; k >= 0 && run < 2 * line; --k) {
    const int i = p.order[k];
    if (i == p.d || p.axes[i].from != run) continue;
    p.fused[p.fused_count++] = i;
    run *= p.axes[i].extent;
  }
  if (run < 16) p.fused_count = 0;
}

void choose_blocks(Plan& p) noexcept {
  const auto size = static_cast<std::int64_t>(p.size);
  const std::int64_t room = p.staged || size < 2 * line ? buffer_bytes : 2 * buffer_bytes;
  const std::int64_t most = room / size > 1 ? room / size : 1;  // elements of a block
  for (int i = 0; i < p.n; ++i) {
    p.block[i] = 1;
    p.shift[i] = 0;
  }
  // Of an axis that is little longer no small rest is left.
  const auto whole_or = [&](int i, std::int64_t want) { return p.axes[i].extent < 2 * want ? p.axes[i].extent : want; };
  if (p.lines) {
    p.block[p.a] = least(p.axes[p.a].extent, line_elements(p.size));
    const std::int64_t want = whole_or(p.d, run_bytes / size > 128 ? run_bytes / size : 128);
    p.block[p.d] = least(want, most / p.block[p.a] - line_elements(p.size));
    return;
  }
  std::int64_t volume = 1;
  const auto grow = [&](int i, std::int64_t want) {
    std::int64_t b = least(least(want, p.axes[i].extent), most / (volume / p.block[i]));
    if (b < p.block[i]) b = p.block[i];
    volume = volume / p.block[i] * b;
    p.block[i] = b;
  };
  if (p.kind == MoveKind::runs) {
    // As much as is worth a call: what is contiguous goes in large pieces.
    p.block[p.d] = least(p.axes[p.d].extent, round_up((p.stream || p.turn > 1 ? 1 << 16 : 1 << 20) / size + 1, line));
    return;
  }
  if (p.a < 0) {
    grow(p.d, round_up(8192 / size, line));
  } else if (p.kind == MoveKind::weave) {
    grow(p.d, p.axes[p.d].extent);
    grow(p.a, line * (8192 / (p.axes[p.d].extent * size) / line + 1));
  } else if (p.fused_count > 0) {
    grow(p.a, p.axes[p.a].extent);
    std::int64_t run = p.axes[p.a].extent * size;
    for (int k = 0; k < p.fused_count; ++k) {
      grow(p.fused[k], (2 * line + run - 1) / run);
      run *= p.block[p.fused[k]];
    }
    grow(p.d, line);
  } else {
    const bool split = p.axes[p.a].extent <= weave_limit;
    grow(p.a, split ? p.axes[p.a].extent : whole_or(p.a, 2 * line_elements(p.size)));
    grow(p.d, split ? round_up(4096 / size, line) : whole_or(p.d, run_bytes / size > 1 ? run_bytes / size : 1));
    // Few rows of the source, which may all share a place in the caches, are read for longer at a time.
    if (p.block[p.d] * size < run_bytes) grow(p.a, run_bytes / size);
  }
  // Short runs of the target, then of the source, are completed by the axes that continue them.
  std::int64_t run = p.block[p.d] * size;
  // What goes out with parts of lines at its ends is longer.
  const std::int64_t wanted = p.staged && p.stream ? 4 * run_bytes : run_bytes;
  for (int i = p.n - 1; i >= 0 && run < wanted; --i) {
    if (i != p.d) grow(i, (wanted + run - 1) / run);
    if (i != p.d) run *= p.block[i];
  }
  run = size;
  for (int k = p.n - 1; k >= 0 && run < line; --k) {
    const int i = p.order[k];
    if (p.axes[i].from == 0) continue;
    grow(i, (line + run - 1) / run);
    run *= p.block[i];
  }
  // Blocks aren't too small to be worth their loop.
  const std::int64_t worth = p.a >= 0 ? 4096 : size < 2 * line ? 16384 : 65536;
  for (int k = p.n - 1; k >= 0 && volume * size < worth; --k) {
    grow(p.order[k], p.block[p.order[k]] * ((worth + volume * size - 1) / (volume * size)));
  }
}

/// Two axes, all in the caches: nothing to plan.
void move_at_once(const MoveKernels& kernels, char* to, const char* from, const Axis* axes, int n,
                  std::int64_t size) noexcept {
  const Axis& d = axes[n - 1];
  const Axis a = n > 1 ? axes[0] : Axis{1, 0, 0};
  const MoveKind kind = kind_for(kernels, size, d, n > 1 ? &a : nullptr);
  Tile tile{to, from, a.to, d.to, a.from, d.from, a.extent, d.extent, static_cast<std::size_t>(size), 0, false};
  if (kind == MoveKind::runs) {  // as elements along the other axis
    tile.to_d = tile.to_a;
    tile.from_d = tile.from_a;
    tile.nd = tile.na;
    tile.na = 1;
    tile.size *= static_cast<std::size_t>(d.extent);
    return kernels.any(tile);
  }
  kernel_for(kernels, size, kind)(tile);
}

}  // namespace

std::int64_t stream_from(std::int64_t bytes) noexcept { return streamed.exchange(bytes, std::memory_order_relaxed); }

void move_blocks(char* to, const char* from, const Axis* axes, int n, Moved what) noexcept {
  const MoveKernels& kernels = move_kernels();
  const auto size = static_cast<std::int64_t>(what.size);
  std::int64_t total = size;
  for (int i = 0; i < n; ++i) total *= axes[i].extent;
  if (n <= 2 && total <= at_once && what.turn <= 1) return move_at_once(kernels, to, from, axes, n, size);
  Plan p;
  p.to = to;
  p.from = from;
  p.kernels = &kernels;
  p.size = what.size;
  p.turn = what.turn;
  p.n = n;
  p.d = n - 1;
  for (int i = 0; i < n; ++i) {
    p.axes[i] = axes[i];
    p.order[i] = i;
  }
  p.a = n - 1;
  for (int i = n - 2; i >= 0; --i) {
    if (axes[i].from != 0 && (axes[p.a].from == 0 || magnitude(axes[i].from) < magnitude(axes[p.a].from))) p.a = i;
  }
  if (p.a == p.d || axes[p.d].from == 0) p.a = -1;
  if (p.a >= 0 &&
      axes[p.a].from < 0) {  // the source forwards, the target backwards: kernels can write rows in any order
    Axis& a = p.axes[p.a];
    p.to += a.to * (a.extent - 1);
    p.from += a.from * (a.extent - 1);
    a.to = -a.to;
    a.from = -a.from;
  }
  p.kind = kind_for(kernels, size, p.axes[p.d], p.a < 0 ? nullptr : &p.axes[p.a]);
  if (p.kind == MoveKind::runs || size >= 2 * line) p.a = -1;  // rows of lines: in the order of the target
  if (p.a >= 0) order_by_source(p);
  p.fused_count = 0;
  if ((p.kind == MoveKind::transpose || p.kind == MoveKind::gather) && p.a >= 0 && p.axes[p.a].from == size) fuse(p);
  if (p.fused_count > 0) p.kind = MoveKind::transpose;
  p.kernel = kernel_for(kernels, size, p.kind);
  p.staged = p.kind != MoveKind::runs && (p.turn > 1 || p.fused_count > 0);
  p.ahead = total < far ? 0 : p.kind == MoveKind::gather && p.a < 0 && n > 1 ? axes[n - 2].from : 4 * line;
  std::int64_t reach = size;  // of the source
  for (int i = 0; i < n; ++i) reach += (axes[i].extent - 1) * static_cast<std::int64_t>(magnitude(axes[i].from));
  const std::int64_t touched = size >= line ? total : least(reach, total / size * line);
  p.stream = axes[n - 1].to == size && (total + touched) / 2 >= stream_from();
  bool lines = true;  // whether lines of the target begin at the same elements everywhere
  for (int i = 0; i < n; ++i) lines = lines && (i == p.d || axes[i].to % line == 0);
  lines = lines && line % size == 0 && reinterpret_cast<std::uintptr_t>(to) % what.size == 0;
  // Rows that don't share their lines' beginnings, and short ones that share lines, leave through a buffer.
  const bool broken = reinterpret_cast<std::uintptr_t>(to) % line != 0 && axes[p.d].extent * size < run_bytes;
  if (p.kind == MoveKind::transpose && p.stream && (!lines || broken)) p.staged = true;
  // As short rows do that share lines.
  if (p.kind == MoveKind::any && p.stream && size > 16 && size < 2 * run_bytes && !lines) p.staged = true;
  p.lines = p.staged && p.kind == MoveKind::transpose && p.stream && p.turn <= 1 && p.fused_count == 0 &&
            axes[p.d].extent * size >= 2 * run_bytes;
  choose_blocks(p);
  if (lines) align(p, p.d, p.to, size);
  if (p.a >= 0) {
    bool source_lines = true;
    for (int i = 0; i < n; ++i) source_lines = source_lines && (i == p.a || axes[i].from % line == 0);
    if (source_lines && p.fused_count == 0) align(p, p.a, p.from, p.axes[p.a].from);
  }
  std::int64_t count = 1;
  for (int i = 0; i < n; ++i) {
    p.blocks[i] = (axes[i].extent + p.shift[i] + p.block[i] - 1) / p.block[i];
    count *= p.blocks[i];
  }
  const std::int64_t each = total / count > 0 ? total / count : 1;
  in_parts(count, (1 << 16) / each + 1, 2 * total, run_blocks, &p);
}

}  // namespace anyarray
