// SPDX-License-Identifier: Apache-2.0
// The tries. Two ways lead through the same pieces: the quick one tries the first planned row of a type that the
// cache knows, with nothing asked and no account; everything else, and whatever the quick one couldn't finish,
// goes through run() with a trace.
#include <time.h>

#include "src/engine/fast.h"
#include "src/engine/probe.h"
#include "src/protocols/adapters.h"
#include "src/quirks/quirks.h"

namespace anyarray {
namespace {

constexpr ConsumeFn consume[protocol_count] = {
#define ANYARRAY_PROTOCOL(id, attribute, traits, text) adapters::id,
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL
};

constexpr Request nothing_asked;

std::int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Asks __dlpack_device__ once and remembers the answer for the other mirror rows of the same call.
class DeviceQuestion {
 public:
  /// ok: a mirror row may serve. skipped: the object's device isn't readable by the host. interrupted.
  Status ask(Context& cx, PyObject* obj, const Route& route, Failure& why) noexcept {
    if ((route.on_type & mask_of(Protocol::dlpack)) == 0) return Status::ok;
    if (!asked_) {
      asked_ = true;
      if (const Status s = fetch(cx, obj); s != Status::ok) return s;
    }
    if (device_.type == DeviceType::any || host_readable(device_.type)) return Status::ok;
    char text[32];
    format_device(device_, text, sizeof text);
    return because(Status::skipped, &why.reason, "__dlpack_device__ says %s, and this row gives host memory", text);
  }

 private:
  /// Leaves the device unknown when the method is missing, raises, or answers something else.
  Status fetch(Context& cx, PyObject* obj) noexcept {
    PyObject* method = nullptr;
    Failure ignored;
    int found = lookup_attribute(obj, cx.names.dlpack_device, &method);
    if (found < 0) return producer_raised(ignored, Status::ok);
    if (found == 0) return Status::ok;
    Ref held(method);
    Ref answer(PyObject_CallNoArgs(method));
    if (!answer) return producer_raised(ignored, Status::ok);
    if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) return Status::ok;
    const long type = PyLong_AsLong(PyTuple_GET_ITEM(answer.get(), 0));
    if (type == -1 && PyErr_Occurred()) return producer_raised(ignored, Status::ok);
    const long id = PyLong_AsLong(PyTuple_GET_ITEM(answer.get(), 1));
    if (id == -1 && PyErr_Occurred()) {
      if (const Status s = producer_raised(ignored, Status::ok); s != Status::ok) return s;
    }
    const auto kind = static_cast<DeviceType>(type);
    if (type == static_cast<std::int32_t>(type) && is_known(kind)) device_ = {kind, static_cast<std::int32_t>(id)};
    return Status::ok;
  }

