// SPDX-License-Identifier: Apache-2.0
// From a type to its route: the cache, and the probe behind it. Used by take.cpp alone.
#pragma once
#include "src/engine/engine.h"

namespace anyarray {

/// Asks a type once which rows it has, and plans them by the policy. Fills the cache slot for it, or `local` where
/// the type can't be cached (no version tag) or the slot is in use. Null with an exception set.
Route* probe(Context& cx, PyTypeObject* type, const Policy& policy, Route* slot, Route* local) noexcept;

/// Where the cache keeps a type under a policy.
inline Route* slot_of(Context& cx, PyTypeObject* type, const Policy& policy) noexcept {
  const std::uint64_t mixed = (policy.rows ^ policy.traits()) * 0x9E3779B97F4A7C15u >> 32;
  return &cx.cache[(reinterpret_cast<std::uintptr_t>(type) >> 4 ^ mixed) & (route_cache_size - 1)];
}

/// CPython 3.10's sys._clear_type_cache() hands tags out anew, so that a changed type may carry its old one. Then
/// the tag of a type of ours, which nobody else looks at, has gone: the cache is emptied.
inline void check_sentinel([[maybe_unused]] Context& cx) noexcept {
#if PY_VERSION_HEX < 0x030B0000
  if (__builtin_expect(cx.cache_sentinel->tp_version_tag != cx.cache_sentinel_tag, 0)) {
    for (int i = 0; i < route_cache_size; ++i) cx.cache[i].type = nullptr;
    lookup_on_type(cx.cache_sentinel, cx.names.copy);
    cx.cache_sentinel_tag = cx.cache_sentinel->tp_version_tag;
  }
#endif
}

/// The route of a type under a policy, where the cache knows it.
inline Route* find_cached(Context& cx, PyTypeObject* type, const Policy& policy) noexcept {
  check_sentinel(cx);
  Route* slot = slot_of(cx, type, policy);
  const bool hit = slot->type == type && slot->tag == type->tp_version_tag && slot->order == policy.rows &&
                   slot->policy == policy.traits();
  return __builtin_expect(hit, 1) ? slot : nullptr;
}

/// The route of a type under a policy: from the cache when type, tag and policy are the same, else probed.
inline Route* find_route(Context& cx, PyTypeObject* type, const Policy& policy, Route* local) noexcept {
  Route* cached = find_cached(cx, type, policy);
  return cached != nullptr ? cached : probe(cx, type, policy, slot_of(cx, type, policy), local);
}

}  // namespace anyarray
