// SPDX-License-Identifier: Apache-2.0
// The tries. Two ways lead through the same pieces: the quick one tries the first planned row of a type that the
// cache knows, with nothing asked and no account; everything else, and whatever the quick one couldn't finish,
// goes through run() with a trace.
#include <time.h>

#include "src/engine/fast.h"
#include "src/engine/probe.h"
#include "src/protocols/adapters.h"

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

/// What is checked once, whatever row served: the descriptor, and what libraries are known to hide.
__attribute__((always_inline)) inline Status check_taken(Context& cx, PyObject* obj, const Route& route,
                                                         const Request& request, Protocol row, Borrow& out,
                                                         Failure& why) noexcept {
  out.protocol = static_cast<std::uint8_t>(row);
  Status s = out.checked != 0 ? Status::ok : validate(out.desc, &why.reason);
  if ((route.traits & (trait_readonly | trait_copies | trait_may_copy)) != 0) apply_traits(route.traits, row, out.desc);
  if (s == Status::ok && route.guard_after != nullptr) s = route.guard_after(cx, obj, request, out, why);
  if (__builtin_expect(s != Status::ok, 0)) apart_from_errors([&out] { release(out); });
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
  if (s != Status::ok) apart_from_errors([&out] { release(out); });
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

/// Whether an instance that looks attributes up as most do lacks one that its type doesn't have: asked so, a row that
/// isn't there costs no call of its adapter. ok: ask the adapter. Runs no code of others but the __eq__ of strange
/// keys.
__attribute__((always_inline)) inline Status lacks(Context& cx, PyObject* obj, const Route& route,
                                                   Protocol row) noexcept {
  if ((route.on_type & mask_of(row)) != 0 || Py_TYPE(obj)->tp_getattro != PyObject_GenericGetAttr) return Status::ok;
  PyObject* found = nullptr;
  const int answer = lookup_attribute(obj, cx.names.row_attribute[static_cast<int>(row)], &found);
  if (__builtin_expect(answer == 0, 1)) return Status::not_offered;
  Failure ignored;  // the adapter will meet it
  if (answer < 0) return producer_raised(ignored) == Status::interrupted ? Status::interrupted : Status::ok;
  Py_DECREF(found);
  return Status::ok;
}

/// Row after row as long as none is offered, from `i` on.
__attribute__((noinline)) Status take_rows(Context& cx, PyObject* obj, Route& route, int i, Borrow& out,
                                           bool raise) noexcept {
  Failure why;
  Status s = Status::not_offered;
  Protocol row = Protocol::numpy;
  ProtocolMask tried = 0;
  ++route.pins;
  if (i == 0 && route.skip_buffer != nullptr) {
    const int skips = route.skip_buffer(cx, obj);
    if (skips < 0) s = Status::interrupted;
    i = skips > 0 ? 1 : 0;
  }
  for (; i < route.n_quick && s == Status::not_offered; ++i) {
    row = static_cast<Protocol>(route.plan[i]);
    tried |= mask_of(row);
    // Before the row that served the last object of this type only: a row that is there would be looked up twice.
    s = i < route.last ? lacks(cx, obj, route, row) : Status::ok;
    if (s != Status::ok) continue;
    s = consume[static_cast<int>(row)](cx, obj, route, nothing_asked, out, why);
  }
  if (__builtin_expect(s == Status::ok, 1)) {
    route.last = static_cast<std::uint8_t>(i - 1);
    s = check_taken(cx, obj, route, nothing_asked, row, out, why);
  }
  --route.pins;
  if (__builtin_expect(s == Status::ok, 1)) return s;
  return take_the_rest(cx, obj, out, row, tried, s, why, raise);
}

/// The first row, with the adapter inlined: for the rows that cost least.
template <Protocol row,
          Status (*adapter)(Context&, PyObject*, const Route&, const Request&, Borrow&, Failure&) noexcept>
__attribute__((noinline, flatten)) Status take_row(Context& cx, PyObject* obj, Route& route, Borrow& out,
                                                   bool raise) noexcept {
  Failure why;
  ++route.pins;
  Status s = adapter(cx, obj, route, nothing_asked, out, why);
  if (__builtin_expect(s == Status::ok, 1)) s = check_taken(cx, obj, route, nothing_asked, row, out, why);
  --route.pins;
  if (__builtin_expect(s == Status::ok, 1)) return s;
  return take_the_rest(cx, obj, out, row, mask_of(row), s, why, raise);
}

/// A memoryview of so many dimensions, without a call but at the end.
template <int ndim>
Status take_memoryview_of(Context& cx, PyObject* obj, Borrow& out, bool raise) noexcept {
  const PyMemoryViewObject* mv = builtin::memoryview_of(obj);
  const bool usual = !builtin::is_released(mv) && !builtin::is_restricted(mv) && !builtin::asks_exporter(mv) &&
                     describe_usual_buffer<ndim>(mv->view, out);
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
  if (__builtin_expect(route == nullptr || route->n_quick == 0, 0)) return take_all(cx, obj, out, raise);
  if (route->skip_buffer == nullptr) {
    switch (static_cast<Protocol>(route->plan[0])) {
      case Protocol::dlpack_exchange:
        return take_row<Protocol::dlpack_exchange, adapters::dlpack_exchange>(cx, obj, *route, out, raise);
      case Protocol::buffer:
        return take_row<Protocol::buffer, adapters::buffer>(cx, obj, *route, out, raise);
      case Protocol::dlpack:
        if ((route->on_type & mask_of(Protocol::dlpack)) == 0) break;  // only an instance may have it: mostly not
        return take_row<Protocol::dlpack, adapters::dlpack>(cx, obj, *route, out, raise);
      default:
        break;
    }
  }
  return take_rows(cx, obj, *route, 0, out, raise);
}

}  // namespace anyarray
