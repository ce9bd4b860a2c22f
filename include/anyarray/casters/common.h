// SPDX-License-Identifier: Apache-2.0
// What the casters of all binding libraries share: how a parameter is taken, kept and refused, and how results become
// Python objects. The header of a library adds only how that library asks.
#pragma once
#include <new>

#include "anyarray/casters/kinds.h"
#include "anyarray/casters/refusals.h"
#include "anyarray/casters/signature.h"

namespace anyarray {
namespace ANYARRAY_HIDDEN casters {

/// How an object is taken for a view, in quiet (nothing is set but for Status::interrupted and no_memory) and again,
/// for the words.
template <class View, bool copies>
struct Taking {
  __attribute__((always_inline)) static Status take(const CApi* api, PyObject* obj, bool convert,
                                                    Taken<View>* out) noexcept {
    Status s = out->take(api, obj);
    if constexpr (copies) {
      if (__builtin_expect(s != Status::ok, 0) && convert && s != Status::interrupted) {
        s = copy(api, obj, out, nullptr, api->borrow);
      }
    }
    if (__builtin_expect(s == Status::no_memory, 0)) PyErr_NoMemory();
    return s;
  }
  /// AskAgain. What can be copied to another dtype is refused for something else, which the request tells.
  static Status again(const CApi* api, PyObject* obj) noexcept {
    Taken<View> taken;
    if constexpr (copies) {
      Reason why;
      const Status s = copy(api, obj, &taken, &why, api->borrow_or_raise);
      if (s == Status::ok || PyErr_Occurred()) return s;
      if (why.text[0] != '\0') return PyErr_Format(PyExc_BufferError, "no copy is made: %s", why.text), s;
    }
    return taken.take_or_raise(api, obj);
  }

 private:
  __attribute__((cold, noinline)) static Status copy(const CApi* api, PyObject* obj, Taken<View>* out, Reason* why,
                                                     decltype(CApi::borrow) borrow) noexcept {
    Borrow from;
    Status s = borrow(api->context, obj, nullptr, &from);
    if (s != Status::ok) return s;
    Borrow made;
    s = View::request.ndim >= 0 && from.desc.ndim != View::request.ndim
            ? Status::mismatch
            : api->copy(api->context, &from.desc, &View::request, &made, why);
    release(from);
    if (s != Status::ok) return s;
    return out->adopt(made) ? Status::ok : Status::mismatch;
  }
};

/// A parameter of type P in a caster (view, array, or_copy of them): what was taken for it, as long as the caster
/// lives.
///   take(obj, convert)  true: value() may be read, or has_error(). False: refused; nothing is set
///   take_none()         None, where it is allowed: a value that holds nothing
///   has_error()         whether an exception came up instead (KeyboardInterrupt, ImportError, …). Casters may not
///   raise
///                       where they are asked, so they say yes, and raise where the value is read
///   set_error()         sets it, to be raised now
///   value()             what the function gets
/// Not initialised more than it must: zeroing a borrow costs as much as taking an array.
template <class P>
class Argument;

/// An exception that came up while an argument was taken. What isn't raised is handed on at the end.
class Asked {
 public:
  Asked() noexcept = default;
  ~Asked() { forget_error(); }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  bool has_error() const noexcept { return error_ != nullptr; }
  void set_error() noexcept {
    detail::restore_error(error_);
    error_ = nullptr;
  }

 protected:
  void forget_error() noexcept {
    if (__builtin_expect(error_ != nullptr, 0)) raise_later(error_);
    error_ = nullptr;
  }
  /// Takes the object, or keeps the exception (true), or notes the refusal (false).
  template <class View, bool copies>
  __attribute__((always_inline)) bool ask(PyObject* obj, bool convert, Taken<View>* out, const char* name) noexcept {
    const CApi* const api = table();
    const Status s =
        __builtin_expect(api != nullptr, 1) ? Taking<View, copies>::take(api, obj, convert, out) : Status::interrupted;
    if (__builtin_expect(s == Status::ok, 1)) return true;
    if (s == Status::interrupted || s == Status::no_memory) return keep_error();
    refused(obj, convert ? Taking<View, copies>::again : Taking<View, false>::again, name);
    return false;
  }
  bool keep_error() noexcept {
    error_ = detail::fetch_error();
    return true;
  }

