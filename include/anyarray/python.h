// SPDX-License-Identifier: Apache-2.0
// For extensions: import_anyarray() once in the module's init, then borrow(obj). Nothing to link; needs the
// package anyarray at run time. The table belongs to one interpreter: an extension that lives in several keeps
// the pointer in its module state and passes it.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "anyarray/c_api.h"

namespace anyarray {

/// The table of this interpreter; null with ImportError set when anyarray is missing, of another major
/// version, or too old for this header (the sentence says what to upgrade).
inline const CApi* import_anyarray() noexcept {
  auto* api = static_cast<const CApi*>(PyCapsule_Import(c_api_capsule, 0));
  if (api == nullptr) return nullptr;
  if (api->major != c_api_major || api->minor < c_api_minor || api->size < sizeof(CApi)) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for anyarray's C API %u.%u, the installed anyarray has %u.%u: %s",
                 static_cast<unsigned>(c_api_major), static_cast<unsigned>(c_api_minor),
                 static_cast<unsigned>(api->major), static_cast<unsigned>(api->minor),
                 api->major > c_api_major ? "rebuild the extension" : "upgrade the package anyarray");
    return nullptr;
  }
  return api;
}

/// A borrow that is released at the end of its scope. Needs the GIL for its whole life.
class Borrowed {
 public:
  /// Takes `obj`; on failure ok() is false and the Python exception with the whole trace is set.
  Borrowed(const CApi* api, PyObject* obj, const Request* request = nullptr) noexcept
      : status_(api->borrow_or_raise(api->context, obj, request, &borrow_)) {}
  ~Borrowed() {
    if (status_ == Status::ok) release(borrow_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  bool ok() const noexcept { return status_ == Status::ok; }
  Status status() const noexcept { return status_; }
  const Descriptor& operator*() const noexcept { return borrow_.desc; }
  const Descriptor* operator->() const noexcept { return &borrow_.desc; }

 private:
  Borrow borrow_;
  Status status_;
};

/// `auto a = anyarray::borrow(api, obj); if (!a.ok()) return nullptr;  a->data, a->shape, …`
inline Borrowed borrow(const CApi* api, PyObject* obj, const Request* request = nullptr) noexcept {
  return Borrowed(api, obj, request);
}

}  // namespace anyarray
