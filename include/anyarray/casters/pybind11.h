// SPDX-License-Identifier: Apache-2.0
// For pybind11: parameters and return values. Include it, write
//   m.def("norm", [](anyarray::view<const float, 2> x) { … });
// and let anyarray::casters::install(m) be the last line of the module: the TypeError for arguments that no overload
// takes says why then. docs/casters.md tells the rest.
#pragma once
#include <pybind11/pybind11.h>

#include <new>
#include <optional>
#include <type_traits>

// pybind11's modules may live in several interpreters: one pointer does for all calls until a second one is seen.
#if defined(ANYARRAY_SEVERAL_INTERPRETERS)
#error "include anyarray/casters/pybind11.h before anything else of anyarray/casters"
#endif
#if defined(PYBIND11_HAS_SUBINTERPRETER_SUPPORT) && PYBIND11_VERSION_HEX >= 0x03010000
#define ANYARRAY_SEVERAL_INTERPRETERS() \
  (pybind11::detail::has_seen_non_main_interpreter().load(std::memory_order_relaxed))
#elif defined(PYBIND11_HAS_SUBINTERPRETER_SUPPORT)
#define ANYARRAY_SEVERAL_INTERPRETERS() (pybind11::detail::get_num_interpreters_seen() > 1)
#endif
#include "anyarray/casters/common.h"
#include "anyarray/casters/wrap.h"

namespace anyarray {
namespace ANYARRAY_HIDDEN casters {
namespace detail {

template <class...>
inline constexpr bool never = false;

/// Parameters are passed by value or by const reference: there is nothing of the caller's behind them to change.
template <class P>
struct Passed {
  static_assert(!std::is_pointer_v<std::remove_reference_t<P>>,
                "anyarray: a parameter is no pointer: take it by value, and std::optional of it where None is allowed");
  static_assert(!std::is_lvalue_reference_v<P> || std::is_const_v<std::remove_reference_t<P>>,
                "anyarray: a parameter is no reference that can be changed: take it by value");
  using type = std::remove_cv_t<std::remove_reference_t<P>>;
};

}  // namespace detail
}  // namespace ANYARRAY_HIDDEN casters
}  // namespace anyarray

PYBIND11_NAMESPACE_BEGIN(PYBIND11_NAMESPACE)
PYBIND11_NAMESPACE_BEGIN(detail)

template <class Text>
constexpr auto anyarray_descr() {
  return descr<Text::text.size>(anyarray::casters::exactly<Text::text.size>(Text::text).text);
}

/// A type with two names: as a parameter, and as a result.
#if PYBIND11_VERSION_HEX >= 0x03000000
template <class Parameter, class Result>
constexpr auto anyarray_both(const Parameter& parameter, const Result& result) {
  return const_name("@") + parameter + const_name("@") + result + const_name("@");
}
#else
template <class Parameter, class Result>
constexpr auto anyarray_both(const Parameter& parameter, const Result&) {
  return parameter;
}
#endif

/// Where a name goes that may not: complete, and so an error, when pybind11 asks for the types in a signature.
template <class Any>
struct anyarray_misplaced {
  static_assert(
      anyarray::casters::detail::never<Any>,
      "anyarray::view shows memory that is held during the call alone: it is a parameter, a result, or "
      "std::optional of these. In containers, tuples and callbacks use anyarray::array, which owns its share");
};
/// The name of what shows memory during a call alone. Where pybind11 puts the name of a parameter or of a result it is
/// one; casters of containers, which join the names of their elements, get what is misplaced.
template <class Parameter, class Result>
struct anyarray_of_call : descr<0, anyarray_misplaced<Result>> {
  Parameter parameter;
  Result result;
  constexpr anyarray_of_call(const Parameter& p, const Result& r) : parameter(p), result(r) {}
};
template <class P, class R>
constexpr auto type_descr(const anyarray_of_call<P, R>& name) {
  return type_descr(name.parameter);
}
/// A result's name is the last.
template <size_t N, class... Types>
struct anyarray_last : descr<N, Types...> {
  constexpr anyarray_last(const descr<N, Types...>& whole) : descr<N, Types...>(whole) {}
};
template <size_t N, class... Types, class P, class R>
constexpr auto operator+(const descr<N, Types...>& before, const anyarray_of_call<P, R>& name) {
  return anyarray_last(before + name.result);
}
template <size_t N, class... Types, size_t M, class... More>
constexpr descr<0, anyarray_misplaced<descr<N, Types...>>> operator+(const anyarray_last<N, Types...>&,
                                                                     const descr<M, More...>&) {
  return {};
}

