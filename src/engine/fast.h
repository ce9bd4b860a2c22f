// SPDX-License-Identifier: Apache-2.0
// The shortest way, for callers that ask for nothing: the types known by address are read here and now, any other
// type that the cache knows goes straight to its first row. Included by the entries of the C API and of the module;
// take() does the same, and everything else.
#pragma once
#include "src/engine/engine.h"
#include "src/support/builtin_struct.h"
#include "src/support/numpy_struct.h"

namespace anyarray {

/// How an object is to be taken, where nothing but a policy is asked for.
struct Call {
  const Policy* policy;
  const Request* request;  ///< that named the policy; null for the default
  Reporter report;         ///< of a failure; null: nobody
};
inline constexpr Call quiet_call{&default_policy, nullptr, nullptr};
inline constexpr Call raising_call{&default_policy, nullptr, raise_trace};

/// take() under the default policy with nothing asked.
Status take_first(Context& cx, PyObject* obj, Borrow& out, const Call& call) noexcept;
/// The same for an exact memoryview.
Status take_first_memoryview(Context& cx, PyObject* obj, Borrow& out, const Call& call) noexcept;
/// take() with nothing asked but a policy.
Status take_by_policy(Context& cx, PyObject* obj, Borrow& out, const Call& call) noexcept;
/// take() with a request, or under another default policy than the library's; the quick way where nothing but a policy
/// is asked for.
Status take_as_asked(Context& cx, PyObject* obj, const Request* request, Borrow& out, Reporter report) noexcept;

/// Calls nothing but at its very end, so that no register has to be saved.
__attribute__((always_inline)) inline Status take_quick(Context& cx, PyObject* obj, Borrow& out,
                                                        const Call& call) noexcept {
  PyTypeObject* type = Py_TYPE(obj);
  if (type == cx.ndarray) {
    if (__builtin_expect(numpy_decode_known(cx, obj, out), 1)) {
      out.protocol = static_cast<std::uint8_t>(Protocol::numpy);
      hold_uncounted(cx, obj, out, let_go_uncounted);
      return Status::ok;
    }
  } else if (type == &PyBytes_Type) {
    out.protocol = static_cast<std::uint8_t>(Protocol::builtin);
    take_bytes(cx, obj, out);
    return Status::ok;
  } else if (type == &PyByteArray_Type) {
    out.protocol = static_cast<std::uint8_t>(Protocol::builtin);
    take_bytearray(cx, obj, out);
    return Status::ok;
  } else if (type == &PyMemoryView_Type) {
    return take_first_memoryview(cx, obj, out, call);
  } else if (type == cx.array_type) {
    if (__builtin_expect(take_array(cx, obj, out), 1)) {
      out.protocol = static_cast<std::uint8_t>(Protocol::builtin);
      return Status::ok;
    }
  }
  return take_first(cx, obj, out, call);
}

}  // namespace anyarray
