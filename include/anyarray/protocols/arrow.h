// SPDX-License-Identifier: Apache-2.0
// The structs of the Arrow C data and C stream interfaces (own definitions: checked against an installed header by
// the tests) and the codec between them and descriptors. One codec serves the rows arrow_array and arrow_stream.
// No Python.
#pragma once
#include <cstddef>
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

/// How the dimensions but the first are said.
enum class Say : std::uint8_t {
  as_it_lies,  ///< nested lists where the elements lie row-major, tensors where their permutation saves a copy
  lists,
  tensors,
};

/// An array as Arrow says it: what its schema and its array are made from.
struct Form {
  DType dtype;
  bool as_is;                        ///< the elements are given where they lie; otherwise their copy, see Values
  bool tensors;                      ///< the one level of lists holds tensors of the extents below
  std::int32_t ndim;                 ///< of the array
  std::int32_t levels;               ///< lists around an element
  std::int64_t length;               ///< of the array
  std::int64_t list_size[max_ndim];  ///< of each level, the outermost first
  std::int64_t extent[max_ndim];     ///< of dimensions 1, 2, … as they lie in memory, row-major
  std::uint8_t lies_as[max_ndim];    ///< dimension i + 1 of the array is that of extent[lies_as[i]]
};

/// Memory of the elements of a form, without gaps; bools packed, the lowest bit of a byte first. It is kept until the
/// array that is made of it, and every child that was moved out of that, is released: then, on whichever thread this
/// was, each `owned` goes to free() and drop(what) is called. What is null of these is left out.
struct Values {
  const void* data;      ///< may be null when there are no elements
  const void* validity;  ///< a bitmap of the elements, 0: null; null when there are no nulls
  std::int64_t nulls;
  void* owned[2];
  void (*free)(void* memory);  ///< for `owned`
  void (*drop)(void* what);
  void* what;
};

/// Writes the format of an element. unsupported for what Arrow hasn't, by its name and with what to do: complex
/// numbers, other byte order, bfloat16 and smaller floats, time units of more than a second, structs, text, …
Status encode_format(DType dtype, char* out, std::size_t size, Reason* why) noexcept;

/// How an array on the host is said. Arrow has no strides: only elements without gaps, aligned, and with the first
/// dimension the slowest one are given as they lie (and bools never, which it packs); others are to be copied row by
/// row. unsupported: no dimensions, lists longer than 2^31 - 1, or a dtype that Arrow hasn't. device: not the host's.
/// Precondition: validate() passes.
Status encode(const Descriptor& d, Say say, Form* out, Reason* why) noexcept;

/// Fills `out` with a schema of its own; no_memory otherwise. Its release may be called from any thread.
Status make_schema(const Form& form, Schema* out, Reason* why) noexcept;

/// Fills `out` with an array over these values; no_memory otherwise, and then nothing of them is freed or dropped.
Status make_array(const Form& form, const Values& values, Array* out, Reason* why) noexcept;

/// Packs `n` bools of a byte each; the bits after the last are 0.
void pack_bools(const void* from, std::int64_t n, void* to) noexcept;

/// How many of the times are NaT, which Arrow has as nulls. Where `validity` isn't null, their bitmap is written to it.
std::int64_t find_nat(const std::int64_t* ticks, std::int64_t n, void* validity) noexcept;

}  // namespace anyarray::arrow
