// SPDX-License-Identifier: Apache-2.0
// The life of an Array: memory from a short list of freed ones, the type that fits what its dtype and device
// can serve, release, collection. The types are made here from one table.
#include <cstddef>
#include <cstring>

#include "anyarray/protocols/pep3118.h"
#include "anyarray/protocols/typestr.h"
#include "src/python/state.h"

#include <structmember.h>  // after Python.h; CPython 3.10 and 3.11 have T_PYSSIZET there

namespace anyarray {
namespace {

struct FamilyRow {
  std::uint8_t allowed;                ///< capabilities that the device lets its arrays have
  const char* names[capability_sets];  ///< by capability set; null: no dtype has it, or the device doesn't
};
// Rows in the order of DeviceFamily. Where the host can't read, the plain name means DLPack.
constexpr FamilyRow families[device_families] = {
    {can_buffer | can_interface | can_dlpack,
     {"anyarray.HostArrayOpaque", "anyarray.HostArrayBuffer", "anyarray.HostArrayInterface",
      "anyarray.HostArrayNoDlpack", "anyarray.HostArrayNoBuffer", nullptr, nullptr, "anyarray.HostArray"}},
    {can_buffer | can_interface | can_dlpack,
     {"anyarray.PinnedArrayOpaque", "anyarray.PinnedArrayBuffer", "anyarray.PinnedArrayInterface",
      "anyarray.PinnedArrayNoDlpack", "anyarray.PinnedArrayNoBuffer", nullptr, nullptr, "anyarray.PinnedArray"}},
    {can_dlpack, {"anyarray.CudaArrayOpaque", nullptr, nullptr, nullptr, "anyarray.CudaArray"}},
    {can_dlpack, {"anyarray.RocmArrayOpaque", nullptr, nullptr, nullptr, "anyarray.RocmArray"}},
    {can_dlpack, {"anyarray.OneApiArrayOpaque", nullptr, nullptr, nullptr, "anyarray.OneApiArray"}},
    {can_dlpack, {"anyarray.OtherArrayOpaque", nullptr, nullptr, nullptr, "anyarray.OtherArray"}},
};

DeviceFamily family_of(DeviceType t) noexcept {
  switch (t) {
    case DeviceType::cpu:
      return DeviceFamily::host;
    case DeviceType::cuda_host:
    case DeviceType::rocm_host:
    case DeviceType::cuda_managed:
      return DeviceFamily::pinned;
    case DeviceType::cuda:
      return DeviceFamily::cuda;
    case DeviceType::rocm:
      return DeviceFamily::rocm;
    case DeviceType::oneapi:
      return DeviceFamily::oneapi;
    default:
      return DeviceFamily::other;
  }
}

/// Whether consumers may be led to the buffer first. NumPy, which prefers it, reads "3x" as a struct without
/// fields and fails at "Ze" for good; without the slot it asks for the dict or __array__, which lose nothing.
bool has_safe_format(DType d) noexcept {
  if (const InternedType* t = interned_type(d); t != nullptr && t->ndim > 0) d = t->base;
  return d.code != TypeCode::void_ && !(d.code == TypeCode::complex && d.bits == 32);
}

/// What a dtype can be served over by codecs, whatever the device.
std::uint8_t capabilities_of_dtype(DType d) noexcept {
  std::uint8_t caps = 0;
  char text[16384];
  if (!d.packed() && has_safe_format(d) && pep3118::encode_format(d, text, sizeof text, nullptr) == Status::ok)
    caps |= can_buffer;
  if (!d.packed() && typestr::encode(d, text, sizeof text, nullptr) == Status::ok && has_descr_form(d)) {
    caps |= can_interface;
  }
  dlpack::DataType t;
  std::uint64_t flags = 0;
  if (dlpack::encode_dtype(d, &t, &flags, nullptr) == Status::ok) caps |= can_dlpack;
  // What DLPack carries has both of the others, or neither (bfloat16, float8, complex32, lanes, sub-byte).
  return caps == (can_buffer | can_interface | can_dlpack) || (caps & can_dlpack) == 0 ? caps
                                                                                       : std::uint8_t{can_dlpack};
}

inline std::uint8_t capabilities(State& s, DType d) noexcept {
  const auto code = static_cast<unsigned>(d.code);
  if (__builtin_expect(d.attributes == 0 && d.count == 1 && code < scalar_codes && d.bits <= 128 && d.bits % 8 == 0,
                       1)) {
    return s.scalar_capabilities[code][d.bits / 8];
  }
  std::uint64_t key;
  std::memcpy(&key, &d, sizeof key);
  KnownCapabilities& known = s.known_capabilities[(key ^ key >> 8 ^ key >> 32) % known_capabilities_max];
  if (!known.filled || known.dtype != d) known = {d, true, capabilities_of_dtype(d)};
  return known.capabilities;
}

inline PyTypeObject* type_for(State& s, const Descriptor& d) noexcept {
  const DeviceFamily family =
      __builtin_expect(d.device.type == DeviceType::cpu, 1) ? DeviceFamily::host : family_of(d.device.type);
  const auto f = static_cast<unsigned>(family);
  return s.array_types[f][capabilities(s, d.dtype) & families[f].allowed];
}

/// Gives the borrow back, wherever it lies. Keeps an exception that is set.
void let_memory_go(ArrayObject* a) noexcept {
  if (a->holder == nullptr && !a->borrow.held()) return;
  const auto go = [a] {
    if (Holder* h = a->holder) {
      a->holder = nullptr;
      drop(h);
    } else {
      release(a->borrow);
    }
  };
  apart_from_errors(go);
}

void free_memory(State& s, ArrayObject* a) noexcept {
  if (s.n_free_arrays < free_arrays_max && !s.closed) {
    a->next = s.free_arrays;
    s.free_arrays = a;
    ++s.n_free_arrays;
    return;
  }
  // The collector asks the type for the size of the head; our own may be gone already, any collected type will do.
  Py_SET_TYPE(reinterpret_cast<PyObject*>(a), &PyTuple_Type);
  PyObject_GC_Del(a);
}

void array_finish(State& s, ArrayObject* a) noexcept {
  PyTypeObject* type = Py_TYPE(a);
  let_memory_go(a);
  Py_XDECREF(a->dtype);
  --s.arrays;
  free_memory(s, a);
  Py_DECREF(type);
}

void array_dealloc(PyObject* self) {
  ArrayObject* a = as_array(self);
  State& s = *a->state;
  PyObject_GC_UnTrack(self);
  if (a->weakrefs != nullptr) PyObject_ClearWeakRefs(self);
  if (s.dealloc_depth >= dealloc_depth_max) {
    a->next = s.waiting;
    s.waiting = a;
    return;
  }
  ++s.dealloc_depth;
  array_finish(s, a);
  while (s.dealloc_depth == 1 && s.waiting != nullptr) {
    ArrayObject* next = s.waiting;
    s.waiting = next->next;
    array_finish(s, next);
  }
  if (--s.dealloc_depth == 0 && s.closed) state_collect(&s);
}

/// The reference that a borrow holds beside its owner, where the row's token starts with one (see the adapters).
PyObject* token_object(const Borrow& b) noexcept {
  switch (static_cast<Protocol>(b.protocol)) {
    case Protocol::buffer:
      return static_cast<const Py_buffer*>(static_cast<const void*>(b.token))->obj;
    case Protocol::array_interface:
    case Protocol::array_struct:
    case Protocol::cuda_array_interface:
    case Protocol::sycl_usm_array_interface:
    case Protocol::array_method:
      return static_cast<PyObject*>(b.token[0]);
    default:
      return nullptr;
  }
}

int array_traverse(PyObject* self, visitproc visit, void* arg) {
  ArrayObject* a = as_array(self);
  Py_VISIT(Py_TYPE(self));
  // A borrow that consumers outside share isn't ours alone to offer up.
  if (a->holder != nullptr && a->holder->references.load(std::memory_order_acquire) != 1) return 0;
  const Borrow& b = borrow_of(a);
  if (b.held()) {
    Py_VISIT(static_cast<PyObject*>(b.owner));
    Py_VISIT(token_object(b));
    if (b.protocol == static_cast<std::uint8_t>(Protocol::array_interface) && b.token[1] != nullptr) {
      Py_VISIT(static_cast<const Py_buffer*>(b.token[1])->obj);
    }
  }
  return 0;
}

int array_clear(PyObject* self) {
  ArrayObject* a = as_array(self);
  if (a->exports == 0 && a->readers == 0) {
    a->released = true;
    let_memory_go(a);
  }
  return 0;
}

PyTypeObject* make_type(PyObject* module, PyTypeObject* base, const char* name, const char* doc, std::uint8_t caps,
                        bool is_base) noexcept {
  static PyMemberDef members[] = {
      {"__weaklistoffset__", T_PYSSIZET, offsetof(ArrayObject, weakrefs), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  PyType_Slot slots[16];
  int n = 0;
  const auto slot = [&](int id, void* value) { slots[n++] = {id, value}; };
  slot(Py_tp_doc, const_cast<char*>(doc));
  slot(Py_tp_dealloc, reinterpret_cast<void*>(array_dealloc));
  slot(Py_tp_traverse, reinterpret_cast<void*>(array_traverse));
  slot(Py_tp_clear, reinterpret_cast<void*>(array_clear));
  if (is_base) {
    slot(Py_tp_members, members);
    slot(Py_tp_getset, array_getset);
    slot(Py_tp_methods, array_methods);
    slot(Py_tp_repr, reinterpret_cast<void*>(array_repr));
    slot(Py_mp_length, reinterpret_cast<void*>(array_length));
  }
  if ((caps & can_buffer) != 0) {
    slot(Py_bf_getbuffer, reinterpret_cast<void*>(array_getbuffer));
    slot(Py_bf_releasebuffer, reinterpret_cast<void*>(array_releasebuffer));
  }
  if ((caps & can_interface) != 0) slot(Py_tp_getset, array_interface_getset);
  if ((caps & can_dlpack) != 0) slot(Py_tp_methods, array_dlpack_methods);
  slot(0, nullptr);
  unsigned flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;
  if (is_base) flags |= Py_TPFLAGS_BASETYPE;
  PyType_Spec spec = {name, static_cast<int>(sizeof(ArrayObject)), 0, flags, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &spec, reinterpret_cast<PyObject*>(base)));
}

}  // namespace

bool array_types_init(State& s, PyObject* module) noexcept {
  s.array_base = make_type(module, nullptr, "anyarray.Array",
                           "An array that was taken over an exchange protocol. Made by anyarray.view().\n\n"
                           "It owns no memory; it keeps what it was taken from alive until release() or its end.",
                           0, true);
  if (s.array_base == nullptr) return false;
  for (int f = 0; f < device_families; ++f) {
    for (int c = 0; c < capability_sets; ++c) {
      if (families[f].names[c] == nullptr) continue;
      s.array_types[f][c] = make_type(module, s.array_base, families[f].names[c],
                                      "An Array type; what its device and dtype can't serve isn't on it.",
                                      static_cast<std::uint8_t>(c), false);
      if (s.array_types[f][c] == nullptr) return false;
    }
  }
  // All subtypes there are exist now.
  s.array_base->tp_flags &= ~Py_TPFLAGS_BASETYPE;
  for (unsigned code = 0; code < scalar_codes; ++code) {
    for (unsigned bytes = 1; bytes < scalar_sizes; ++bytes) {
      s.scalar_capabilities[code][bytes] = capabilities_of_dtype(make_dtype(static_cast<TypeCode>(code), bytes * 8));
    }
  }
  return PyModule_AddObjectRef(module, "Array", reinterpret_cast<PyObject*>(s.array_base)) == 0;
}

ArrayObject* array_reserve(State& s) noexcept {
  ArrayObject* a = s.free_arrays;
  if (__builtin_expect(a != nullptr, 1)) {
    s.free_arrays = a->next;
    --s.n_free_arrays;
    a->state = nullptr;  // tells array_adopt that the object isn't initialised
    return a;
  }
  a = PyObject_GC_New(ArrayObject, s.array_base);
  if (a != nullptr) a->state = &s;
  return a;
}

PyObject* array_adopt(State& s, ArrayObject* a) noexcept {
  PyObject* self = reinterpret_cast<PyObject*>(a);
  PyTypeObject* type = type_for(s, a->borrow.desc);
  if (a->state == nullptr) {
    PyObject_Init(self, type);
  } else {
    Py_INCREF(type);
    Py_SET_TYPE(self, type);
    Py_DECREF(s.array_base);
  }
  a->weakrefs = nullptr;
  a->state = &s;
  a->holder = nullptr;
  a->dtype = nullptr;
  a->exports = 0;
  a->readers = 0;
  a->released = false;
  a->exposed = false;
  ++s.arrays;
  PyObject_GC_Track(self);
  return self;
}

void array_discard(State& s, ArrayObject* a) noexcept {
  if (a->state != nullptr) {
    PyObject_GC_Del(a);
    Py_DECREF(s.array_base);
    return;
  }
  free_memory(s, a);
}

void array_free_all(State& s) noexcept {
  while (ArrayObject* a = s.free_arrays) {
    s.free_arrays = a->next;
    Py_SET_TYPE(reinterpret_cast<PyObject*>(a), &PyTuple_Type);
    PyObject_GC_Del(a);
  }
  s.n_free_arrays = 0;
}

const Descriptor* array_descriptor(ArrayObject* a) noexcept {
  if (__builtin_expect(a->released, 0)) {
    PyErr_Format(PyExc_ValueError, "this %s was released: take a new view of the object it came from",
                 Py_TYPE(a)->tp_name);
    return nullptr;
  }
  return &borrow_of(a).desc;
}

DTypeObject* array_dtype(ArrayObject* a) noexcept {
  if (a->dtype == nullptr) {
    const Descriptor* d = array_descriptor(a);
    if (d == nullptr) return nullptr;
    a->dtype = dtype_object(*a->state, d->dtype);
  }
  return reinterpret_cast<DTypeObject*>(a->dtype);
}

Holder* array_share(ArrayObject* a) noexcept {
  if (a->holder == nullptr) {
    // The embedded extents stay where they are: buffers that were given out point at them.
    a->holder = make_holder(a->borrow);
    if (a->holder == nullptr) PyErr_NoMemory();
  }
  return a->holder;
}

DeviceFamily device_family(DeviceType t) noexcept { return family_of(t); }

/// Array.release(): marks the array as released and gives the memory back, unless someone relies on this object.
PyObject* array_release(PyObject* self, PyObject*) {
  ArrayObject* a = as_array(self);
  if (a->released) Py_RETURN_NONE;
  if (a->exports > 0) {
    return PyErr_Format(PyExc_BufferError, "%d buffer%s of this array %s still in use: release %s first", a->exports,
                        a->exports == 1 ? "" : "s", a->exports == 1 ? "is" : "are", a->exports == 1 ? "it" : "them");
  }
  if (a->readers > 0) {
    PyErr_SetString(PyExc_BufferError, "this array is being read by a call that hasn't ended: release it afterwards");
    return nullptr;
  }
  a->released = true;
  // Whoever read __array_interface__ keeps this object and nothing else: the memory stays until its end.
  if (!a->exposed) let_memory_go(a);
  Py_RETURN_NONE;
}

}  // namespace anyarray
