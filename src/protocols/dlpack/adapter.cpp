// SPDX-License-Identifier: Apache-2.0
// Row `dlpack`: the capsule of __dlpack__(), versioned or legacy, or a bare capsule. Everything is validated
// before the tensor is taken; a capsule that isn't taken keeps its name, and its own destructor frees it.
#include <cstring>

#include "src/core/dlpack_usual.h"
#include "src/protocols/adapters.h"
#include "src/support/capsule.h"

namespace anyarray::adapters {
namespace {

template <class Managed>
void release_tensor(Borrow* b) noexcept {
  auto* taken = static_cast<Managed*>(b->token[0]);
  if (taken->deleter != nullptr) {
    apart_from_errors([taken] { taken->deleter(taken); });  // it may run Python
  }
  let_go(b);
}

/// `last`, which is set now, gets `first` as its context unless it has one: what the first, polite question met.
void chain(PyObject* first) noexcept {
  PyObject* last = take_raised();
  if (last == nullptr) return Py_DECREF(first);
  bool free = last != first && Ref(PyException_GetContext(last)).get() == nullptr;
  // Exceptions may be shared and linked already: a ring would have no end.
  Ref behind = Ref::borrow(first);
  for (int i = 0; free && behind; ++i) {
    behind = Ref(PyException_GetContext(behind.get()));
    free = behind.get() != last && i < 64;
  }
  if (free) {
    PyException_SetContext(last, first);
  } else {
    Py_DECREF(first);
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(last)), last);
  Py_DECREF(last);
}

/// The second call of ask(), after the first raised TypeError.
__attribute__((noinline)) PyObject* ask_without(PyObject* method, PyObject* const* first_argument,
                                                std::size_t n) noexcept {
  PyObject* refusal = take_raised();
  PyObject* answer = PyObject_Vectorcall(method, first_argument, n, nullptr);
  if (answer == nullptr) {
    chain(refusal);
  } else {
    Py_DECREF(refusal);
  }
  return answer;
}

/// Calls `method` with max_version, and once more without if it raises TypeError: an old producer doesn't know the
/// word, and from here a refusal that is a TypeError (pyarrow, JAX) can't be told from that. `bound` is whether
/// `self` is in the method already.
PyObject* ask(Context& cx, PyObject* method, PyObject* self, bool bound) noexcept {
  PyObject* arguments[] = {nullptr, self, cx.names.our_version};
  PyObject* const* first_argument = bound ? arguments + 2 : arguments + 1;
  const std::size_t n = (bound ? 0u : 1u) | PY_VECTORCALL_ARGUMENTS_OFFSET;
  PyObject* answer = PyObject_Vectorcall(method, first_argument, n, cx.names.kw_max_version);
  if (__builtin_expect(answer != nullptr, 1) || !PyErr_ExceptionMatches(PyExc_TypeError)) return answer;
  return ask_without(method, first_argument, n);
}

/// What obj.__dlpack__() gives, where neither a hook nor the type's own method serves.
__attribute__((noinline)) Status fetch_by_name(Context& cx, PyObject* obj, PyObject** out, Failure& why) noexcept {
  PyObject* method = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::dlpack, &method, why);
  if (found != Status::ok) return found;
  Ref held(method);
  *out = ask(cx, method, obj, true);
  return *out != nullptr ? Status::ok : producer_raised(why);
}

/// What obj.__dlpack__() gives.
__attribute__((always_inline)) inline Status fetch(Context& cx, PyObject* obj, const Route& route, PyObject** out,
                                                   Failure& why) noexcept {
  if (route.dlpack_export != nullptr) {
    *out = route.dlpack_export(cx, obj);
    if (__builtin_expect(*out != nullptr, 1)) return Status::ok;
    if (PyErr_Occurred() != nullptr) return producer_raised(why);
  }
  PyTypeObject* type = Py_TYPE(obj);
  // The method is the type's own as long as the type has the tag that it had when it was looked up.
  if (route.dlpack_method == nullptr || route.type != type || route.tag == 0 || route.tag != type->tp_version_tag) {
    return fetch_by_name(cx, obj, out, why);
  }
  Ref method = Ref::borrow(route.dlpack_method);
  *out = ask(cx, method.get(), obj, false);
  return __builtin_expect(*out != nullptr, 1) ? Status::ok : producer_raised(why);
}

