// SPDX-License-Identifier: Apache-2.0
// A number becomes another by the kernel of the pair. Where one of the two is of at most 8 bits and no integer of a
// byte, it goes through float32, int8 or uint8, which hold it exactly and from which ml_dtypes makes it.
#include "src/copy/cast_chain.h"

#include <cstring>

#include "src/copy/cast_scalar.h"
#include "src/copy/isa.h"
#include "src/core/dtype_table.h"

namespace anyarray {
namespace {

/// What one part of a lane is.
struct Lane {
  enum class Sort : std::uint8_t {
    none,
    number,    ///< that kernels have for their own
    narrow,    ///< a float of at most 8 bits
    small,     ///< an integer of less
    extended,  ///< long double
  } sort;
  NumberType number;  ///< itself, or what it becomes on its way
  int narrow;         ///< index of its format
  int bits;
  bool packed;

  /// In memory, packed or not.
  int room() const noexcept { return packed ? bits : (bits + 7) / 8 * 8; }
};

/// 8, 16, 32, 64 → 0 to 3.
NumberType of_width(NumberType first, unsigned bits) noexcept {
  const int width = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
  return static_cast<NumberType>(static_cast<int>(first) + width);
}

bool is_width(unsigned bits) noexcept { return bits <= 64 && (bits & (bits - 1)) == 0 && bits != 0; }

/// As the table of dtypes has them, but without a search.
Lane lane_of(DType d) noexcept {
  const unsigned bits = d.is_complex() ? d.bits / 2u : d.bits;
  Lane lane{Lane::Sort::none, NumberType::boolean, 0, static_cast<int>(bits), bits < 8 && !d.padded()};
  switch (d.code) {
    case TypeCode::bool_:
      if (bits == 8) lane.sort = Lane::Sort::number;
      break;
    case TypeCode::int_:
    case TypeCode::uint:
      if (!is_width(bits)) break;
      lane.sort = bits < 8 ? Lane::Sort::small : Lane::Sort::number;
      lane.number = of_width(d.code == TypeCode::int_ ? NumberType::i8 : NumberType::u8, bits < 8 ? 8 : bits);
      break;
    case TypeCode::float_:
    case TypeCode::complex:
      if (!is_width(bits) || bits < 16) break;
      lane.sort = Lane::Sort::number;
      lane.number = bits == 16 ? NumberType::f16 : bits == 32 ? NumberType::f32 : NumberType::f64;
      break;
    case TypeCode::bfloat:
      if (bits == 16) lane.sort = Lane::Sort::number;
      lane.number = NumberType::bf16;
      break;
    case TypeCode::long_double:
    case TypeCode::complex_long_double:
      if (has_long_double && bits == long_double_bits) lane.sort = Lane::Sort::extended;
      break;
    default:
      if (d.code < TypeCode::float8_e3m4 || d.code > TypeCode::float4_e2m1fn || find_row(d) == nullptr) break;
      lane.sort = Lane::Sort::narrow;
      lane.number = NumberType::f32;
      lane.narrow = static_cast<int>(d.code) - static_cast<int>(TypeCode::float8_e3m4);
  }
  return lane;
}

void push(Chain* c, Kernel run, int bits, std::uint64_t arg = 0) noexcept {
  c->run[c->steps] = run;
  c->arg[c->steps] = arg;
  c->bits[++c->steps] = bits;
}

constexpr int number_bits(NumberType n) noexcept {
  constexpr int bits[] = {8, 8, 16, 32, 64, 8, 16, 32, 64, 16, 32, 64, 16};
  return bits[static_cast<int>(n)];
}
bool is_integer(NumberType n) noexcept { return n >= NumberType::i8 && n <= NumberType::u64; }

const PackKernels& packing() noexcept {
#if defined(ANYARRAY_ISA_X86)
  if (chosen_isa() == Isa::avx512) return pack_kernels_avx512;
#endif
  return pack_kernels;
}
/// 1, 2, 4, 6 bits.
int pack_index(int bits) noexcept { return bits / 2; }

/// The first of two numbers is the low half of both: kernels for integers do that.
Kernel first_half(int bits) noexcept {
  const auto cast = cast_kernels().cast;
  if (little_endian && bits == 16) return cast[static_cast<int>(NumberType::i32)][static_cast<int>(NumberType::i16)];
  if (little_endian && bits == 32) return cast[static_cast<int>(NumberType::i64)][static_cast<int>(NumberType::i32)];
  return first_of(bits / 8);
}
Kernel zero_after(int bits) noexcept {
  const auto cast = cast_kernels().cast;
  if (little_endian && bits == 16) return cast[static_cast<int>(NumberType::u16)][static_cast<int>(NumberType::u32)];
  if (little_endian && bits == 32) return cast[static_cast<int>(NumberType::u32)][static_cast<int>(NumberType::u64)];
  return with_zero(bits / 8);
}

/// A complex is true where one of its parts is: two bytes of which one isn't 0.
void push_is_nonzero(Chain* c, const Lane& part) noexcept {
  constexpr auto truth = static_cast<int>(NumberType::boolean);
  if (part.sort == Lane::Sort::extended) return push(c, is_nonzero_extended, 8);
  const Kernel of_part = cast_kernels().cast[static_cast<int>(part.number)][truth];
  push(c, run_twice, 16, reinterpret_cast<std::uint64_t>(of_part));
  push(c, cast_kernels().cast[static_cast<int>(NumberType::i16)][truth], 8);
}

/// From what the source became to what the target comes from.
void push_middle(Chain* c, const Lane& from, const Lane& to) noexcept {
  const CastKernels& kernels = cast_kernels();
  const int bits = number_bits(to.number);
  const auto column = static_cast<int>(to.number);
  if (to.sort == Lane::Sort::extended) {
    if (from.sort != Lane::Sort::extended) push(c, to_extended(from.number), to.bits);
  } else if (from.sort == Lane::Sort::extended && to.sort == Lane::Sort::small) {
    push(c, from_extended(NumberType::i32), 32);
    push(c, kernels.cast[static_cast<int>(NumberType::i32)][column], bits);
  } else if (from.sort == Lane::Sort::extended) {
    push(c, from_extended(to.number), bits);
  } else if (from.sort == Lane::Sort::narrow && is_integer(to.number)) {
    push(c, kernels.whole[column], bits);
  } else if (const Kernel k = kernels.cast[static_cast<int>(from.number)][column]; k != nullptr) {
    push(c, k, bits);
  }
}

void push_number(Chain* c, const Lane& from, const Lane& to) noexcept {
  const CastKernels& kernels = cast_kernels();
  if (from.packed) push(c, packing().unpack[pack_index(from.bits)], 8);
  const bool same =
      from.sort == to.sort && from.bits == to.bits && from.number == to.number && from.narrow == to.narrow;
  if (!same) {
    if (from.sort == Lane::Sort::small) {
      push(c, from.number == NumberType::i8 ? extend_sign : keep_low, 8, static_cast<std::uint64_t>(from.bits));
    }
    if (from.sort == Lane::Sort::narrow) push(c, kernels.decode[from.narrow], 32);
    push_middle(c, from, to);
    if (to.sort == Lane::Sort::narrow) push(c, kernels.encode[to.narrow], 8);
  }
  if (to.sort == Lane::Sort::small || (same && to.bits < 8)) {
    push(c, keep_low, 8, static_cast<std::uint64_t>(to.bits));
  }
  if (to.packed) push(c, packing().pack[pack_index(to.bits)], to.bits);
}

}  // namespace

bool find_chain(DType to, DType from, Chain* out) noexcept {
  if (from.is_time() && to.code == from.code) return false;  // cast_times.h
  if (from.is_time()) from = make_dtype(TypeCode::int_, 64);
  if (to.is_time()) to = make_dtype(TypeCode::int_, 64);
  const Lane source = lane_of(from);
  const Lane target = lane_of(to);
  if (source.sort == Lane::Sort::none || target.sort == Lane::Sort::none || from.count != to.count) return false;
  out->steps = 0;
  out->items = std::int64_t{from.count} * (from.is_complex() && to.is_complex() ? 2 : 1);
  out->packed_from = source.packed;
  out->packed_to = target.packed;
  out->bits[0] = source.room();
  if (from.is_complex() && !to.is_complex()) {
    out->bits[0] = 2 * source.bits;
    if (to.code == TypeCode::bool_) {
      push_is_nonzero(out, source);
      return true;
    }
    push(out, first_half(source.bits), source.bits);
  }
  push_number(out, source, target);
  if (to.is_complex() && !from.is_complex()) push(out, zero_after(target.bits), 2 * target.bits);
  if (out->steps == 0) push(out, move_items, target.bits, static_cast<std::uint64_t>(target.bits / 8));
  return true;
}

void run_step(const Chain& c, int step, char* to, const char* from, std::int64_t n) noexcept {
  const Kernel run = c.run[step];
  const std::uint64_t arg = c.arg[step];
  const std::int64_t in = c.bits[step];
  const std::int64_t out = c.bits[step + 1];
  const std::int64_t most = n / kernel_step * kernel_step;
  if (most > 0) run(to, from, most, arg);
  const std::int64_t rest = n - most;
  if (rest == 0) return;
  if (most > 0 && in >= 8 && out >= 8) {
    const std::int64_t again = n - kernel_step;
    return run(to + again * out / 8, from + again * in / 8, kernel_step, arg);
  }
  constexpr std::size_t room = kernel_step * 32;
  alignas(64) char source[room];
  alignas(64) char target[room];
  constexpr char zeros[16] = {};  // in the items that there aren't
  for (std::int64_t i = 0; i < kernel_step * in / 8; i += 16) std::memcpy(source + i, zeros, sizeof zeros);
  std::memcpy(source, from + most * in / 8, static_cast<std::size_t>((rest * in + 7) / 8));
  run(target, source, kernel_step, arg);
  char* const end = to + most * out / 8;
  const std::int64_t bits = rest * out;
  std::memcpy(end, target, static_cast<std::size_t>(bits / 8));
  if (bits % 8 == 0) return;
  const unsigned ours = (1u << bits % 8) - 1;
  end[bits / 8] = static_cast<char>((static_cast<unsigned char>(target[bits / 8]) & ours) |
                                    (static_cast<unsigned char>(end[bits / 8]) & ~ours));
}

std::int64_t chain_block(const Chain& c) noexcept {
  std::int64_t widest = 8;
  for (int i = 0; i <= c.steps; ++i) widest = c.bits[i] > widest ? c.bits[i] : widest;
  std::int64_t n = 2048;
  while (n * widest > Between::size * 8) n /= 2;
  return n;
}

void run_steps(const Chain& c, int first, int last, char* to, const char* from, std::int64_t n,
               Between& room) noexcept {
  for (int i = first; i < last; ++i) {
    char* const target = i + 1 == last ? to : room.between[i % 2];
    run_step(c, i, target, from, n);
    from = target;
  }
}

}  // namespace anyarray
