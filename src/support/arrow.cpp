// SPDX-License-Identifier: Apache-2.0
#include "src/support/arrow.h"

#include <cstring>

#include "src/support/capsule.h"

namespace anyarray {
namespace {

static_assert(sizeof(arrow::Array) <= sizeof(Borrow::token), "an array fits into the token");

void release_array(Borrow* b) noexcept {
  arrow::Array taken;
  std::memcpy(&taken, b->token, sizeof taken);
  arrow_release(taken);
  let_go(b);
}

}  // namespace

Status arrow_struct(const Context& cx, PyObject* capsule, const char* name, const char* method, void** out,
                    Failure& why) noexcept {
  if (!PyCapsule_CheckExact(capsule)) {
    return because(Status::invalid, &why.reason, "%s gave %.80s, not a capsule named \"%s\"", method,
                   Py_TYPE(capsule)->tp_name, name);
  }
  const char* found = capsule::name(cx, capsule);
  if (found == nullptr || std::strcmp(found, name) != 0) {
    return because(Status::invalid, &why.reason, "%s gave a capsule %s%.60s%s, not one named \"%s\"", method,
                   found == nullptr ? "without a name" : "named \"", found == nullptr ? "" : found,
                   found == nullptr ? "" : "\"", name);
  }
  *out = capsule::pointer(cx, capsule, name);
  return Status::ok;
}

void hold_arrow(Context& cx, PyObject* obj, arrow::Array& from, Borrow& out) noexcept {
  std::memcpy(out.token, &from, sizeof from);
  from.release = nullptr;
  hold(cx, obj, out, release_array);
}

}  // namespace anyarray
