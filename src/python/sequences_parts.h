// SPDX-License-Identifier: Apache-2.0
// The parts of take_objects(): elements are gathered in the order in which they are met, each object is read once, and
// the shape and dtype come out of that. Included by src/python/sequences*.cpp alone.
#pragma once
#include "src/python/sequences.h"

namespace anyarray::sequences {

/// How long code of ours runs before it looks for signals, in elements.
inline constexpr Py_ssize_t elements_between_signals = Py_ssize_t{1} << 20;

/// A Python number.
struct Number {
  /// `natural` is an int from 2**63 to 2**64 - 1, `huge` one that no 64 bits hold.
  enum class Kind : std::uint8_t { boolean, integer, natural, huge, real, complex };
  Kind kind;
  union {
    std::int64_t i;   ///< boolean, integer; of a huge one the sign
    std::uint64_t u;  ///< natural
    double d[2];      ///< real, complex
  };
  PyObject* object;  ///< borrowed: a bool, int, float or complex, or of a subclass
};

/// The kinds of numbers in the order in which the rule same_kind lets them go; a time can't be counted among them.
enum class Rank : std::uint8_t { boolean, integer, real, complex, other };
inline constexpr int number_ranks = 4;
Rank rank_of(const Number& v) noexcept;
Rank rank_of(DType d) noexcept;

/// The dtypes of Python's numbers.
inline constexpr DType bool_type = make_dtype(TypeCode::bool_, 8);
inline constexpr DType int_type = make_dtype(TypeCode::int_, 64);
inline constexpr DType uint_type = make_dtype(TypeCode::uint, 64);
inline constexpr DType real_type = make_dtype(TypeCode::float_, 64);
inline constexpr DType complex_type = make_dtype(TypeCode::complex, 128);
DType natural_type(const Number& v) noexcept;

/// What becomes of the numbers of a rank, by the casting rule.
enum class Rule : std::uint8_t {
  never,
  always,
  in_range,  ///< if the integer type can hold the value
  same,      ///< if the value stays what it is
};

/// Element types that numbers are written to directly.
enum class Lane : std::uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, c64, c128, other };
Lane lane_of(DType d) noexcept;

/// Elements on their way, and what is known of shape and dtype.
struct Gather {
  Gather(State& state, PyObject* object, const ObjectsWanted& asked, Borrow& elements, Failure& reason) noexcept;
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  State& s;
  PyObject* outermost;
  const ObjectsWanted& wanted;
  Failure& why;

  DType target;  ///< what was asked for; what it says of text may be longer by now
  DType dtype;   ///< of the elements in memory
  bool has_target;
  bool typed = false;       ///< whether `dtype` is known
  bool in_runs = false;     ///< whether exact builtin numbers can go there without a look at each
  bool check_last = false;  ///< whether values are compared when they are turned into the target
  bool is_text = false;
  bool has_arrays = false;  ///< there are elements that came from arrays
  bool packed = false;      ///< the result's elements are packed, those in memory fill a byte each
  Lane lane = Lane::other;
  Rule rules[number_ranks];

  Borrow& memory;          ///< held once there are elements
  bool is_shaped = false;  ///< it has the shape of the result already
  std::int64_t capacity = 0;
  std::int64_t filled = 0;

  int ndim = -1;  ///< once a number, an array or an empty sequence was met
  int known = 0;  ///< extents that are known
  std::int64_t shape[max_ndim];
  std::int64_t index[max_ndim];
  bool trusted[max_ndim];  ///< the extent is that of a list or tuple: objects that are there
  Py_ssize_t unseen = 0;   ///< elements since the last look for signals

  /// There are ints that only float64 has room for, and no float has been met that would make it that.
  bool signs_clash = false;
  Reason clash;

  Ref plain;       ///< a type whose objects are known to offer no protocol
  Ref real_array;  ///< a type of floats that are arrays as well, whose value both ways was the same

  std::int64_t longest = 0;  ///< of texts

  char* end() noexcept { return static_cast<char*>(memory.desc.data) + filled * dtype.itemsize(); }
};

