// SPDX-License-Identifier: Apache-2.0
// The tries with their account: row after row of a plan, until one serves or one ends the search. The quick way
// (quick.cpp) comes here with whatever it couldn't finish.
#include <time.h>

#include "src/engine/probe.h"
#include "src/engine/tries.h"
#include "src/support/device_question.h"

namespace anyarray {
namespace {

std::int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// not_offered where the attribute is missing, None or raises AttributeError; any other exception is no answer, and
/// ok, but for those that are never passed over.
Status look_up(PyObject* obj, PyObject* name) noexcept {
  PyObject* value = nullptr;
  const int found = lookup_attribute(obj, name, &value);
  Ref held(found > 0 ? value : nullptr);
  if (found >= 0) return found > 0 ? Status::ok : Status::not_offered;
  Failure unheard;
  return producer_raised(unheard, Status::ok);
}

/// not_offered where this instance hides the row, as far as that can be told without running its code: the type reads
/// attributes as most do and has no property for this one. Otherwise ok, or interrupted.
Status see_if_hidden(Context& cx, PyObject* obj, const Route& route, Protocol row) noexcept {
  PyTypeObject* const type = Py_TYPE(obj);
  PyObject* const name = cx.names.row_attribute[static_cast<int>(row)];
  if (type->tp_getattro != PyObject_GenericGetAttr) return Status::ok;
  if ((route.on_type & mask_of(row)) != 0) {
    PyObject* const found = lookup_on_type(type, name);
    if (found == nullptr || (Py_TYPE(found)->tp_descr_get != nullptr && !PyFunction_Check(found))) return Status::ok;
  }
  return look_up(obj, name);
}

/// Asks __dlpack_device__ once and remembers the answer for the other rows of the same call.
class DeviceQuestion {
 public:
  /// ok: the row may serve. skipped: the object's device isn't one of the row's. not_offered: the instance hides the
  /// row. interrupted.
  Status ask(Context& cx, PyObject* obj, const Route& route, Protocol row, Failure& why) noexcept {
    if ((route.on_type & mask_of(Protocol::dlpack)) == 0) return Status::ok;
    if (const Status s = see_if_hidden(cx, obj, route, row); s != Status::ok) return s;
    if (!asked_) {
      asked_ = true;
      if (const Status s = ask_device(cx, obj, &device_); s != Status::ok) return s;
    }
    if (device_.type == DeviceType::any || serves(row, device_.type)) return Status::ok;
    // A mirror's property may copy memory to the host, so it isn't read; a property of the others only describes.
    if ((row_traits[static_cast<int>(row)] & row_mirror) == 0) {
      const Status s = look_up(obj, cx.names.row_attribute[static_cast<int>(row)]);
      if (s != Status::ok) return s;
    }
    char text[32];
    format_device(device_, text, sizeof text);
    return because(Status::skipped, &why.reason, "__dlpack_device__ says %s, and this row gives %s memory", text,
                   row_memory(row));
  }

