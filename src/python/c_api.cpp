// SPDX-License-Identifier: Apache-2.0
// The function table that extensions get: the package's through the capsule anyarray._core._C_API.
#include "anyarray/c_api.h"

#include <cstdlib>

#include "anyarray/copy.h"
#include "anyarray/produce.h"
#include "src/engine/fast.h"
#include "src/python/enter.h"
#include "src/python/state.h"

namespace anyarray {
namespace {

Context& context_of(void* context) noexcept { return *static_cast<Context*>(context); }

namespace table {

Status borrow(void* context, PyObject* obj, const Request* request, Borrow* out) {
  Context& cx = context_of(context);
  if (request == nullptr && cx.current_policy == nullptr) return take_quick(cx, obj, *out, quiet_call);
  return take_as_asked(cx, obj, request, *out, nullptr);
}

Status borrow_or_raise(void* context, PyObject* obj, const Request* request, Borrow* out) {
  Context& cx = context_of(context);
  if (request == nullptr && cx.current_policy == nullptr) return take_quick(cx, obj, *out, raising_call);
  return take_as_asked(cx, obj, request, *out, raise_trace);
}

void release(void*, Borrow* borrow) {
  if (borrow != nullptr) anyarray::release(*borrow);
}

PyObject* to_array(void* context, Borrow* from) {
  State& s = state_of(context_of(context));
  if (from == nullptr || !from->held()) {
    PyErr_SetString(PyExc_ValueError, "the borrow holds nothing");
    return nullptr;
  }
  ArrayObject* a = array_reserve(s);
  if (a == nullptr) return nullptr;
  move_borrow(a->borrow, *from);
  // Filled by produce() in the extension itself, without an interpreter.
  if (a->borrow.context == nullptr && a->borrow.protocol == no_protocol) {
    own_produced(s.cx, a->borrow, Py_None);
  }
  return array_adopt(s, a);
}

PyObject* explain(void* context, PyObject* obj, const Request* request) {
  return explain_object(state_of(context_of(context)), obj, request);
}

const char* status_text(void*, Status status) { return status_name(status); }

const Policy* preset(void*, const char* name) { return name != nullptr ? find_preset(name) : nullptr; }

PyObject* produce(void* context, const Descriptor* parts, PyObject* owner, void (*release)(void*), void* what) {
  if (parts == nullptr) {
    PyErr_SetString(PyExc_ValueError, "the parts of the array are missing (null)");
    return nullptr;
  }
  return produce_array(state_of(context_of(context)), *parts, owner, release, what);
}

Holder* take(void* context, PyObject* obj, const Request* request) {
  Borrow b;
  if (borrow_or_raise(context, obj, request, &b) != Status::ok) return nullptr;
  Holder* holder = make_holder(b);
  if (holder == nullptr) {
    anyarray::release(b);
    PyErr_NoMemory();
  }
  return holder;
}

void drop(void*, Holder* holder) {
  if (holder == nullptr || !drop_reference(*holder)) return;
  const auto end = [](void* h) noexcept {
    auto* last = static_cast<Holder*>(h);
    anyarray::release(last->borrow);
    std::free(last);
  };
  if (holder->borrow.context == nullptr) return end(holder);  // made by produce() and make_holder() alone
  State& s = state_of(*static_cast<Context*>(holder->borrow.context));
  struct Last {
    State* state;
    Holder* holder;
    void (*end)(void*) noexcept;
  } it{&s, holder, end};
  run_inside(
      s,
      [](void* argument) {
        const auto* last = static_cast<Last*>(argument);
        apart_from_errors([last] { last->end(last->holder); });
        if (last->state->closed) state_collect(last->state);
      },
      &it);
}

PyObject* convert(void* context, PyObject* obj, PyObject* to) {
  return convert_object(state_of(context_of(context)), obj, to);
}

PyObject* convert_like(void* context, PyObject* obj, PyObject* example) {
  return convert_as_example(state_of(context_of(context)), obj, example);
}

Status copy(void*, const Descriptor* from, const Request* request, Borrow* out, Reason* why) {
  return copy_as(*from, request != nullptr ? *request : Request(), out, why);
}

}  // namespace table

void let_table_go(PyObject* capsule) {
  auto* s = static_cast<State*>(PyCapsule_GetContext(capsule));
  --s->tables;
  if (s->closed) state_collect(s);
}

}  // namespace

void c_api_fill(State& s) noexcept {
  CApi& api = s.table;
  api.size = sizeof(CApi);
  api.major = c_api_major;
  api.minor = c_api_minor;
  api.context = &s.cx;
#define ANYARRAY_FUNCTION(since, result, name, parameters) api.name = table::name;
#include "anyarray/c_api.def"
#undef ANYARRAY_FUNCTION
}

PyObject* c_api_capsule_new(State& s) noexcept {
  PyObject* capsule = PyCapsule_New(&s.table, c_api_capsule, nullptr);
  if (capsule == nullptr || PyCapsule_SetContext(capsule, &s) != 0) return capsule;
  ++s.tables;
  PyCapsule_SetDestructor(capsule, let_table_go);
  return capsule;
}

}  // namespace anyarray