/// Results, with or without a value: arrays share their memory, whatever the policy; of views it says what becomes of
/// the memory: reference_internal (the parent keeps it), reference (it stays for good), all others (a copy).
template <class R>
struct anyarray_result {
  static handle cast(const R& result, return_value_policy policy, handle parent) {
    using anyarray::casters::Lend;
    Lend lend = Lend::copy;
    if (policy == return_value_policy::reference_internal && parent) {
      lend = Lend::owner;
    } else if (policy == return_value_policy::reference) {
      lend = Lend::for_good;
    }
    PyObject* const object = anyarray::casters::to_python(result, lend, parent.ptr());
    if (object == nullptr) throw error_already_set();
    return object;
  }
  static handle cast(const R* result, return_value_policy policy, handle parent) {
    return result != nullptr ? cast(*result, policy, parent) : none().release();
  }
  static handle cast(const std::optional<R>& result, return_value_policy policy, handle parent) {
    return result ? cast(*result, policy, parent) : none().release();
  }
};

template <class Value>
struct anyarray_optional : std::false_type {
  using type = Value;
};
template <class P>
struct anyarray_optional<std::optional<P>> : std::true_type {
  using type = P;
};

/// Of a view, or std::optional of one; results are of type R. What py::cast gives would outlive its caster.
template <class R, class Value>
class anyarray_view_caster : public anyarray_result<R> {
  static constexpr bool optional = anyarray_optional<Value>::value;
  using P = typename anyarray_optional<Value>::type;
  static constexpr auto parameter = anyarray_descr<anyarray::casters::ParameterType<P>>();
  static constexpr auto result = anyarray_descr<anyarray::casters::ResultType<R>>();

 public:
  static constexpr auto name = [] {
    if constexpr (!optional) {
      return anyarray_of_call<decltype(parameter), decltype(result)>{parameter, result};
    } else {
      constexpr auto or_none = const_name(" | None");
      return anyarray_of_call<decltype(parameter + or_none), decltype(result + or_none)>{parameter + or_none,
                                                                                         result + or_none};
    }
  }();
  template <class T>
  using cast_op_type = typename anyarray::casters::detail::Passed<T>::type;

  anyarray_view_caster() noexcept {}
  anyarray_view_caster(const anyarray_view_caster&) { anyarray_misplaced<P>(); }
  bool load(handle src, bool convert) {
    if constexpr (optional) {
      if (src.is_none()) return true;
    }
    const anyarray::CApi* const api = anyarray::casters::table();
    if (__builtin_expect(api == nullptr, 0)) throw error_already_set();
    if constexpr (copies) source_ = src.ptr();
    const anyarray::Status s = Taking::take(api, src.ptr(), convert, &taken_);
    if (__builtin_expect(s != anyarray::Status::ok, 0)) return refuse(s, src.ptr(), convert);
    if constexpr (copies) {
      new (&shown_) P(R(anyarray::detail::Fitting(), taken_.descriptor(), source_));
    } else {
      new (&shown_) P(*taken_);
    }
    return true;
  }
  operator Value() noexcept {
    if constexpr (optional) {
      if (!taken_.ok()) return std::nullopt;
    }
    return shown_;
  }

 private:
  static constexpr bool copies = anyarray::casters::ParameterType<P>::copies;
  using Taking = anyarray::casters::Taking<R, copies>;

  __attribute__((cold, noinline)) static bool refuse(anyarray::Status s, PyObject* obj, bool convert) {
    using anyarray::casters::Argument;
    if (s == anyarray::Status::interrupted || s == anyarray::Status::no_memory) throw error_already_set();
    anyarray::casters::refused(obj, convert ? Taking::again : anyarray::casters::Taking<R, false>::again,
                               Argument<P>::name.text);
    return false;
  }

  anyarray::Taken<R> taken_;
  // Made while the argument is loaded: parameters are copied to the stack in vector registers, which, right after the
  // members were stored one by one, would wait for the cache (4 ns).
  static_assert(std::is_trivially_destructible_v<P> && std::is_trivially_copyable_v<P>);
  union {
    P shown_;
  };
  PyObject* source_;  // of or_copy: a copy doesn't know what it was made of
};

/// Of an array, or std::optional of one: it owns its share, so it is valid wherever it goes.
template <class R, class Value>
class anyarray_array_caster : public anyarray_result<R> {
  using P = typename anyarray_optional<Value>::type;

 public:
  static constexpr auto name = [] {
    constexpr auto both = anyarray_both(anyarray_descr<anyarray::casters::ParameterType<P>>(),
                                        anyarray_descr<anyarray::casters::ResultType<R>>());
    if constexpr (!anyarray_optional<Value>::value) {
      return both;
    } else {
      return both + const_name(" | None");
    }
  }();
  template <class T>
  using cast_op_type = typename anyarray::casters::detail::Passed<T>::type;

  bool load(handle src, bool convert) {
    if (!src) return false;
    if constexpr (anyarray_optional<Value>::value) {
      if (src.is_none()) return true;
    }
    anyarray::casters::Argument<P> argument;
    if (!argument.take(src.ptr(), convert)) return false;
    if (argument.has_error()) {
      argument.set_error();
      throw error_already_set();
    }
    value_ = P(std::move(argument.value()));
    return true;
  }
  operator Value() noexcept { return std::move(value_); }

 private:
  Value value_;
};

