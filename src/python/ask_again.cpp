// SPDX-License-Identifier: Apache-2.0
// Producers that must copy, for whoever makes a copy in any case: asarray(), copyto(), arrays inside of sequences.
#include <utility>

#include "src/python/asarray.h"

namespace anyarray {

bool ask_again(Context& cx, PyObject* obj, const Request& request, Borrow& out, Trace& trace) noexcept {
  for (int i = 0; i < trace.size(); ++i) {
    Attempt& a = trace.at(i);
    if (a.protocol != Protocol::array_method || a.status != Status::failed || a.why.reading) continue;
    Policy policy = make_policy({Protocol::array_method});
    policy.device_first = true;
    Request copying = request;
    copying.policy = &policy;
    copying.allow |= allow_copy;
    Trace second;
    const Status s = take(cx, obj, &copying, out, second);
    if (second.size() != 0) {
      a.status = second.at(0).status;
      a.why.reason = second.at(0).why.reason;
      std::swap(a.why.exception, second.at(0).why.exception);
    }
    if (s == Status::ok) a.status = s;
    return s == Status::ok;
  }
  return false;
}

}  // namespace anyarray
