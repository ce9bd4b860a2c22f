// SPDX-License-Identifier: Apache-2.0
// One pass over a dict without a call an item: PyDict_Next costs more than all the rest of an interface dict. The
// table of a dict whose keys are all exact strings is read in place on CPython 3.11 to 3.13, if dict_items_init() found
// it laid out as here; every other dict takes PyDict_Next.
#pragma once
#include <cstdint>

#include "src/support/context.h"

namespace anyarray {
namespace dict_items {

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED)
inline constexpr bool can_be_known = true;
#else
inline constexpr bool can_be_known = false;
#endif

/// The start of a dict's keys; the index table follows, and behind it the entries.
struct Keys {
  Py_ssize_t references;
  std::uint8_t log2_size;
  std::uint8_t log2_index_bytes;
  std::uint8_t kind;
  std::uint32_t version;
  Py_ssize_t usable;
  Py_ssize_t n_entries;
};
inline constexpr std::uint8_t kind_strings = 1;

struct Entry {
  PyObject* key;
  PyObject* value;  ///< null where the item was deleted
};

inline const Keys* keys_of(PyObject* dict) noexcept {
  return static_cast<const Keys*>(static_cast<void*>(reinterpret_cast<PyDictObject*>(dict)->ma_keys));
}
inline const Entry* entries_of(const Keys* keys) noexcept {
  const char* indices = reinterpret_cast<const char*>(keys + 1);
  return reinterpret_cast<const Entry*>(indices + (std::size_t{1} << keys->log2_index_bytes));
}

}  // namespace dict_items

/// Calls visit(key, value), both borrowed, for every item in order. Precondition: PyDict_Check(dict), and `visit` runs
/// no code that can change it.
template <class Visit>
__attribute__((always_inline)) inline void for_each_item(const Context& cx, PyObject* dict, Visit&& visit) noexcept {
  const dict_items::Keys* keys = dict_items::keys_of(dict);
  if (__builtin_expect(cx.knows_dicts && reinterpret_cast<PyDictObject*>(dict)->ma_values == nullptr &&
                           keys->kind == dict_items::kind_strings,
                       1)) {
    const dict_items::Entry* const entries = dict_items::entries_of(keys);
    for (Py_ssize_t i = 0; i < keys->n_entries; ++i) {
      if (__builtin_expect(entries[i].value != nullptr, 1)) visit(entries[i].key, entries[i].value);
    }
    return;
  }
  Py_ssize_t position = 0;
  PyObject *key = nullptr, *value = nullptr;
  while (PyDict_Next(dict, &position, &key, &value) != 0) visit(key, value);
}

/// Looks whether dicts are laid out as above. False with an exception set.
bool dict_items_init(Context& cx) noexcept;

}  // namespace anyarray
