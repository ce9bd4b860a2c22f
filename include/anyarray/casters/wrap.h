// SPDX-License-Identifier: Apache-2.0
// Puts a step around the functions of a module, which turns what their casters refused into reasons of their
// TypeErrors: for libraries whose functions show their vectorcall by CPython's public protocol.
#pragma once
#include "anyarray/casters/refusals.h"

namespace anyarray {
namespace ANYARRAY_HIDDEN casters {
namespace detail {

/// What has to be known of a binding library.
struct Library {
  bool (*is_function)(PyObject*);
  void (*wrap)(PyObject* function) noexcept = nullptr;  // may see a function again; null: by its vectorcall
  bool knows_own = false;  // is_function() knows those of this extension alone, whatever their __module__
  bool (*is_class)(PyObject*) = nullptr;  // classes to look into, whatever their __module__
};

#if !defined(Py_GIL_DISABLED)

/// Of functions that have their name.
inline PyObject* head_by_name(PyObject* function) noexcept {
  PyObject* const name = attribute(function, "__name__");
  PyObject* const head = name != nullptr ? PyUnicode_FromFormat("%S(): incompatible ", name) : nullptr;
  Py_XDECREF(name);
  return head;
}

/// The vectorcall functions that were wrapped: of a library, not of each function.
inline vectorcallfunc originals[8] = {};

template <int k>
PyObject* wrapped_call(PyObject* function, PyObject* const* args, std::size_t nargsf, PyObject* names) noexcept {
  State& s = current_state();
  const std::uint64_t before = s.number;
  ++s.active;
  PyObject* const result = originals[k](function, args, nargsf, names);
  --s.active;
  if (__builtin_expect(result != nullptr && s.number == before, 1)) return result;
  return settle(s, function, head_by_name, result, before);
}

inline constexpr vectorcallfunc wrappers[] = {wrapped_call<0>, wrapped_call<1>, wrapped_call<2>, wrapped_call<3>,
                                              wrapped_call<4>, wrapped_call<5>, wrapped_call<6>, wrapped_call<7>};

/// Where a function keeps its vectorcall; null where it has none.
inline vectorcallfunc* vectorcall_of(PyObject* function) noexcept {
  PyTypeObject* const type = Py_TYPE(function);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HAVE_VECTORCALL)) return nullptr;
#if !defined(Py_LIMITED_API)
  const Py_ssize_t offset = type->tp_vectorcall_offset;
#else
  // The limited API doesn't show it, but the member that a type gives it by.
  Py_ssize_t offset = 0;
  const auto* member = static_cast<const PyMemberDef*>(PyType_GetSlot(type, Py_tp_members));
  for (; member != nullptr && member->name != nullptr; ++member) {
    if (std::strcmp(member->name, "__vectorcalloffset__") == 0) offset = member->offset;
  }
#endif
  return offset > 0 ? reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function) + offset) : nullptr;
}

/// Puts a wrapper before the vectorcall of this function, where it has one. Where all wrappers are taken (a library has
/// a handful of dispatchers), the function stays as it is, and its TypeError without reasons.
inline void wrap(PyObject* function) noexcept {
  vectorcallfunc* const slot = vectorcall_of(function);
  if (slot == nullptr || *slot == nullptr) return;
  for (const vectorcallfunc wrapper : wrappers) {
    if (*slot == wrapper) return;
  }
  for (std::size_t k = 0; k < sizeof wrappers / sizeof *wrappers; ++k) {
    if (originals[k] == nullptr) originals[k] = *slot;
    if (originals[k] == *slot) {
      *slot = wrappers[k];
      return;
    }
  }
}

inline void wrap_for(const Library& library, PyObject* function) noexcept {
  library.wrap != nullptr ? library.wrap(function) : wrap(function);
}

/// Wraps what `scope` (a module or a class) holds: functions of the library, those in properties and static
/// methods, and all in its classes and submodules. Of this module (its name is `home`) and below alone. False with an
/// exception set.
inline bool wrap_all(PyObject* scope, PyObject* home, const Library& library, PyObject* seen) noexcept;

