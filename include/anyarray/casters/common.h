// SPDX-License-Identifier: Apache-2.0
// What the casters of all binding libraries share: how a parameter is taken, kept and refused, and how results become
// Python objects. The header of a library adds only how that library asks.
#pragma once
#include "anyarray/casters/refusals.h"
#include "anyarray/casters/signature.h"

namespace anyarray::casters {

/// The function table of this extension, imported with the first use. Null with ImportError set.
inline const CApi* table() noexcept {
  const CApi*& api = detail::current_state().api;
  if (__builtin_expect(api == nullptr, 0)) api = import_anyarray();
  return api;
}

/// Sets the exception for what ended a try where the engine sets none. True where one is set now.
inline bool is_raised(Status s) noexcept {
  if (s == Status::no_memory) PyErr_NoMemory();
  return s == Status::no_memory || s == Status::interrupted;
}

/// What every Argument has: an exception that came up while it was taken. Casters may not raise where they are asked:
/// they say yes, and raise where the value is read.
class Asked {
 public:
  Asked() noexcept = default;
  ~Asked() {
    if (__builtin_expect(error_ != nullptr, 0)) raise_later(error_);
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  /// Whether there is an exception in place of a value.
  bool has_error() const noexcept { return error_ != nullptr; }
  /// Sets it, to be raised now.
  void set_error() noexcept {
    detail::restore_error(error_);
    error_ = nullptr;
  }

 protected:
  /// Keeps the exception that is set; true, as the answer to the question whether the object was taken.
  bool keep_error() noexcept {
    error_ = detail::fetch_error();
    return true;
  }
  void forget() noexcept {
    if (error_ != nullptr) raise_later(error_);
    error_ = nullptr;
  }

 private:
  PyObject* error_ = nullptr;
};

/// A parameter of type P (a view, an array) in a caster: what was taken for it, for as long as the caster lives.
///   take(obj, convert)  true: value() may be read, or there is an error. False: refused; nothing is set
///   take_none()         None where it is allowed: a value that holds nothing
///   value()             what the function gets
///   keep()              a new reference that keeps value() valid for longer than the caster; null with an error set
/// Not initialised more than it must: zeroing a borrow costs as much as taking an array.
template <class P>
class Argument;

template <class T, int Rank, class Layout, class On>
class Argument<view<T, Rank, Layout, On>> : public Asked {
 public:
  using View = view<T, Rank, Layout, On>;

  bool take(PyObject* obj, bool /*convert*/) noexcept {
    taken_.let_go();
    forget();
    const CApi* const api = table();
    if (__builtin_expect(api == nullptr, 0)) return keep_error();
    const Status s = taken_.take(api, obj);
    if (__builtin_expect(s == Status::ok, 1)) return true;
    if (is_raised(s)) return keep_error();
    refused(obj, ask_again, name.text);
    return false;
  }
  void take_none() noexcept { taken_.show_nothing(); }
  View& value() noexcept { return const_cast<View&>(*taken_); }
  PyObject* keep() noexcept {
    if (!taken_.ok()) return Py_INCREF(Py_None), Py_None;
    Holder* const holder = taken_.hold();
    if (holder == nullptr) return PyErr_NoMemory();
    PyObject* const capsule = PyCapsule_New(
        holder, nullptr, [](PyObject* it) { drop(static_cast<Holder*>(PyCapsule_GetPointer(it, nullptr))); });
    if (capsule == nullptr) drop(holder);
    return capsule;
  }

  static constexpr auto name = exactly<cpp_type<View>("view").size>(cpp_type<View>("view"));

 private:
  static Status ask_again(const CApi* api, PyObject* obj) noexcept { return Taken<View>().take_or_raise(api, obj); }

  Taken<View> taken_;
};

template <class T, int Rank, class Layout, class On>
class Argument<array<T, Rank, Layout, On>> : public Asked {
 public:
  using Array = array<T, Rank, Layout, On>;
  using View = typename Array::view_type;

  bool take(PyObject* obj, bool /*convert*/) noexcept {
    forget();
    const CApi* const api = table();
    if (__builtin_expect(api == nullptr, 0)) return keep_error();
    Taken<View> taken;
    const Status s = taken.take(api, obj);
    if (__builtin_expect(s == Status::ok, 1)) {
      Holder* const holder = taken.hold();
      if (holder == nullptr) return PyErr_NoMemory(), keep_error();
      value_ = Array(Held(api, holder));
      return true;
    }
    if (is_raised(s)) return keep_error();
    refused(obj, ask_again, name.text);
    return false;
  }
  void take_none() noexcept { value_ = Array(); }
  Array& value() noexcept { return value_; }

  static constexpr auto name = exactly<cpp_type<View>("array").size>(cpp_type<View>("array"));

 private:
  static Status ask_again(const CApi* api, PyObject* obj) noexcept { return Taken<View>().take_or_raise(api, obj); }

  Array value_;
};

/// An array as an aa.Array. Null with an exception set; a result that holds nothing is a ValueError, since it is what
/// array::make gives when it is out of memory: None is the result of an empty std::optional.
template <class T, int Rank, class Layout, class On>
PyObject* to_python(const array<T, Rank, Layout, On>& result) noexcept {
  const CApi* const api = table();
  if (api == nullptr) return nullptr;
  if (result.ok()) return result.to_array(api);
  PyErr_SetString(PyExc_ValueError,
                  "the function gave an anyarray::array that holds nothing (array::make when out of memory?); "
                  "it returns std::optional to give None");
  return nullptr;
}

}  // namespace anyarray::casters
