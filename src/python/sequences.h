// SPDX-License-Identifier: Apache-2.0
// From Python numbers and nested sequences of them to an array: what asarray() does with objects that offer no
// protocol. May include what the other headers of src/python may. Needs the GIL.
#pragma once
#include "anyarray/copy.h"
#include "src/python/state.h"

namespace anyarray {

/// What an object was taken for.
enum class ObjectKind : std::uint8_t { none, scalar, sequence };

/// What is asked of an array that is made of Python objects.
struct ObjectsWanted {
  bool has_dtype = false;
  DType dtype = {};  ///< text may have the length 0: as long as needed
  Order order = Order::any;
  Casting casting = Casting::same_kind;
  const Descriptor* into = nullptr;  ///< writable host memory of the result's shape, filled instead of new memory
  const Policy* policy = nullptr;    ///< for arrays inside; null: the one that holds where none is named
  std::uint32_t allow = 0;           ///< guards that are waived for arrays inside
};

/// Makes an array of a number, or of a sequence of numbers, sequences and arrays of any library. The object itself
/// isn't asked for protocols, what lies in it is. ok: `out` is held, or `into` is filled. Otherwise `out` holds
/// nothing, nothing was written to `into`, and `why` says why, with the path to the element ("element [1][2]"):
/// - not_offered: it is neither a number nor a sequence (str, dict, set, iterator, None, class, …);
/// - invalid: ragged, nested too deep, changed while it was read, an element that is none of those;
/// - mismatch: the casting rule refuses a value; the exception is an OverflowError where an int is out of range;
/// - unsupported: there is no dtype for all, or every rule refuses a value;
/// - failed: code of an element or sequence raised; the exception is kept;
/// - what the engine says of an element whose protocol was offered and failed (guarded, device, unsupported, …);
/// - no_memory; interrupted, with an exception set.
Status take_objects(State& s, PyObject* obj, const ObjectsWanted& wanted, Borrow& out, ObjectKind* kind,
                    Failure& why) noexcept;

}  // namespace anyarray