  bool asked_ = false;
  Device device_ = {DeviceType::any, 0};
};

/// What a library is known for and its protocols don't say.
__attribute__((noinline)) void apply_traits(std::uint32_t traits, Protocol row, Descriptor& d) noexcept {
  if ((traits & trait_readonly) != 0) d.flags |= flag_readonly;
  if ((protocol_rows[static_cast<int>(row)].traits & row_mirror) == 0) return;
  if ((traits & trait_copies) != 0) d.flags |= flag_copied;
  if ((traits & trait_may_copy) != 0) d.flags |= flag_copied_unknown;
}

// Out of line, as all that isn't usual.
__attribute__((noinline)) void give_back(Borrow& out) noexcept {
  apart_from_errors([&out] { release(out); });
}

/// What is checked once, whatever row served: the descriptor, and what libraries are known to hide.
__attribute__((always_inline)) inline Status check_taken(Context& cx, PyObject* obj, const Route& route,
                                                         const Request& request, Protocol row, Borrow& out,
                                                         Failure& why) noexcept {
  out.protocol = static_cast<std::uint8_t>(row);
  if ((route.traits & (trait_readonly | trait_copies | trait_may_copy)) != 0) apply_traits(route.traits, row, out.desc);
  Status s = out.checked != 0 ? Status::ok : validate(out.desc, &why.reason);
  if (s == Status::ok && !quirks::needs_no_guard(route, row, out.desc)) {
    s = route.guard_after(cx, obj, request, out, why);
  }
  if (__builtin_expect(s != Status::ok, 0)) give_back(out);
  return s;
}

/// One row: the skip rules, the adapter, the checks.
Status try_row(Context& cx, PyObject* obj, const Route& route, const Policy& policy, const Request& request,
               Protocol row, DeviceQuestion& device, Borrow& out, Failure& why) noexcept {
  const int index = static_cast<int>(row);
  if (policy.device_first && (protocol_rows[index].traits & row_mirror) != 0) {
    if (const Status s = device.ask(cx, obj, route, why); s != Status::ok) return s;
  }
  const int skips = row == Protocol::buffer && route.skip_buffer != nullptr ? route.skip_buffer(cx, obj) : 0;
  if (skips != 0) {
    if (skips < 0) return Status::interrupted;
    return because(Status::skipped, &why.reason, "the buffer protocol has no format for its dtype");
  }
  Status s = consume[index](cx, obj, route, request, out, why);
  if (s == Status::ok) s = check_taken(cx, obj, route, request, row, out, why);
  if (s != Status::ok || !request.has_conditions()) return s;
  s = meets(out.desc, request, &why.reason);
  if (s != Status::ok) give_back(out);
  return s;
}

/// The rows that the plan doesn't hold or that weren't reached, for a full trace.
void list_the_rest(const Policy& policy, const Route& route, int tried, Trace& trace) noexcept {
  for (int i = tried; i < route.n; ++i) trace.add(static_cast<Protocol>(route.plan[i]), Status::not_tried);
  ProtocolMask planned = 0;
  for (int i = 0; i < route.n; ++i) planned |= mask_of(static_cast<Protocol>(route.plan[i]));
  for (int i = 0; i < policy.n; ++i) {
    if ((planned & mask_of(policy.at(i))) == 0) trace.add(policy.at(i), Status::not_offered);
  }
}

void record(Trace& trace, Protocol row, Status s, Failure& why, std::int64_t ns) noexcept {
  Attempt& a = trace.add(row, s);
  a.ns = ns;
  a.why.reason = why.reason;
  a.why.exception = std::exchange(why.exception, nullptr);
}

/// `tried`: rows that were asked already; what they came to, where they were offered, is in the trace.
Status run(Context& cx, PyObject* obj, const Route& route, const Policy& policy, const Request& request, Borrow& out,
           Trace& trace, ProtocolMask tried) noexcept {
  if (route.guard_before != nullptr) {
    const Status s = route.guard_before(cx, obj, request, trace.refusal);
    if (s != Status::ok) {
      if (trace.full()) list_the_rest(policy, route, 0, trace);
      return s;
    }
  }
  DeviceQuestion device;
  Status outcome = trace.size() != 0 ? trace.at(0).status : Status::not_offered;
  int i = 0;
  for (; i < route.n; ++i) {
    const auto row = static_cast<Protocol>(route.plan[i]);
    if ((tried & mask_of(row)) != 0) continue;
    Failure why;
    const std::int64_t start = trace.full() ? now_ns() : 0;
    const Status s = try_row(cx, obj, route, policy, request, row, device, out, why);
    if (s == Status::ok && !trace.full()) return Status::ok;
    if (s != Status::not_offered || trace.full()) record(trace, row, s, why, trace.full() ? now_ns() - start : 0);
    if (s == Status::not_offered) continue;
    outcome = s;
    if (failure_is_final(policy, row, s)) break;
  }
  if (trace.full()) list_the_rest(policy, route, i < route.n ? i + 1 : i, trace);
  return outcome;
}

Status take_planned(Context& cx, PyObject* obj, const Policy& policy, const Request& request, Borrow& out, Trace& trace,
                    ProtocolMask tried) noexcept {
  Route local;
  Route* route = find_route(cx, Py_TYPE(obj), policy, &local);
  out.release_fn = nullptr;
  begin(out);
  if (route == nullptr) return Status::interrupted;
  ++route->pins;
  const Status s = run(cx, obj, *route, policy, request, out, trace, tried);
  --route->pins;
  return s;
}

// Out of line, so that the quick way needs no room for a trace.
__attribute__((noinline)) Status take_all(Context& cx, PyObject* obj, Borrow& out, bool raise) noexcept {
  Trace trace;
  const Status s = take_planned(cx, obj, default_policy, nothing_asked, out, trace, 0);
  if (raise && s != Status::ok) raise_trace(cx, obj, nullptr, s, trace);
  return s;
}

/// What follows a quick try of `row` that failed. `tried`: the rows that were asked until then, which aren't again.
__attribute__((noinline)) Status take_the_rest(Context& cx, PyObject* obj, Borrow& out, Protocol row,
                                               ProtocolMask tried, Status first, Failure& why, bool raise) noexcept {
  Trace trace;
  out.release_fn = nullptr;
  Status s = first;
  if (first != Status::not_offered) record(trace, row, first, why, 0);
  if (!failure_is_final(default_policy, row, first)) {
    s = take_planned(cx, obj, default_policy, nothing_asked, out, trace, tried);
  }
  if (raise && s != Status::ok) raise_trace(cx, obj, nullptr, s, trace);
  return s;
}

/// What follows the adapter of a quick try: the checks, the end of the pin, and the other rows where it failed.
__attribute__((always_inline)) inline Status finish(Context& cx, PyObject* obj, Route& route, Borrow& out, Protocol row,
                                                    ProtocolMask tried, Status s, Failure& why, bool raise) noexcept {
  if (__builtin_expect(s == Status::ok, 1)) s = check_taken(cx, obj, route, nothing_asked, row, out, why);
  --route.pins;
  if (__builtin_expect(s == Status::ok, 1)) return s;
  return take_the_rest(cx, obj, out, row, tried, s, why, raise);
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
__attribute__((noinline)) Status take_rows(Context& cx, PyObject* obj, Route& route, Borrow& out, bool raise) noexcept {
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
  return finish(cx, obj, route, out, row, tried, s, why, raise);
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
__attribute__((noinline)) Status take_anew(Context& cx, PyObject* obj, Route& route, Borrow& out, bool raise) noexcept {
  --route.pins;
  Failure ignored;
  if (PyErr_Occurred() != nullptr && producer_raised(ignored) == Status::interrupted) return Status::interrupted;
  return take_rows(cx, obj, route, out, raise);
}

/// The row that served the last object of this type, if this one lacks those before it as well.
template <class Consume>
__attribute__((always_inline)) inline Status take_last(Context& cx, PyObject* obj, Route& route, Protocol row,
                                                       Borrow& out, bool raise, Consume&& take_it) noexcept {
  ++route.pins;
  ProtocolMask tried = 0;
  for (int i = 0; i < route.last; ++i) {
    const auto before = static_cast<Protocol>(route.plan[i]);
    tried |= mask_of(before);
    if (__builtin_expect(!lacks(cx, obj, before), 0)) return take_anew(cx, obj, route, out, raise);
  }
  Failure why;
  const Status s = take_it(why);
  if (s == Status::not_offered) return take_anew(cx, obj, route, out, raise);
  return finish(cx, obj, route, out, row, tried | mask_of(row), s, why, raise);
}

__attribute__((noinline)) Status take_last_any(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                               bool raise) noexcept {
  const auto row = static_cast<Protocol>(route.plan[route.last]);
  return take_last(cx, obj, route, row, out, raise, [&](Failure& why) {
    return consume[static_cast<int>(row)](cx, obj, route, nothing_asked, out, why);
  });
}

__attribute__((noinline, flatten)) Status take_last_struct(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                                           bool raise) noexcept {
  return take_last(cx, obj, route, Protocol::array_struct, out, raise,
                   [&](Failure& why) { return adapters::array_struct(cx, obj, route, nothing_asked, out, why); });
}

/// The first row, with the adapter inlined: for the rows that cost least.
template <Protocol row,
          Status (*adapter)(Context&, PyObject*, const Route&, const Request&, Borrow&, Failure&) noexcept>
__attribute__((noinline, flatten)) Status take_row(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                                   bool raise) noexcept {
  Failure why;
  ++route.pins;
  const Status s = adapter(cx, obj, route, nothing_asked, out, why);
  return finish(cx, obj, route, out, row, mask_of(row), s, why, raise);
}

/// A memoryview of so many dimensions, without a call but at the end. Not inlined: one alone saves fewer registers.
template <int ndim>
__attribute__((noinline)) Status take_memoryview_of(Context& cx, PyObject* obj, Borrow& out, bool raise) noexcept {
  const PyMemoryViewObject* mv = builtin::memoryview_of(obj);
  const bool usual = !builtin::is_released(mv) && !builtin::is_restricted(mv) && !builtin::asks_exporter(mv) &&
                     describe_usual_buffer<ndim, true>(mv->view, out);
  if (__builtin_expect(!usual, 0)) return take_all(cx, obj, out, raise);
  out.protocol = static_cast<std::uint8_t>(Protocol::builtin);
  builtin::lock_memoryview(cx, obj, out);
  return Status::ok;
}

}  // namespace

Status take(Context& cx, PyObject* obj, const Request* request, Borrow& out, Trace& trace) noexcept {
  const Request& asked = request != nullptr ? *request : nothing_asked;
  const Policy& policy = asked.policy != nullptr ? *asked.policy : default_policy;
  return take_planned(cx, obj, policy, asked, out, trace, 0);
}

ProtocolMask offered_by_type(Context& cx, PyObject* obj) noexcept {
  Route local;
  const Route* route = find_route(cx, Py_TYPE(obj), default_policy, &local);
  return route != nullptr ? route->on_type : 0;
}

Status take_first_memoryview(Context& cx, PyObject* obj, Borrow& out, bool raise) noexcept {
  const PyMemoryViewObject* mv = builtin::memoryview_of(obj);
  if (__builtin_expect(mv->view.ndim != 1, 0)) return take_memoryview_of<2>(cx, obj, out, raise);
  return take_memoryview_of<1>(cx, obj, out, raise);
}

// Not inlined, so that what take_quick() reads in place needs no registers saved.
__attribute__((noinline)) Status take_first(Context& cx, PyObject* obj, Borrow& out, bool raise) noexcept {
  begin(out);
  Route* route = find_cached(cx, Py_TYPE(obj), default_policy);
  if (__builtin_expect(route == nullptr, 0)) return take_all(cx, obj, out, raise);
  // Before the others, which cost more in any case: the fewest questions where a nanosecond counts.
  if (__builtin_expect(route->quick == Quick::dlpack_exchange, 1)) {
    return take_row<Protocol::dlpack_exchange, adapters::dlpack_exchange>(cx, obj, *route, out, raise);
  }
  switch (route->quick) {
    case Quick::buffer:
      return take_row<Protocol::buffer, adapters::buffer>(cx, obj, *route, out, raise);
    case Quick::dlpack:
      return take_row<Protocol::dlpack, adapters::dlpack>(cx, obj, *route, out, raise);
    case Quick::rows:
      return take_rows(cx, obj, *route, out, raise);
    case Quick::last:
      return take_last_any(cx, obj, *route, out, raise);
    case Quick::array_struct:
      return take_last_struct(cx, obj, *route, out, raise);
    default:
      return take_all(cx, obj, out, raise);
  }
}

}  // namespace anyarray
