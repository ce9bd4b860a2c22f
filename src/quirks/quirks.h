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

/// The table as a list of dicts (library, type, versions, effect, text, reference), for docs and tests.
PyObject* table(Context& cx) noexcept;

/// Frees what examine() and the hooks kept in cx.quirks.
void clear(Context& cx) noexcept;

}  // namespace anyarray::quirks