 private:
  PyObject* error_ = nullptr;
};

/// Of views: holds the borrow itself.
template <class View, bool copies>
class ViewArgument : public Asked {
 public:
  ViewArgument() noexcept {}  // leaves the room for the view as it is
  __attribute__((always_inline)) bool take(PyObject* obj, bool convert) noexcept {
    taken_.let_go();
    forget_error();
    source_ = obj;
    return ask<View, copies>(obj, convert, &taken_, name.text);
  }
  void take_none() noexcept {
    taken_.let_go();
    ::new (static_cast<void*>(&value_)) View();
  }
  View& value() noexcept {
    if (taken_.ok()) show(taken_.descriptor());
    return value_;
  }
  /// What value().source() gives; borrowed.
  PyObject* source() noexcept { return static_cast<PyObject*>(const_cast<void*>(value().source())); }
  /// A new reference that keeps value() valid for longer than this object; null with an exception set.
  PyObject* keep() noexcept {
    if (!taken_.ok()) return Py_INCREF(Py_None), Py_None;
    Holder* const holder = taken_.hold();
    if (holder == nullptr) return PyErr_NoMemory();
    show(holder->borrow.desc);
    PyObject* const capsule = PyCapsule_New(
        holder, nullptr, [](PyObject* it) { drop(static_cast<Holder*>(PyCapsule_GetPointer(it, nullptr))); });
    if (capsule == nullptr) drop(holder);
    return capsule;
  }

  /// What a refusal calls it.
  static constexpr auto name = [] {
    constexpr Text text = cpp_type<View>(copies ? "or_copy<view>" : "view");
    return exactly<text.size>(text);
  }();

 private:
  void show(const Descriptor& d) noexcept {
    ::new (static_cast<void*>(&value_)) View(anyarray::detail::Fitting(), d, source_);
  }

  Taken<View> taken_;
  PyObject* source_;
  union {
    View value_;  // begun by take_none(), value() or keep()
  };
};

/// Of arrays: what was taken goes to the heap, to be shared.
template <class Array, bool copies>
class ArrayArgument : public Asked {
 public:
  bool take(PyObject* obj, bool convert) noexcept {
    forget_error();
    Taken<typename Array::view_type> taken;
    if (!ask<typename Array::view_type, copies>(obj, convert, &taken, name.text)) return false;
    if (!taken.ok()) return true;  // there is an error
    Holder* const holder = taken.hold();
    if (holder == nullptr) return PyErr_NoMemory(), keep_error();
    value_ = Array(Held(table(), holder));
    return true;
  }
  void take_none() noexcept { value_ = Array(); }
  Array& value() noexcept { return value_; }

 private:
  static constexpr auto name = [] {
    constexpr Text text = cpp_type<typename Array::view_type>(copies ? "or_copy<array>" : "array");
    return exactly<text.size>(text);
  }();

