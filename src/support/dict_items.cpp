// SPDX-License-Identifier: Apache-2.0
#include "src/support/dict_items.h"

namespace anyarray {
namespace {

/// Whether the keys of `dict`, made of `n` items in order of which the second was deleted, are as we read them.
bool is_as_known(PyObject* dict, PyObject* const* keys, Py_ssize_t n) noexcept {
  if (reinterpret_cast<PyDictObject*>(dict)->ma_values != nullptr) return false;
  const dict_items::Keys* found = dict_items::keys_of(dict);
  if (found->kind != dict_items::kind_strings || found->n_entries != n || found->log2_size > 16 ||
      found->log2_index_bytes > 18) {
    return false;
  }
  const dict_items::Entry* entries = dict_items::entries_of(found);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* value = i == 1 ? nullptr : Py_True;
    if (entries[i].value != value || (i != 1 && entries[i].key != keys[i])) return false;
  }
  return true;
}

}  // namespace

bool dict_items_init(Context& cx) noexcept {
  if (!dict_items::can_be_known) return true;
  // A small dict and one whose index table is larger; and a key that isn't a string makes another kind.
  PyObject* keys[200];
  Ref owner(PyList_New(0));
  for (int i = 0; i < 200; ++i) {
    Ref key(owner ? PyUnicode_FromFormat("k%d", i) : nullptr);
    if (!key || PyList_Append(owner.get(), key.get()) != 0) return false;
    keys[i] = key.get();
  }
  bool known = true;
  for (const Py_ssize_t n : {Py_ssize_t{4}, Py_ssize_t{200}}) {
    Ref dict(PyDict_New());
    for (Py_ssize_t i = 0; dict && i < n; ++i) {
      if (PyDict_SetItem(dict.get(), keys[i], Py_True) != 0) return false;
    }
    if (!dict || PyDict_DelItem(dict.get(), keys[1]) != 0) return false;
    known = known && is_as_known(dict.get(), keys, n);
    if (PyDict_SetItem(dict.get(), Py_None, Py_True) != 0) return false;
    known = known && dict_items::keys_of(dict.get())->kind != dict_items::kind_strings;
  }
  cx.knows_dicts = known;
  return true;
}

}  // namespace anyarray
