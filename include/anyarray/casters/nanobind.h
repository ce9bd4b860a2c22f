// SPDX-License-Identifier: Apache-2.0
// nanobind: views and arrays as parameters and results of bound functions. Include it, and declare them; nothing to
// link.
//   m.def("norm", [](anyarray::view<const float, 2> x) { … });
//   anyarray::casters::install(m);   // last in the module's init: from now on its TypeErrors say why
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "anyarray/casters/common.h"

namespace anyarray::casters {

/// Imports the function table, and lets the TypeErrors of all functions in `module` (those in its classes, properties
/// and submodules too) say why no overload took the arguments. Called at the end of the module's init: what is defined
/// later keeps nanobind's plain TypeError. Throws nanobind::python_error (ImportError) where anyarray is missing.
inline void install(const nanobind::module_& module) {
  const auto is_function = [](PyObject* object) {
    PyObject* const name = detail::attribute(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__");
    const bool is = name != nullptr && PyUnicode_Check(name) &&
                    (PyUnicode_CompareWithASCIIString(name, "nb_func") == 0 ||
                     PyUnicode_CompareWithASCIIString(name, "nb_method") == 0);
    Py_XDECREF(name);
    return is;
  };
  if (table() == nullptr || !wrap_module(module.ptr(), is_function)) throw nanobind::python_error();
}

}  // namespace anyarray::casters

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

/// The text as nanobind joins it to a signature.
template <std::size_t N>
constexpr descr<N> anyarray_name(const anyarray::casters::Exactly<N>& text) {
  return descr<N>(text.text);
}
template <class View, anyarray::casters::Role role>
struct anyarray_type {
  static constexpr auto text = anyarray::casters::python_type<View>(role);
  static constexpr auto name = anyarray_name(anyarray::casters::exactly<text.size>(text));
};
/// One name as a parameter, another as a result.
template <class View, anyarray::casters::Role role>
inline constexpr auto anyarray_names = const_name('@') + anyarray_type<View, role>::name + const_name('@') +
                                       anyarray_type<View, anyarray::casters::Role::result>::name + const_name('@');

/// What all parameters share: `P` is taken from Python, and read by the function.
template <class P>
class anyarray_parameter {
 public:
  using Value = P;
  template <class T>
  using Cast = movable_cast_t<T>;

  NB_INLINE bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    if ((flags & cast_flags::accepts_none) != 0 && src.is_none()) {
      argument.take_none();
      return true;
    }
    flags_ = flags;
    cleanup_ = cleanup;
    return argument.take(src.ptr(), (flags & cast_flags::convert) != 0);
  }
  explicit operator Value&() { return read(); }
  explicit operator Value&&() { return static_cast<Value&&>(read()); }

 protected:
  /// nanobind catches what is thrown here, and raises the exception that is set.
  NB_INLINE Value& read() {
    if (NB_UNLIKELY(argument.has_error())) {
      argument.set_error();
      throw python_error();
    }
    return argument.value();
  }

  anyarray::casters::Argument<P> argument;
  cleanup_list* cleanup_;  // of the call, null outside of one; this and the flags are set with each value
  std::uint32_t flags_;
};

template <class T, int Rank, class Layout, class On>
class type_caster<anyarray::view<T, Rank, Layout, On>>
    : public anyarray_parameter<anyarray::view<T, Rank, Layout, On>> {
  using View = anyarray::view<T, Rank, Layout, On>;

 public:
  static constexpr auto Name = anyarray_names<View, anyarray::casters::Role::parameter>;

  /// Asked by casters of containers, which read the value and go on without this caster: what keeps it valid goes to
  /// the call then. nanobind::cast() has no call that could keep it.
  template <class>
  bool can_cast() const noexcept {
    return const_cast<type_caster*>(this)->leave_to_call();
  }

 private:
  bool leave_to_call() noexcept {
    if (this->argument.has_error()) return false;  // the caster's end hands it on
    if ((this->flags_ & cast_flags::manual) != 0 || this->cleanup_ == nullptr) return false;
    PyObject* const keeper = this->argument.keep();
    if (keeper == nullptr) return PyErr_Clear(), false;
    this->cleanup_->append(keeper);
    return true;
  }
};

template <class T, int Rank, class Layout, class On>
class type_caster<anyarray::array<T, Rank, Layout, On>>
    : public anyarray_parameter<anyarray::array<T, Rank, Layout, On>> {
  using Array = anyarray::array<T, Rank, Layout, On>;

 public:
  static constexpr auto Name = anyarray_names<typename Array::view_type, anyarray::casters::Role::parameter>;

  template <class>
  bool can_cast() const noexcept {
    return !this->argument.has_error();
  }
  static handle from_cpp(const Array& result, rv_policy, cleanup_list*) noexcept {
    return anyarray::casters::to_python(result);
  }
  static handle from_cpp(const Array* result, rv_policy policy, cleanup_list* cleanup) noexcept {
    return result != nullptr ? from_cpp(*result, policy, cleanup) : none().release();
  }
};

/// An optional view keeps the view's caster, so that it is valid as long as a view by itself.
template <class T, int Rank, class Layout, class On>
class type_caster<std::optional<anyarray::view<T, Rank, Layout, On>>> {
  using View = anyarray::view<T, Rank, Layout, On>;

 public:
  using Value = std::optional<View>;
  template <class>
  using Cast = Value;
  static constexpr auto Name = optional_name(make_caster<View>::Name);

  bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    has_value_ = !src.is_none();
    return !has_value_ || caster_.from_python(src, flags, cleanup);
  }
  template <class>
  bool can_cast() const noexcept {
    return !has_value_ || caster_.template can_cast<View>();
  }
  explicit operator Value() { return has_value_ ? Value(caster_.operator View&()) : Value(); }

 private:
  make_caster<View> caster_;
  bool has_value_;
};
template <class T, int Rank, class Layout, class On>
struct has_arg_defaults<std::optional<anyarray::view<T, Rank, Layout, On>>> : std::true_type {};
template <class T, int Rank, class Layout, class On>
struct remove_opt_mono<std::optional<anyarray::view<T, Rank, Layout, On>>>
    : remove_opt_mono<anyarray::view<T, Rank, Layout, On>> {};

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
