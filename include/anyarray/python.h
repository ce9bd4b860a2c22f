// SPDX-License-Identifier: Apache-2.0
// For extensions: import_anyarray() once in the module's init, then borrow(obj). Nothing to link; needs the
// package anyarray at run time, unless the engine is built in (CMake: anyarray_add_engine). The table belongs to one
// interpreter: an extension that lives in several keeps the pointer in its module state and passes it.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

#include "anyarray/c_api.h"

namespace anyarray {

#ifdef ANYARRAY_ENGINE  // the extension's full name, a string
#ifdef Py_LIMITED_API
#error "An engine that is built in isn't for the limited API: leave anyarray_add_engine() out, or Py_LIMITED_API"
#endif
/// The table of the engine that is built in; null with an exception set.
__attribute__((visibility("hidden"))) const CApi* built_in_table(const char* extension) noexcept;
#endif

/// The table of this interpreter; null with ImportError set when anyarray is missing, of another major
/// version, or too old (the sentence says what to upgrade). `minor`: the newest row that the extension can't do
/// without; one that runs with less asks `api->minor` before it calls a newer one.
inline const CApi* import_anyarray(std::uint32_t minor = c_api_minor) noexcept {
#ifdef ANYARRAY_ENGINE
  const CApi* api = built_in_table(ANYARRAY_ENGINE);
#else
  auto* api = static_cast<const CApi*>(PyCapsule_Import(c_api_capsule, 0));
#endif
  if (api == nullptr) return nullptr;
  if (api->major != c_api_major || api->minor < minor || (minor == c_api_minor && api->size < sizeof(CApi))) {
    PyErr_Format(PyExc_ImportError,
                 "this extension was built for anyarray's C API %u.%u, the installed anyarray has %u.%u: %s",
                 static_cast<unsigned>(c_api_major), static_cast<unsigned>(minor), static_cast<unsigned>(api->major),
                 static_cast<unsigned>(api->minor),
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

/// An array that is kept for longer than a call: in a member, in another thread. Copies share it. Made with the GIL;
/// copied, moved, read and let go from any thread, with the GIL or without.
class Held {
 public:
  Held() noexcept = default;
  /// Takes `obj`; on failure ok() is false and the Python exception with the whole trace is set.
  Held(const CApi* api, PyObject* obj, const Request* request = nullptr) noexcept
      : api_(api), holder_(api->take(api->context, obj, request)) {}
  Held(const Held& o) noexcept : api_(o.api_), holder_(o.holder_) {
    if (holder_ != nullptr) retain(*holder_);
  }
  Held(Held&& o) noexcept : api_(o.api_), holder_(std::exchange(o.holder_, nullptr)) {}
  Held& operator=(Held o) noexcept {
    std::swap(api_, o.api_);
    std::swap(holder_, o.holder_);
    return *this;
  }
  ~Held() {
    if (holder_ != nullptr) api_->drop(api_->context, holder_);
  }

  bool ok() const noexcept { return holder_ != nullptr; }
  const Descriptor& operator*() const noexcept { return holder_->borrow.desc; }
  const Descriptor* operator->() const noexcept { return &holder_->borrow.desc; }
  /// The object that was taken: borrowed; look at it with the GIL.
  PyObject* owner() const noexcept { return static_cast<PyObject*>(holder_->borrow.owner); }

  /// A new aa.Array over the same memory, which shares it. Needs the GIL. Null with an exception set.
  PyObject* to_array() const noexcept {
    auto* share = new (std::nothrow) Held(*this);
    if (share == nullptr) return PyErr_NoMemory();
    PyObject* array =
        api_->produce(api_->context, &**this, owner(), [](void* what) { delete static_cast<Held*>(what); }, share);
    if (array == nullptr) delete share;
    return array;
  }

 private:
  const CApi* api_ = nullptr;
  Holder* holder_ = nullptr;
};

/// A new aa.Array over memory that `owner` keeps, to be returned to Python:
/// `return anyarray::produce(api, {data, shape, nullptr, dtype, anyarray::cpu_device, ndim, 0}, self);`
/// Null with ValueError (what is wrong with the parts) or MemoryError set.
inline PyObject* produce(const CApi* api, const Descriptor& parts, PyObject* owner) noexcept {
  return api->produce(api->context, &parts, owner, nullptr, nullptr);
}

/// The same over memory that `release(what)` gives back, with the GIL, when nobody uses it any more. It isn't called
/// where null is returned.
inline PyObject* produce(const CApi* api, const Descriptor& parts, void (*release)(void* what), void* what) noexcept {
  return api->produce(api->context, &parts, nullptr, release, what);
}

}  // namespace anyarray
