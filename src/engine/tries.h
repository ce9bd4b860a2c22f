// SPDX-License-Identifier: Apache-2.0
// What both ways through the rows share: the table of adapters, the checks that follow each of them, and why a try
// came to nothing. Included by take.cpp and quick.cpp alone.
#pragma once
#include "src/engine/engine.h"
#include "src/protocols/adapters.h"
#include "src/quirks/quirks.h"

namespace anyarray {

inline constexpr ConsumeFn consume[protocol_count] = {
#define ANYARRAY_PROTOCOL(id, attribute, traits, text) adapters::id,
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL
};

inline constexpr Request nothing_asked;

/// What a library is known for and its protocols don't say.
__attribute__((noinline)) inline void apply_traits(std::uint32_t traits, Protocol row, Descriptor& d) noexcept {
  if ((traits & trait_readonly) != 0) d.flags |= flag_readonly;
  if ((row_traits[static_cast<int>(row)] & row_mirror) == 0) return;
  if ((traits & trait_copies) != 0) d.flags |= flag_copied;
  if ((traits & trait_may_copy) != 0) d.flags |= flag_copied_unknown;
}

// Out of line, as all that isn't usual.
__attribute__((noinline)) inline void give_back(Borrow& out) noexcept {
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

/// What a try that came to nothing came to nothing by.
inline Cause cause_of(Status s, const Failure& why) noexcept {
  if (s != Status::failed) return Cause::content;
  if (why.exception != nullptr && PyErr_GivenExceptionMatches(why.exception, PyExc_NotImplementedError) != 0) {
    return Cause::not_implemented;
  }
  if (why.reading) return Cause::read;
  if (why.exception == nullptr) return Cause::call;
  if (PyErr_GivenExceptionMatches(why.exception, PyExc_BufferError) != 0) return Cause::buffer_error;
  if (PyErr_GivenExceptionMatches(why.exception, PyExc_TypeError) != 0) return Cause::type_error;
  if (PyErr_GivenExceptionMatches(why.exception, PyExc_AttributeError) != 0) return Cause::attribute_error;
  return Cause::call;
}

/// Whether the policy ends the search at read-only memory of this row.
inline bool refuses_read_only(const Policy& policy, Protocol row, const Borrow& out) noexcept {
  return out.desc.readonly() && (policy.ends_on(Cause::read_only) & mask_of(row)) != 0;
}

__attribute__((noinline)) inline Status refuse_read_only(Borrow& out, Failure& why) noexcept {
  give_back(out);
  return because(Status::mismatch, &why.reason, "it is read-only, which this consumer refuses");
}

/// Writes a line of the account. Takes the exception out of `why`.
inline void record(Trace& trace, Protocol row, Status s, Failure& why, std::int64_t ns) noexcept {
  Attempt& a = trace.add(row, s);
  a.ns = ns;
  a.why.reason = why.reason;
  a.why.exception = std::exchange(why.exception, nullptr);
}

/// The rows under a policy but those in `tried`, whose outcome, where they were offered, is in the trace already.
Status take_planned(Context& cx, PyObject* obj, const Policy& policy, const Request& request, Borrow& out, Trace& trace,
                    ProtocolMask tried) noexcept;

}  // namespace anyarray
