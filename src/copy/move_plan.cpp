// SPDX-License-Identifier: Apache-2.0
// Two axes are the kernel's: d, along which the target lies densest, and a, along which the source does. A block holds
// part of them and, where they are short, of others, so that on both sides it touches whole cache lines. Blocks are
// walked in the order of the source, since reads are what the processor fetches ahead. What goes past the cache
// goes in whole lines: straight from registers where lines and blocks can begin together, else through a buffer.
#include "src/copy/move_plan.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "src/copy/threads.h"

namespace anyarray {
namespace {

constexpr std::int64_t buffer_bytes = std::int64_t{32} << 10;
constexpr std::int64_t line = 64;
/// Up to so many bytes need no blocks.
constexpr std::int64_t at_once = std::int64_t{16} << 10;
/// From so many bytes on, what is read next is asked for: it lies beyond the second cache.
constexpr std::int64_t far = std::int64_t{512} << 10;
/// A block's run of the target, where it can be chosen: pairs of lines and more keep memory's pages open.
constexpr std::int64_t run_bytes = 512;

/// Half of the last cache: a larger target wouldn't be there any more when it is read. Systems that count the caches of
/// a whole machine as one report far more than a core can fill.
std::int64_t half_cache() noexcept {
  std::int64_t bytes = std::int64_t{16} << 20;
#if defined(_SC_LEVEL3_CACHE_SIZE)
  const std::int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache > 0 && cache / 2 < bytes) bytes = cache / 2;
#endif
  return bytes;
}
std::atomic<std::int64_t> streamed{-1};
std::int64_t stream_from() noexcept {
  static const std::int64_t half = half_cache();
  const std::int64_t asked = streamed.load(std::memory_order_relaxed);
  return asked >= 0 ? asked : half;
}

/// What a kernel does; `runs` are dense on both sides and need none.
enum class Kind : std::uint8_t { runs, any, each, gather, weave, split, transpose };

struct Plan {
  char* to;
  const char* from;
  const MoveKernels* kernels;
  Kind kind;
  TileKernel kernel;  ///< null for runs
  std::size_t size;
  std::size_t turn;
  int n;
  int a, d;            ///< the kernel's axes; a < 0: there is one
  bool staged;         ///< through a buffer, in which bytes are turned
  bool stream;         ///< past the cache
  bool lines;          ///< whole lines leave the buffer, wherever a row's lines begin: blocks overlap along d by one
  std::int64_t ahead;  ///< see Tile
  Axis axes[max_axes];
  std::int64_t block[max_axes];  ///< elements of a block along each axis
  std::int64_t shift[max_axes];  ///< elements that the first block lacks
  std::int64_t blocks[max_axes];
  int fused[max_axes];  ///< axes that continue a in the source, where a kernel takes them together
  int fused_count;
  int order[max_axes];  ///< the axes, the outermost loop over blocks first
};

std::int64_t least(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }
std::int64_t round_up(std::int64_t n, std::int64_t unit) noexcept { return (n + unit - 1) / unit * unit; }

/// Elements that a cache line holds or touches.
std::int64_t line_elements(std::size_t size) noexcept { return (line - 1) / static_cast<std::int64_t>(size) + 1; }

/// One block: extents along each axis, and where it starts.
struct Block {
  char* to;
  const char* from;
  std::int64_t extent[max_axes];
  std::int64_t start;  ///< along d
};

void run_tiles(const Plan& p, const Block& block, char* to, const std::int64_t* to_step) noexcept {
  Tile tile{};
  tile.to = to;
  tile.from = block.from;
  tile.to_d = to_step[p.d];
  tile.from_d = p.axes[p.d].from;
  tile.nd = block.extent[p.d];
  tile.na = 1;
  if (p.a >= 0) {
    tile.to_a = to_step[p.a];
    tile.from_a = p.axes[p.a].from;
    tile.na = block.extent[p.a];
  }
  for (int k = 0; k < p.fused_count; ++k) tile.na *= block.extent[p.fused[k]];
  tile.size = p.size;
  tile.stream = p.stream && !p.staged;
  tile.ahead = p.ahead;
  int others[max_axes];
  int count = 0;
  for (int i = 0; i < p.n; ++i) {
    bool other = i != p.a && i != p.d && block.extent[i] > 1;
    for (int k = 0; k < p.fused_count; ++k) other = other && i != p.fused[k];
    if (other) others[count++] = i;
  }
  std::int64_t index[max_axes] = {};
  for (;;) {
    p.kernel(tile);
    int k = count - 1;
    for (; k >= 0; --k) {
      const int i = others[k];
      if (++index[k] < block.extent[i]) {
        tile.to += to_step[i];
        tile.from += p.axes[i].from;
        break;
      }
      index[k] = 0;
      tile.to -= to_step[i] * (block.extent[i] - 1);
      tile.from -= p.axes[i].from * (block.extent[i] - 1);
    }
    if (k < 0) return;
  }
}

/// What is dense in a buffer goes to where it belongs, run by run.
void unload(const Plan& p, const Block& block, char* buffer, const std::int64_t* step, std::int64_t bytes) noexcept {
  int inner = p.n;  // the first of the axes that make up a run
  auto run = static_cast<std::int64_t>(p.size);
  while (inner > 0 && p.axes[inner - 1].to == run && step[inner - 1] == run) {
    run *= block.extent[--inner];
    if (block.extent[inner] != p.axes[inner].extent) break;
  }
  const bool short_runs = run < line;
  if (p.turn > 1 && short_runs) {  // these are turned where they are
    p.kernels->turn(buffer, buffer, static_cast<std::size_t>(bytes), p.turn, false);
  }
  const Axis last = inner > 0 ? Axis{block.extent[inner - 1], p.axes[inner - 1].to, step[inner - 1]} : Axis{1, 0, 0};
  Tile tile{};
  tile.to = block.to;
  tile.from = buffer;
  tile.to_d = last.to;
  tile.from_d = last.from;
  tile.na = 1;
  tile.nd = last.extent;
  tile.size = static_cast<std::size_t>(run);
  std::int64_t index[max_axes] = {};
  for (;;) {
    if (short_runs || (p.turn <= 1 && !p.stream)) {
      p.kernels->any(tile);
    } else {
      for (std::int64_t i = 0; i < last.extent; ++i) {
        char* const to = tile.to + i * last.to;
        if (p.turn > 1) {
          p.kernels->turn(to, tile.from + i * last.from, tile.size, p.turn, p.stream);
        } else {
          p.kernels->stream(to, tile.from + i * last.from, tile.size);
        }
      }
    }
    int i = inner - 2;
    for (; i >= 0; --i) {
      const std::int64_t extent = block.extent[i];  // NOLINT(clang-analyzer-core.uninitialized.Assign)
      if (++index[i] < extent) {
        tile.to += p.axes[i].to;
        tile.from += step[i];  // NOLINT(clang-analyzer-core.uninitialized.Assign)
        break;
      }
      index[i] = 0;
      tile.to -= p.axes[i].to * (extent - 1);
      tile.from -= step[i] * (extent - 1);  // NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult)
    }
    if (i < 0) return;
  }
}

/// Rows in a buffer, `bytes` of which are the block's and the rest the next one's, go out from the first line that
/// begins in the block to the end of the last one: only where the whole row begins or ends are there parts of lines.
void unload_lines(const Plan& p, const Block& block, const char* buffer, const std::int64_t* step,
                  std::int64_t bytes) noexcept {
  const std::int64_t rest = (p.axes[p.d].extent - block.start) * step[p.d];
  std::int64_t index[max_axes] = {};
  char* to = block.to;
  for (;;) {
    const auto over = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % line);
    const std::int64_t begin = block.start == 0 ? 0 : (line - over) % line;
    const std::int64_t end = least(round_up(over + bytes, line) - over, rest);
    if (end > begin) p.kernels->stream(to + begin, buffer + begin, static_cast<std::size_t>(end - begin));
    int i = p.n - 1;
    for (; i >= 0; --i) {
      if (i == p.d) continue;
      if (++index[i] < block.extent[i]) {
        to += p.axes[i].to;
        buffer += step[i];
        break;
      }
      index[i] = 0;
      to -= p.axes[i].to * (block.extent[i] - 1);
      buffer -= step[i] * (block.extent[i] - 1);
    }
    if (i < 0) return;
  }
}

