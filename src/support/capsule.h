// SPDX-License-Identifier: Apache-2.0
// Capsules read and marked in place where CPython's struct is the known one (it has been the same since 3.1, and
// capsule_init() looks), and through its functions elsewhere: the four calls that taking a DLPack tensor needs cost
// more than all that is ours. Precondition of all: PyCapsule_CheckExact(capsule).
#pragma once
#include "src/support/context.h"

namespace anyarray {
namespace capsule {

struct Fields {
  PyObject_HEAD void* pointer;
  const char* name;
  void* context;
  PyCapsule_Destructor destructor;
};

inline Fields* fields_of(PyObject* capsule) noexcept { return reinterpret_cast<Fields*>(capsule); }

/// The name; null when there is none. Never raises.
inline const char* name(const Context& cx, PyObject* capsule) noexcept {
  if (__builtin_expect(cx.knows_capsules, 1)) return fields_of(capsule)->name;
  const char* name = PyCapsule_GetName(capsule);
  if (name == nullptr) PyErr_Clear();
  return name;
}

/// The pointer under the name that it has.
inline void* pointer(const Context& cx, PyObject* capsule, const char* name) noexcept {
  if (__builtin_expect(cx.knows_capsules, 1)) return fields_of(capsule)->pointer;
  return PyCapsule_GetPointer(capsule, name);
}

/// Gives it another name and takes its destructor away. False with an exception set.
inline bool retire(const Context& cx, PyObject* capsule, const char* name) noexcept {
  if (__builtin_expect(cx.knows_capsules, 1)) {
    fields_of(capsule)->name = name;
    fields_of(capsule)->destructor = nullptr;
    return true;
  }
  return PyCapsule_SetName(capsule, name) == 0 && PyCapsule_SetDestructor(capsule, nullptr) == 0;
}

}  // namespace capsule

/// Looks whether a capsule's struct is the known one. False with an exception set.
bool capsule_init(Context& cx) noexcept;

}  // namespace anyarray
