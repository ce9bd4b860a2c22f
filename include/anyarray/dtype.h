// SPDX-License-Identifier: Apache-2.0
// The element type in 8 bytes, and the one table of names and letters that every codec reads.
// Structs and sub-arrays are interned: equal types have equal indices, and entries are immortal.
#pragma once
#include <cstddef>
#include <cstdint>

#include "anyarray/status.h"

namespace anyarray {

/// What an element is. 0 to 17 are DLPack's DLDataTypeCode numbers (dlpack.h 1.3); the rest is ours.
enum class TypeCode : std::uint8_t {
  int_ = 0,
  uint = 1,
  float_ = 2,
  opaque_handle = 3,
  bfloat = 4,
  complex = 5,
  bool_ = 6,
  float8_e3m4 = 7,
  float8_e4m3 = 8,
  float8_e4m3b11fnuz = 9,
  float8_e4m3fn = 10,
  float8_e4m3fnuz = 11,
  float8_e5m2 = 12,
  float8_e5m2fnuz = 13,
  float8_e8m0fnu = 14,
  float6_e2m3fn = 15,
  float6_e3m2fn = 16,
  float4_e2m1fn = 17,
  // From here on DLPack has no code.
  long_double = 64,          ///< the C compiler's long double where it isn't double; bits = 8 * sizeof
  complex_long_double = 65,  ///< two of them
  datetime64 = 66,           ///< int64 ticks since 1970 of `count` units (NumPy's rule), INT64_MIN = NaT
  timedelta64 = 67,
  fixed_bytes = 68,  ///< `count` bytes, padded with NUL (NumPy's S)
  fixed_ucs4 = 69,   ///< `count` code points of 4 bytes, padded with NUL (NumPy's U)
  void_ = 70,        ///< `count` bytes without a meaning (NumPy's V)
  interned = 71,     ///< struct or sub-array; `bits` is the index of its entry, `count` its size in bytes
};

/// NumPy's datetime units, in NumPy's order; `none` elsewhere, `generic` for a unitless datetime.
enum class TimeUnit : std::uint8_t { none = 0, Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as, generic };

/// An element type. Trivially copyable, compared bytewise. Order is that of the machine unless
/// `swapped`. Sub-byte elements are packed (DLPack's default) unless `padded` to a byte each.
struct DType {
  TypeCode code = TypeCode::void_;
  std::uint8_t attributes = 0;  ///< bit 0 swapped, bit 1 padded, bits 2..7 the TimeUnit
  std::uint16_t bits = 0;       ///< of one lane; complex counts both parts; an index for interned
  std::uint32_t count = 0;      ///< lanes; length of strings and void; multiplier of time units; bytes of interned

  static constexpr std::uint8_t swapped_bit = 1;
  static constexpr std::uint8_t padded_bit = 2;

