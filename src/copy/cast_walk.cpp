// SPDX-License-Identifier: Apache-2.0
#include "src/copy/cast_walk.h"

#include "src/copy/move.h"

namespace anyarray {
namespace {

std::int64_t offset_of(const Side& s, const Walk& walk, const Place& at) noexcept {
  std::int64_t offset = 0;
  for (int i = 0; i < walk.n; ++i) offset += at.index[i] * s.steps[i];
  return offset;
}

/// Calls piece(offset, done, count) for the runs along the last axis that hold the next `n` items.
template <class Piece>
void for_runs(const Side& s, const Walk& walk, Place at, std::int64_t n, Piece piece) noexcept {
  const int last = walk.n - 1;
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t left = walk.extents[last] - at.index[last];
    const std::int64_t count = left < n - done ? left : n - done;
    piece(offset_of(s, walk, at), done, count);
    done += count;
    at.index[last] += count;
    for (int i = last; i > 0 && at.index[i] == walk.extents[i]; --i) {
      at.index[i] = 0;
      ++at.index[i - 1];
    }
  }
}

unsigned char* byte_at(const Side& s, std::int64_t bit) noexcept {
  return reinterpret_cast<unsigned char*>(s.data) + (bit >> 3);
}

/// Items of under 8 bits, a byte for each.
void read_bits(const Side& s, const Walk& walk, const Place& at, std::int64_t n, char* out) noexcept {
  for_runs(s, walk, at, n, [&](std::int64_t offset, std::int64_t done, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, offset += s.steps[walk.n - 1]) {
      const unsigned char* const p = byte_at(s, offset);
      const auto shift = static_cast<unsigned>(offset & 7);
      unsigned v = static_cast<unsigned>(*p) >> shift;
      if (shift + static_cast<unsigned>(s.bits) > 8) v |= static_cast<unsigned>(p[1]) << (8 - shift);
      out[done + i] = static_cast<char>(v & ((1u << s.bits) - 1));
    }
  });
}
void write_bits(const Side& s, const Walk& walk, const Place& at, std::int64_t n, const char* in) noexcept {
  const unsigned ours = (1u << s.bits) - 1;
  for_runs(s, walk, at, n, [&](std::int64_t offset, std::int64_t done, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, offset += s.steps[walk.n - 1]) {
      unsigned char* const p = byte_at(s, offset);
      const auto shift = static_cast<unsigned>(offset & 7);
      const unsigned v = static_cast<unsigned char>(in[done + i]) & ours;
      p[0] = static_cast<unsigned char>((p[0] & ~(ours << shift)) | (v << shift));
      if (shift + static_cast<unsigned>(s.bits) > 8) {
        p[1] = static_cast<unsigned char>((p[1] & ~(ours >> (8 - shift))) | (v >> (8 - shift)));
      }
    }
  });
}

}  // namespace

Walk walk_of(const Descriptor& d, std::int64_t items_of_element) noexcept {
  Walk walk;
  walk.n = 0;
  walk.items = items_of_element;
  for (int i = 0; i < d.ndim; ++i) {
    walk.extents[walk.n++] = d.shape[i];
    walk.items *= d.shape[i];
  }
  walk.extents[walk.n++] = items_of_element;
  return walk;
}

void advance(Place& at, const Walk& walk, std::int64_t n) noexcept {
  for (int i = walk.n - 1; i >= 0 && n > 0; --i) {
    n += at.index[i];
    at.index[i] = n % walk.extents[i];
    n /= walk.extents[i];
  }
}

Side side_of(const Descriptor& d, std::int64_t bits, bool packed, std::size_t turn, const Walk& walk) noexcept {
  Side s;
  s.data = static_cast<char*>(d.data);
  s.bits = bits;
  s.turn = turn;
  s.packed = packed;
  s.flat = d.c_contiguous();
  for (int i = 0; i < d.ndim; ++i) s.steps[i] = s.flat ? 0 : packed ? d.strides[i] * 8 : d.strides[i];
  s.steps[walk.n - 1] = packed ? bits : bits / 8;  // from one lane to the next
  return s;
}

const char* read_items(const Side& s, const Walk& walk, const Place& at, std::int64_t first, std::int64_t n,
                       char* room) noexcept {
  if (s.bitwise()) return read_bits(s, walk, at, n, room), room;
  const std::int64_t bytes = s.bits / 8;
  if (s.flat && s.turn <= 1) return s.data + first * s.bits / 8;
  for_runs(s, walk, at, n, [&](std::int64_t offset, std::int64_t done, std::int64_t count) {
    const Axis axis{count, bytes, s.flat ? bytes : s.steps[walk.n - 1]};
    const char* const from = s.flat ? s.data + (first + done) * bytes : s.data + offset;
    move_elements(room + done * bytes, from, &axis, 1, {static_cast<std::size_t>(bytes), s.turn});
  });
  return room;
}
void write_items(const Side& s, const Walk& walk, const Place& at, std::int64_t first, std::int64_t n,
                 const char* in) noexcept {
  if (s.bitwise()) return write_bits(s, walk, at, n, in);
  const std::int64_t bytes = s.bits / 8;
  for_runs(s, walk, at, n, [&](std::int64_t offset, std::int64_t done, std::int64_t count) {
    const Axis axis{count, s.flat ? bytes : s.steps[walk.n - 1], bytes};
    char* const to = s.flat ? s.data + (first + done) * bytes : s.data + offset;
    move_elements(to, in + done * bytes, &axis, 1, {static_cast<std::size_t>(bytes), s.turn});
  });
}

}  // namespace anyarray
