// SPDX-License-Identifier: Apache-2.0
// Takes an array over the buffer protocol. The token is the exporter's Py_buffer, released once as it came.
#include <cstring>

#include "src/protocols/adapters.h"
#include "src/support/py_buffer.h"

namespace anyarray {
namespace {

static_assert(sizeof(Py_buffer) <= sizeof(Borrow::token), "a Py_buffer is kept in the token");

Py_buffer* view_of(Borrow* b) noexcept { return static_cast<Py_buffer*>(static_cast<void*>(b->token)); }

/// PyBuffer_Release without the call.
__attribute__((always_inline)) inline void give_back(Py_buffer* view) noexcept {
  PyObject* const exporter = view->obj;
  if (exporter == nullptr) return;
  const PyBufferProcs* slots = Py_TYPE(exporter)->tp_as_buffer;
  if (slots != nullptr && slots->bf_releasebuffer != nullptr) slots->bf_releasebuffer(exporter, view);
  view->obj = nullptr;
  Py_DECREF(exporter);
}

void release_buffer(Borrow* b) noexcept {
  give_back(view_of(b));
  let_go(b);
}

Status give_up(Borrow& out, Status s) noexcept {
  give_back(view_of(&out));
  drop_dims(out);
  return s;
}

/// The outcome of a slot that failed; some fail without an exception.
Status slot_failed(Failure& why) noexcept {
  if (PyErr_Occurred() == nullptr) {
    return because(Status::failed, &why.reason, "its buffer slot failed without an exception");
  }
  return producer_raised(why);
}

/// Asks again without WRITABLE, so that a refusal to be written shows as what it is. `*refused`: it then worked.
Status ask_again(PyObject* obj, Py_buffer* view, bool writable, bool* refused, Failure& why) noexcept {
  if (!writable) return slot_failed(why);
  {
    Failure first;
    if (slot_failed(first) == Status::interrupted) return Status::interrupted;
  }
  std::memset(view, 0, sizeof *view);
  if (PyObject_GetBuffer(obj, view, PyBUF_FULL_RO) != 0) return slot_failed(why);
  *refused = true;
  return Status::ok;
}

/// "<i", ">d": an order and a letter, which a type with a hook writes for what the letter says.
bool is_plain(const char* format) noexcept {
  return format != nullptr && (format[0] == '<' || format[0] == '>') && format[1] != '\0' && format[2] == '\0';
}

/// For types that are known to write formats that don't fit, or only seem to: the dtype comes from the exporter.
Status describe_by_hook(Context& cx, PyObject* obj, const Route& route, const Py_buffer& view, Borrow& out,
                        Failure& why) noexcept {
  DType dtype;
  Status s = route.buffer_dtype(cx, view.obj != nullptr ? view.obj : obj, &dtype, why);
  if (s == Status::not_offered) return describe_buffer(view, out, &why.reason);
  if (s == Status::ok) s = buffer_layout(view, out, &why.reason);
  out.desc.dtype = dtype;
  if (s != Status::ok || out.desc.dtype.itemsize() == view.itemsize) return s;
  return because(Status::invalid, &why.reason, "its type has elements of %lld bytes, its buffer's itemsize is %lld",
                 static_cast<long long>(out.desc.dtype.itemsize()), static_cast<long long>(view.itemsize));
}

/// What isn't usual, with the buffer held or still to be asked for again. Out of line, as all that follows a failure:
/// the usual way then saves few registers.
__attribute__((noinline)) Status take_unusual(Context& cx, PyObject* obj, const Route& route, bool refused, Borrow& out,
                                              Failure& why) noexcept {
  const Py_buffer& view = *view_of(&out);
  const Status s = route.buffer_dtype != nullptr && !is_plain(view.format)
                       ? describe_by_hook(cx, obj, route, view, out, why)
                       : describe_buffer(view, out, &why.reason);
  if (s != Status::ok) return give_up(out, s);
  if (refused) out.desc.flags |= flag_readonly;
  hold(cx, obj, out, release_buffer);
  return Status::ok;
}

__attribute__((noinline)) Status take_refused(Context& cx, PyObject* obj, const Route& route, bool writable,
                                              Borrow& out, Failure& why) noexcept {
  bool refused = false;
  const Status s = ask_again(obj, view_of(&out), writable, &refused, why);
  return s == Status::ok ? take_unusual(cx, obj, route, refused, out, why) : s;
}

/// The slot says that it worked, and raised.
__attribute__((noinline)) Status raised_all_the_same(Borrow& out, Failure& why) noexcept {
  const Status s = slot_failed(why);
  give_back(view_of(&out));
  return s;
}

}  // namespace

Status adapters::buffer(Context& cx, PyObject* obj, const Route& route, const Request& request, Borrow& out,
                        Failure& why) noexcept {
  const PyBufferProcs* slots = Py_TYPE(obj)->tp_as_buffer;
  if (slots == nullptr || slots->bf_getbuffer == nullptr) return Status::not_offered;
  Py_buffer* const view = view_of(&out);
  std::memset(view, 0, sizeof *view);  // an exporter may fill less than it should
  if (__builtin_expect(slots->bf_getbuffer(obj, view, request.writable ? PyBUF_FULL : PyBUF_FULL_RO) != 0, 0)) {
    return take_refused(cx, obj, route, request.writable, out, why);
  }
  if (__builtin_expect(PyErr_Occurred() != nullptr, 0)) return raised_all_the_same(out, why);
  const bool usual =
      route.buffer_dtype == nullptr && (describe_usual_buffer<1>(*view, out) || describe_usual_buffer<2>(*view, out));
  if (__builtin_expect(!usual, 0)) return take_unusual(cx, obj, route, false, out, why);
  hold(cx, obj, out, release_buffer);
  return Status::ok;
}

}  // namespace anyarray