  Array value_;
};

template <class T, int Rank, class Layout, class On>
class Argument<view<T, Rank, Layout, On>> : public ViewArgument<view<T, Rank, Layout, On>, false> {};
template <class T, int Rank, class Layout, class On>
class Argument<or_copy<view<T, Rank, Layout, On>>> : public ViewArgument<view<T, Rank, Layout, On>, true> {};
template <class T, int Rank, class Layout, class On>
class Argument<array<T, Rank, Layout, On>> : public ArrayArgument<array<T, Rank, Layout, On>, false> {};
template <class T, int Rank, class Layout, class On>
class Argument<or_copy<array<T, Rank, Layout, On>>> : public ArrayArgument<array<T, Rank, Layout, On>, true> {};

/// What becomes of the memory of a view that is returned.
enum class Lend : std::uint8_t {
  copy,     ///< into new memory, of the host alone
  owner,    ///< `owner` keeps it
  for_good  ///< it stays, whatever happens
};

/// An array as an aa.Array. Null with an exception set; a result that holds nothing is a ValueError, since it is what
/// array::make gives when it is out of memory: None is the result of an empty std::optional.
template <class T, int Rank, class Layout, class On>
PyObject* to_python(const array<T, Rank, Layout, On>& result, Lend = Lend::copy, PyObject* = nullptr) noexcept {
  const CApi* const api = table();
  if (api == nullptr) return nullptr;
  if (result.ok()) return result.to_array(api);
  PyErr_SetString(PyExc_ValueError,
                  "the function gave an anyarray::array that holds nothing, which array::make does when it is out of "
                  "memory; a function that means None returns a std::optional");
  return nullptr;
}

/// A view as an aa.Array over its memory, or over a copy. Null with an exception set.
template <class T, int Rank, class Layout, class On>
PyObject* to_python(const view<T, Rank, Layout, On>& result, Lend lend, PyObject* owner) noexcept {
  const CApi* const api = table();
  if (api == nullptr) return nullptr;
  std::int64_t dims[2 * (Rank == dynamic_rank ? max_ndim : Rank > 0 ? Rank : 1)];
  Descriptor parts;
  anyarray::detail::describe(result, dims, &parts);
  if (lend != Lend::copy)
    return api->produce(api->context, &parts, lend == Lend::owner ? owner : nullptr, nullptr, nullptr);
  Borrow made;
  Reason why;
  const Status s = api->copy(api->context, &parts, nullptr, &made, &why);
  if (s == Status::no_memory) return PyErr_NoMemory();
  if (s != Status::ok)
    return PyErr_Format(PyExc_BufferError, "the view that the function gave can't be copied: %s", why.text);
  PyObject* const array = api->to_array(api->context, &made);
  release(made);
  return array;
}

/// The same, given to a library.
template <class Library, class Result>
PyObject* to_python(const given_as<Library, Result>& given, Lend lend, PyObject* owner) noexcept {
  PyObject* const array = to_python(given.result, lend, owner);
  PyObject* const to = array != nullptr ? PyUnicode_FromString(Library::name) : nullptr;
  PyObject* const result = to != nullptr ? table()->convert(table()->context, array, to) : nullptr;
  Py_XDECREF(to);
  Py_XDECREF(array);
  return result;
}

/// The same, given to the library of the example.
template <class Result>
PyObject* to_python(const given_like<Result>& given, Lend lend, PyObject* owner) noexcept {
  PyObject* const array = to_python(given.result, lend, owner);
  if (array == nullptr || given.example == nullptr) return array;
  auto* const example = static_cast<PyObject*>(const_cast<void*>(given.example));
  PyObject* const result = table()->convert_like(table()->context, array, example);
  Py_DECREF(array);
  return result;
}

/// What a parameter is called in a signature, and the view that takes it.
template <class P>
struct ParameterType;
template <class T, int Rank, class Layout, class On>
struct ParameterType<view<T, Rank, Layout, On>> {
  static constexpr Text text = python_type<view<T, Rank, Layout, On>>(Role::parameter);
  using View = view<T, Rank, Layout, On>;
  static constexpr bool copies = false;
};
template <class T, int Rank, class Layout, class On>
struct ParameterType<array<T, Rank, Layout, On>> : ParameterType<view<T, Rank, Layout, On>> {};
template <class P>
struct ParameterType<or_copy<P>> {
  using View = typename ParameterType<P>::View;
  static constexpr Text text = python_type<View>(Role::or_copy);
  static constexpr bool copies = true;
};

/// What a result is called in a signature, and the view that tells its dtype and shape.
template <class Result>
struct ResultType;
template <class T, int Rank, class Layout, class On>
struct ResultType<view<T, Rank, Layout, On>> {
  static constexpr Text text = python_type<view<T, Rank, Layout, On>>(Role::result);
  using View = view<T, Rank, Layout, On>;
};
template <class T, int Rank, class Layout, class On>
struct ResultType<array<T, Rank, Layout, On>> : ResultType<view<T, Rank, Layout, On>> {};
template <class Library, class Result>
struct ResultType<given_as<Library, Result>> {
  static constexpr Text text = python_type<typename ResultType<Result>::View>(Role::result, Library::type);
};

}  // namespace ANYARRAY_HIDDEN casters
}  // namespace anyarray
