// SPDX-License-Identifier: Apache-2.0
// __dlpack__ and __dlpack_device__ of an Array, by the array API standard. What is exported holds a share of the array,
// which may be released or die while consumers use the memory; their deleters may call from any thread.
#include <cstdlib>
#include <cstring>

#include "anyarray/protocols/dlpack.h"
#include "src/python/state.h"
#include "src/support/owned.h"

namespace anyarray {
namespace {

using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;
using dlpack::Tensor;

/// An exported struct with what stands behind it.
template <class Managed>
struct Block {
  Managed managed;
  ArrayObject* array;    ///< of which it is a share; null for a copy
  void* memory;          ///< of a copy
  std::int64_t dims[1];  // shape and strides: 2 * ndim of them follow
};
template <class Managed>
inline constexpr bool is_versioned = sizeof(Managed) == sizeof(ManagedTensorVersioned);
template <class Managed>
inline constexpr const char* name_of = is_versioned<Managed> ? dlpack::versioned_name : dlpack::legacy_name;

template <class Managed>
void deleter(Managed* m) {
  auto* block = static_cast<Block<Managed>*>(m->manager_ctx);
  if (block->array != nullptr) unshare_from_anywhere(block->array);
  free_memory(block->memory);
  std::free(block);
}

/// A capsule that nobody consumed takes its tensor along. Its interpreter runs here, so nothing has to be entered.
template <class Managed>
void capsule_gone(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name != name_of<Managed> && (name == nullptr || std::strcmp(name, name_of<Managed>) != 0)) return;
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  auto* block = static_cast<Block<Managed>*>(m->manager_ctx);
  if (block->array != nullptr) unshare(block->array);
  free_memory(block->memory);
  std::free(block);
}

/// The array of which a struct that is ours to delete is a share; null where another made it, or it is a copy.
template <class Managed>
ArrayObject* array_of(const void* managed) noexcept {
  const auto* m = static_cast<const Managed*>(managed);
  return m->deleter == deleter<Managed> ? static_cast<const Block<Managed>*>(m->manager_ctx)->array : nullptr;
}

/// The struct of a tensor, whose extents are copied. Null: MemoryError.
template <class Managed>
Block<Managed>* make_block(const Tensor& tensor) noexcept {
  const auto n = sizeof(std::int64_t) * static_cast<std::size_t>(tensor.ndim);
  auto* block = static_cast<Block<Managed>*>(std::malloc(sizeof(Block<Managed>) + 2 * n));
  if (block == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  block->managed.tensor = tensor;
  block->managed.tensor.shape = block->dims;
  block->managed.tensor.strides = block->dims + tensor.ndim;
  for (int i = 0; i < tensor.ndim; ++i) {
    block->dims[i] = tensor.shape[i];
    block->dims[tensor.ndim + i] = tensor.strides[i];
  }
  block->managed.manager_ctx = block;
  block->managed.deleter = deleter<Managed>;
  block->array = nullptr;
  block->memory = nullptr;
  return block;
}

struct Asked {
  bool versioned = false;
  dlpack::Version version = dlpack::our_version;
};

void set_header(ManagedTensor&, const Asked&, std::uint64_t) noexcept {}
void set_header(ManagedTensorVersioned& m, const Asked& asked, std::uint64_t flags) noexcept {
  m.version = asked.version;
  m.flags = flags;
}

PyObject* refuse(const char* why) noexcept {
  PyErr_SetString(PyExc_BufferError, why);
  return nullptr;
}

/// What flags say has to be understood by a consumer of the version that was asked for.
bool can_say(const Asked& asked, std::uint64_t flags) noexcept {
  if ((flags & dlpack::is_subbyte_padded) != 0 && (!asked.versioned || asked.version.minor < 1)) {
    refuse("elements padded to a byte can't be said before DLPack 1.1: ask with max_version=(1, 1)");
    return false;
  }
  if (!asked.versioned && (flags & dlpack::read_only) != 0) {
    refuse("the array is read-only, which a legacy DLPack capsule can't say: ask with max_version=(1, 0)");
    return false;
  }
  return true;
}

template <class Managed>
PyObject* in_capsule(Block<Managed>* block, const Asked& asked, std::uint64_t flags) noexcept {
  set_header(block->managed, asked, flags);
  PyObject* capsule = PyCapsule_New(&block->managed, name_of<Managed>, capsule_gone<Managed>);
  if (capsule == nullptr) deleter(&block->managed);
  return capsule;
}

/// The struct of an array's own tensor, which is a share of the array. Null with an exception set.
template <class Managed>
Block<Managed>* share_block(ArrayObject* a) noexcept {
  const Tensor* tensor = array_tensor(a);
  Block<Managed>* block = tensor != nullptr ? make_block<Managed>(*tensor) : nullptr;
  if (block == nullptr) return nullptr;
  share(a);
  block->array = a;
  return block;
}

template <class Managed>
PyObject* lend(ArrayObject* a, const Asked& asked) noexcept {
  if (array_tensor(a) == nullptr || !can_say(asked, a->tensor_flags)) return nullptr;
  Block<Managed>* block = share_block<Managed>(a);
  return block != nullptr ? in_capsule(block, asked, a->tensor_flags) : nullptr;
}

/// New memory on the host, row-major, whose only owner is the consumer.
template <class Managed>
PyObject* copy(const Descriptor& d, const Asked& asked) noexcept {
  Descriptor wanted = d;
  std::int64_t strides[max_ndim], dims[2 * max_ndim];
  if (d.strides != nullptr) {
    c_strides(d.ndim, d.shape, d.dtype.itemsize(), strides);
    wanted.strides = strides;
  }
  wanted.device = cpu_device;
  wanted.flags = flag_copied;
  Tensor tensor;
  std::uint64_t flags = 0;
  Reason why;
  if (dlpack::encode(wanted, &tensor, dims, &flags, &why) != Status::ok) return refuse(why.text);
  if (!can_say(asked, flags)) return nullptr;
  Block<Managed>* block = make_block<Managed>(tensor);
  if (block == nullptr) return nullptr;
  block->memory = allocate_memory(d.nbytes());
  if (block->memory == nullptr) {
    std::free(block);
    return PyErr_NoMemory();
  }
  copy_row_major(d, block->memory);
  if (tensor.data != nullptr) block->managed.tensor.data = block->memory;
  return in_capsule(block, asked, flags);
}

bool read_max_version(PyObject* o, Asked* out) noexcept {
  if (o == Py_None) return true;
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != 2 || !PyLong_Check(PyTuple_GET_ITEM(o, 0)) ||
      !PyLong_Check(PyTuple_GET_ITEM(o, 1))) {
    PyErr_Format(PyExc_TypeError, "max_version is None or a tuple (major, minor) of int, not %R", o);
    return false;
  }
  // However large: a version that is too high to matter is lawful.
  const auto clamped = [](PyObject* number) {
    int overflow = 0;
    const long value = PyLong_AsLongAndOverflow(number, &overflow);
    return overflow != 0 ? (overflow > 0 ? LONG_MAX : LONG_MIN) : value;
  };
  const long major = clamped(PyTuple_GET_ITEM(o, 0));
  const long minor = clamped(PyTuple_GET_ITEM(o, 1));
  out->versioned = major >= 1;
  if (major == 1 && minor >= 0 && static_cast<unsigned long>(minor) < out->version.minor) {
    out->version.minor = static_cast<std::uint32_t>(minor);
  }
  return true;
}

bool buffer_error(const char* format, PyObject* what) noexcept {
  PyErr_Format(PyExc_BufferError, format, what);
  return false;
}

/// Only what needs no waiting can be served: nothing on the host, the default stream or none elsewhere.
bool read_stream(PyObject* o, const Descriptor& d) noexcept {
  if (o == Py_None) return true;
  const DeviceType device = d.device.type;
  const bool cuda = device == DeviceType::cuda || device == DeviceType::cuda_host || device == DeviceType::cuda_managed;
  const bool rocm = device == DeviceType::rocm || device == DeviceType::rocm_host;
  if (!PyLong_Check(o) || PyBool_Check(o)) {
    // Other devices have queue objects for streams; those of the host, of CUDA and of ROCm are numbers.
    if (device != DeviceType::cpu && !cuda && !rocm && !PyBool_Check(o)) {
      return buffer_error("%R can't be made to wait: ask with stream=None or -1 (no waiting)", o);
    }
    PyErr_Format(PyExc_TypeError, "stream is None or an int, not %.200s", Py_TYPE(o)->tp_name);
    return false;
  }
  int overflow = 0;
  const long long stream = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (stream == -1 && PyErr_Occurred() != nullptr) return false;
  if (overflow == 0 && (stream == -1 || (cuda && stream == 1) || (rocm && stream == 0))) return true;
  if (device == DeviceType::cpu) {
    return buffer_error("memory of the host has no streams: stream must be None, not %R", o);
  }
  return buffer_error("stream %R can't be made to wait: ask with stream=None (the default stream) or -1 (no waiting)",
                      o);
}

/// Whether the tuple names the array's own device, or, in `*to_cpu`, the host for memory that it can read elsewhere.
bool read_device(PyObject* o, const Descriptor& d, bool* to_cpu) noexcept {
  if (o == Py_None) return true;
  Device asked;
  if (!device_from_object(o, &asked)) {
    if (PyErr_ExceptionMatches(PyExc_ValueError) == 0) return false;
    PyErr_Clear();
    return buffer_error("dl_device=%R is no device of DLPack", o);
  }
  if (asked.type == d.device.type && (asked.id < 0 || asked.id == d.device.id)) return true;
  *to_cpu = asked == cpu_device && host_readable(d.device.type);
  if (*to_cpu) return true;
  return buffer_error(
      asked == cpu_device
          ? "the host can't read this memory, so it can't be exported to dl_device=%R: copy it with the library that "
            "made it"
          : "the array can't be exported to dl_device=%R: only to the one it is on, or from pinned and managed memory "
            "to (1, 0)",
      o);
}

struct Keywords {
  PyObject *stream = Py_None, *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
};

/// Whether two str are equal. `known` is ASCII; NumPy's names of keywords aren't interned.
inline bool is_same_text(PyObject* text, PyObject* known) noexcept {
  if (!PyUnicode_IS_COMPACT_ASCII(text)) return PyUnicode_Compare(text, known) == 0;
  const auto n = PyUnicode_GET_LENGTH(known);
  return PyUnicode_GET_LENGTH(text) == n &&
         std::memcmp(PyUnicode_1BYTE_DATA(text), PyUnicode_1BYTE_DATA(known), static_cast<std::size_t>(n)) == 0;
}

bool read_keywords(const Names& names, PyObject* const* values, PyObject* kwnames, Keywords* out) noexcept {
  const struct {
    PyObject* name;
    PyObject** place;
  } known[] = {{names.max_version, &out->max_version},
               {names.dl_device, &out->dl_device},
               {names.copy, &out->copy},
               {names.stream, &out->stream}};
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    PyObject** place = nullptr;
    for (const auto& k : known) {
      if (name == k.name || is_same_text(name, k.name)) {
        place = k.place;
        break;
      }
    }
    if (place == nullptr) {
      PyErr_Format(PyExc_TypeError, "__dlpack__() has no keyword %R", name);
      return false;
    }
    *place = values[i];
  }
  if (out->copy == Py_None || PyBool_Check(out->copy)) return true;
  PyErr_Format(PyExc_TypeError, "copy is None, True or False, not %.200s", Py_TYPE(out->copy)->tp_name);
  return false;
}

