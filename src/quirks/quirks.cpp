// SPDX-License-Identifier: Apache-2.0
// The table of quirks: which rows hold for a type, and what follows. The libraries' files say how.
#include <cstdlib>
#include <cstring>

#include "src/quirks/hooks.h"

namespace anyarray::quirks {
namespace {

struct Row {
  const char* id;
  const char* library;
  const char* type;
  const char* since;
  const char* before;
  const char* effect;
  const char* text;
  const char* reference;
  Apply apply;
  Before asked_before;
  After asked_after;
};

constexpr Row rows[] = {
#define ANYARRAY_QUIRK(id, library, type, since, before, effect, applied, asked_before, asked_after, text, reference) \
  {#id, library, type, since, before, effect, text, reference, applied, asked_before, asked_after},
#include "src/quirks/quirks.def"
#undef ANYARRAY_QUIRK
};
constexpr std::uint32_t row_count = sizeof rows / sizeof rows[0];

/// The name of the class without its module.
const char* class_name(PyTypeObject* type) noexcept {
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) {
    PyObject* name = reinterpret_cast<PyHeapTypeObject*>(type)->ht_qualname;
    const char* text = name != nullptr ? PyUnicode_AsUTF8(name) : nullptr;
    if (text == nullptr) PyErr_Clear();
    return text;
  }
  return short_name(type);
}

/// -1, 0 or 1. Numbers between dots are compared as numbers; what follows the first other sign ("+cpu", "rc1")
/// isn't looked at, so "0.11rc1" counts as 0.11.
int compare_versions(const char* a, const char* b) noexcept {
  for (;;) {
    char* end_a = nullptr;
    char* end_b = nullptr;
    const unsigned long x = std::strtoul(a, &end_a, 10);
    const unsigned long y = std::strtoul(b, &end_b, 10);
    if (x != y) return x < y ? -1 : 1;
    if (*end_a != '.' && *end_b != '.') return 0;
    a = *end_a == '.' ? end_a + 1 : "";
    b = *end_b == '.' ? end_b + 1 : "";
  }
}

bool version_fits(const Row& row) noexcept {
  if (row.since[0] == '\0' && row.before[0] == '\0') return true;
  PyObject* version = loaded(row.library, "__version__");
  const char* text = version != nullptr && PyUnicode_Check(version) ? PyUnicode_AsUTF8(version) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    return false;
  }
  if (row.since[0] != '\0' && compare_versions(text, row.since) < 0) return false;
  return row.before[0] == '\0' || compare_versions(text, row.before) < 0;
}

}  // namespace

bool is_of(PyTypeObject* type, const char* library) noexcept {
  const std::size_t n = std::strlen(library);
  const char* module = std::strchr(type->tp_name, '.') != nullptr ? type->tp_name : "builtins";
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0) {
    PyObject* name = type->tp_dict != nullptr ? PyDict_GetItemString(type->tp_dict, "__module__") : nullptr;
    module = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
    if (module == nullptr) {
      PyErr_Clear();
      return false;
    }
  }
  if (std::strncmp(module, library, n) != 0) return false;
  return module[n] == '.' || module[n] == '\0';
}

PyObject* give_up() noexcept {
  if (PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError) &&
      !PyErr_ExceptionMatches(PyExc_RecursionError)) {
    PyErr_Clear();
  }
  return nullptr;
}

State* state(Context& cx) noexcept {
  if (cx.quirks == nullptr) {
    cx.quirks = PyMem_Calloc(1, sizeof(State));
    if (cx.quirks == nullptr) PyErr_NoMemory();
  }
  return static_cast<State*>(cx.quirks);
}

bool find_flag(PyTypeObject* owner, const char* name, bool is_method, Flag& flag) noexcept {
  flag.is_method = is_method;
  if (flag.name == nullptr) flag.name = PyUnicode_InternFromString(name);
  if (flag.name == nullptr) return false;
  PyObject* found = owner != nullptr ? lookup_on_type(owner, flag.name) : nullptr;
  if (found == nullptr) return true;
  if (!is_method && Py_TYPE(found) == &PyGetSetDescr_Type) {
    auto* descriptor = reinterpret_cast<PyGetSetDescrObject*>(found);
    if (!PyType_IsSubtype(owner, descriptor->d_common.d_type)) return true;
    flag.get = descriptor->d_getset->get;
    flag.closure = descriptor->d_getset->closure;
    if (flag.get == nullptr) return true;
  } else if (is_method && Py_TYPE(found) == &PyMethodDescr_Type) {
    auto* descriptor = reinterpret_cast<PyMethodDescrObject*>(found);
    if (!PyType_IsSubtype(owner, descriptor->d_common.d_type) || descriptor->d_method->ml_flags != METH_NOARGS) {
      return true;
    }
    flag.call = descriptor->d_method->ml_meth;
  } else {
    return true;
  }
  Py_INCREF(found);
  flag.descriptor = found;
  return true;
}

