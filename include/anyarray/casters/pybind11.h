// SPDX-License-Identifier: Apache-2.0
// For pybind11: parameters and return values. Include it, write
//   m.def("norm", [](anyarray::view<const float, 2> x) { … });
// and let anyarray::casters::install(m) be the last line of the module: the TypeError for arguments that no overload
// takes says why then. docs/casters.md tells the rest.
#pragma once
#include <pybind11/pybind11.h>

#include <optional>

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

namespace anyarray::casters {
namespace detail {

template <class...>
inline constexpr bool never = false;

/// Takes an argument: false lets the next overload be tried; what is never passed over is thrown.
template <class P>
bool load(Argument<P>& argument, PyObject* obj, bool convert) {
  if (!argument.take(obj, convert)) return false;
  if (__builtin_expect(argument.has_error(), 0)) {
    argument.set_error();
    throw pybind11::error_already_set();
  }
  return true;
}

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
}  // namespace anyarray::casters

PYBIND11_NAMESPACE_BEGIN(PYBIND11_NAMESPACE)
PYBIND11_NAMESPACE_BEGIN(detail)

/// The name of what is valid only during a call. It stands where pybind11 puts the name of a parameter, and nowhere
/// else: casters of containers join the names of their elements, and end with a sentence here.
template <size_t N>
struct anyarray_of_call {
  descr<N> text;

  template <class Other>
  static constexpr descr<0> misplaced(const Other&) {
    static_assert(anyarray::casters::detail::never<Other>,
                  "anyarray::view shows memory that is held during the call alone: it is a parameter, or std::optional "
                  "of one. In containers, tuples and callbacks, and as a result, use anyarray::array, which owns");
    return {};
  }
};
template <size_t N>
constexpr auto type_descr(const anyarray_of_call<N>& name) {
  return type_descr(name.text);
}
template <size_t N>
constexpr auto arg_descr(const anyarray_of_call<N>& name) {
  return name.misplaced(name);
}
template <size_t N, class... Others>
constexpr auto concat(const anyarray_of_call<N>& name, const Others&...) {
  return name.misplaced(name);
}
template <size_t N, class Other>
constexpr auto operator+(const Other&, const anyarray_of_call<N>& name) {
  return name.misplaced(name);
}
template <size_t N, class Other>
constexpr auto operator|(const Other&, const anyarray_of_call<N>& name) {
  return name.misplaced(name);
}
template <size_t N, class Other>
constexpr auto operator|(const anyarray_of_call<N>& name, const Other&) {
  return name.misplaced(name);
}
template <size_t N, class Other>
constexpr auto operator,(const Other&, const anyarray_of_call<N>& name) {
  return name.misplaced(name);
}

template <class View, anyarray::casters::Role role>
struct anyarray_names {
  static constexpr auto text = anyarray::casters::python_type<View>(role);
  static constexpr auto exact = anyarray::casters::exactly<text.size>(text);
  static constexpr descr<text.size> name{exact.text};
};

/// A parameter that is valid during the call.
template <class View>
class anyarray_view_caster {
  using names = anyarray_names<View, anyarray::casters::Role::parameter>;

 public:
  static constexpr anyarray_of_call<names::text.size> name{names::name};
  template <class P>
  using cast_op_type = typename anyarray::casters::detail::Passed<P>::type;

  anyarray_view_caster() noexcept {}  // or a tuple of casters would be zeroed
  anyarray_view_caster(const anyarray_view_caster&) {
    static_assert(anyarray::casters::detail::never<View>,
                  "anyarray::view shows memory that is held during the call alone: py::cast to anyarray::array");
  }
  bool load(handle src, bool convert) { return anyarray::casters::detail::load(argument_, src.ptr(), convert); }
  operator View() noexcept { return argument_.value(); }

 private:
  anyarray::casters::Argument<View> argument_;
};

template <class T, int Rank, class Layout, class On>
class type_caster<anyarray::view<T, Rank, Layout, On>>
    : public anyarray_view_caster<anyarray::view<T, Rank, Layout, On>> {};

PYBIND11_NAMESPACE_END(detail)
PYBIND11_NAMESPACE_END(PYBIND11_NAMESPACE)

namespace anyarray::casters {
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
  static PyMethodDef* method_of(PyObject* function) noexcept {
    return reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
  }
  static bool is_function(PyObject* object) {
    return PyCFunction_Check(object) && method_of(object)->ml_meth == as_method(original);
  }
  static void wrap(PyObject* function) noexcept {
    method_of(function)->ml_meth = as_method(Watched<Original>::call);
  }
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

/// From now on the TypeErrors of this module's functions say why. To be called when all are defined; again where more
/// were.
inline void install(const pybind11::module_& m) {
  using detail::Dispatcher;
  if (!wrap_module(m.ptr(), {Dispatcher::is_function, Dispatcher::wrap, true, Dispatcher::is_class})) {
    throw pybind11::error_already_set();
  }
}

}  // namespace anyarray::casters