PyObject* dlpack_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  ArrayObject* a = as_array(self);
  if (nargs != 0) return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
  Keywords given;
  Asked asked;
  if (kwnames != nullptr && !read_keywords(a->state->cx.names, args, kwnames, &given)) return nullptr;
  if (!read_max_version(given.max_version, &asked)) return nullptr;
  if (!can_export(a)) return nullptr;
  const Reading d(a);
  bool to_cpu = false;
  if (!read_stream(given.stream, *d) || !read_device(given.dl_device, *d, &to_cpu)) return nullptr;
  // Memory that a device can write isn't passed off as the host's own: whoever is told "cpu" waits for no stream.
  if (to_cpu && given.copy == Py_False) {
    return refuse("from this device to (1, 0) only a copy can be given, and copy=False was asked for");
  }
  if (given.copy == Py_True || to_cpu) {
    if (d->device != cpu_device && !to_cpu) {
      return refuse(host_readable(d->device.type)
                        ? "new memory of this device can't be made: ask with dl_device=(1, 0) for a copy on the host"
                        : "memory that the host can't read isn't copied: ask with copy=None");
    }
    return asked.versioned ? copy<ManagedTensorVersioned>(*d, asked) : copy<ManagedTensor>(*d, asked);
  }
  return asked.versioned ? lend<ManagedTensorVersioned>(a, asked) : lend<ManagedTensor>(a, asked);
}

