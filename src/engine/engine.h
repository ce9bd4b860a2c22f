// SPDX-License-Identifier: Apache-2.0
// The only place that falls through: probes a type once, plans by the policy, tries row after row, and
// keeps the account. Called by src/python and the C function table.
#pragma once
#include <new>

#include "src/support/context.h"

namespace anyarray {

/// One line of the account.
struct Attempt {
  Protocol protocol;
  Status status;
  std::int64_t ns;  ///< only in a full trace
  Failure why;
};

/// The account of one run. Costs nothing to make; owns the exceptions in it.
class Trace {
 public:
  explicit Trace(bool full = false) noexcept : full_(full) {}
  ~Trace() { clear(); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  void clear() noexcept {
    for (int i = 0; i < n_; ++i) at(i).~Attempt();
    n_ = 0;
  }
  /// A new line at the end.
  Attempt& add(Protocol p, Status s) noexcept {
    Attempt* a = new (storage_ + sizeof(Attempt) * static_cast<unsigned>(n_++)) Attempt;
    a->protocol = p;
    a->status = s;
    a->ns = 0;
    return *a;
  }
  int size() const noexcept { return n_; }
  Attempt& at(int i) noexcept { return reinterpret_cast<Attempt*>(storage_)[i]; }
  /// Whether rows that aren't offered or weren't tried are listed too, with times.
  bool full() const noexcept { return full_; }
  /// Why a guard ended the search before the first try.
  Failure refusal;

 private:
  bool full_;
  int n_ = 0;
  alignas(Attempt) unsigned char storage_[sizeof(Attempt) * protocol_count];
};

/// Takes `obj`. ok: `out` is held. Otherwise the status that ended the search (not_offered when nothing was),
/// `out` holds nothing, and the trace says why; with `interrupted` an exception is set as well.
Status take(Context& cx, PyObject* obj, const Request* request, Borrow& out, Trace& trace) noexcept;

/// The policy that a request names, else the one that holds here and now, which is copied to `storage` where it isn't
/// the library's own.
const Policy& policy_of(Context& cx, const Request* request, Policy* storage) noexcept;

/// The rows that the object's type has, whatever a policy names; 0 with an exception set, which is rare.
ProtocolMask offered_by_type(Context& cx, PyObject* obj) noexcept;

/// What is told of a trace that failed; always gives null.
using Reporter = PyObject* (*)(Context&, PyObject* obj, const Request*, Status, Trace&) noexcept;

/// Raises the one error for a failed trace (ExchangeError or NotAnArrayError with .attempts; what was set stays
/// for `interrupted`; MemoryError for no_memory). Always returns null.
PyObject* raise_trace(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace) noexcept;

/// Makes the cache; false with MemoryError set.
bool engine_init(Context& cx) noexcept;
void engine_clear(Context& cx) noexcept;

}  // namespace anyarray
