// SPDX-License-Identifier: Apache-2.0
// Which element a cast would change. A block is cast there and back, which tells of nearly all pairs that nothing was
// lost; where something differs, or the way back could hide it, both are compared as numbers that hold them exactly.
#include <cstring>

#include "src/copy/cast.h"
#include "src/copy/cast_layouts.h"
#include "src/copy/cast_walk.h"
#include "src/copy/rules.h"
#include "src/core/dtype_table.h"

namespace anyarray {
namespace {

enum class Kind : std::uint8_t { signed_, unsigned_, real };

Kind kind_of(DType d) noexcept {
  if (d.code == TypeCode::int_ || d.is_time()) return Kind::signed_;
  return d.code == TypeCode::uint || d.code == TypeCode::bool_ ? Kind::unsigned_ : Kind::real;
}

DType exact_type(DType d, bool as_complex) noexcept {
  const Kind kind = kind_of(d);
  if (kind == Kind::real || as_complex) {
    const TypeCode code = has_long_double ? as_complex ? TypeCode::complex_long_double : TypeCode::long_double
                          : as_complex    ? TypeCode::complex
                                          : TypeCode::float_;
    return make_dtype(code, long_double_bits * (as_complex ? 2u : 1u), d.count);
  }
  return make_dtype(kind == Kind::signed_ ? TypeCode::int_ : TypeCode::uint, 64, d.is_time() ? 1 : d.count);
}

/// How numbers of one type are read exactly.
struct Exact {
  Chain chain;
  Kind kind;
  std::int64_t bytes;
  bool same;  ///< they are of that type already
};
Exact exact_of(DType d, bool as_complex) noexcept {
  Exact e;
  const DType type = exact_type(d, as_complex);
  e.kind = as_complex ? Kind::real : kind_of(d);
  find_chain(type, d, &e.chain);
  e.bytes = e.kind == Kind::real ? static_cast<std::int64_t>(sizeof(long double)) : 8;
  return e;
}

template <class T>
T load(const char* p) noexcept {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

bool is_whole(long double real, std::int64_t v) noexcept {
  return real >= -0x1p63L && real < 0x1p63L && static_cast<std::int64_t>(real) == v &&
         static_cast<long double>(static_cast<std::int64_t>(real)) == real;
}
bool is_whole(long double real, std::uint64_t v) noexcept {
  return real >= 0 && real < 0x1p64L && static_cast<std::uint64_t>(real) == v &&
         static_cast<long double>(static_cast<std::uint64_t>(real)) == real;
}

bool equal_numbers(const char* a, Kind of_a, const char* b, Kind of_b) noexcept {
  if (of_a == Kind::real && of_b == Kind::real) {
    const auto x = load<long double>(a);
    const auto y = load<long double>(b);
    return x == y || (x != x && y != y);
  }
  if (of_b == Kind::real) return equal_numbers(b, of_b, a, of_a);
  if (of_a == Kind::real) {
    const auto x = load<long double>(a);
    return of_b == Kind::signed_ ? is_whole(x, load<std::int64_t>(b)) : is_whole(x, load<std::uint64_t>(b));
  }
  return load<std::int64_t>(a) == load<std::int64_t>(b) && (of_a == of_b || load<std::int64_t>(a) >= 0);
}

/// Whether there and back again proves that nothing was lost.
enum class Proof : std::uint8_t {
  none,
  all,
  signs_of_source,  ///< where no integer of the source is negative
  signs_of_target,
};

bool is_narrow(DType d) noexcept { return d.code >= TypeCode::float8_e3m4 && d.code <= TypeCode::float4_e2m1fn; }

Proof proof_of(DType to, DType from) noexcept {
  const Kind source = kind_of(from);
  const Kind target = kind_of(to);
  if (from.bits < 8 || to.bits < 8) return Proof::none;
  if (source == Kind::real && target == Kind::real) return Proof::all;
  // Infinities become the last integers, and these infinities.
  if (is_narrow(from) || is_narrow(to)) return Proof::none;
  if (source == Kind::real) return Proof::all;
  // The lowest integer becomes an infinity of float16, and that the lowest integer.
  if (target == Kind::real) return to.code == TypeCode::float_ && to.bits == 16 ? Proof::none : Proof::all;
  if (source == target) return Proof::all;
  return source == Kind::signed_ ? Proof::signs_of_source : Proof::signs_of_target;
}

/// Whether one of the integers is negative.
bool any_sign(const char* p, std::int64_t n, std::int64_t bytes) noexcept {
  unsigned all = 0;
  const char* const top = p + (little_endian ? bytes - 1 : 0);
  for (std::int64_t i = 0; i < n; ++i) all |= static_cast<unsigned char>(top[i * bytes]);
  return (all & 0x80) != 0;
}

struct Check {
  Chain there, back;
  Proof proof;
  Exact source, target;
  std::int64_t block;  ///< items
  int parts;           ///< numbers that an item is of exactly
};

constexpr std::int64_t smaller(std::int64_t a, std::int64_t b) noexcept { return a < b ? a : b; }

/// The first of `n` items that changes; n where none does.
std::int64_t first_in_block(const Check& c, const char* items, std::int64_t n, Scratch& scratch) noexcept {
  run_steps(c.there, 0, c.there.steps, scratch.target, items, n, scratch);
  const std::int64_t bytes = bytes_from(c.there);
  const std::int64_t made = bytes_to(c.there);
  alignas(64) char room[Scratch::size];
  if (c.proof != Proof::none) {
    run_steps(c.back, 0, c.back.steps, room, scratch.target, n, scratch);
    if (std::memcmp(room, items, static_cast<std::size_t>(n * bytes)) == 0 &&
        !(c.proof == Proof::signs_of_source && any_sign(items, n, bytes)) &&
        !(c.proof == Proof::signs_of_target && any_sign(scratch.target, n, made))) {
      return n;
    }
  }
  // In parts of whole bytes: 16 items are, however they are packed.
  alignas(64) char other[Scratch::size];
  const std::int64_t from_each = c.source.chain.items / c.there.items;
  const std::int64_t to_each = c.target.chain.items / c.there.items;
  const std::int64_t most = smaller(chain_block(c.source.chain) / from_each, chain_block(c.target.chain) / to_each);
  const std::int64_t part = most / kernel_step * kernel_step;
  for (std::int64_t first = 0; first < n; first += part) {
    const std::int64_t count = smaller(part, n - first);
    const char* const to = scratch.target + first * c.there.bits[c.there.steps] / 8;
    run_steps(c.source.chain, 0, c.source.chain.steps, room, items + first * c.there.bits[0] / 8, count * from_each,
              scratch);
    run_steps(c.target.chain, 0, c.target.chain.steps, other, to, count * to_each, scratch);
    for (std::int64_t i = 0; i < count * c.parts; ++i) {
      if (!equal_numbers(room + i * c.source.bytes, c.source.kind, other + i * c.target.bytes, c.target.kind)) {
        return first + i / c.parts;
      }
    }
  }
  return n;
}

}  // namespace

std::int64_t first_changed(const Descriptor& from, DType to) noexcept {
  const std::int64_t size = from.size();
  if (to.code == TypeCode::bool_ || size == 0) return -1;
  // Packed items are read one by one, as a byte each, where the array has gaps.
  const bool bitwise = from.dtype.bits < 8 && !from.c_contiguous();
  const DType source = from.dtype.with_swapped(false).with_padded(bitwise || from.dtype.padded());
  const DType target = to.with_swapped(false);
  const bool as_complex = source.is_complex() || target.is_complex();
  Check c;
  if (!find_chain(target, source, &c.there) || !find_chain(source, target, &c.back)) return -1;
  c.proof = proof_of(target, source);
  c.source = exact_of(source, as_complex);
  c.target = exact_of(target, as_complex);
  c.parts = as_complex && c.there.items == 1 ? 2 : 1;
  c.block = smaller(chain_block(c.there), chain_block(c.back));
  const Walk walk = walk_of(from, c.there.items);
  const std::size_t turn = from.dtype.swapped() ? swap_unit(from.dtype) : 1;
  const bool packed = from.dtype.bits < 8 && !from.dtype.padded();
  const Side side = side_of(from, packed ? from.dtype.bits : c.there.bits[0], packed, turn, walk);
  Scratch scratch;
  Place at{};
  for (std::int64_t first = 0; first < walk.items; first += c.block) {
    const std::int64_t n = smaller(c.block, walk.items - first);
    const char* const items = read_items(side, walk, at, first, n, scratch.source);
    const std::int64_t found = first_in_block(c, items, n, scratch);
    if (found < n) return (first + found) / c.there.items;
    advance(at, walk, n);
  }
  return -1;
}

}  // namespace anyarray