// sequences.cpp
Status make_more_room(Gather& g, std::int64_t more) noexcept;
/// Room for `more` elements, at least one, behind those that are there.
inline Status make_room(Gather& g, std::int64_t more) noexcept {
  return __builtin_expect(more <= g.capacity - g.filled, 1) ? Status::ok : make_more_room(g, more);
}
/// The elements lie in `other` from now on, which holds nothing afterwards.
void replace_memory(Gather& g, Borrow& other) noexcept;
/// Elements are of this type from now on, those that are there too.
Status change_type(Gather& g, DType to) noexcept;
/// "element [1][2]" of the path so far; "the object" for the outermost.
struct Path {
  Path(const Gather& g, int depth) noexcept;
  char text[112];
};
/// What an object is, in a word or two: "an int", "a str".
struct Words {
  explicit Words(PyObject* o) noexcept;
  char text[80];
};
/// What stands for a number or dtype in a sentence: "300", "1.5", "float32". Runs no code of others.
struct Value {
  explicit Value(const Number& v) noexcept;
  char text[64];
};
struct Name {
  explicit Name(DType d) noexcept;
  char text[64];
};
/// Moves the exception that is set to `why`, with the path.
Status raised_at(Gather& g, int depth) noexcept;
/// Lets signal handlers run, once in a while.
Status look_for_signals(Gather& g, Py_ssize_t elements) noexcept;

// sequences_walk.cpp
/// Reads what `o` holds, to the end of its elements.
Status walk(Gather& g, PyObject* o, int depth, ObjectKind* kind) noexcept;
/// A number, text or time was met at this depth.
Status meet_element(Gather& g, int depth) noexcept;
/// An array was met, whose dimensions go on where those of the sequences around it end.
Status meet_array(Gather& g, const Descriptor& d, int depth) noexcept;
/// A sequence begins.
Status enter(Gather& g, int depth, std::int64_t n, bool trusted) noexcept;
/// Looks at nothing but the lengths of lists and tuples, for those that make the whole ragged.
Status check_lengths(Gather& g) noexcept;
/// Reads a list or tuple, or what is read as one.
Status read_items(Gather& g, PyObject* sequence, int depth) noexcept;

// sequences_foreign.cpp
/// Whatever is neither a list or tuple nor a number of the builtin types themselves.
Status walk_other(Gather& g, PyObject* o, int depth, ObjectKind* kind) noexcept;

// sequences_numbers.cpp
/// Reads a bool, int, float or complex, or what is of a subclass of one, without code of others: false for any other
/// object.
bool read_number(PyObject* o, Number& out) noexcept;
/// Finds out what becomes of numbers that go to the target.
void set_rules(Gather& g) noexcept;
/// Whether an integer type of at most 64 bits holds the value.
bool holds(DType d, const Number& v) noexcept;
/// One more element of the type that there is, whatever becomes of the value.
Status write_number(Gather& g, const Number& v) noexcept;
/// The same with a target, if the casting rule lets it.
Status write_by_rule(Gather& g, const Number& v, int depth) noexcept;
/// Refuses an int that no 64 bits hold.
Status beyond_64_bits(Gather& g, const Number& v, int depth) noexcept;

// sequences_types.cpp
void set_type(Gather& g, DType d) noexcept;
/// One more element.
Status add_number(Gather& g, const Number& v, int depth) noexcept;
Status add_array(Gather& g, const Descriptor& d, int depth) noexcept;
/// The ints of a range, without objects. not_tried: some of them need a look at each.
Status add_range(Gather& g, PyObject* range, int depth) noexcept;

// sequences_fast.cpp
/// Adds numbers of the builtin types from items[i] on, as long as the elements' type takes them as they are. Gives the
/// index of the first that it doesn't take. Runs no code of others.
Py_ssize_t take_run(Gather& g, PyObject* const* items, Py_ssize_t i, Py_ssize_t n) noexcept;

// sequences_text.cpp
Status add_text(Gather& g, PyObject* o, int depth) noexcept;
/// Gives texts the length of the longest, where no length was asked for.
Status fit_text(Gather& g) noexcept;
/// not_offered: it is no datetime, date or timedelta.
Status add_time(Gather& g, PyObject* o, int depth) noexcept;

}  // namespace anyarray::sequences