void run_block(const Plan& p, Block& block, char* buffer) noexcept {
  const std::int64_t bytes = block.extent[p.d] * static_cast<std::int64_t>(p.size);
  if (p.lines) {
    block.extent[p.d] = least(block.extent[p.d] + line_elements(p.size), p.axes[p.d].extent - block.start);
  }
  if (p.kind == Kind::runs) {
    const auto length = static_cast<std::size_t>(bytes);
    if (p.turn > 1) return p.kernels->turn(block.to, block.from, length, p.turn, p.stream);
    if (p.stream) return p.kernels->stream(block.to, block.from, length);
    std::memcpy(block.to, block.from, length);
    return;
  }
  std::int64_t step[max_axes];
  if (!p.staged) {
    for (int i = 0; i < p.n; ++i) step[i] = p.axes[i].to;
    return run_tiles(p, block, block.to, step);
  }
  auto next = static_cast<std::int64_t>(p.size);
  for (int i = 0; i < p.n; ++i) step[i] = 0;
  const auto place = [&](int i) {
    if (step[i] != 0) return;
    step[i] = next;
    next *= block.extent[i];
  };
  if (p.fused_count > 0) {
    place(p.d);
    place(p.a);
    for (int k = 0; k < p.fused_count; ++k) place(p.fused[k]);
  }
  for (int i = p.n - 1; i >= 0; --i) place(i);
  run_tiles(p, block, buffer, step);
  if (p.lines) return unload_lines(p, block, buffer, step, bytes);
  unload(p, block, buffer, step, next);
}

