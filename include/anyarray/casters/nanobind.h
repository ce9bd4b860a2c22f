// SPDX-License-Identifier: Apache-2.0
// nanobind: views and arrays as parameters and results of bound functions. Include it, and declare them; nothing to
// link.
//   m.def("norm", [](anyarray::view<const float, 2> x) { … });
//   anyarray::casters::install(m);   // last in the module's init: from now on its TypeErrors say why
#pragma once
#include <nanobind/nanobind.h>

#include <optional>

#include "anyarray/casters/common.h"
#include "anyarray/casters/wrap.h"

namespace anyarray {
namespace ANYARRAY_HIDDEN casters {

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
  if (table() == nullptr || !wrap_module(module.ptr(), {is_function})) throw nanobind::python_error();
}

}  // namespace ANYARRAY_HIDDEN casters
}  // namespace anyarray

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)

/// The text as nanobind joins it to a signature.
template <class Type>
constexpr auto anyarray_name() {
  return descr<Type::text.size>(anyarray::casters::exactly<Type::text.size>(Type::text).text);
}

/// What all parameters share: a `P` is taken from Python, and read by the function.
template <class P>
class anyarray_parameter {
  using Type = anyarray::casters::ParameterType<P>;

 public:
  using Value = P;
  /// One name as a parameter, another as a result.
  static constexpr auto Name = const_name('@') + anyarray_name<Type>() + const_name('@') +
                               anyarray_name<anyarray::casters::ResultType<typename Type::View>>() + const_name('@');

  NB_INLINE bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    flags_ = flags;
    cleanup_ = cleanup;
    if ((flags & cast_flags::accepts_none) != 0 && src.is_none()) {
      argument_.take_none();
      return true;
    }
    return argument_.take(src.ptr(), (flags & cast_flags::convert) != 0);
  }

 protected:
  /// nanobind catches what is thrown here, and raises the exception that is set.
  NB_INLINE auto& read() {
    if (NB_UNLIKELY(argument_.has_error())) {
      argument_.set_error();
      throw python_error();
    }
    return argument_.value();
  }

  anyarray::casters::Argument<P> argument_;
  cleanup_list* cleanup_;  // of the call, null outside of one; this and the flags are set with each value
  std::uint32_t flags_;
};

/// How the function reads it: what is in the argument, or, of or_copy, one that is made of that.
template <class P>
class anyarray_read : public anyarray_parameter<P> {
 public:
  template <class T>
  using Cast = movable_cast_t<T>;
  explicit operator P&() { return this->read(); }
  explicit operator P&&() { return static_cast<P&&>(this->read()); }
};
template <class Plain>
class anyarray_read<anyarray::or_copy<Plain>> : public anyarray_parameter<anyarray::or_copy<Plain>> {
 public:
  template <class>
  using Cast = anyarray::or_copy<Plain>;
  explicit operator anyarray::or_copy<Plain>() { return anyarray::or_copy<Plain>(this->read()); }
};

template <class P>
class anyarray_view_parameter : public anyarray_read<P> {
 public:
  /// Asked by casters of containers, which read the value and go on without this caster: the call keeps then what keeps
  /// the value valid.
  template <class>
  bool can_cast() const noexcept {
    return const_cast<anyarray_view_parameter*>(this)->leave_to_call();
  }

 private:
  bool leave_to_call() noexcept {
    if (this->argument_.has_error()) return false;  // which is handed on at the end of this caster
    if (this->cleanup_ == nullptr || (this->flags_ & cast_flags::manual) != 0) {
      PyErr_SetString(PyExc_TypeError,
                      "nanobind::cast() can't give an anyarray::view, since nothing would keep its memory: cast to an "
                      "anyarray::array");
      return false;
    }
    PyObject* const keeper = this->argument_.keep();
    if (keeper == nullptr) return PyErr_Clear(), false;
    this->cleanup_->append(keeper);
    if constexpr (anyarray::casters::ParameterType<P>::copies) {  // a copy doesn't keep what it was made of
      if (PyObject* const source = this->argument_.source()) {
        Py_INCREF(source);
        this->cleanup_->append(source);
      }
    }
    return true;
  }
};

template <class P>
class anyarray_array_parameter : public anyarray_read<P> {
 public:
  template <class>
  bool can_cast() const noexcept {
    return !this->argument_.has_error();
  }
};