  constexpr bool swapped() const noexcept { return (attributes & swapped_bit) != 0; }
  constexpr bool padded() const noexcept { return (attributes & padded_bit) != 0; }
  constexpr TimeUnit unit() const noexcept { return static_cast<TimeUnit>(attributes >> 2); }
  constexpr bool is_time() const noexcept { return code == TypeCode::datetime64 || code == TypeCode::timedelta64; }
  constexpr bool is_complex() const noexcept {
    return code == TypeCode::complex || code == TypeCode::complex_long_double;
  }
  /// True for DLPack's codes, where `count` is the number of lanes.
  constexpr bool is_scalar() const noexcept { return code <= TypeCode::complex_long_double; }
  /// True when elements don't fill whole bytes: such arrays are compact row-major and carry no strides.
  constexpr bool packed() const noexcept {
    return code <= TypeCode::float4_e2m1fn && !padded() && (bits * std::uint64_t{count}) % 8 != 0;
  }
  /// Size of an element in bytes; a packed element counts as the bytes that hold one.
  constexpr std::int64_t itemsize() const noexcept {
    if (code < TypeCode::datetime64 || (code > TypeCode::timedelta64 && code < TypeCode::interned)) {
      const std::uint64_t lane = padded() ? (bits + 7u) & ~7u : bits;
      return static_cast<std::int64_t>((lane * count + 7) / 8);
    }
    return code == TypeCode::interned ? std::int64_t{count} : 8;
  }
  constexpr DType with_swapped(bool on) const noexcept {
    DType d = *this;
    d.attributes = static_cast<std::uint8_t>((attributes & ~swapped_bit) | (on ? swapped_bit : 0));
    return d;
  }
  constexpr DType with_padded(bool on) const noexcept {
    DType d = *this;
    d.attributes = static_cast<std::uint8_t>((attributes & ~padded_bit) | (on ? padded_bit : 0));
    return d;
  }
  constexpr bool operator==(const DType& o) const noexcept {
    return code == o.code && attributes == o.attributes && bits == o.bits && count == o.count;
  }
  constexpr bool operator!=(const DType& o) const noexcept { return !(*this == o); }
};

/// A numeric type of `bits` per lane in the machine's order.
constexpr DType make_dtype(TypeCode code, unsigned bits, std::uint32_t lanes = 1) noexcept {
  DType d;
  d.code = code;
  d.bits = static_cast<std::uint16_t>(bits);
  d.count = lanes;
  return d;
}
constexpr DType make_time(TypeCode code, TimeUnit unit, std::uint32_t multiplier = 1) noexcept {
  DType d = make_dtype(code, 64, multiplier);
  d.attributes = static_cast<std::uint8_t>(static_cast<unsigned>(unit) << 2);
  return d;
}
constexpr DType make_bytes(std::uint32_t length) noexcept { return make_dtype(TypeCode::fixed_bytes, 8, length); }
constexpr DType make_ucs4(std::uint32_t length) noexcept { return make_dtype(TypeCode::fixed_ucs4, 32, length); }
constexpr DType make_void(std::uint32_t bytes) noexcept { return make_dtype(TypeCode::void_, 8, bytes); }

/// One field of a struct. In an entry the name is owned by the entry (UTF-8, never null).
struct Field {
  const char* name;
  DType dtype;
  std::int64_t offset;  ///< bytes from the start of the struct
};

/// An immortal struct or sub-array type. Exactly one of `fields` and `shape` is in use.
struct InternedType {
  std::int64_t itemsize;  ///< bytes, padding included
  std::uint32_t n_fields;
  const Field* fields;
  std::int32_t ndim;  ///< > 0: a sub-array of `base`, row-major
  DType base;
  const std::int64_t* shape;
};

/// Structs and sub-arrays inside each other: as deep as they are taken, whatever says them.
inline constexpr int max_nesting = 16;

/// The struct with these fields (any order, overlap allowed, all inside `itemsize`), interned. Invalid
/// for a field out of bounds, a repeated name, nesting over max_nesting deep; unsupported past 65,536 entries and for
/// packed sub-byte fields. Thread-safe; copies names.
Status intern_struct(const Field* fields, std::uint32_t n, std::int64_t itemsize, DType* out, Reason* why) noexcept;

/// The sub-array of `base`, interned; ndim 1 to 64, no negative extent, size without overflow. A sub-array of a
/// sub-array is the one of both shapes.
Status intern_subarray(DType base, std::int32_t ndim, const std::int64_t* shape, DType* out, Reason* why) noexcept;

/// The entry behind an interned dtype; null for every other. Never freed.
const InternedType* interned_type(DType d) noexcept;

/// Writes the name: "float32", "bfloat16", ">f8", "datetime64[us]", "S5", "U3", "V7", "float32x4" (lanes; sub-byte
/// "float4_e2m1fn_x2"), "{'a': int32, 'b': float64 @ 8; 16}" (struct: an offset where there is a gap, then the size),
/// "(2, 3)float32" (sub-array). Packed and padded elements have the same name. Returns the length, as snprintf.
std::size_t format_dtype(DType d, char* out, std::size_t size) noexcept;

/// Reads a name as written above (structs excepted; sub-byte names give the packed type, with "_padded" the padded
/// one), a typestr ("<f4", "f4", ">i2", "|b1", "M8[ns]"), or an alias ("float", "double", "half", "float128", …).
bool parse_dtype(const char* text, DType* out) noexcept;

}  // namespace anyarray
