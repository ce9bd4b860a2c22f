// SPDX-License-Identifier: Apache-2.0
// __arrow_c_array__ and __arrow_c_schema__ of an Array on the host. What is given holds a share of the array, or a copy
// of its elements; consumers may release it, and what they moved out of it, from any thread.
#include <cstdlib>

#include "anyarray/protocols/arrow.h"
#include "src/python/state.h"
#include "src/support/owned.h"

namespace anyarray {
namespace {

template <class Struct>
inline constexpr const char* name_of = sizeof(Struct) == sizeof(arrow::Schema) ? arrow::schema_name : arrow::array_name;

/// A capsule owns its struct, and what it holds if no consumer moved that out.
template <class Struct>
void capsule_gone(PyObject* capsule) {
  auto* s = static_cast<Struct*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (s->release != nullptr) s->release(s);
  std::free(s);
}

/// Takes what `made` holds. Null with an error set; then it was released.
template <class Struct>
PyObject* in_capsule(Struct& made) noexcept {
  auto* s = static_cast<Struct*>(std::malloc(sizeof(Struct)));
  PyObject* capsule = nullptr;
  if (s == nullptr) {
    PyErr_NoMemory();
  } else {
    *s = made;
    capsule = PyCapsule_New(s, name_of<Struct>, capsule_gone<Struct>);
  }
  if (capsule == nullptr) {
    made.release(&made);
    std::free(s);
  }
  return capsule;
}

PyObject* raise(Status s, const Reason& why) noexcept {
  if (s == Status::no_memory) return PyErr_NoMemory();
  PyErr_SetString(PyExc_BufferError, why.text);
  return nullptr;
}

void* take_memory(std::int64_t bytes) noexcept {
  void* memory = allocate_memory(bytes);
  if (memory == nullptr) PyErr_NoMemory();
  return memory;
}

void free_owned(const arrow::Values& v) noexcept {
  for (void* memory : v.owned) free_memory(memory);
}

/// The elements in memory of the export's own: row-major without gaps, bools packed. False with MemoryError set.
bool copy_values(const Descriptor& d, arrow::Values* out) noexcept {
  const std::int64_t n = d.size();
  const bool packs = d.dtype.code == TypeCode::bool_;
  const void* rows = d.data;
  void* copied = nullptr;
  if (!packs || !d.c_contiguous()) {
    copied = take_memory(d.nbytes());
    if (copied == nullptr) return false;
    copy_row_major(d, copied);
    rows = copied;
  }
  if (packs) {
    void* bits = take_memory((n + 7) / 8);
    if (bits != nullptr) arrow::pack_bools(rows, n, bits);
    free_memory(copied);
    if (bits == nullptr) return false;
    copied = bits;
  }
  out->data = out->owned[0] = copied;
  return true;
}

/// NaT is a time for NumPy and none for Arrow. False with MemoryError set.
bool mark_nat(const Descriptor& d, arrow::Values* out) noexcept {
  if (!d.dtype.is_time()) return true;
  const auto* ticks = static_cast<const std::int64_t*>(out->data);
  const std::int64_t n = d.size();
  out->nulls = arrow::find_nat(ticks, n, nullptr);
  if (out->nulls == 0) return true;
  out->owned[1] = take_memory((n + 7) / 8);
  if (out->owned[1] == nullptr) return false;
  arrow::find_nat(ticks, n, out->owned[1]);
  out->validity = out->owned[1];
  return true;
}

PyObject* array_capsule(ArrayObject* a, const Descriptor& d, const arrow::Form& form) noexcept {
  arrow::Values values{d.data, nullptr, 0, {nullptr, nullptr}, free_memory, nullptr, nullptr};
  arrow::Array made;
  Reason why;
  const bool there = (form.as_is || copy_values(d, &values)) && mark_nat(d, &values);
  if (there && form.as_is) {
    values.drop = [](void* array) { unshare_from_anywhere(static_cast<ArrayObject*>(array)); };
    values.what = a;
  }
  const Status s = there ? arrow::make_array(form, values, &made, &why) : Status::failed;
  if (s != Status::ok) {
    free_owned(values);
    return there ? raise(s, why) : nullptr;
  }
  if (form.as_is) share(a);
  return in_capsule(made);
}

PyObject* schema_capsule(const arrow::Form& form) noexcept {
  arrow::Schema made;
  Reason why;
  const Status s = arrow::make_schema(form, &made, &why);
  return s == Status::ok ? in_capsule(made) : raise(s, why);
}

/// The same elements in the same shape may be asked as lists or as tensors; every other wish would need a cast, which
/// the interface lets the producer leave to whoever asked.
arrow::Say wish_of(const Descriptor& d, const arrow::Type& asked) noexcept {
  if (asked.dtype != d.dtype || asked.ndim != d.ndim) return arrow::Say::as_it_lies;
  for (int i = 1; i < d.ndim; ++i) {
    if (asked.extent[asked.lies_as[i - 1]] != d.shape[i]) return arrow::Say::as_it_lies;
  }
  return asked.levels == d.ndim - 1 && !asked.permuted ? arrow::Say::lists
         : asked.levels == 1                           ? arrow::Say::tensors
                                                       : arrow::Say::as_it_lies;
}

/// False with an error set.
bool read_wish(PyObject* requested, const Descriptor& d, arrow::Say* out) noexcept {
  *out = arrow::Say::as_it_lies;
  if (requested == Py_None) return true;
  if (!PyCapsule_IsValid(requested, arrow::schema_name)) {
    PyErr_Format(PyExc_TypeError, "requested_schema is a capsule named \"%s\" or None, not %.200s", arrow::schema_name,
                 PyCapsule_CheckExact(requested) ? "another capsule" : Py_TYPE(requested)->tp_name);
    return false;
  }
  arrow::Type asked;
  const auto* schema = static_cast<const arrow::Schema*>(PyCapsule_GetPointer(requested, arrow::schema_name));
  if (arrow::decode_type(*schema, &asked, nullptr) == Status::ok) *out = wish_of(d, asked);
  return true;
}

bool encode(const Descriptor& d, arrow::Say say, arrow::Form* out) noexcept {
  Reason why;
  const Status s = arrow::encode(d, say, out, &why);
  if (s != Status::ok) raise(s, why);
  return s == Status::ok;
}

PyObject* arrow_c_array(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"requested_schema", nullptr};
  PyObject* requested = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|O:__arrow_c_array__", const_cast<char**>(names), &requested) == 0) {
    return nullptr;
  }
  ArrayObject* a = as_array(self);
  if (!can_export(a)) return nullptr;
  const Reading d(a);
  arrow::Say say;
  arrow::Form form;
  if (!read_wish(requested, *d, &say) || !encode(*d, say, &form)) return nullptr;
  const Ref schema(schema_capsule(form));
  const Ref array(schema ? array_capsule(a, *d, form) : nullptr);
  return array ? PyTuple_Pack(2, schema.get(), array.get()) : nullptr;
}

PyObject* arrow_c_schema(PyObject* self, PyObject*) {
  ArrayObject* a = as_array(self);
  if (!can_export(a)) return nullptr;
  const Reading d(a);
  arrow::Form form;
  return encode(*d, arrow::Say::as_it_lies, &form) ? schema_capsule(form) : nullptr;
}

}  // namespace

PyMethodDef array_arrow_methods[] = {
    {"__arrow_c_array__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(arrow_c_array)),
     METH_VARARGS | METH_KEYWORDS,
     "__arrow_c_array__(requested_schema=None): an Arrow schema and an Arrow array, in capsules."},
    {"__arrow_c_schema__", arrow_c_schema, METH_NOARGS,
     "The Arrow schema of what __arrow_c_array__ gives, in a capsule."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace anyarray