/// Decodes, then takes: from the rename on the tensor is ours.
template <class Managed>
__attribute__((always_inline)) inline Status take(Context& cx, PyObject* obj, PyObject* capsule, Managed* tensor,
                                                  std::uint64_t flags, const char* used, Borrow& out,
                                                  Failure& why) noexcept {
  if (__builtin_expect(!dlpack::decode_usual(tensor->tensor, flags, out), 0)) {
    if (const Status s = dlpack::decode(tensor->tensor, flags, out, &why.reason); s != Status::ok) return s;
  }
  // A destructor would find the used name and do nothing, some of them slowly.
  if (__builtin_expect(!capsule::retire(cx, capsule, used), 0)) {
    drop_dims(out);
    return producer_raised(why);
  }
  out.token[0] = tensor;
  hold(cx, obj, out, release_tensor<Managed>);
  return Status::ok;
}

// Out of line, as all that isn't usual: the usual way then saves few registers.
__attribute__((noinline)) Status refuse_version(const dlpack::Version& version, Failure& why) noexcept {
  return because(Status::invalid, &why.reason, "the capsule is of DLPack %u.%u; only major version %u is understood",
                 static_cast<unsigned>(version.major), static_cast<unsigned>(version.minor),
                 static_cast<unsigned>(dlpack::our_version.major));
}

__attribute__((noinline)) Status refuse_capsule(const char* name, Failure& why) noexcept {
  if (name == nullptr) {
    return because(Status::invalid, &why.reason, "the capsule has no name; \"%s\" or \"%s\" is needed",
                   dlpack::versioned_name, dlpack::legacy_name);
  }
  if (std::strcmp(name, dlpack::versioned_used) == 0 || std::strcmp(name, dlpack::legacy_used) == 0) {
    return because(Status::invalid, &why.reason,
                   "the capsule is named \"%s\": its tensor was taken before, and a capsule can be taken once", name);
  }
  return because(Status::invalid, &why.reason, "the capsule is named \"%.80s\", not \"%s\" or \"%s\"", name,
                 dlpack::versioned_name, dlpack::legacy_name);
}

/// Something else than a capsule came, which goes.
__attribute__((noinline)) Status refuse_answer(PyObject* answer, Failure& why) noexcept {
  Ref owned(answer);
  return because(Status::invalid, &why.reason, "__dlpack__ gave %.80s, not a capsule", Py_TYPE(answer)->tp_name);
}

/// The name on the capsule decides what is in it, not what was asked for.
__attribute__((always_inline)) inline Status open(Context& cx, PyObject* obj, PyObject* capsule, Borrow& out,
                                                  Failure& why) noexcept {
  const char* name = capsule::name(cx, capsule);
  if (__builtin_expect(name == nullptr, 0)) return refuse_capsule(nullptr, why);
  if (std::strcmp(name, dlpack::versioned_name) == 0) {
    auto* tensor = static_cast<dlpack::ManagedTensorVersioned*>(capsule::pointer(cx, capsule, name));
    if (__builtin_expect(tensor->version.major != dlpack::our_version.major, 0)) {
      return refuse_version(tensor->version, why);
    }
    return take(cx, obj, capsule, tensor, tensor->flags, dlpack::versioned_used, out, why);
  }
  if (__builtin_expect(std::strcmp(name, dlpack::legacy_name) != 0, 0)) return refuse_capsule(name, why);
  auto* tensor = static_cast<dlpack::ManagedTensor*>(capsule::pointer(cx, capsule, name));
  return take(cx, obj, capsule, tensor, 0, dlpack::legacy_used, out, why);
}

}  // namespace

Status dlpack(Context& cx, PyObject* obj, const Route& route, const Request&, Borrow& out, Failure& why) noexcept {
  if (__builtin_expect(PyCapsule_CheckExact(obj), 0)) return open(cx, obj, obj, out, why);
  PyObject* capsule = nullptr;
  const Status s = fetch(cx, obj, route, &capsule, why);
  if (__builtin_expect(capsule == nullptr, 0)) return s;
  if (__builtin_expect(!PyCapsule_CheckExact(capsule), 0)) return refuse_answer(capsule, why);
  const Status opened = open(cx, obj, capsule, out, why);
  if (__builtin_expect(opened != Status::ok, 0)) {
    // The destructor of a capsule that wasn't taken is the producer's code, run here.
    apart_from_errors([capsule] { Py_DECREF(capsule); });
    return opened;
  }
  Py_DECREF(capsule);
  return opened;
}

}  // namespace anyarray::adapters
