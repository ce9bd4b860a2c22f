// SPDX-License-Identifier: Apache-2.0
// The structs of the Arrow C data and C stream interfaces (own definitions: checked against an installed header by
// the tests) and the codec between them and descriptors. One codec serves the rows arrow_array and arrow_stream.
// No Python.
#pragma once
#include <cstdint>

#include "anyarray/descriptor.h"

namespace anyarray::arrow {

/// What the elements are. Released by its own `release` alone, never through a child's; null there: it was released,
/// or moved elsewhere. May be moved by copying the bytes and setting `release` of the source to null.
struct Schema {
  const char* format;
  const char* name;
  const char* metadata;  ///< int32 n, then n times key and value, each an int32 length and so many bytes; or null
  std::int64_t flags;
  std::int64_t n_children;
  Schema** children;
  Schema* dictionary;  ///< of the values that the array's indices stand for
  void (*release)(Schema*);
  void* private_data;
};

/// Where they lie; moved and released as a schema.
struct Array {
  std::int64_t length;
  std::int64_t null_count;  ///< -1: not counted yet
  std::int64_t offset;      ///< in elements of this level, into every buffer and child of it
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;  ///< the validity bitmap, or null, comes first
  Array** children;
  Array* dictionary;
  void (*release)(Array*);
  void* private_data;
};

/// Arrays of one schema, one after the other; the one after the last has a null `release`. The functions give 0 or an
/// errno. An array that was given outlives the stream.
struct ArrayStream {
  int (*get_schema)(ArrayStream*, Schema* out);
  int (*get_next)(ArrayStream*, Array* out);
  const char* (*get_last_error)(ArrayStream*);  ///< valid until the next call; may be null
  void (*release)(ArrayStream*);
  void* private_data;
};

inline constexpr const char* schema_name = "arrow_schema";
inline constexpr const char* array_name = "arrow_array";
inline constexpr const char* stream_name = "arrow_array_stream";

/// A schema that was understood: elements of one fixed size, in lists of fixed size.
struct Type {
  DType dtype;
  std::int32_t ndim;                 ///< of the array: the first dimension is its length
  std::int32_t levels;               ///< lists around an element
  bool permuted;                     ///< whether `lies_as` may be other than 0, 1, 2, …
  std::int64_t list_size[max_ndim];  ///< of each level, the outermost first
  std::int64_t extent[max_ndim];     ///< of dimensions 1, 2, … as they lie in memory, row-major
  std::uint8_t lies_as[max_ndim];    ///< dimension i + 1 of the array is that of extent[lies_as[i]]
};

/// Reads a schema. unsupported: a type without elements of one fixed size that a dtype of ours says, by its name;
/// guarded: one whose meaning would be lost (a time zone); invalid: a rule of the interface is broken. Only the schema
/// is looked at, which must stay as it is meanwhile; nothing of it is kept.
Status decode_type(const Schema& schema, Type* out, Reason* why) noexcept;

/// The facts of an array of that type into `out.desc`, through reserve_dims: read-only, on the CPU, whether it was
/// copied unknown. Every offset, length and child is checked; nulls anywhere in reach are guarded, with their count.
/// On failure no dims are left reserved. `array` isn't kept: the caller sees to it that its memory stays.
Status decode(const Type& type, const Array& array, Borrow& out, Reason* why) noexcept;

/// The array of length 0 that a stream without chunks stands for.
Status decode_nothing(const Type& type, Borrow& out, Reason* why) noexcept;

}  // namespace anyarray::arrow