PyObject* dlpack_device_method(PyObject* self, PyObject*) {
  const Reading d(as_array(self));
  if (!d) return nullptr;
  return Py_BuildValue("(ii)", static_cast<int>(d->device.type), static_cast<int>(d->device.id));
}

}  // namespace

const Tensor* array_tensor(ArrayObject* a) noexcept {
  if (__builtin_expect(a->tensor_known, 1)) return &a->tensor;
  const Descriptor& d = a->borrow.desc;
  std::int64_t dims[2 * max_ndim];
  Reason why;
  // A copy that a producer made is shared by all who take this array: the mark is for a single owner.
  Descriptor source = d;
  source.flags &= ~std::uint32_t{flag_copied};
  if (dlpack::encode(source, &a->tensor, dims, &a->tensor_flags, &why) != Status::ok) {
    refuse(why.text);
    return nullptr;
  }
  const auto n = static_cast<std::size_t>(d.ndim);
  std::int64_t* strides = a->element_strides;
  if (d.ndim > inline_ndim) {
    strides = static_cast<std::int64_t*>(std::malloc(sizeof(std::int64_t) * n));
    if (strides == nullptr) {
      PyErr_NoMemory();
      return nullptr;
    }
  }
  std::memcpy(strides, a->tensor.strides, sizeof(std::int64_t) * n);
  a->tensor.shape = const_cast<std::int64_t*>(d.shape);
  a->tensor.strides = strides;
  a->tensor_known = true;
  return &a->tensor;
}

