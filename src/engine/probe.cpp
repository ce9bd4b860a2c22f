// SPDX-License-Identifier: Apache-2.0
#include "src/engine/probe.h"

#include <cstdlib>
#include <cstring>

#include "src/quirks/quirks.h"
#include "src/support/builtin_struct.h"
#include "src/support/capsule.h"
#include "src/support/dict_items.h"
#include "src/support/exchange.h"
#include "src/support/numpy_struct.h"

namespace anyarray {
namespace {

/// Whether an instance may have attributes that its type doesn't have.
bool has_instance_attributes(PyTypeObject* type) noexcept {
  if ((type->tp_flags & Py_TPFLAGS_TYPE_SUBCLASS) != 0) return false;  // a class isn't one of its instances
  if (type->tp_getattro != PyObject_GenericGetAttr || type->tp_getattr != nullptr) return true;
#if PY_VERSION_HEX >= 0x030C0000
  if ((type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0) return true;
#endif
  return type->tp_dictoffset != 0;
}

/// What the type offers by itself, as bits. The C type is the offer for rows without an attribute. `none`: rows whose
/// attribute the type has as None.
ProtocolMask offers_of(Context& cx, PyTypeObject* type, ProtocolMask* none) noexcept {
  *none = 0;
  ProtocolMask mask = 0;
  if (cx.ndarray != nullptr && PyType_IsSubtype(type, cx.ndarray)) mask |= mask_of(Protocol::numpy);
  if (type == &PyBytes_Type || type == &PyByteArray_Type || type == &PyMemoryView_Type || type == cx.array_type) {
    mask |= mask_of(Protocol::builtin);
  }
  if (type->tp_as_buffer != nullptr && type->tp_as_buffer->bf_getbuffer != nullptr) mask |= mask_of(Protocol::buffer);
  if (type == &PyCapsule_Type) mask |= mask_of(Protocol::dlpack);  // a bare capsule is its own __dlpack__
  for (int row = 0; row < protocol_count; ++row) {
    PyObject* name = cx.names.row_attribute[row];
    if (name == nullptr) continue;
    PyObject* found = lookup_on_type(type, name);
    if (found != nullptr) (found != Py_None ? mask : *none) |= mask_of(static_cast<Protocol>(row));
  }
  return mask;
}

void plan(Route& route, const Policy& policy, ProtocolMask on_instance, ProtocolMask none) noexcept {
  route.n = 0;
  if (policy.lookup == Lookup::type || policy.lookup == Lookup::method) on_instance = 0;
  ProtocolMask first = route.on_type | (none & policy.ends_on(Cause::none));
  if (policy.lookup == Lookup::instance) first |= on_instance;
  for (int i = 0; i < policy.n; ++i) {
    if ((first & mask_of(policy.at(i))) != 0) route.plan[route.n++] = static_cast<std::uint8_t>(policy.at(i));
  }
  route.n_type = route.n;
  for (int i = 0; i < policy.n; ++i) {
    if ((on_instance & ~first & mask_of(policy.at(i))) != 0) {
      route.plan[route.n++] = static_cast<std::uint8_t>(policy.at(i));
    }
  }
}

ProtocolMask instance_rows(PyTypeObject* type, ProtocolMask on_type) noexcept {
  if (!has_instance_attributes(type)) return 0;
  ProtocolMask mask = 0;
  for (int row = 0; row < protocol_count; ++row) {
    if ((protocol_rows[row].traits & row_type_only) == 0) mask |= mask_of(static_cast<Protocol>(row));
  }
  return mask & ~on_type;
}

/// Rows whose attribute on the type is a method to everybody but isn't callable as it stands there: properties.
ProtocolMask uncallable_rows(const Context& cx, PyTypeObject* type) noexcept {
  ProtocolMask mask = 0;
  for (Protocol row : {Protocol::dlpack, Protocol::array_method}) {
    PyObject* found = lookup_on_type(type, cx.names.row_attribute[static_cast<int>(row)]);
    if (found != nullptr && PyCallable_Check(found) == 0) mask |= mask_of(row);
  }
  return mask;
}

/// How many leading rows may be tried without the questions that run() asks before a row, or after one that wasn't
/// there. What the cache's key doesn't tell has no say: two policies that differ in it share a plan.
std::uint8_t quick_rows(const Route& r, const Policy& policy) noexcept {
  if (r.guard_before != nullptr) return 0;
  // skip_buffer is asked once, before the first row: it must be the buffer, and another must follow.
  if (r.skip_buffer != nullptr && (r.n < 2 || r.plan[0] != static_cast<int>(Protocol::buffer))) return 0;
  std::uint8_t n = 0;
  const bool asks = policy.device_first && (r.on_type & mask_of(Protocol::dlpack)) != 0;
  const auto is_asked = [&](Protocol row) {
    return (asks && asks_device(row)) || (row == Protocol::dlpack && policy.device_method != DeviceMethod::ignored);
  };
  while (n < r.n && !is_asked(static_cast<Protocol>(r.plan[n]))) {
    const ProtocolMask row = mask_of(static_cast<Protocol>(r.plan[n++]));
    if (policy.none_ends && (row & attribute_rows) != 0) break;
  }
  return r.skip_buffer != nullptr && n < 2 ? 0 : n;
}

Quick quick_way(const Context& cx, const Route& r) noexcept {
  if (r.n_quick == 0) return Quick::never;
  const auto first = static_cast<Protocol>(r.plan[0]);
  // A row that only an instance may have mostly isn't there.
  if (r.skip_buffer != nullptr || (r.on_type & mask_of(first)) == 0) return Quick::rows;
  if (first == Protocol::numpy && r.type == cx.ndarray) return Quick::numpy;
  if (first == Protocol::builtin) return Quick::builtin;
  if (first == Protocol::dlpack_exchange) return Quick::dlpack_exchange;
  if (first == Protocol::buffer) return Quick::buffer;
  return first == Protocol::dlpack ? Quick::dlpack : Quick::rows;
}

}  // namespace

Route* probe(Context& cx, PyTypeObject* type, const Policy& policy, Route* slot, Route* local) noexcept {
  // What follows asks sys.modules and libraries, whose code may let go of the type.
  const Ref held = Ref::borrow(reinterpret_cast<PyObject*>(type));
  numpy_seen(cx);
  array_seen(cx);
  Route r;
  std::memset(static_cast<void*>(&r), 0, sizeof r);
  ProtocolMask none = 0;
  r.on_type = offers_of(cx, type, &none);  // looks up on the type, which gives it a tag where it can have one
  r.type = type;
  r.order = policy.rows;
  r.policy = policy.traits();
  r.tag = type->tp_version_tag;
  const ProtocolMask offered = r.on_type;
  if (quirks::examine(cx, type, r) != Status::ok) return nullptr;
  if ((r.on_type & mask_of(Protocol::dlpack_exchange)) != 0) {
    Failure why;  // the row is kept: the adapter says why the table can't be used
    if (exchange_of(cx, type, &r.exchange, why) == Status::interrupted) return nullptr;
  }
  if (policy.lookup == Lookup::method) r.on_type &= ~uncallable_rows(cx, type);
  const ProtocolMask on_instance = instance_rows(type, offered);
  if (!has_instance_attributes(type)) r.traits |= trait_direct_methods;
  if ((r.on_type & mask_of(Protocol::dlpack)) != 0 && (r.traits & trait_direct_methods) != 0) {
    PyObject* method = lookup_on_type(type, cx.names.row_attribute[static_cast<int>(Protocol::dlpack)]);
    if (method != nullptr && (Py_TYPE(method)->tp_flags & Py_TPFLAGS_METHOD_DESCRIPTOR) != 0) r.dlpack_method = method;
  }
  plan(r, policy, on_instance, none);
  r.n_quick = quick_rows(r, policy);
  r.quick = quick_way(cx, r);
  // Code of others may have changed the type meanwhile. Nor is a plan kept in which None on the type had a say: for
  // which rows it ends a search isn't in the key.
  const bool cacheable = r.tag != 0 && r.tag == type->tp_version_tag && (none == 0 || !policy.none_ends);
  Route* target = cacheable && slot->pins == 0 ? slot : local;
  *target = r;
  return target;
}

bool engine_init(Context& cx) noexcept {
  cx.cache = static_cast<Route*>(std::aligned_alloc(alignof(Route), route_cache_size * sizeof(Route)));
  if (cx.cache == nullptr) {
    PyErr_NoMemory();
    return false;
  }
  std::memset(static_cast<void*>(cx.cache), 0, route_cache_size * sizeof(Route));
  if (!capsule_init(cx) || !dict_items_init(cx)) return false;
#if PY_VERSION_HEX < 0x030B0000
  PyType_Slot slots[] = {{0, nullptr}};
  PyType_Spec spec = {"anyarray._core._CacheSentinel", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
  cx.cache_sentinel = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (cx.cache_sentinel == nullptr) return false;
#endif
  return true;
}

void engine_clear(Context& cx) noexcept {
  std::free(cx.cache);
  cx.cache = nullptr;
  Py_CLEAR(cx.cache_sentinel);
  Py_CLEAR(cx.array_type);
}

}  // namespace anyarray
