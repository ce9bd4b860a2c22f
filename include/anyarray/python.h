// SPDX-License-Identifier: Apache-2.0
// For extensions: import_anyarray() once in the module's init, then borrow(obj). Nothing to link; needs the
// package anyarray at run time, unless the engine is built in (CMake: anyarray_add_engine). The table belongs to one
// interpreter: an extension that lives in several keeps the pointer in its module state and passes it.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "anyarray/array.h"
#include "anyarray/c_api.h"

namespace anyarray {

#ifdef ANYARRAY_ENGINE  // the extension's full name, a string
#ifdef Py_LIMITED_API
#error "An engine that is built in isn't for the limited API: leave anyarray_add_engine() out, or Py_LIMITED_API"
#endif
/// The table of the engine that is built in; null with an exception set.
__attribute__((visibility("hidden"))) const CApi* built_in_table(const char* extension) noexcept;
#endif

/// The table of this interpreter. Null with an exception set: what the import of anyarray raised (ModuleNotFoundError
/// where it is missing); ImportError where it is of another major version or too old (the sentence says what to
/// upgrade). `minor`: that of the newest row that the extension can't do without (ANYARRAY_SINCE_…); before it calls a
/// newer one it asks `api->minor`.
inline const CApi* import_anyarray(std::uint32_t minor = c_api_minor) noexcept {
#ifdef ANYARRAY_ENGINE
  const CApi* api = built_in_table(ANYARRAY_ENGINE);
#else
  PyObject* const package = PyImport_ImportModule("anyarray");  // PyCapsule_Import would hide why it can't be imported
  if (package == nullptr) return nullptr;
  Py_DECREF(package);
  auto* api = static_cast<const CApi*>(PyCapsule_Import(c_api_capsule, 0));
#endif
  if (api == nullptr) return nullptr;
  char why[160];
  if (anyarray_table_fits(api->size, api->major, api->minor, minor, why, sizeof why) == 0) {
    PyErr_SetString(PyExc_ImportError, why);
    return nullptr;
  }
  return api;
}

/// A borrow that is released at the end of its scope. Needs the GIL for its whole life.
class Borrowed {
 public:
  /// Takes `obj`; on failure ok() is false and the Python exception with the whole trace is set.
  Borrowed(const CApi* api, PyObject* obj, const Request* request = nullptr) noexcept
      : status_(api->borrow_or_raise(api->context, obj, request, &borrow_)) {}
  ~Borrowed() {
    if (status_ == Status::ok) release(borrow_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  bool ok() const noexcept { return status_ == Status::ok; }
  Status status() const noexcept { return status_; }
  const Descriptor& operator*() const noexcept { return borrow_.desc; }
  const Descriptor* operator->() const noexcept { return &borrow_.desc; }

 private:
  Borrow borrow_;
  Status status_;
};

/// `auto a = anyarray::borrow(api, obj); if (!a.ok()) return nullptr;  a->data, a->shape, …`
inline Borrowed borrow(const CApi* api, PyObject* obj, const Request* request = nullptr) noexcept {
  return Borrowed(api, obj, request);
}

namespace detail {
/// Carries a view through operator->.
template <class View>
struct Arrow {
  View view;
  const View* operator->() const noexcept { return &view; }
};

/// The one condition of a view that a request may not know: a C++ type can ask for more than its dtype does.
__attribute__((noinline, cold)) inline void raise_misaligned() noexcept {
  PyErr_SetString(PyExc_BufferError, "the array's address isn't aligned for the C++ type of its elements");
}
}  // namespace detail

/// A typed view of an object and what keeps it valid: for the length of a call. Needs the GIL for its whole life.
///   anyarray::Taken<anyarray::view<const float, 2>> x(api, obj);
///   if (!x.ok()) return nullptr;   // the exception is set: what was tried, and which conditions weren't met
///   const auto v = *x;             // once, before the loop
///   v.extent(0), v(i, j)
template <class View>
class Taken {
 public:
  /// Holds nothing yet. Leaves the room for a borrow as it is: zeroing it would cost as much as taking an array.
  Taken() noexcept { borrow_.release_fn = nullptr; }
  __attribute__((always_inline)) Taken(const CApi* api, PyObject* obj) noexcept {
    first(api, api->borrow_or_raise, obj, true);
  }
  __attribute__((always_inline)) ~Taken() {
    if (!ok()) return;
    borrow_.release_fn(&borrow_);
    if constexpr (may_have_heap_dims) drop_dims(borrow_);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  /// For overloads: takes `obj` if it is what the view takes. Sets no Python error but for Status::interrupted. What
  /// was held before is given back first, here and below.
#if defined(__GNUC__)
  __attribute__((always_inline))  // under -Os too: nanobind's default
#endif
  Status take(const CApi* api, PyObject* obj) noexcept {
    release(borrow_);
    return first(api, api->borrow, obj, false);
  }
  /// On failure the Python exception with the whole trace is set.
  Status take_or_raise(const CApi* api, PyObject* obj) noexcept {
    release(borrow_);
    return first(api, api->borrow_or_raise, obj, true);
  }
  /// The same with a policy and waivers; its conditions give way to the view's.
  Status take_or_raise(const CApi* api, PyObject* obj, const Request& how) noexcept {
    release(borrow_);
    Request request = View::request;
    request.policy = how.policy;
    request.allow = how.allow;
    return ask(api, obj, request, true);
  }

  /// Gives back what is held, if anything.
  void let_go() noexcept { release(borrow_); }
  /// Holds what `from` holds, which holds nothing afterwards. False where it isn't what the view takes: it is released
  /// then.
  bool adopt(Borrow& from) noexcept {
    release(borrow_);
    move_borrow(borrow_, from);
    if (View::takes(borrow_.desc)) return true;
    release(borrow_);
    return false;
  }
  /// Moves it to the heap, for the caller to drop() with the GIL; nothing is held here any more. Null when out of
  /// memory; nothing has changed then.
  Holder* hold() noexcept { return make_holder(borrow_); }

  bool ok() const noexcept { return borrow_.held(); }
  explicit operator bool() const noexcept { return ok(); }
  /// The view, made of the borrow here and now: what isn't looked at costs nothing.
  View operator*() const& noexcept { return View(detail::Fitting(), borrow_.desc, borrow_.owner); }
  detail::Arrow<View> operator->() const& noexcept { return {**this}; }
  View operator*() const&& = delete;  // the view would outlive what keeps it valid
  detail::Arrow<View> operator->() const&& = delete;
  const Descriptor& descriptor() const& noexcept { return borrow_.desc; }
  const Descriptor& descriptor() const&& = delete;

 private:
  using Entry = decltype(CApi::borrow);
  static constexpr bool may_have_heap_dims = View::static_rank == dynamic_rank || View::static_rank > inline_ndim;
  /// What can be had of most objects isn't asked for: a request costs more than looking at what came. Memory of other
  /// devices is, since a mirror on the host may come first.
  static constexpr const Request* first_request =
      View::request.device.type == DeviceType::cpu ? nullptr : &View::request;

  /// Inlined: a call, and what it would pass through memory, cost as much as the checks.
  __attribute__((always_inline)) Status first(const CApi* api, Entry entry, PyObject* obj, bool raise) noexcept {
    const Status s = entry(api->context, obj, first_request, &borrow_);
    if (__builtin_expect(s != Status::ok, 0)) return nothing(s);
    return __builtin_expect(View::takes(borrow_.desc), 1) ? s : take_again(api, obj, raise);
  }
  Status nothing(Status s) noexcept {
    borrow_.release_fn = nullptr;
    return s;
  }
  /// What came isn't what the view takes. A request may bring other memory where that is on another device or
  /// read-only, and it brings the words for the error.
  __attribute__((noinline, cold)) Status take_again(const CApi* api, PyObject* obj, bool raise) noexcept {
    const bool may_differ = (View::request.writable && borrow_.desc.readonly()) ||
                            (first_request == nullptr && !host_readable(borrow_.desc.device.type));
    release(borrow_);
    return raise || may_differ ? ask(api, obj, View::request, raise) : Status::mismatch;
  }
  __attribute__((noinline)) Status ask(const CApi* api, PyObject* obj, const Request& request, bool raise) noexcept {
    const Status s = (raise ? api->borrow_or_raise : api->borrow)(api->context, obj, &request, &borrow_);
    if (s != Status::ok) return nothing(s);
    if (View::takes(borrow_.desc)) return s;
    release(borrow_);
    if (raise) detail::raise_misaligned();
    return Status::mismatch;
  }

  union {
    Borrow borrow_;  // filled by the table, or not at all; null in release_fn: it holds nothing
  };
};

template <class T, int Rank, class Layout, class On>
array<T, Rank, Layout, On>::array(const CApi* api, PyObject* obj) noexcept
    : array(Held(api, obj, &view_type::request)) {
  // Taken, but not what the view takes.
  if (!ok() && PyErr_Occurred() == nullptr) detail::raise_misaligned();
}

/// `auto x = anyarray::borrow<const float, 2>(api, obj); if (!x.ok()) return nullptr;  (*x)(i, j)`
template <class T, int Rank = dynamic_rank, class Layout = strided, class On = host>
__attribute__((always_inline)) inline Taken<view<T, Rank, Layout, On>> borrow(const CApi* api, PyObject* obj) noexcept {
  return Taken<view<T, Rank, Layout, On>>(api, obj);
}

/// A new aa.Array over memory that `owner` keeps, to be returned to Python:
/// `return anyarray::produce(api, {data, shape, nullptr, dtype, anyarray::cpu_device, ndim, 0}, self);`
/// Null with ValueError (what is wrong with the parts) or MemoryError set.
inline PyObject* produce(const CApi* api, const Descriptor& parts, PyObject* owner) noexcept {
  return api->produce(api->context, &parts, owner, nullptr, nullptr);
}

/// The same over memory that `release(what)` gives back, with the GIL, when nobody uses it any more. It isn't called
/// where null is returned.
inline PyObject* produce(const CApi* api, const Descriptor& parts, void (*release)(void* what), void* what) noexcept {
  return api->produce(api->context, &parts, nullptr, release, what);
}

}  // namespace anyarray