ManagedTensorVersioned* array_export(ArrayObject* a) noexcept {
  auto* block = share_block<ManagedTensorVersioned>(a);
  if (block == nullptr) return nullptr;
  set_header(block->managed, Asked{}, a->tensor_flags);
  return &block->managed;
}

PyObject* legacy_capsule(ArrayObject* a) noexcept {
  auto* block = share_block<ManagedTensor>(a);
  if (block == nullptr) return nullptr;
  // Memory that the host can read is the host's: libraries refuse the number of pinned memory.
  if (host_readable(block->managed.tensor.device.type)) block->managed.tensor.device = cpu_device;
  return in_capsule(block, Asked{}, 0);
}

PyObject* exported_array(const State& s, const Borrow& b) noexcept {
  if (b.release_fn == let_go_uncounted || b.token[0] == nullptr) return nullptr;  // lent: there is no struct
  // The deleter tells which struct it is; neither is read beyond its end as the other.
  ArrayObject* a = array_of<ManagedTensorVersioned>(b.token[0]);
  if (a == nullptr) a = array_of<ManagedTensor>(b.token[0]);
  return a != nullptr && a->state == &s ? reinterpret_cast<PyObject*>(a) : nullptr;
}

PyMethodDef array_dlpack_methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dlpack_method)),
     METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None): a DLPack capsule."},
    {"__dlpack_device__", dlpack_device_method, METH_NOARGS, "(device type, device id) with the numbers of DLPack."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace anyarray
