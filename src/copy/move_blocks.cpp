// SPDX-License-Identifier: Apache-2.0
// What goes past the cache goes in whole lines: straight from registers where lines and blocks can begin together, else
// through a buffer.
#include "src/copy/move_blocks.h"

#include <cstring>

namespace anyarray {
namespace {

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
  if (p.a < 0 && count > 0) {  // a kernel that takes any two axes
    const int a = others[--count];
    tile.to_a = to_step[a];
    tile.from_a = p.axes[a].from;
    tile.na = block.extent[a];
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
  // Parts of lines are written through the cache: all are asked for before the first is.
  bool asked = short_runs || !p.stream || p.ahead == 0;
  for (;;) {
    if (!asked) {
      for (std::int64_t i = 0; i < last.extent; ++i) {
        const char* const to = tile.to + i * last.to;
        __builtin_prefetch(to, 1);
        __builtin_prefetch(to + run - 1, 1);
      }
    } else if (short_runs || (p.turn <= 1 && !p.stream)) {
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
      // The analyzer doesn't see that extents and steps are filled for all p.n axes, and that inner is at most p.n.
      // NOLINTBEGIN(clang-analyzer-core.uninitialized.Assign, clang-analyzer-core.UndefinedBinaryOperatorResult)
      const std::int64_t extent = block.extent[i];
      if (++index[i] < extent) {
        tile.to += p.axes[i].to;
        tile.from += step[i];
        break;
      }
      index[i] = 0;
      tile.to -= p.axes[i].to * (extent - 1);
      tile.from -= step[i] * (extent - 1);
      // NOLINTEND(clang-analyzer-core.uninitialized.Assign, clang-analyzer-core.UndefinedBinaryOperatorResult)
    }
    if (i >= 0) continue;
    if (asked) return;
    asked = true;
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
  if (p.kind == MoveKind::runs) {
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

}  // namespace

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

}  // namespace anyarray
