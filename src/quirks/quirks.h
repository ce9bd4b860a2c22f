// SPDX-License-Identifier: Apache-2.0
// What anyarray knows about single libraries, in one table with version ranges (quirks.def), and the code that
// acts on it. The engine calls these; no other layer names a library. Private entries of a library are used
// here only, looked up at run time, with the public protocol behind them.
#pragma once
#include "src/support/context.h"

namespace anyarray::quirks {

/// Fills a route's traits and hooks for its type and takes rows away that lie for it (`on_type`). Called once
/// a type, on a cache miss, after on_type is known. May import nothing: a library whose type is met is loaded.
/// ok, or interrupted with an exception set.
Status examine(Context& cx, PyTypeObject* type, Route& route) noexcept;

/// Addresses of real allocations on 64-bit systems lie above, unless a program was linked at a low address.
inline constexpr std::uintptr_t low_address = std::uintptr_t{1} << 40;

/// Whether the memory is at an address where memory is, and holds integers or bools, for which no library keeps a sign,
/// a conjugation or a gradient elsewhere.
inline bool is_plain(const Descriptor& d) noexcept {
  const TypeCode code = d.dtype.code;
  return (code <= TypeCode::uint || code == TypeCode::bool_) && reinterpret_cast<std::uintptr_t>(d.data) >= low_address;
}

/// Whether the route's guard has nothing to ask of what was decoded.
inline bool needs_no_guard(const Route& route, Protocol row, const Descriptor& d) noexcept {
  if (route.guard_after == nullptr) return true;
  // __array__ may have made the memory up
  return (route.traits & trait_plain_passes) != 0 && row != Protocol::array_method && is_plain(d);
}

/// The table as a list of dicts (library, type, versions, effect, text, reference), for docs and tests.
PyObject* table(Context& cx) noexcept;

/// Frees what examine() and the hooks kept in cx.quirks.
void clear(Context& cx) noexcept;

}  // namespace anyarray::quirks