/// Results: `array`, `given_as`, `given_like` and views by their policy.
template <class Result>
struct anyarray_result {
  static handle from_cpp(const Result& result, rv_policy policy, cleanup_list* cleanup) noexcept {
    using anyarray::casters::Lend;
    Lend lend = Lend::copy;
    PyObject* owner = nullptr;
    if (policy == rv_policy::reference_internal) {
      owner = cleanup != nullptr ? cleanup->self() : nullptr;
      if (owner != nullptr) lend = Lend::owner;
    } else if (policy == rv_policy::reference) {
      lend = Lend::for_good;
    }
    return anyarray::casters::to_python(result, lend, owner);
  }
  static handle from_cpp(const Result* result, rv_policy policy, cleanup_list* cleanup) noexcept {
    return result != nullptr ? from_cpp(*result, policy, cleanup) : none().release();
  }
};

template <class T, int Rank, class Layout, class On>
class type_caster<anyarray::view<T, Rank, Layout, On>>
    : public anyarray_view_parameter<anyarray::view<T, Rank, Layout, On>>,
      public anyarray_result<anyarray::view<T, Rank, Layout, On>> {};

template <class T, int Rank, class Layout, class On>
class type_caster<anyarray::array<T, Rank, Layout, On>>
    : public anyarray_array_parameter<anyarray::array<T, Rank, Layout, On>>,
      public anyarray_result<anyarray::array<T, Rank, Layout, On>> {};

template <class T, int Rank, class Layout, class On>
class type_caster<anyarray::or_copy<anyarray::view<T, Rank, Layout, On>>>
    : public anyarray_view_parameter<anyarray::or_copy<anyarray::view<T, Rank, Layout, On>>> {};

template <class T, int Rank, class Layout, class On>
class type_caster<anyarray::or_copy<anyarray::array<T, Rank, Layout, On>>>
    : public anyarray_array_parameter<anyarray::or_copy<anyarray::array<T, Rank, Layout, On>>> {};

template <class Library, class Result>
struct type_caster<anyarray::given_as<Library, Result>> : anyarray_result<anyarray::given_as<Library, Result>> {
  static constexpr auto Name = anyarray_name<anyarray::casters::ResultType<anyarray::given_as<Library, Result>>>();
};

template <class Result>
struct type_caster<anyarray::given_like<Result>> : anyarray_result<anyarray::given_like<Result>> {
  static constexpr auto Name = const_name("typing.Any");
};

/// Optional parameters keep the caster inside, so that a view is valid as long as one by itself; optional results.
template <class P>
class anyarray_optional {
 public:
  using Value = std::optional<P>;
  template <class>
  using Cast = Value;
  static constexpr auto Name = optional_name(make_caster<P>::Name);

  bool from_python(handle src, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    has_value_ = !src.is_none();
    return !has_value_ || caster_.from_python(src, flags, cleanup);
  }
  template <class>
  bool can_cast() const noexcept {
    return !has_value_ || caster_.template can_cast<P>();
  }
  explicit operator Value() { return has_value_ ? Value(caster_.operator cast_t<P>()) : Value(); }

  static handle from_cpp(const Value& result, rv_policy policy, cleanup_list* cleanup) noexcept {
    return result ? make_caster<P>::from_cpp(*result, policy, cleanup) : none().release();
  }

 private:
  make_caster<P> caster_;
  bool has_value_;
};

#define ANYARRAY_OPTIONAL(...)                                                              \
  template <class T, int Rank, class Layout, class On>                                      \
  class type_caster<std::optional<__VA_ARGS__>> : public anyarray_optional<__VA_ARGS__> {}; \
  template <class T, int Rank, class Layout, class On>                                      \
  struct has_arg_defaults<std::optional<__VA_ARGS__>> : std::true_type {};                  \
  template <class T, int Rank, class Layout, class On>                                      \
  struct remove_opt_mono<std::optional<__VA_ARGS__>> : remove_opt_mono<__VA_ARGS__> {};
ANYARRAY_OPTIONAL(anyarray::view<T, Rank, Layout, On>)
ANYARRAY_OPTIONAL(anyarray::array<T, Rank, Layout, On>)
ANYARRAY_OPTIONAL(anyarray::or_copy<anyarray::view<T, Rank, Layout, On>>)
ANYARRAY_OPTIONAL(anyarray::or_copy<anyarray::array<T, Rank, Layout, On>>)
#undef ANYARRAY_OPTIONAL

NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
