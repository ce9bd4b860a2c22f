// SPDX-License-Identifier: Apache-2.0
// Which way a cast goes through its arrays. Numbers are what is cast one by one here: a lane of an element, or a part
// of a complex one.
#include "src/copy/cast.h"

#include <atomic>

#include "src/copy/caches.h"
#include "src/copy/cast_layouts.h"
#include "src/copy/move.h"
#include "src/copy/rules.h"
#include "src/copy/threads.h"

namespace anyarray {
namespace {

constexpr std::int64_t line = 64;

struct Flat {
  const CastJob& job;
  char* to;
  const char* from;
  bool stream;
};

void turn_items(char* to, const char* from, std::int64_t n, std::int64_t bytes, std::size_t turn) noexcept {
  const Axis axis{n, bytes, bytes};
  move_elements(to, from, &axis, 1, {static_cast<std::size_t>(bytes), turn});
}

void flat_block(const Flat& flat, char* to, const char* from, std::int64_t n, bool stream, Scratch& scratch) noexcept {
  const Chain& c = flat.job.chain;
  if (flat.job.turn_from > 1) {
    turn_items(scratch.source, from, n, bytes_from(c), flat.job.turn_from);
    from = scratch.source;
  }
  const bool direct = !stream && flat.job.turn_to <= 1;
  run_steps(c, 0, c.steps, direct ? to : scratch.target, from, n, scratch);
  if (flat.job.turn_to > 1) {
    turn_items(to, scratch.target, n, bytes_to(c), flat.job.turn_to);
  } else if (stream) {
    cast_kernels().stream(to, 0, scratch.target, 1, n * bytes_to(c));
  }
}

void flat_part(void* what, std::int64_t begin, std::int64_t end) noexcept {
  const Flat& flat = *static_cast<const Flat*>(what);
  const Chain& c = flat.job.chain;
  char* to = flat.to + begin * c.bits[c.steps] / 8;
  const char* from = flat.from + begin * c.bits[0] / 8;
  std::int64_t n = end - begin;
  if (c.steps == 1 && !flat.stream && flat.job.turn_from <= 1 && flat.job.turn_to <= 1) {
    return run_step(c, 0, to, from, n);
  }
  Scratch scratch;
  const auto next = [&](std::int64_t count, bool stream) {
    flat_block(flat, to, from, count, stream, scratch);
    to += count * c.bits[c.steps] / 8;
    from += count * c.bits[0] / 8;
    n -= count;
  };
  if (flat.stream) {
    const auto address = reinterpret_cast<std::uintptr_t>(to);
    const auto gap = static_cast<std::int64_t>((0 - address) % line) / bytes_to(c);
    if (gap > 0) next(gap < n ? gap : n, false);
    while (n >= flat.job.block) next(flat.job.block, true);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // what went past the caches is there for other threads
  }
  while (n > 0) next(n < flat.job.block ? n : flat.job.block, false);
}

}  // namespace

void cast_flat(const CastJob& job, char* to, const char* from, std::int64_t n) noexcept {
  const Chain& c = job.chain;
  const std::int64_t bytes = n * (c.bits[0] + c.bits[c.steps]) / 8;
  Flat flat{job, to, from, false};
  if (bytes < bytes_for_threads) return flat_part(&flat, 0, n);
  // What the caches couldn't hold is written past them.
  flat.stream = bytes >= last_cache() && !c.packed_to && job.turn_to <= 1 &&
                reinterpret_cast<std::uintptr_t>(to) % static_cast<std::uintptr_t>(bytes_to(c)) == 0;
  in_parts(n, job.block, bytes, flat_part, &flat);
}

bool has_cast(DType to, DType from) noexcept {
  Chain chain;
  return find_chain(to, from, &chain);
}

void cast_elements(const Descriptor& to, const Descriptor& from) noexcept {
  CastJob job;
  Chain& c = job.chain;
  find_chain(to.dtype, from.dtype, &c);
  job.turn_from = from.dtype.swapped() ? swap_unit(from.dtype) : 1;
  job.turn_to = to.dtype.swapped() ? swap_unit(to.dtype) : 1;
  job.block = chain_block(c);
  char* target = static_cast<char*>(to.data);
  const char* source = static_cast<const char*>(from.data);
  if (to.c_contiguous() && from.c_contiguous()) return cast_flat(job, target, source, from.size() * c.items);
  if (c.packed_from || c.packed_to) return cast_bits(job, to, from);
  Axis axes[max_axes];
  int n = 0;
  for (int i = 0; i < from.ndim; ++i) {
    Axis axis{from.shape[i], to.strides[i], from.strides[i]};
    if (axis.extent == 1) continue;
    if (axis.to < 0) {  // backwards on both sides instead
      target += axis.to * (axis.extent - 1);
      source += axis.from * (axis.extent - 1);
      axis = {axis.extent, -axis.to, -axis.from};
    }
    axes[n++] = axis;
  }
  if (c.items > 1) axes[n++] = {c.items, bytes_to(c), bytes_from(c)};
  n = arrange(axes, n);
  const bool is_flat = n == 0 || (n == 1 && axes[0].to == bytes_to(c) && axes[0].from == bytes_from(c));
  if (is_flat) return cast_flat(job, target, source, n == 0 ? 1 : axes[0].extent);
  cast_boxes(job, target, source, axes, n);
}

}  // namespace anyarray
