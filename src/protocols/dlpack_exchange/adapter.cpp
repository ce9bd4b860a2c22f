// SPDX-License-Identifier: Apache-2.0
// Row `dlpack_exchange`: the C table that a type carries. A tensor is borrowed where the table can lend one (the
// object is what keeps it valid, so shape and strides are copied at once), else taken and deleted. The table
// checks nothing: what its library hides (torch's conj and neg bits, …) is for src/quirks.
#include "src/core/dlpack_usual.h"
#include "src/protocols/adapters.h"
#include "src/support/exchange.h"

namespace anyarray::adapters {
namespace {

void drop(dlpack::ManagedTensorVersioned* taken) noexcept {
  if (taken->deleter != nullptr) apart_from_errors([taken] { taken->deleter(taken); });
}

void release_taken(Borrow* b) noexcept {
  drop(static_cast<dlpack::ManagedTensorVersioned*>(b->token[0]));
  let_go(b);
}

// Out of line, as all that isn't usual: the usual way then saves few registers.
/// A function of the table gave `result` instead of 0, or 0 and an exception.
__attribute__((noinline)) Status refused(int result, Failure& why) noexcept {
  if (PyErr_Occurred() != nullptr) return producer_raised(why);
  return because(Status::failed, &why.reason, "the exchange table's function returned %d and no exception", result);
}

__attribute__((noinline)) Status take(Context& cx, PyObject* obj, const dlpack::ExchangeApi& api, Borrow& out,
                                      Failure& why) noexcept {
  dlpack::ManagedTensorVersioned* taken = nullptr;
  const int result = api.managed_tensor_from_py_object_no_sync(obj, &taken);
  if (result != 0) return refused(result, why);
  if (PyErr_Occurred() != nullptr) {
    if (taken != nullptr) drop(taken);
    return refused(result, why);
  }
  if (taken == nullptr) return because(Status::invalid, &why.reason, "the exchange table gave a null tensor");
  Status s = Status::invalid;
  if (taken->version.major != dlpack::our_version.major) {
    because(s, &why.reason, "the exchange table gave a tensor of DLPack %u.%u; only major version %u is understood",
            static_cast<unsigned>(taken->version.major), static_cast<unsigned>(taken->version.minor),
            static_cast<unsigned>(dlpack::our_version.major));
  } else {
    const bool usual = dlpack::decode_usual(taken->tensor, taken->flags, out);
    s = __builtin_expect(usual, 1) ? Status::ok : dlpack::decode(taken->tensor, taken->flags, out, &why.reason);
  }
  if (s != Status::ok) {
    drop(taken);
    return s;
  }
  out.token[0] = taken;
  hold(cx, obj, out, release_taken);
  return Status::ok;
}

/// A tensor that isn't usual, if it was lent at all.
__attribute__((noinline)) Status finish_lent(Context& cx, PyObject* obj, const dlpack::Tensor& lent, Borrow& out,
                                             Failure& why) noexcept {
  if (PyErr_Occurred() != nullptr) return producer_raised(why);
  if (const Status s = dlpack::decode(lent, 0, out, &why.reason); s != Status::ok) return s;
  hold_uncounted(cx, obj, out, let_go_uncounted);
  return Status::ok;
}

/// `exact`: see trait_exact_table.
template <bool exact>
__attribute__((always_inline)) inline Status lend(Context& cx, PyObject* obj, const dlpack::ExchangeApi& api,
                                                  Borrow& out, Failure& why) noexcept {
  if (__builtin_expect(api.dltensor_from_py_object_no_sync == nullptr, 0)) return take(cx, obj, api, out, why);
  dlpack::Tensor lent;
  if constexpr (!exact) lent = {};
  const int result = api.dltensor_from_py_object_no_sync(obj, &lent);
  if (__builtin_expect(result != 0, 0)) return refused(result, why);
  if (__builtin_expect((exact || PyErr_Occurred() == nullptr) && dlpack::decode_usual(lent, 0, out), 1)) {
    hold_uncounted(cx, obj, out, let_go_uncounted);
    return Status::ok;
  }
  return finish_lent(cx, obj, lent, out, why);
}

/// For a type whose table couldn't be used when it was probed: says why.
__attribute__((noinline)) Status take_unprobed(Context& cx, PyObject* obj, Borrow& out, Failure& why) noexcept {
  const dlpack::ExchangeApi* api = nullptr;
  const Status s = exchange_of(cx, Py_TYPE(obj), &api, why);
  return s == Status::ok ? lend<false>(cx, obj, *api, out, why) : s;
}

}  // namespace

Status dlpack_exchange(Context& cx, PyObject* obj, const Route& route, const Request&, Borrow& out,
                       Failure& why) noexcept {
  if (__builtin_expect(route.exchange == nullptr, 0)) return take_unprobed(cx, obj, out, why);
  if ((route.traits & trait_exact_table) != 0) return lend<true>(cx, obj, *route.exchange, out, why);
  return lend<false>(cx, obj, *route.exchange, out, why);
}

}  // namespace anyarray::adapters