void run_blocks(void* what, std::int64_t begin, std::int64_t end) noexcept {
  const Plan& p = *static_cast<const Plan*>(what);
  alignas(64) char buffer[buffer_bytes];
  std::int64_t at[max_axes];
  std::int64_t left = begin;
  for (int k = p.n - 1; k >= 0; --k) {
    const int i = p.order[k];
    at[i] = left % p.blocks[i];
    left /= p.blocks[i];
  }
  Block block{};
  for (std::int64_t u = begin; u < end; ++u) {
    block.to = p.to;
    block.from = p.from;
    for (int i = 0; i < p.n; ++i) {
      const std::int64_t first = at[i] * p.block[i] - p.shift[i];
      const std::int64_t start = first < 0 ? 0 : first;
      block.extent[i] = least(first + p.block[i], p.axes[i].extent) - start;
      if (i == p.d) block.start = start;
      block.to += start * p.axes[i].to;
      block.from += start * p.axes[i].from;
    }
    run_block(p, block, buffer);
    for (int k = p.n - 1; k >= 0; --k) {
      const int i = p.order[k];
      if (++at[i] < p.blocks[i]) break;
      at[i] = 0;
    }
  }
  if (p.stream) p.kernels->fence();
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
Kind kind_for(const MoveKernels& kernels, std::int64_t size, const Axis& d, const Axis* a) noexcept {
  const int s = index_of_size(static_cast<std::size_t>(size));
  if (d.to == size && d.from == size) return Kind::runs;
  if (s < 0) return Kind::any;
  if (d.to != size) return Kind::each;
  if (a == nullptr) return Kind::gather;
  const bool near = static_cast<std::int64_t>(magnitude(d.from)) <= kernels.near[s] * size;
  if (a->from != size) return near ? Kind::gather : Kind::each;
  if (d.extent <= kernels.strands[s] && a->to == d.extent * size) return Kind::weave;
  if (a->extent <= kernels.strands[s] && d.from == a->extent * size) return Kind::split;
  return near && a->extent * size < 16 ? Kind::gather : Kind::transpose;
}

/// Null for runs.
TileKernel kernel_for(const MoveKernels& kernels, std::int64_t size, Kind kind) noexcept {
  const int s = index_of_size(static_cast<std::size_t>(size));
  switch (kind) {
    case Kind::any:
      return kernels.any;
    case Kind::each:
      return kernels.each[s];
    case Kind::gather:
      return kernels.gather[s];
    case Kind::weave:
      return kernels.weave[s];
    case Kind::split:
      return kernels.split[s];
    case Kind::transpose:
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
  const std::int64_t most = buffer_bytes / size > 1 ? buffer_bytes / size : 1;  // elements of a block
  for (int i = 0; i < p.n; ++i) {
    p.block[i] = 1;
    p.shift[i] = 0;
  }
  if (p.lines) {
    p.block[p.a] = least(p.axes[p.a].extent, line_elements(p.size));
    p.block[p.d] = least(run_bytes / size > 128 ? run_bytes / size : 128, most / p.block[p.a] - line_elements(p.size));
    return;
  }
  std::int64_t volume = 1;
  const auto grow = [&](int i, std::int64_t want) {
    std::int64_t b = least(least(want, p.axes[i].extent), most / (volume / p.block[i]));
    if (b < p.block[i]) b = p.block[i];
    volume = volume / p.block[i] * b;
    p.block[i] = b;
  };
  if (p.kind == Kind::runs) {
    // As much as is worth a call: what is contiguous goes in large pieces.
    p.block[p.d] = least(p.axes[p.d].extent, round_up((p.stream || p.turn > 1 ? 1 << 16 : 1 << 20) / size + 1, line));
    return;
  }
  if (p.a < 0) {
    grow(p.d, round_up(8192 / size, line));
  } else if (p.kind == Kind::weave) {
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
    grow(p.a, split ? p.axes[p.a].extent : 2 * line_elements(p.size));
    grow(p.d, split ? round_up(4096 / size, line) : run_bytes / size > 1 ? run_bytes / size : 1);
    // Few rows of the source, which may all share a place in the caches, are read for longer at a time.
    if (p.block[p.d] * size < run_bytes) grow(p.a, run_bytes / size);
  }
  // Short runs of the target, then of the source, are completed by the axes that continue them.
  std::int64_t run = p.block[p.d] * size;
  for (int i = p.n - 1; i >= 0 && run < run_bytes; --i) {
    if (i != p.d) grow(i, (run_bytes + run - 1) / run);
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
  for (int k = p.n - 1; k >= 0 && volume * size < 4096; --k) {
    grow(p.order[k], p.block[p.order[k]] * ((4096 + volume * size - 1) / (volume * size)));
  }
}

/// Two axes, all in the caches: nothing to plan.
void move_at_once(const MoveKernels& kernels, char* to, const char* from, const Axis* axes, int n,
                  std::int64_t size) noexcept {
  const Axis& d = axes[n - 1];
  const Axis a = n > 1 ? axes[0] : Axis{1, 0, 0};
  const Kind kind = kind_for(kernels, size, d, n > 1 ? &a : nullptr);
  Tile tile{to, from, a.to, d.to, a.from, d.from, a.extent, d.extent, static_cast<std::size_t>(size), 0, false};
  if (kind == Kind::runs) {  // as elements along the other axis
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
  if (p.kind == Kind::runs) p.a = -1;
  if (p.a >= 0 && size <= 256) order_by_source(p);
  p.fused_count = 0;
  if ((p.kind == Kind::transpose || p.kind == Kind::gather) && p.a >= 0 && p.axes[p.a].from == size) fuse(p);
  if (p.fused_count > 0) p.kind = Kind::transpose;
  p.kernel = kernel_for(kernels, size, p.kind);
  p.staged = p.kind != Kind::runs && (p.turn > 1 || p.fused_count > 0);
  p.ahead = total < far ? 0 : p.kind == Kind::gather && p.a < 0 && n > 1 ? axes[n - 2].from : 4 * line;
  std::int64_t reach = size;  // of the source
  for (int i = 0; i < n; ++i) reach += (axes[i].extent - 1) * static_cast<std::int64_t>(magnitude(axes[i].from));
  const std::int64_t touched = size >= line ? total : least(reach, total / size * line);
  p.stream = axes[n - 1].to == size && (total + touched) / 2 >= stream_from();
  bool lines = true;  // whether lines of the target begin at the same elements everywhere
  for (int i = 0; i < n; ++i) lines = lines && (i == p.d || axes[i].to % line == 0);
  lines = lines && line % size == 0 && reinterpret_cast<std::uintptr_t>(to) % what.size == 0;
  // Rows that don't share their lines' beginnings, and short ones that share lines, leave through a buffer.
  const bool broken = reinterpret_cast<std::uintptr_t>(to) % line != 0 && axes[p.d].extent * size < run_bytes;
  if (p.kind == Kind::transpose && p.stream && (!lines || broken)) p.staged = true;
  p.lines = p.staged && p.kind == Kind::transpose && p.stream && p.turn <= 1 && p.fused_count == 0 &&
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