/// Whether the object says that it is of the module. One that says nothing, as accessors of properties do, is of what
/// it was found in.
inline bool is_at_home(PyObject* object, const char* attribute_name, PyObject* home) noexcept {
  PyObject* const name = attribute(object, attribute_name);
  bool is = name == nullptr || name == Py_None;
  if (name != nullptr && PyUnicode_Check(name)) {
    const Py_ssize_t length = PyUnicode_GetLength(home);
    is = PyUnicode_Tailmatch(name, home, 0, PY_SSIZE_T_MAX, -1) == 1 &&
         (PyUnicode_GetLength(name) == length || PyUnicode_ReadChar(name, length) == '.');
  }
  Py_XDECREF(name);
  PyErr_Clear();
  return is;
}

inline bool wrap_one(PyObject* object, PyObject* home, const Library& library, PyObject* seen) noexcept {
  if (library.is_function(object)) {
    if (library.knows_own || is_at_home(object, "__module__", home)) wrap_for(library, object);
    return true;
  }
  const bool is_module = PyModule_Check(object);
  if (is_module || PyType_Check(object)) {
    const bool inside = (!is_module && library.is_class != nullptr && library.is_class(object)) ||
                        is_at_home(object, is_module ? "__name__" : "__module__", home);
    return !inside || wrap_all(object, home, library, seen);
  }
  const char* parts[] = {"__func__", nullptr};  // of static methods and their kin
  if (PyObject_TypeCheck(object, &PyProperty_Type)) {
    parts[0] = "fget";
    parts[1] = "fset";
#if !defined(Py_LIMITED_API)
  } else if (!PyObject_TypeCheck(object, &PyStaticMethod_Type) && !PyObject_TypeCheck(object, &PyClassMethod_Type)) {
    return true;
  }
#else
  } else {
    return true;  // no library that is built under the limited API wraps its functions in those
  }
#endif
  for (const char* part : parts) {
    PyObject* const inner = part != nullptr ? attribute(object, part) : nullptr;
    if (inner != nullptr && library.is_function(inner) &&
        (library.knows_own || is_at_home(inner, "__module__", home))) {
      wrap_for(library, inner);
    }
    Py_XDECREF(inner);
  }
  return true;
}

inline bool wrap_all(PyObject* scope, PyObject* home, const Library& library, PyObject* seen) noexcept {
  PyObject* const key = PyLong_FromVoidPtr(scope);
  const int known = key != nullptr ? PySet_Contains(seen, key) : -1;
  const bool added = known == 0 && PySet_Add(seen, key) == 0;
  Py_XDECREF(key);
  if (!added) return known == 1;
  PyObject* const contents = PyObject_GetAttrString(scope, "__dict__");
  PyObject* const items = contents != nullptr ? PyMapping_Values(contents) : nullptr;
  bool going = items != nullptr;
  for (Py_ssize_t i = 0, n = going ? PyList_Size(items) : 0; going && i < n; ++i) {
    going = wrap_one(PyList_GetItem(items, i), home, library, seen);
  }
  Py_XDECREF(contents);
  Py_XDECREF(items);
  return going;
}

#endif

}  // namespace detail

/// From now on the TypeErrors of the functions in `module` say why. False with an exception set. Does nothing without
/// the GIL.
inline bool wrap_module(PyObject* module, const detail::Library& library) noexcept {
#if defined(Py_GIL_DISABLED)
  static_cast<void>(module);
  static_cast<void>(library);
  return true;
#else
  PyObject* const home = PyObject_GetAttrString(module, "__name__");
  PyObject* const seen = home != nullptr ? PySet_New(nullptr) : nullptr;
  const bool done = seen != nullptr && detail::wrap_all(module, home, library, seen);
  Py_XDECREF(home);
  Py_XDECREF(seen);
  return done;
#endif
}

}  // namespace ANYARRAY_HIDDEN casters
}  // namespace anyarray