 private:
  bool asked_ = false;
  Device device_ = {DeviceType::any, 0};
};

/// Asks for __dlpack_device__, as consumers do for which __dlpack__ alone is no offer. ok: go on with __dlpack__.
Status ask_device_method(Context& cx, PyObject* obj, DeviceMethod use, Failure& why) noexcept {
  PyObject* found = nullptr;
  int answer = lookup_attribute(obj, cx.names.row_attribute[static_cast<int>(Protocol::dlpack)], &found);
  Ref held(found);
  if (answer == 0) return Status::not_offered;
  if (answer > 0) {
    found = nullptr;
    answer = lookup_raw(obj, cx.names.dlpack_device, &found);
    held = Ref(found);
  }
  if (answer < 0) return reading_raised(why);
  if (answer == 0 || (found == Py_None && use == DeviceMethod::present)) {
    return because(Status::not_offered, &why.reason,
                   "it has no __dlpack_device__, without which this consumer passes __dlpack__ by");
  }
  if (use == DeviceMethod::present) return Status::ok;
  const Ref device(PyObject_CallNoArgs(held.get()));
  if (!device) return producer_raised(why);
  if (use == DeviceMethod::called) return Status::ok;
  if (PyTuple_Check(device.get()) && PyTuple_GET_SIZE(device.get()) == 2) return Status::ok;
  return because(Status::invalid, &why.reason, "__dlpack_device__ gave %.80s, not a tuple of two",
                 Py_TYPE(device.get())->tp_name);
}

/// Whether an attribute that counted as missing is None, for a consumer that takes None for an offer.
Status ask_for_none(Context& cx, PyObject* obj, Protocol row, Failure& why) noexcept {
  PyObject* name = cx.names.row_attribute[static_cast<int>(row)];
  PyObject* found = nullptr;
  if (name == nullptr) return Status::not_offered;
  if (lookup_raw(obj, name, &found) < 0) return reading_raised(why);
  const Ref held(found);
  if (found != Py_None) return Status::not_offered;
  return because(Status::invalid, &why.reason, "it is None, which this consumer takes for an offer");
}

/// One row: the skip rules, the adapter, the checks.
Status try_row(Context& cx, PyObject* obj, const Route& route, const Policy& policy, const Request& request,
               Protocol row, DeviceQuestion& device, Borrow& out, Failure& why) noexcept {
  const int index = static_cast<int>(row);
  if (policy.device_first && asks_device(row)) {
    if (const Status s = device.ask(cx, obj, route, row, why); s != Status::ok) return s;
  }
  const int skips = row == Protocol::buffer && route.skip_buffer != nullptr ? route.skip_buffer(cx, obj) : 0;
  if (skips != 0) {
    if (skips < 0) return Status::interrupted;
    return because(Status::skipped, &why.reason, "the buffer protocol has no format for its dtype");
  }
  if (row == Protocol::dlpack && policy.device_method != DeviceMethod::ignored && !PyCapsule_CheckExact(obj)) {
    if (const Status s = ask_device_method(cx, obj, policy.device_method, why); s != Status::ok) return s;
  }
  Status s = consume[index](cx, obj, route, request, out, why);
  if (s == Status::ok) s = check_taken(cx, obj, route, request, row, out, why);
  if (s != Status::ok) return s;
  if (request.has_conditions()) s = meets(out.desc, request, &why.reason);
  if (s == Status::ok && refuses_read_only(policy, row, out)) return refuse_read_only(out, why);
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
    const bool was_tried = (tried & mask_of(row)) != 0;
    const bool none_ends = (policy.ends_on(Cause::none) & mask_of(row)) != 0;
    if (was_tried && !none_ends) continue;
    Failure why;
    const std::int64_t start = trace.full() ? now_ns() : 0;
    Status s = was_tried ? Status::not_offered : try_row(cx, obj, route, policy, request, row, device, out, why);
    if (s == Status::ok && !trace.full()) return Status::ok;
    Cause cause = cause_of(s, why);
    if (s == Status::not_offered && none_ends) {
      s = ask_for_none(cx, obj, row, why);
      cause = s == Status::invalid ? Cause::none : cause_of(s, why);
    }
    if (s != Status::not_offered || trace.full()) record(trace, row, s, why, trace.full() ? now_ns() - start : 0);
    if (s == Status::not_offered) continue;
    outcome = s;
    if (failure_is_final(policy, row, s, cause)) break;
  }
  if (trace.full()) list_the_rest(policy, route, i < route.n ? i + 1 : i, trace);
  return outcome;
}

}  // namespace

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

Status take(Context& cx, PyObject* obj, const Request* request, Borrow& out, Trace& trace) noexcept {
  const Request& asked = request != nullptr ? *request : nothing_asked;
  Policy storage;
  return take_planned(cx, obj, policy_of(cx, request, &storage), asked, out, trace, 0);
}

const Policy& policy_of(Context& cx, const Request* request, Policy* storage) noexcept {
  if (request != nullptr && request->policy != nullptr) return *request->policy;
  if (cx.current_policy == nullptr) return default_policy;
  cx.current_policy(cx, storage);
  return *storage;
}

ProtocolMask offered_by_type(Context& cx, PyObject* obj) noexcept {
  Route local;
  const Route* route = find_route(cx, Py_TYPE(obj), default_policy, &local);
  return route != nullptr ? route->on_type : 0;
}

}  // namespace anyarray
