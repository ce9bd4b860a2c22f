// SPDX-License-Identifier: Apache-2.0
#include "src/support/capsule.h"

namespace anyarray {
namespace {

void no_destructor(PyObject*) noexcept {}

}  // namespace

bool capsule_init(Context& cx) noexcept {
  static constexpr char name[] = "anyarray.probe";
  static char pointer, context;
  Ref probe(PyCapsule_New(&pointer, name, no_destructor));
  if (!probe || PyCapsule_SetContext(probe.get(), &context) != 0) return false;
  const capsule::Fields* fields = capsule::fields_of(probe.get());
  cx.knows_capsules = PyCapsule_Type.tp_basicsize >= static_cast<Py_ssize_t>(sizeof *fields) &&
                      fields->pointer == &pointer && fields->name == name && fields->context == &context &&
                      fields->destructor == no_destructor;
  return true;
}

}  // namespace anyarray