Status mark_readonly(Context&, const Match&, Route& route) noexcept {
  route.traits |= trait_readonly;
  return Status::ok;
}

Status mark_dict_writable(Context&, const Match&, Route& route) noexcept {
  route.traits |= trait_dict_writable;
  return Status::ok;
}

Status mark_may_copy(Context&, const Match&, Route& route) noexcept {
  route.traits |= trait_may_copy;
  return Status::ok;
}

Status drop_dlpack(Context&, const Match&, Route& route) noexcept {
  route.on_type &= ~mask_of(Protocol::dlpack);
  return Status::ok;
}

namespace {

/// Takes a row away from the library's class, and from subclasses that don't override it.
Status drop_own(Context& cx, const Match& match, Protocol row, Route& route) noexcept {
  if (inherits(cx, match, row)) route.on_type &= ~mask_of(row);
  return Status::ok;
}

}  // namespace

Status drop_exchange(Context&, const Match&, Route& route) noexcept {
  route.on_type &= ~mask_of(Protocol::dlpack_exchange);
  return Status::ok;
}

Status drop_array_method(Context& cx, const Match& match, Route& route) noexcept {
  return drop_own(cx, match, Protocol::array_method, route);
}

Status drop_arrow_stream(Context& cx, const Match& match, Route& route) noexcept {
  return drop_own(cx, match, Protocol::arrow_stream, route);
}

Status drop_buffer(Context&, const Match&, Route& route) noexcept {
  route.on_type &= ~mask_of(Protocol::buffer);
  return Status::ok;
}

Status hook_ctypes(Context&, const Match&, Route& route) noexcept {
  route.buffer_dtype = ctypes_dtype;
  return Status::ok;
}

Status examine(Context& cx, PyTypeObject* type, Route& route) noexcept {
  PyObject* mro = type->tp_mro;
  if (mro == nullptr || !PyTuple_Check(mro)) return Status::ok;
  const Ref held_mro = Ref::borrow(mro);  // a look into a class's dict can run code, which can change the bases
  PyTypeObject* bases[row_count] = {};
  bool any = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    if (!PyType_Check(PyTuple_GET_ITEM(mro, i))) continue;
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    const char* name = class_name(base);
    if (name == nullptr) continue;
    for (std::uint32_t r = 0; r < row_count; ++r) {
      if (bases[r] != nullptr || std::strcmp(name, rows[r].type) != 0 || !is_of(base, rows[r].library)) continue;
      bases[r] = base;
      any = true;
    }
  }
  if (!any) return Status::ok;
  for (std::uint32_t r = 0; r < row_count; ++r) {
    if (bases[r] == nullptr || !version_fits(rows[r])) continue;
    if (rows[r].asked_after != nullptr && rows[r].asked_after != route.guard_after) route.traits &= ~trait_plain_passes;
    if (rows[r].apply != nullptr) {
      const Status s = rows[r].apply(cx, Match{type, bases[r]}, route);
      if (s != Status::ok) return s;
    }
    if (rows[r].asked_before != nullptr) route.guard_before = rows[r].asked_before;
    if (rows[r].asked_after != nullptr) route.guard_after = rows[r].asked_after;
  }
  return Status::ok;
}

PyObject* table(Context&) noexcept {
  Ref list(PyList_New(0));
  for (const Row& row : rows) {
    if (!list) return nullptr;
    const bool both = row.since[0] != '\0' && row.before[0] != '\0';
    Ref versions(PyUnicode_FromFormat("%s%s%s%s%s", row.since[0] != '\0' ? ">=" : "", row.since, both ? "," : "",
                                      row.before[0] != '\0' ? "<" : "", row.before));
    if (!versions) return nullptr;
    Ref item(Py_BuildValue("{s:s,s:s,s:s,s:O,s:s,s:s,s:s}", "id", row.id, "library", row.library, "type", row.type,
                           "versions", versions.get(), "effect", row.effect, "text", row.text, "reference",
                           row.reference));
    if (!item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

void clear(Context& cx) noexcept {
  auto* s = static_cast<State*>(std::exchange(cx.quirks, nullptr));
  if (s == nullptr) return;
  for (Flag* flag : {&s->requires_grad, &s->is_neg, &s->is_conj, &s->is_dense, &s->stop_gradient}) {
    Py_XDECREF(flag->name);
    Py_XDECREF(flag->descriptor);
  }
  Py_XDECREF(s->torch_tensor);
  Py_XDECREF(s->paddle_tensor);
  Py_XDECREF(s->jax_aval);
  Py_XDECREF(s->jax_sharding);
  Py_XDECREF(s->jax_shard);
  Py_XDECREF(s->jax_export);
  Py_XDECREF(s->jax_single_device);
  Py_XDECREF(s->to_dlpack_versioned);
  Py_XDECREF(s->dtype_name);
  for (auto& entry : s->jax_dtypes) Py_XDECREF(entry.dtype);
  PyMem_Free(s);
}

}  // namespace anyarray::quirks