// Each with a constructor: without one, a tuple of casters zeroes them, which costs as much as taking an array.
#define ANYARRAY_CASTER(caster, plain, ...)                                                           \
  template <class T, int Rank, class Layout, class On>                                                \
  class type_caster<__VA_ARGS__> : public caster<anyarray::plain<T, Rank, Layout, On>, __VA_ARGS__> { \
   public:                                                                                            \
    type_caster() noexcept {}                                                                         \
  };
#define ANYARRAY_CASTERS(caster, plain)                                                   \
  ANYARRAY_CASTER(caster, plain, anyarray::plain<T, Rank, Layout, On>)                    \
  ANYARRAY_CASTER(caster, plain, anyarray::or_copy<anyarray::plain<T, Rank, Layout, On>>) \
  ANYARRAY_CASTER(caster, plain, std::optional<anyarray::plain<T, Rank, Layout, On>>)     \
  ANYARRAY_CASTER(caster, plain, std::optional<anyarray::or_copy<anyarray::plain<T, Rank, Layout, On>>>)
ANYARRAY_CASTERS(anyarray_view_caster, view)
ANYARRAY_CASTERS(anyarray_array_caster, array)
#undef ANYARRAY_CASTERS
#undef ANYARRAY_CASTER

template <class Library, class Result>
class type_caster<anyarray::given_as<Library, Result>> : public anyarray_result<anyarray::given_as<Library, Result>> {
 public:
  static constexpr auto name = anyarray_descr<anyarray::casters::ResultType<anyarray::given_as<Library, Result>>>();
};
template <class Result>
class type_caster<anyarray::given_like<Result>> : public anyarray_result<anyarray::given_like<Result>> {
 public:
  static constexpr auto name = const_name("typing.Any");
};

PYBIND11_NAMESPACE_END(detail)
PYBIND11_NAMESPACE_END(PYBIND11_NAMESPACE)

namespace anyarray {
namespace ANYARRAY_HIDDEN casters {
namespace detail {

/// pybind11's functions are PyCFunctions whose ml_meth is one function in all of an extension, and whose PyMethodDef is
/// pybind11's own. The interpreter calls ml_meth directly, so that is what is replaced.
struct Dispatcher : pybind11::cpp_function {
  static constexpr auto original = &pybind11::cpp_function::dispatcher;

  template <class Function>
  struct Watched;
  template <class... Arguments>
  struct Watched<PyObject* (*)(PyObject*, Arguments...)> {
    static PyObject* call(PyObject* self, Arguments... arguments) {
      State& s = current_state();
      const std::uint64_t before = s.number;
      ++s.active;
      PyObject* const result = original(self, arguments...);
      --s.active;
      if (__builtin_expect(result != nullptr && s.number == before, 1)) return result;
      return settle(s, self, head_of, result, before);
    }
  };
  using Original = std::remove_const_t<decltype(original)>;

  static PyCFunction as_method(Original function) noexcept {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
  }
  /// Null where it is no function of this extension, or one that is watched already. Methods lie in an instancemethod.
  static PyMethodDef* method_of(PyObject* object) noexcept {
    if (PyInstanceMethod_Check(object)) object = PyInstanceMethod_GET_FUNCTION(object);
    if (!PyCFunction_Check(object)) return nullptr;
    PyMethodDef* const method = reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
    return method->ml_meth == as_method(original) ? method : nullptr;
  }
  static bool is_function(PyObject* object) { return method_of(object) != nullptr; }
  static void wrap(PyObject* function) noexcept { method_of(function)->ml_meth = as_method(Watched<Original>::call); }
  static bool is_class(PyObject* object) {
    return PyType_IsSubtype(Py_TYPE(object), pybind11::detail::get_internals().default_metaclass) != 0;
  }

  static const pybind11::detail::function_record* record_of(PyObject* self) {
#if PYBIND11_VERSION_HEX >= 0x03000000
    return pybind11::detail::function_record_ptr_from_PyObject(self);
#else
    return static_cast<pybind11::detail::function_record*>(
        PyCapsule_GetPointer(self, pybind11::detail::get_function_record_capsule_name()));
#endif
  }
  static PyObject* head_of(PyObject* self) {
    const auto* const record = record_of(self);
    if (record == nullptr) return nullptr;
    if (record->is_constructor) return PyUnicode_FromFormat("%s(): incompatible constructor arguments.", record->name);
    return PyUnicode_FromFormat(
        "%s(): incompatible function arguments. The following argument types are supported:\n    1. %s\n", record->name,
        record->signature);
  }
};

}  // namespace detail

/// Imports the function table, and lets the TypeErrors of this module's functions (those in its classes, properties and
/// submodules too) say why no overload took the arguments. Called at the end of the module's init; again where more
/// were.
inline void install(const pybind11::module_& m) {
  using detail::Dispatcher;
  if (table() == nullptr ||
      !wrap_module(m.ptr(), {Dispatcher::is_function, Dispatcher::wrap, true, Dispatcher::is_class})) {
    throw pybind11::error_already_set();
  }
}

}  // namespace ANYARRAY_HIDDEN casters
}  // namespace anyarray
