// SPDX-License-Identifier: Apache-2.0
// The words of statuses. Includes status.h alone.
#include "anyarray/status.h"

namespace anyarray {

const char* status_name(Status s) noexcept {
  switch (s) {
    case Status::ok:
      return "ok";
    case Status::not_offered:
      return "not offered";
    case Status::not_tried:
      return "not tried";
    case Status::skipped:
      return "skipped";
    case Status::failed:
      return "failed";
    case Status::invalid:
      return "invalid";
    case Status::unsupported:
      return "unsupported";
    case Status::device:
      return "other device";
    case Status::mismatch:
      return "mismatch";
    case Status::guarded:
      return "guarded";
    case Status::interrupted:
      return "interrupted";
    case Status::no_memory:
      return "no memory";
  }
  return "unknown status";
}

}  // namespace anyarray
