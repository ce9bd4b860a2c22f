// SPDX-License-Identifier: Apache-2.0
// The state of one interpreter that adapters, quirks and the engine share, and the route: what is known
// of one type. Made by src/python/module.cpp; every entry of the C API takes it first.
#pragma once
#include "anyarray/protocols/dlpack.h"
#include "anyarray/request.h"
#include "src/support/py.h"

namespace anyarray {

struct Context;
struct Route;

/// Takes `obj` over one protocol. On ok, `out` is filled, held (release_fn, owner, context) and owns what it
/// needs; desc passed the codec. On anything else `out` holds nothing, and `why` says why. Never leaves an
/// exception set, but for `interrupted`. Knows neither the engine, nor the policy, nor another adapter.
using ConsumeFn = Status (*)(Context&, PyObject* obj, const Route&, const Request&, Borrow& out, Failure& why);

/// What library knowledge (src/quirks) found out about a type. Bits of Route::traits.
enum Traits : std::uint32_t {
  trait_direct_methods = 1u << 0,  ///< no instance can shadow the type's methods: call them unbound
  trait_readonly = 1u << 1,        ///< immutable whatever the protocol says (JAX, TensorFlow)
  trait_dict_readonly = 1u << 4,   ///< the array interface forgets to say read-only (NumPy scalars)
  trait_copies = 1u << 5,          ///< what the array interface and __array__ give is a copy, unsaid
  trait_may_copy = 1u << 6,        ///< it may be one
  trait_plain_passes = 1u << 7,    ///< guard_after has nothing against what is_plain() in src/quirks/quirks.h
  trait_dict_writable = 1u << 8,   ///< the SYCL USM array interface says read-only of memory that isn't (dpctl.memory)
  trait_exact_table = 1u << 9,  ///< its exchange table fills the whole tensor, or gives an error code and an exception
};

/// In Request::allow, where asarray() sets it: __array__ isn't asked to leave the memory as it is.
inline constexpr std::uint32_t allow_copy = 1u << 31;

/// How take_first() begins with a type.
enum class Quick : std::uint8_t {
  never,            ///< not at all: questions come first
  rows,             ///< row after row
  last,             ///< with the row that served last, which only an instance has, as those before it
  array_struct,     ///< the same, and it is this one
  numpy,            ///< an ndarray, by its struct
  builtin,          ///< a builtin, by its struct
  dlpack_exchange,  ///< with this row, which the type has; as the others below
  buffer,
  dlpack,
};

/// What is known of a type under one policy. Filled on a miss, valid while type and tag are both equal. What the quick
/// way reads stands first, in one cache line.
struct alignas(64) Route {
  PyTypeObject* type;    ///< borrowed: an address reused by another type has another tag; null = empty slot
  std::uint64_t order;   ///< Policy::rows of the policy that the plan follows
  std::uint64_t policy;  ///< and its traits()
  const dlpack::ExchangeApi* exchange;  ///< from the type's capsule; lives as long as the process
  std::uint32_t tag;                    ///< tp_version_tag
  std::uint32_t pins;                   ///< calls that are using this slot now: while there are any it isn't refilled
  std::uint32_t traits;
  std::uint8_t n;        ///< rows in `plan`
  std::uint8_t n_type;   ///< the first n_type of them are on the type; the others only an instance may offer
  std::uint8_t n_quick;  ///< the first n_quick may be tried at once: no question comes before them
  std::uint8_t last;     ///< index of the row in `plan` that served last: a guess
  Quick quick;           ///< where a caller that asks for nothing begins
  std::uint8_t plan[protocol_count];  ///< rows in the order in which they are tried
  ProtocolMask on_type;               ///< rows that the type offers
  PyObject* dlpack_method;            ///< the type's __dlpack__, borrowed; only with trait_direct_methods
  // Hooks of src/quirks; null for most types.
  /// Guarded when the object as such may not be taken: a mask, a dtype whose export kills the process.
  Status (*guard_before)(Context&, PyObject* obj, const Request&, Failure&) noexcept;
  /// Guarded when what was decoded isn't what the object means: conj, neg, requires_grad.
  Status (*guard_after)(Context&, PyObject* obj, const Request&, const Borrow&, Failure&) noexcept;
  PyObject* (*dlpack_export)(Context&, PyObject* obj);  ///< capsule, or null without an error
  int (*skip_buffer)(Context&,
                     PyObject* obj);  ///< before the buffer row: 1 it can't carry this one, 0, or -1 interrupted
  /// Before the row arrow_stream: skipped where the stream wouldn't be the object's own memory, ok, or interrupted.
  Status (*skip_stream)(Context&, PyObject* obj, Failure&) noexcept;
  /// The dtype that a buffer's exporter says, where its format can't be relied upon; not_offered: it isn't known.
  Status (*buffer_dtype)(Context&, PyObject* exporter, DType*, Failure&);
};

/// Interned strings and constants used on the way.
struct Names {
  PyObject* row_attribute[protocol_count];  ///< null where the row has none
  PyObject *dlpack_device, *max_version, *dl_device, *stream, *copy;
  PyObject *shape, *typestr, *data, *strides, *descr, *offset, *mask, *version, *syclobj;
  PyObject* kw_max_version;  ///< ("max_version",)
  PyObject* kw_copy;         ///< ("copy",)
  PyObject* our_version;     ///< (1, 3)
};

inline constexpr int route_cache_size = 512;  // a power of two

struct Context {
  std::int64_t live = 0;  ///< borrows that are held now, but for those of hold_uncounted()
  // Types known by address; null until their library is seen.
  PyTypeObject* ndarray = nullptr;
  PyTypeObject* masked_array = nullptr;
  PyTypeObject* array_type = nullptr;  ///< array.array, once its struct is proven
  bool numpy2 = false;                 ///< layout of NumPy's dtype struct
  void* const* numpy_table = nullptr;  ///< NumPy's function table, once ndarray is known
  bool knows_capsules = false;         ///< a capsule's struct is the one in src/support/capsule.h
  bool knows_dicts = false;            ///< and a dict's table the one in src/support/dict_items.h
  /// Gives the policy that holds where none is named; null as long as nobody set one.
  void (*current_policy)(Context&, Policy* out) noexcept = nullptr;
  Names names = {};
  Route* cache = nullptr;                  ///< route_cache_size slots
  PyTypeObject* cache_sentinel = nullptr;  ///< CPython 3.10: tells that sys._clear_type_cache() ran
  std::uint32_t cache_sentinel_tag = 0;
  void* numpy_dtypes = nullptr;  ///< src/support/numpy_struct.h: dtypes known by the address of their descr
  void* quirks = nullptr;        ///< src/quirks: objects of libraries, looked up at run time
  void* python = nullptr;        ///< src/python: types and functions of the module
};

/// A row's attribute, as the instance has it, in *out (new reference): ok, not_offered, or what reading it raised.
__attribute__((always_inline)) inline Status find_attribute(const Context& cx, PyObject* obj, Protocol row,
                                                            PyObject** out, Failure& why) noexcept {
  const int found = lookup_attribute(obj, cx.names.row_attribute[static_cast<int>(row)], out);
  if (__builtin_expect(found > 0, 1)) return Status::ok;
  return found == 0 ? Status::not_offered : reading_raised(why);
}

/// Fills what every adapter fills alike: the owner (a new strong reference), the context, the release function. For
/// rows whose whole price is a few nanoseconds, of which counting takes one: what lets go then must not read the
/// context.
inline void hold_uncounted(Context& cx, PyObject* obj, Borrow& out, void (*release_fn)(Borrow*) noexcept) noexcept {
  Py_INCREF(obj);
  out.owner = obj;
  out.context = &cx;
  out.release_fn = release_fn;
}
/// What such a release function ends with: the owner goes.
inline void let_go_uncounted(Borrow* b) noexcept { Py_DECREF(static_cast<PyObject*>(b->owner)); }

/// The same for every other row; held borrows are counted.
inline void hold(Context& cx, PyObject* obj, Borrow& out, void (*release_fn)(Borrow*) noexcept) noexcept {
  hold_uncounted(cx, obj, out, release_fn);
  ++cx.live;
}

/// What every release function of those ends with: the owner goes, the count falls.
inline void let_go(Borrow* b) noexcept {
  --static_cast<Context*>(b->context)->live;
  let_go_uncounted(b);
}

/// The same for a row whose token[0] is a second object that is held: what the attribute gave.
inline void let_go_of_both(Borrow* b) noexcept {
  Py_DECREF(static_cast<PyObject*>(b->token[0]));
  let_go(b);
}

}  // namespace anyarray
