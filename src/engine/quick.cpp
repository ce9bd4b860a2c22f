// SPDX-License-Identifier: Apache-2.0
// The quick way: the first planned row of a type that the cache knows, or the one that served the type's last object,
// with no account. Whatever it can't finish goes to take.cpp, with what was asked until then.
#include "src/engine/fast.h"
#include "src/engine/probe.h"
#include "src/engine/tries.h"

namespace anyarray {
namespace {

// Out of line, so that the quick way needs no room for a trace.
__attribute__((noinline)) Status take_all(Context& cx, PyObject* obj, Borrow& out, const Call& call) noexcept {
  Trace trace;
  const Status s = take_planned(cx, obj, *call.policy, nothing_asked, out, trace, 0);
  if (call.report != nullptr && s != Status::ok) call.report(cx, obj, call.request, s, trace);
  return s;
}

/// What follows a quick try of `row` that failed. `tried`: the rows that were asked until then, which aren't again.
__attribute__((noinline)) Status take_the_rest(Context& cx, PyObject* obj, Borrow& out, Protocol row,
                                               ProtocolMask tried, Status first, Failure& why,
                                               const Call& call) noexcept {
  Trace trace;
  out.release_fn = nullptr;
  Status s = first;
  const Cause cause = cause_of(first, why);
  if (first != Status::not_offered) record(trace, row, first, why, 0);
  if (!failure_is_final(*call.policy, row, first, cause)) {
    s = take_planned(cx, obj, *call.policy, nothing_asked, out, trace, tried);
  }
  if (call.report != nullptr && s != Status::ok) call.report(cx, obj, call.request, s, trace);
  return s;
}

/// What follows the adapter of a quick try: the checks, the end of the pin, and the other rows where it failed.
/// `tried`: called where it matters.
template <class Tried>
__attribute__((always_inline)) inline Status finish(Context& cx, PyObject* obj, Route& route, Borrow& out, Protocol row,
                                                    Status s, Failure& why, const Call& call, Tried&& tried) noexcept {
  if (__builtin_expect(s == Status::ok, 1)) s = check_taken(cx, obj, route, nothing_asked, row, out, why);
  if (__builtin_expect(s == Status::ok && refuses_read_only(*call.policy, row, out), 0)) s = refuse_read_only(out, why);
  --route.pins;
  if (__builtin_expect(s == Status::ok, 1)) return s;
  return take_the_rest(cx, obj, out, row, tried(), s, why, call);
}

/// The way for the next object of a type, from what served this one.
Quick learn(PyTypeObject* type, const Route& route, int last) noexcept {
  if (route.skip_buffer != nullptr || type->tp_getattro != PyObject_GenericGetAttr) return Quick::rows;
  for (int i = 0; i <= last; ++i) {
    if ((route.on_type & mask_of(static_cast<Protocol>(route.plan[i]))) != 0) return Quick::rows;
  }
  return static_cast<Protocol>(route.plan[last]) == Protocol::array_struct ? Quick::array_struct : Quick::last;
}

/// Row after row as long as none is offered.
__attribute__((noinline)) Status take_rows(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                           const Call& call) noexcept {
  Failure why;
  Status s = Status::not_offered;
  Protocol row = Protocol::numpy;
  ProtocolMask tried = 0;
  ++route.pins;
  int i = 0;
  if (route.skip_buffer != nullptr) {
    const int skips = route.skip_buffer(cx, obj);
    if (skips < 0) s = Status::interrupted;
    i = skips > 0 ? 1 : 0;
  }
  for (; i < route.n_quick && s == Status::not_offered; ++i) {
    row = static_cast<Protocol>(route.plan[i]);
    tried |= mask_of(row);
    s = consume[static_cast<int>(row)](cx, obj, route, nothing_asked, out, why);
  }
  if (__builtin_expect(s == Status::ok, 1)) {
    route.last = static_cast<std::uint8_t>(i - 1);
    route.quick = i > 1 ? learn(Py_TYPE(obj), route, i - 1) : Quick::rows;
  }
  return finish(cx, obj, route, out, row, s, why, call, [tried] { return tried; });
}

/// Whether an instance that looks attributes up as most do lacks this one: asked so, a row that isn't there costs no
/// call of its adapter. False as well where that can't be told. Runs no code of others but the __eq__ of strange keys.
__attribute__((always_inline)) inline bool lacks(Context& cx, PyObject* obj, Protocol row) noexcept {
  PyObject* found = nullptr;
  const int answer = lookup_attribute(obj, cx.names.row_attribute[static_cast<int>(row)], &found);
  if (__builtin_expect(answer == 0, 1)) return true;
  if (answer > 0) Py_DECREF(found);
  return false;
}

/// This object has other rows than the last one, or a look-up raised: from the first row on, which runs no code of
/// others twice. Sets no store by the error, which the row's adapter will meet again.
__attribute__((noinline)) Status take_anew(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                           const Call& call) noexcept {
  --route.pins;
  Failure ignored;
  if (PyErr_Occurred() != nullptr && producer_raised(ignored) == Status::interrupted) return Status::interrupted;
  return take_rows(cx, obj, route, out, call);
}

/// The row that served the last object of this type, if this one lacks those before it as well.
template <class Consume>
__attribute__((always_inline)) inline Status take_last(Context& cx, PyObject* obj, Route& route, Protocol row,
                                                       Borrow& out, const Call& call, Consume&& take_it) noexcept {
  const int last = route.last;  // others who are served meanwhile, in a thread or by this one's own code, change it
  ++route.pins;
  for (int i = 0; i < last; ++i) {
    const bool is_missing = lacks(cx, obj, static_cast<Protocol>(route.plan[i]));
    if (__builtin_expect(!is_missing, 0)) return take_anew(cx, obj, route, out, call);
  }
  Failure why;
  const Status s = take_it(why);
  if (s == Status::not_offered) return take_anew(cx, obj, route, out, call);
  return finish(cx, obj, route, out, row, s, why, call, [&route, last] {
    ProtocolMask tried = 0;
    for (int i = 0; i <= last; ++i) tried |= mask_of(static_cast<Protocol>(route.plan[i]));
    return tried;
  });
}

__attribute__((noinline)) Status take_last_any(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                               const Call& call) noexcept {
  const auto row = static_cast<Protocol>(route.plan[route.last]);
  return take_last(cx, obj, route, row, out, call, [&](Failure& why) {
    return consume[static_cast<int>(row)](cx, obj, route, nothing_asked, out, why);
  });
}

__attribute__((noinline, flatten)) Status take_last_struct(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                                           const Call& call) noexcept {
  return take_last(cx, obj, route, Protocol::array_struct, out, call,
                   [&](Failure& why) { return adapters::array_struct(cx, obj, route, nothing_asked, out, why); });
}

/// The first row, with the adapter inlined: for the rows that cost least.
template <Protocol row,
          Status (*adapter)(Context&, PyObject*, const Route&, const Request&, Borrow&, Failure&) noexcept>
__attribute__((noinline, flatten)) Status take_row(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                                   const Call& call) noexcept {
  Failure why;
  ++route.pins;
  const Status s = adapter(cx, obj, route, nothing_asked, out, why);
  return finish(cx, obj, route, out, row, s, why, call, [] { return mask_of(row); });
}

/// A memoryview of so many dimensions, without a call but at the end. Not inlined: one alone saves fewer registers.
template <int ndim>
__attribute__((noinline)) Status take_memoryview_of(Context& cx, PyObject* obj, Borrow& out,
                                                    const Call& call) noexcept {
  const PyMemoryViewObject* mv = builtin::memoryview_of(obj);
  const bool usual = !builtin::is_released(mv) && !builtin::is_restricted(mv) && !builtin::asks_exporter(mv) &&
                     describe_usual_buffer<ndim, true>(mv->view, out);
  if (__builtin_expect(!usual, 0)) return take_all(cx, obj, out, call);
  out.protocol = static_cast<std::uint8_t>(Protocol::builtin);
  builtin::lock_memoryview(cx, obj, out);
  return Status::ok;
}

}  // namespace

Status take_first_memoryview(Context& cx, PyObject* obj, Borrow& out, const Call& call) noexcept {
  const int ndim = builtin::memoryview_of(obj)->view.ndim;
  if (__builtin_expect(ndim == 1, 1)) return take_memoryview_of<1>(cx, obj, out, call);
  return ndim == 2 ? take_memoryview_of<2>(cx, obj, out, call) : take_all(cx, obj, out, call);
}

/// The way that the route knows.
__attribute__((always_inline)) inline Status take_route(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                                        const Call& call) noexcept {
  // Before the others, which cost more in any case: the fewest questions where a nanosecond counts.
  if (__builtin_expect(route.quick == Quick::dlpack_exchange, 1)) {
    return take_row<Protocol::dlpack_exchange, adapters::dlpack_exchange>(cx, obj, route, out, call);
  }
  switch (route.quick) {
    case Quick::buffer:
      return take_row<Protocol::buffer, adapters::buffer>(cx, obj, route, out, call);
    case Quick::dlpack:
      return take_row<Protocol::dlpack, adapters::dlpack>(cx, obj, route, out, call);
    case Quick::last:
      return take_last_any(cx, obj, route, out, call);
    case Quick::array_struct:
      return take_last_struct(cx, obj, route, out, call);
    case Quick::never:
      return take_all(cx, obj, out, call);
    default:
      return take_rows(cx, obj, route, out, call);
  }
}

// Not inlined, so that what take_quick() reads in place needs no registers saved.
__attribute__((noinline)) Status take_first(Context& cx, PyObject* obj, Borrow& out, const Call& call) noexcept {
  begin(out);
  Route* route = find_cached(cx, Py_TYPE(obj), default_policy);
  if (__builtin_expect(route == nullptr, 0)) return take_all(cx, obj, out, call);
  return take_route(cx, obj, *route, out, call);
}

__attribute__((noinline)) Status take_by_policy(Context& cx, PyObject* obj, Borrow& out, const Call& call) noexcept {
  begin(out);
  Route* route = find_cached(cx, Py_TYPE(obj), *call.policy);
  if (__builtin_expect(route == nullptr, 0)) return take_all(cx, obj, out, call);
  if (call.policy->ends_on(Cause::read_only) != 0) return take_route(cx, obj, *route, out, call);
  if (route->quick == Quick::numpy) {
    if (numpy_decode_known(cx, obj, out)) {
      out.protocol = static_cast<std::uint8_t>(Protocol::numpy);
      hold_uncounted(cx, obj, out, let_go_uncounted);
      return Status::ok;
    }
  } else if (route->quick == Quick::builtin && !PyMemoryView_Check(obj)) {
    out.protocol = static_cast<std::uint8_t>(Protocol::builtin);
    if (take_builtin(cx, obj, out, nullptr) == Status::ok) return Status::ok;
  } else if (route->quick == Quick::builtin) {
    return take_first_memoryview(cx, obj, out, call);
  }
  return take_route(cx, obj, *route, out, call);
}

__attribute__((noinline)) Status take_as_asked(Context& cx, PyObject* obj, const Request* request, Borrow& out,
                                               Reporter report) noexcept {
  if (request == nullptr || (request->allow == 0 && !request->has_conditions())) {
    Policy storage;
    const Policy& policy = policy_of(cx, request, &storage);
    return take_by_policy(cx, obj, out, {&policy, request, report});
  }
  Trace trace;
  const Status status = take(cx, obj, request, out, trace);
  if (__builtin_expect(status != Status::ok, 0) && report != nullptr) report(cx, obj, request, status, trace);
  return status;
}

}  // namespace anyarray
