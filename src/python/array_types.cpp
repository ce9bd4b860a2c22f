// SPDX-License-Identifier: Apache-2.0
// The types of Arrays, made from one table: what a device and a dtype can't serve isn't on the type, so that hasattr,
// dir, isinstance of protocols, and consumers that look at the type see the truth.
#include <cstddef>
#include <cstring>

#include "anyarray/protocols/arrow.h"
#include "anyarray/protocols/pep3118.h"
#include "anyarray/protocols/typestr.h"
#include "src/python/state.h"

#include <structmember.h>  // after Python.h; CPython 3.10 and 3.11 have T_PYSSIZET there

namespace anyarray {
namespace {

/// What each family's device lets its arrays have, in the order of DeviceFamily. Memory of CUDA, managed memory among
/// it, has the CUDA interface; libraries for ROCm (torch, CuPy) give and take the same dict there.
constexpr std::uint8_t host_capabilities = can_buffer | can_interface | can_struct | can_dlpack | can_arrow;
constexpr std::uint8_t allowed[device_families] = {
    host_capabilities, host_capabilities, host_capabilities | can_cuda, can_dlpack | can_cuda, can_dlpack | can_cuda,
    can_dlpack,        can_dlpack};

/// What dtypes can be served over, and what the types are called then. A device takes away what it doesn't allow.
struct DTypeRow {
  std::uint8_t capabilities;
  const char* names[device_families];  ///< null: another row has this type
};
#define ANYARRAY_HOST(suffix) "anyarray.HostArray" suffix, "anyarray.PinnedArray" suffix, "anyarray.ManagedArray" suffix
constexpr DTypeRow dtype_rows[] = {
    // real numbers, bools
    {can_buffer | can_interface | can_struct | can_dlpack | can_cuda | can_arrow,
     {ANYARRAY_HOST(""), "anyarray.CudaArray", "anyarray.RocmArray", "anyarray.OneApiArray", "anyarray.OtherArray"}},
    // complex ones
    {can_buffer | can_interface | can_struct | can_dlpack | can_cuda,
     {ANYARRAY_HOST("NoArrow"), nullptr, nullptr, nullptr, nullptr}},
    // bfloat16, float8, complex32, lanes, sub-byte
    {can_dlpack,
     {ANYARRAY_HOST("NoBuffer"), "anyarray.CudaArrayNoInterface", "anyarray.RocmArrayNoInterface", nullptr, nullptr}},
    // bytes
    {can_buffer | can_interface | can_struct | can_cuda | can_arrow,
     {ANYARRAY_HOST("NoDlpack"), nullptr, nullptr, nullptr, nullptr}},
    // other byte order, long double, most structs
    {can_buffer | can_interface | can_struct | can_cuda,
     {ANYARRAY_HOST("NoDlpackNoArrow"), "anyarray.CudaArrayInterface", "anyarray.RocmArrayInterface", nullptr,
      nullptr}},
    // UCS4 text, items too large for the struct's int
    {can_buffer | can_interface | can_cuda, {ANYARRAY_HOST("NoStruct"), nullptr, nullptr, nullptr, nullptr}},
    // void, structs with times
    {can_interface | can_struct | can_cuda, {ANYARRAY_HOST("Interfaces"), nullptr, nullptr, nullptr, nullptr}},
    // times, whose unit the struct can't say; of Arrow's units
    {can_interface | can_cuda | can_arrow, {ANYARRAY_HOST("InterfaceArrow"), nullptr, nullptr, nullptr, nullptr}},
    // and of others
    {can_interface | can_cuda, {ANYARRAY_HOST("Interface"), nullptr, nullptr, nullptr, nullptr}},
    // structs that no descr can say, sub-arrays
    {can_buffer, {ANYARRAY_HOST("Buffer"), nullptr, nullptr, nullptr, nullptr}},
    {0,
     {ANYARRAY_HOST("Opaque"), "anyarray.CudaArrayOpaque", "anyarray.RocmArrayOpaque", "anyarray.OneApiArrayOpaque",
      "anyarray.OtherArrayOpaque"}},
};
#undef ANYARRAY_HOST

/// Whether consumers may be led to the buffer first. NumPy, which prefers it, reads "3x" as a struct without
/// fields and fails at "Ze" for good; without the slot it asks for the dict or __array__, which lose nothing.
bool has_safe_format(DType d) noexcept {
  if (const InternedType* t = interned_type(d); t != nullptr && t->ndim > 0) d = t->base;
  return d.code != TypeCode::void_ && !(d.code == TypeCode::complex && d.bits == 32);
}

/// Whether consumers read NumPy's struct of such elements right. It has no room for the unit of times; NumPy (2.4)
/// takes the bytes of UCS4 text for characters, and so reads four times as far as the memory goes.
bool struct_says(DType d) noexcept { return !d.is_time() && d.code != TypeCode::fixed_ucs4 && d.itemsize() <= INT_MAX; }

/// What a dtype can be served over by codecs, whatever the device: the capabilities of a row above.
std::uint8_t capabilities_of_dtype(DType d) noexcept {
  unsigned caps = 0;
  char text[16384];
  if (!d.packed() && has_safe_format(d) && pep3118::encode_format(d, text, sizeof text, nullptr) == Status::ok)
    caps |= can_buffer;
  if (!d.packed() && typestr::encode(d, text, sizeof text, nullptr) == Status::ok && has_descr_form(d)) {
    caps |= can_interface | can_cuda;
    if (struct_says(d)) caps |= can_struct;
  }
  dlpack::DataType t;
  std::uint64_t flags = 0;
  if (dlpack::encode_dtype(d, &t, &flags, nullptr) == Status::ok) {
    // What DLPack carries has all of the others, or none.
    constexpr unsigned others = can_buffer | can_interface | can_struct | can_cuda;
    caps = can_dlpack | (caps == others ? others : 0);
  }
  // Arrow is an addition to what NumPy can be given as well.
  if ((caps & can_interface) != 0 && arrow::encode_format(d, text, sizeof text, nullptr) == Status::ok) {
    caps |= can_arrow;
  }
  return static_cast<std::uint8_t>(caps);
}

inline std::uint8_t capabilities(State& s, DType d) noexcept {
  if (__builtin_expect(is_tabled(d), 1)) return s.scalar_capabilities[static_cast<unsigned>(d.code)][d.bits / 8];
  KnownCapabilities& known = s.known_capabilities[slot_of(d, known_capabilities_max)];
  if (!known.filled || known.dtype != d) known = {d, true, capabilities_of_dtype(d)};
  return known.capabilities;
}

bool add(PyTypeObject* type, const char* name, PyObject* owned) noexcept {
  const Ref value(owned);
  return value && PyDict_SetItemString(type->tp_dict, name, value.get()) == 0;
}

/// The attributes that not all types have. The type is new: nobody has looked anything up on it.
bool add_attributes(PyTypeObject* type, std::uint8_t caps) noexcept {
  static constexpr struct {
    Capability needs;
    PyGetSetDef* getset;
  } rows[] = {{can_interface, &array_interface_getset},
              {can_struct, &array_struct_getset},
              {can_cuda, &array_cuda_interface_getset}};
  for (const auto& row : rows) {
    if ((caps & row.needs) != 0 && !add(type, row.getset->name, PyDescr_NewGetSet(type, row.getset))) return false;
  }
  for (PyMethodDef* m = array_arrow_methods; (caps & can_arrow) != 0 && m->ml_name != nullptr; ++m) {
    if (!add(type, m->ml_name, PyDescr_NewMethod(type, m))) return false;
  }
  if ((caps & can_dlpack) != 0 && !add(type, "__dlpack_c_exchange_api__", exchange_capsule())) return false;
  PyType_Modified(type);
  return true;
}

PyTypeObject* make_type(State& s, PyObject* module, PyTypeObject* base, const char* name, const char* doc,
                        std::uint8_t caps, bool is_base) noexcept {
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
  if ((caps & can_dlpack) != 0) slot(Py_tp_methods, array_dlpack_methods);
  slot(0, nullptr);
  unsigned flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE;
  if (is_base) flags |= Py_TPFLAGS_BASETYPE;
  PyType_Spec spec = {name, static_cast<int>(sizeof(ArrayObject)), 0, flags, slots};
  PyTypeObject* type = new_type(s, module, spec, base);
  if (type == nullptr || add_attributes(type, caps)) return type;
  Py_DECREF(type);
  return nullptr;
}

}  // namespace

DeviceFamily device_family(DeviceType t) noexcept {
  switch (t) {
    case DeviceType::cpu:
      return DeviceFamily::host;
    case DeviceType::cuda_host:
    case DeviceType::rocm_host:
      return DeviceFamily::pinned;
    case DeviceType::cuda_managed:
      return DeviceFamily::managed;
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

PyTypeObject* array_type_for(State& s, const Descriptor& d) noexcept {
  const DeviceFamily family =
      __builtin_expect(d.device.type == DeviceType::cpu, 1) ? DeviceFamily::host : device_family(d.device.type);
  const auto f = static_cast<unsigned>(family);
  return s.array_types[f][capabilities(s, d.dtype) & allowed[f]];
}

bool array_types_init(State& s, PyObject* module) noexcept {
  s.array_base = make_type(s, module, nullptr, "anyarray.Array",
                           "An array that was taken over an exchange protocol, or new memory. Made by anyarray.view(), "
                           "asarray() and their kin.\n\n"
                           "It keeps what it was taken from alive until release() or its end.",
                           0, true);
  if (s.array_base == nullptr) return false;
  for (const DTypeRow& row : dtype_rows) {
    for (int f = 0; f < device_families; ++f) {
      if (row.names[f] == nullptr) continue;
      const auto caps = static_cast<std::uint8_t>(row.capabilities & allowed[f]);
      s.array_types[f][caps] =
          make_type(s, module, s.array_base, row.names[f],
                    "An Array type; what its device and dtype can't serve isn't on it.", caps, false);
      if (s.array_types[f][caps] == nullptr) return false;
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

}  // namespace anyarray
