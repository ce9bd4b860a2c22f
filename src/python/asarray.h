// SPDX-License-Identifier: Apache-2.0
// What asarray(), copyto() and their kin share: what was asked for, the memory that is written to, copies with the GIL
// given up, and the errors. Included by their files alone.
#pragma once
#include <new>

#include "anyarray/copy.h"
#include "src/python/sequences.h"
#include "src/python/state.h"
#include "src/support/owned.h"

namespace anyarray {

/// The keyword `copy` of the array API standard.
enum class Copies : std::uint8_t { as_needed, always, never };

/// What asarray() is asked for.
struct AsArray {
  ParsedRequest* engine = nullptr;  ///< what the engine is asked: policy, device, waivers; null: nothing
  PyObject* out = nullptr;          ///< borrowed; null: none
  DType dtype = {};
  bool has_dtype = false;
  Order order = Order::any;
  Casting casting = Casting::same_kind;
  Copies copies = Copies::as_needed;

  bool asks_text() const noexcept {
    return has_dtype && (dtype.code == TypeCode::fixed_bytes || dtype.code == TypeCode::fixed_ucs4);
  }
  /// The dtype of a result that is made of this array. Text without a length is as long as there.
  DType dtype_of(DType from) const noexcept {
    if (!has_dtype) return from;
    DType d = dtype;
    const bool text = from.code == TypeCode::fixed_bytes || from.code == TypeCode::fixed_ucs4;
    if (d.count == 0 && text && asks_text()) d.count = from.count;
    return d;
  }
  const Request* request() const noexcept { return engine != nullptr ? &engine->request : nullptr; }
  /// `engine`, made when it is first needed: to fill it takes longer than a small array.
  ParsedRequest& of_engine() noexcept {
    if (engine == nullptr) engine = new (room_) ParsedRequest;
    return *engine;
  }

 private:
  alignas(ParsedRequest) unsigned char room_[sizeof(ParsedRequest)];
};

// asarray_keywords.cpp
/// Reads the keywords. False with TypeError or ValueError set. `args[0]` is the object.
bool parse_asarray(State& s, const char* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                   AsArray& out) noexcept;
bool read_casting(PyObject* o, Casting* out) noexcept;

/// Whether an object of exactly this type is a Python number or sequence, which offers no protocol.
inline bool is_plain_object(PyTypeObject* type) noexcept {
  return type == &PyList_Type || type == &PyFloat_Type || type == &PyLong_Type || type == &PyTuple_Type ||
         type == &PyBool_Type || type == &PyComplex_Type || type == &PyRange_Type;
}

/// Memory that is written to, of an array of any library, held (an Array is kept from being released) meanwhile.
class Target {
 public:
  Target() noexcept { borrow_.release_fn = nullptr; }
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  /// False with an exception set: it is no array, or not writable memory of the host.
  bool take(State& s, PyObject* obj, const Policy* policy, std::uint32_t allow) noexcept;
  const Descriptor& operator*() const noexcept { return *d_; }
  const Descriptor* operator->() const noexcept { return d_; }

 private:
  const Descriptor* d_ = nullptr;
  ArrayObject* array_ = nullptr;
  Borrow borrow_;
};

// ask_again.cpp
/// Of an object that nothing has served: __array__ again, which may copy now, where that it mustn't was what it failed
/// by. Replaces what the trace says of it.
bool ask_again(Context& cx, PyObject* obj, const Request& request, Borrow& out, Trace& trace) noexcept;

// copy_errors.cpp
/// What a trace came to: nothing was offered, and nothing lies outside of the policy. False with an exception set, too.
bool offers_nothing(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace) noexcept;
/// How far it had come, for an error: what was given, and what served.
struct Refusal {
  PyObject* obj;                          ///< the array, number or sequence
  PyObject* target;                       ///< what was to be written to; null: new memory
  const AsArray* asked;                   ///< null for copyto()
  std::uint8_t protocol;                  ///< the row that served, or no_protocol
  ObjectKind objects = ObjectKind::none;  ///< what the object was read as instead
};
/// Raises the error of this kind; always null. See make_refusal() in errors.py for the kinds.
PyObject* raise_refusal(State& s, const Refusal& where, const char* kind, PyObject* reason,
                        PyObject* cause = nullptr) noexcept;
/// The same for what a copy came to.
PyObject* raise_copy(State& s, const Refusal& where, Status status, const Reason& why) noexcept;
/// The same for what take_objects() came to.
PyObject* raise_objects(State& s, const Refusal& where, Status status, Failure& why) noexcept;
/// What was asked for, in words.
PyObject* asked_words(State& s, const AsArray& asked) noexcept;

// asarray.cpp
/// The account of one asarray(), for explain_asarray().
struct Account {
  Trace trace{true};
  ObjectKind objects = ObjectKind::none;  ///< what the object was read as where no row served
  Status objects_status = Status::not_tried;
  Reason objects_why;
  const char* way = "refused";  ///< or "itself", "shared", "copied"
  Ref facts;                    ///< (row or None, shape, dtype, device, readonly) of what was taken
  Ref reasons;                  ///< list of str
};
PyObject* explain_array(State& s, PyObject* obj, AsArray& asked) noexcept;
/// The Array, or what `out` was; null with an exception set. `account` may be null.
PyObject* make_array(State& s, PyObject* obj, AsArray& asked, Account* account) noexcept;

}  // namespace anyarray
