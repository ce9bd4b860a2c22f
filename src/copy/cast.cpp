// SPDX-License-Identifier: Apache-2.0
// Elements go in runs along the dimension in which the target lies densest. A number goes through the 64-bit integer,
// float or double that holds it exactly, a block of them at a time, so that there is a reader and a writer for each type
// instead of a loop for each pair.
#include "src/copy/cast.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "src/core/dtype_table.h"
#include "src/core/narrow_float.h"
#include "src/core/numbers.h"
#include "src/copy/axes.h"
#include "src/copy/reversed.h"

namespace anyarray {
namespace {

constexpr int block_size = 128;

/// Numbers on their way.
union Block {
  std::int64_t i[block_size];
  std::uint64_t u[block_size];
  float f[block_size];
  double d[block_size];
};
enum class Via : std::uint8_t { i, u, f, d };

template <class H>
H* in(Block& b) noexcept {
  if constexpr (std::is_same_v<H, std::int64_t>) return b.i;
  if constexpr (std::is_same_v<H, std::uint64_t>) return b.u;
  if constexpr (std::is_same_v<H, float>) return b.f;
  if constexpr (std::is_same_v<H, double>) return b.d;
}

/// Whether lanes begin at any bit.
bool is_bitwise(DType d) noexcept { return d.is_scalar() && d.bits < 8 && !d.padded(); }

/// Where a run of one part of the elements lies, in bytes; in bits where is_bitwise().
struct Run {
  char* base;
  std::int64_t offset;
  std::int64_t stride;
};
struct Part {
  DType dtype;
  bool swapped;
};

using Read = void (*)(const Run&, const Part&, int n, Block&) noexcept;
using Write = void (*)(const Run&, const Part&, int n, Block&) noexcept;

template <class T, class H>
void read(const Run& run, const Part& part, int n, Block& block) noexcept {
  H* const to = in<H>(block);
  const char* const p = run.base + run.offset;
  for (int i = 0; i < n; ++i) {
    Unsigned<sizeof(T)> raw;
    std::memcpy(&raw, p + i * run.stride, sizeof raw);
    if (part.swapped) raw = reversed(raw);
    to[i] = held_as<H>(bits_as<T>(raw));
  }
}

template <class T, class H>
void write(const Run& run, const Part& part, int n, Block& block) noexcept {
  const H* const from = in<H>(block);
  char* const p = run.base + run.offset;
  for (int i = 0; i < n; ++i) {
    auto raw = bits_as<Unsigned<sizeof(T)>>(number_as<T>(from[i]));
    if (part.swapped) raw = reversed(raw);
    std::memcpy(p + i * run.stride, &raw, sizeof raw);
  }
}

/// Lanes of at most a byte that C++ has no type for, packed or not.
void read_narrow(const Run& run, const Part& part, int n, Block& block) noexcept {
  const DType d = part.dtype;
  const FloatFormat* const format = narrow_format(d);
  const int unit = is_bitwise(d) ? 1 : 8;
  for (int i = 0; i < n; ++i) {
    const std::int64_t at = (run.offset + i * run.stride) * unit;
    const std::uint32_t raw = load_bits(run.base + (at >> 3), static_cast<std::uint64_t>(at & 7), d.bits);
    if (d.code == TypeCode::uint) {
      block.u[i] = raw;
    } else if (d.code == TypeCode::int_) {
      const std::int64_t sign = std::int64_t{1} << (d.bits - 1);
      block.i[i] = (raw ^ sign) - sign;
    } else {
      block.f[i] = static_cast<float>(format != nullptr ? decode_float(raw, *format) : decode_e8m0(raw));
    }
  }
}

/// What a number or one part of a complex number is, or nothing: `via` says what reads it exactly, the functions are
/// null where there are none.
struct Type {
  Via via;
  Read read;
  Write write[4];  ///< by what holds it on the way
};
template <class T, class H, Via via>
constexpr Type type_of() noexcept {
  return {via, read<T, H>, {write<T, std::int64_t>, write<T, std::uint64_t>, write<T, float>, write<T, double>}};
}
constexpr Type types[] = {
    type_of<Bool, std::uint64_t, Via::u>(),
    type_of<std::int8_t, std::int64_t, Via::i>(),
    type_of<std::int16_t, std::int64_t, Via::i>(),
    type_of<std::int32_t, std::int64_t, Via::i>(),
    type_of<std::int64_t, std::int64_t, Via::i>(),
    type_of<std::uint8_t, std::uint64_t, Via::u>(),
    type_of<std::uint16_t, std::uint64_t, Via::u>(),
    type_of<std::uint32_t, std::uint64_t, Via::u>(),
    type_of<std::uint64_t, std::uint64_t, Via::u>(),
    type_of<Half, float, Via::f>(),
    type_of<float, float, Via::f>(),
    type_of<double, double, Via::d>(),
    type_of<Brain, float, Via::f>(),
};
constexpr Type narrow_types[] = {{Via::i, read_narrow, {}}, {Via::u, read_narrow, {}}, {Via::f, read_narrow, {}}};

/// 8, 16, 32, 64 → 0 to 3; -1 for any other.
int width(unsigned bits) noexcept { return bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : -1; }

const Type* find_type(TypeCode code, unsigned bits) noexcept {
  const int w = width(bits);
  if (find_row(code, bits) == nullptr) return nullptr;
  switch (code) {
    case TypeCode::bool_:
      return types;
    case TypeCode::int_:
      return w >= 0 ? types + 1 + w : narrow_types;
    case TypeCode::uint:
      return w >= 0 ? types + 5 + w : narrow_types + 1;
    case TypeCode::float_:
      return w >= 1 ? types + 8 + w : nullptr;
    case TypeCode::bfloat:
      return types + 12;
    default:
      return code >= TypeCode::float8_e3m4 && code <= TypeCode::float4_e2m1fn ? narrow_types + 2 : nullptr;
  }
}
DType part_of(DType d) noexcept {
  if (d.code == TypeCode::complex) return make_dtype(TypeCode::float_, d.bits / 2u);
  DType part = d.with_swapped(false);
  part.count = 1;
  return part;
}
const Type* type_of_part(DType d) noexcept {
  if (d.code == TypeCode::complex && find_row(d) == nullptr) return nullptr;
  const DType part = part_of(d);
  return find_type(part.code, part.bits);
}

/// How runs are converted.
struct Job {
  Part from, to;
  Read read;
  Write write;
  std::int64_t imaginary_from;  ///< steps from the real to the imaginary part; 0: there is none
  std::int64_t imaginary_to;
  Via via;
};

template <class H>
void join(Block& real, Block& imaginary, int n) noexcept {
  H* const to = in<H>(real);
  const H* const from = in<H>(imaginary);
  for (int i = 0; i < n; ++i) to[i] = to[i] != 0 || from[i] != 0 ? H{1} : H{0};
}

void convert_run(const Job& job, Run to, Run from, std::int64_t n) noexcept {
  Block block;
  Block imaginary;
  if (job.imaginary_to != 0 && job.imaginary_from == 0)
    std::memset(static_cast<void*>(&imaginary), 0, sizeof imaginary);
  while (n > 0) {
    const int count = n < block_size ? static_cast<int>(n) : block_size;
    job.read(from, job.from, count, block);
    if (job.imaginary_from != 0) {
      job.read({from.base, from.offset + job.imaginary_from, from.stride}, job.from, count, imaginary);
      if (job.to.dtype.code == TypeCode::bool_) {
        if (job.via == Via::f) {
          join<float>(block, imaginary, count);
        } else {
          join<double>(block, imaginary, count);
        }
      }
    }
    job.write(to, job.to, count, block);
    if (job.imaginary_to != 0) job.write({to.base, to.offset + job.imaginary_to, to.stride}, job.to, count, imaginary);
    n -= count;
    if (n == 0) return;
    from.offset += from.stride * count;
    to.offset += to.stride * count;
  }
}

constexpr DType half = make_dtype(TypeCode::float_, 16);

Job job_for(DType to, DType from) noexcept {
  Job job{};
  job.from = {part_of(from), from.swapped()};
  job.to = {part_of(to), to.swapped()};
  const Type& source = *type_of_part(from);
  job.via = source.via;
  job.read = source.read;
  if (job.from.dtype == half && job.to.dtype == make_dtype(TypeCode::float_, 64)) {
    job.via = Via::d;  // on its way through a float, NaN would be quieted
    job.read = read<Half, double>;
  } else if (from.code == TypeCode::bfloat && job.to.dtype == half) {
    job.read = read<QuietBrain, float>;
  }
  job.write = type_of_part(to)->write[static_cast<int>(job.via)];
  if (from.is_complex()) job.imaginary_from = from.bits / 16;
  if (to.is_complex()) job.imaginary_to = to.bits / 16;
  return job;
}

/// Strides in bits, for lanes that begin at any; without strides they lie row-major.
void bit_strides(const Descriptor& d, std::int64_t* out) noexcept {
  if (d.strides == nullptr) {
    c_strides(d.ndim, d.shape, std::int64_t{d.dtype.bits} * d.dtype.count, out);
    return;
  }
  for (int i = 0; i < d.ndim; ++i) out[i] = d.shape[i] > 1 ? d.strides[i] * 8 : 0;
}
/// From one lane to the next, in the same unit.
std::int64_t lane_stride(DType d) noexcept { return is_bitwise(d) ? d.bits : (d.bits + 7) / 8; }

}  // namespace

bool has_cast(DType to, DType from) noexcept {
  const Type* const target = type_of_part(to);
  return type_of_part(from) != nullptr && target != nullptr && target->write[0] != nullptr && from.count == to.count;
}

void cast_elements(const Descriptor& to, const Descriptor& from) noexcept {
  const Job job = job_for(to.dtype, from.dtype);
  std::int64_t bits[max_ndim];
  const std::int64_t* from_strides = from.strides;
  if (is_bitwise(from.dtype)) {
    bit_strides(from, bits);
    from_strides = bits;
  }
  Axis axes[max_axes];
  int n = 0;
  for (int i = 0; i < from.ndim; ++i) {
    if (from.shape[i] > 1) axes[n++] = {from.shape[i], to.strides[i], from_strides[i]};
  }
  if (from.dtype.count > 1) axes[n++] = {from.dtype.count, lane_stride(to.dtype), lane_stride(from.dtype)};
  n = arrange(axes, n);
  const Axis inner = n > 0 ? axes[n - 1] : Axis{1, 0, 0};
  Run out{static_cast<char*>(to.data), 0, inner.to};
  Run source{static_cast<char*>(from.data), 0, inner.from};
  std::int64_t index[max_axes] = {};
  for (;;) {
    convert_run(job, out, source, inner.extent);
    int dim = n - 2;
    for (; dim >= 0; --dim) {
      const Axis& axis = axes[dim];
      if (++index[dim] < axis.extent) {
        out.offset += axis.to;
        source.offset += axis.from;
        break;
      }
      index[dim] = 0;
      out.offset -= axis.to * (axis.extent - 1);
      source.offset -= axis.from * (axis.extent - 1);
    }
    if (dim < 0) return;
  }
}

namespace {

bool equal_numbers(const Block& a, Via via_a, const Block& b, Via via_b) noexcept {
  const auto value = [](const Block& v, Via via) {
    return via == Via::i   ? static_cast<long double>(v.i[0])
           : via == Via::u ? static_cast<long double>(v.u[0])
           : via == Via::f ? static_cast<long double>(v.f[0])
                           : static_cast<long double>(v.d[0]);
  };
  const long double x = value(a, via_a);
  const long double y = value(b, via_b);
  return x == y || (x != x && y != y);
}

bool keeps_part(const Job& job, Run source, const Type& target) noexcept {
  Block block;
  Block back;
  char memory[8];
  const Run there{memory, 0, 0};
  job.read(source, job.from, 1, block);
  job.write(there, job.to, 1, block);
  job.read(source, job.from, 1, block);
  target.read(there, job.to, 1, back);
  return equal_numbers(block, job.via, back, target.via);
}

}  // namespace

std::int64_t first_changed(const Descriptor& from, DType to) noexcept {
  if (to.code == TypeCode::bool_) return -1;
  const Job job = job_for(to, from.dtype);
  const Type& target = *type_of_part(to);
  std::int64_t bits[max_ndim];
  const std::int64_t* strides = from.strides;
  if (is_bitwise(from.dtype)) {
    bit_strides(from, bits);
    strides = bits;
  }
  const std::int64_t size = from.size();
  std::int64_t index[max_ndim] = {};
  Run at{static_cast<char*>(from.data), 0, 0};
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::uint32_t lane = 0; lane < from.dtype.count; ++lane) {
      Run part = at;
      part.offset += lane * lane_stride(from.dtype);
      if (!keeps_part(job, part, target)) return i;
      if (job.imaginary_from == 0) continue;
      part.offset += job.imaginary_from;
      if (job.imaginary_to != 0) {
        if (!keeps_part(job, part, target)) return i;
        continue;
      }
      Block imaginary;
      Block zero{};
      job.read(part, job.from, 1, imaginary);
      if (!equal_numbers(imaginary, job.via, zero, job.via)) return i;
    }
    for (int dim = from.ndim - 1; dim >= 0; --dim) {
      at.offset += strides[dim];
      if (++index[dim] < from.shape[dim]) break;
      at.offset -= strides[dim] * from.shape[dim];
      index[dim] = 0;
    }
  }
  return -1;
}

}  // namespace anyarray
