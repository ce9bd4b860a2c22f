// SPDX-License-Identifier: Apache-2.0
// __dlpack__ and __dlpack_device__ of an Array. What is exported holds a share of the borrow, so that the array
// may be released or die while consumers use the memory; their deleters may call from any thread.
#include "anyarray/protocols/dlpack.h"

#include <cstdlib>
#include <cstring>

#include "src/python/state.h"

namespace anyarray {
namespace {

using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;

/// What stands behind an exported struct: a share of the borrow, or memory of a copy.
struct Export {
  State* state;
  Holder* holder;  ///< null for a copy
  void* memory;    ///< of a copy
};
template <class Managed>
struct Block {
  Managed managed;
  Export behind;
  std::int64_t dims[1];  // 2 * ndim of them follow
};

bool finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// The thread state under which this thread holds the GIL; null when it doesn't.
PyThreadState* current_thread() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#elif PY_VERSION_HEX >= 0x030C0000
  return _PyThreadState_UncheckedGet();
#else
  // Before 3.12 that call gives whichever thread holds the one GIL. PyGILState_Check tells, unless there are
  // subinterpreters: then it says yes always, and the state that runs says whose it is.
  if (PyGILState_Check() == 0) return nullptr;
  PyThreadState* now = _PyThreadState_UncheckedGet();
  if (now == nullptr || now == PyGILState_GetThisThreadState()) return now;
  return now->thread_id == PyThread_get_thread_ident() ? now : nullptr;
#endif
}

void drop_share(Export& e) noexcept {
  apart_from_errors([&e] { drop(e.holder); });
  --e.state->exports;
  if (e.state->closed) state_collect(e.state);
}

/// Gives a share back from wherever the deleter was called. Where Python can't be entered any more, the memory is
/// left to the end of the process.
void give_back(Export& e) noexcept {
  if (e.holder == nullptr) {
    std::free(e.memory);
    return;
  }
  if (Py_IsInitialized() == 0) return;
  PyThreadState* now = current_thread();
  if (now != nullptr && PyThreadState_GetInterpreter(now) == e.state->interpreter) return drop_share(e);
  if (finalizing() || (!e.state->main_interpreter && e.state->closed)) return;
  if (e.state->main_interpreter && now == nullptr) {
    const PyGILState_STATE gil = PyGILState_Ensure();
    drop_share(e);
    PyGILState_Release(gil);
    return;
  }
  // Another interpreter's thread, or a thread without one: enter ours, and come back.
  PyThreadState* mine = PyThreadState_New(e.state->interpreter);
  if (mine == nullptr) return;
  if (now != nullptr) PyEval_SaveThread();
  PyEval_RestoreThread(mine);
  drop_share(e);
  PyThreadState_Clear(mine);
  PyThreadState_DeleteCurrent();
  if (now != nullptr) PyEval_RestoreThread(now);
}

template <class Managed>
void deleter(Managed* m) {
  auto* block = static_cast<Block<Managed>*>(m->manager_ctx);
  give_back(block->behind);
  std::free(block);
}

/// A capsule that nobody consumed takes its tensor along.
template <class Managed>
void capsule_gone(PyObject* capsule) {
  constexpr bool versioned = sizeof(Managed) == sizeof(ManagedTensorVersioned);
  const char* name = versioned ? dlpack::versioned_name : dlpack::legacy_name;
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* m = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  m->deleter(m);
}

void copy_elements(char*& to, const char* from, const Descriptor& d, int dim, std::int64_t itemsize) noexcept {
  if (dim == d.ndim) {
    std::memcpy(to, from, static_cast<std::size_t>(itemsize));
    to += itemsize;
    return;
  }
  for (std::int64_t i = 0; i < d.shape[dim]; ++i) copy_elements(to, from + i * d.strides[dim], d, dim + 1, itemsize);
}

/// New memory with the elements in row-major order. Null: MemoryError.
void* copy_memory(const Descriptor& d) noexcept {
  const auto bytes = static_cast<std::size_t>(d.nbytes());
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) return PyErr_NoMemory();
  if (bytes == 0) return memory;
  if (d.c_contiguous()) {
    std::memcpy(memory, d.data, bytes);
  } else {
    char* to = static_cast<char*>(memory);
    copy_elements(to, static_cast<const char*>(d.data), d, 0, d.dtype.itemsize());
  }
  return memory;
}

struct Asked {
  bool versioned = false;
  dlpack::Version version = dlpack::our_version;
  bool copy = false;
};

void set_header(ManagedTensor&, const Asked&, std::uint64_t) noexcept {}
void set_header(ManagedTensorVersioned& m, const Asked& asked, std::uint64_t flags) noexcept {
  m.version = asked.version;
  m.flags = flags;
}

template <class Managed>
PyObject* export_as(ArrayObject* a, const Asked& asked) noexcept {
  constexpr bool versioned = sizeof(Managed) == sizeof(ManagedTensorVersioned);
  const Descriptor* d = array_descriptor(a);
  const auto n = static_cast<std::size_t>(d->ndim);
  auto* block = static_cast<Block<Managed>*>(std::calloc(1, sizeof(Block<Managed>) + 2 * n * sizeof(std::int64_t)));
  if (block == nullptr) return PyErr_NoMemory();
  Descriptor source = *d;
  std::int64_t row_major[max_ndim];
  if (asked.copy && source.strides != nullptr) {
    c_strides(source.ndim, source.shape, source.dtype.itemsize(), row_major);
    source.strides = row_major;
  }
  // A copy that our own producer made is shared with this array: only a fresh one has a single owner.
  source.flags = asked.copy ? flag_copied : d->flags & ~std::uint32_t{flag_copied};
  Reason why;
  const auto refuse = [&](const char* text) -> PyObject* {
    std::free(block);
    PyErr_SetString(PyExc_BufferError, text);
    return nullptr;
  };
  std::uint64_t flags = 0;
  if (dlpack::encode(source, &block->managed.tensor, block->dims, &flags, &why) != Status::ok) return refuse(why.text);
  if (!versioned && (flags & dlpack::is_subbyte_padded) != 0) {
    return refuse("elements padded to a byte can't be said in a legacy DLPack capsule: ask with max_version=(1, 1)");
  }
  if (asked.copy) {
    block->behind.memory = copy_memory(*d);
    if (block->behind.memory == nullptr) {
      std::free(block);
      return nullptr;
    }
    if (d->size() > 0) block->managed.tensor.data = block->behind.memory;
  } else {
    block->behind.holder = array_share(a);
    if (block->behind.holder == nullptr) {
      std::free(block);
      return nullptr;
    }
    retain(*block->behind.holder);
    ++a->state->exports;
  }
  block->behind.state = a->state;
  block->managed.manager_ctx = block;
  block->managed.deleter = deleter<Managed>;
  set_header(block->managed, asked, flags);
  PyObject* capsule =
      PyCapsule_New(&block->managed, versioned ? dlpack::versioned_name : dlpack::legacy_name, capsule_gone<Managed>);
  if (capsule == nullptr) deleter(&block->managed);
  return capsule;
}

bool buffer_error(const char* format, PyObject* what) noexcept {
  PyErr_Format(PyExc_BufferError, format, what);
  return false;
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

/// Only what needs no waiting can be served: nothing on the host, the default stream or none elsewhere.
bool read_stream(PyObject* o, const Descriptor& d) noexcept {
  if (o == Py_None) return true;
  if (!PyLong_Check(o) || PyBool_Check(o)) {
    PyErr_Format(PyExc_TypeError, "stream is None or an int, not %.200s", Py_TYPE(o)->tp_name);
    return false;
  }
  int overflow = 0;
  const long long stream = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (stream == -1 && PyErr_Occurred() != nullptr) return false;
  if (overflow == 0 && stream == -1) return true;
  if (d.device.type == DeviceType::cuda && overflow == 0 && stream == 1) return true;
  if (d.device.type == DeviceType::rocm && overflow == 0 && stream == 0) return true;
  if (host_readable(d.device.type))
    return buffer_error("memory of the host has no streams: stream must be None, not %R", o);
  return buffer_error("stream %R can't be made to wait: ask with stream=None (the default stream) or -1 (no waiting)",
                      o);
}

bool read_device(PyObject* o, const Descriptor& d) noexcept {
  if (o == Py_None) return true;
  Device asked;
  if (!device_from_object(o, &asked)) return false;
  if (asked.type == d.device.type && (asked.id < 0 || asked.id == d.device.id)) return true;
  return buffer_error("the array can't be exported to device %R: only to the one it is on", o);
}

PyObject* dlpack_method(PyObject* self, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  ArrayObject* a = as_array(self);
  const Reading d(a);
  if (!d) return nullptr;
  if (nargs != 0) return PyErr_Format(PyExc_TypeError, "__dlpack__() takes keyword arguments only");
  Asked asked;
  PyObject *stream = Py_None, *device = Py_None, *copy = Py_None;
  const Py_ssize_t n = kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    if (PyUnicode_CompareWithASCIIString(name, "max_version") == 0) {
      if (!read_max_version(args[i], &asked)) return nullptr;
    } else if (PyUnicode_CompareWithASCIIString(name, "stream") == 0) {
      stream = args[i];
    } else if (PyUnicode_CompareWithASCIIString(name, "dl_device") == 0) {
      device = args[i];
    } else if (PyUnicode_CompareWithASCIIString(name, "copy") == 0) {
      copy = args[i];
    } else {
      return PyErr_Format(PyExc_TypeError, "__dlpack__() has no keyword %R", name);
    }
  }
  if (copy != Py_None && !PyBool_Check(copy)) {
    return PyErr_Format(PyExc_TypeError, "copy is None, True or False, not %.200s", Py_TYPE(copy)->tp_name);
  }
  if (!read_stream(stream, *d) || !read_device(device, *d)) return nullptr;
  asked.copy = copy == Py_True;
  if (asked.copy && !host_readable(d->device.type)) {
    PyErr_SetString(PyExc_BufferError, "memory that the host can't read isn't copied: ask with copy=None");
    return nullptr;
  }
  if (asked.versioned) return export_as<ManagedTensorVersioned>(a, asked);
  if (d->readonly() && !asked.copy) {
    PyErr_SetString(PyExc_BufferError,
                    "the array is read-only, which a legacy DLPack capsule can't say: ask with max_version=(1, 0)");
    return nullptr;
  }
  return export_as<ManagedTensor>(a, asked);
}

PyObject* dlpack_device_method(PyObject* self, PyObject*) {
  const Reading d(as_array(self));
  if (!d) return nullptr;
  return Py_BuildValue("(ii)", static_cast<int>(d->device.type), static_cast<int>(d->device.id));
}

}  // namespace

PyMethodDef array_dlpack_methods[] = {
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(dlpack_method)),
     METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None): a DLPack capsule."},
    {"__dlpack_device__", dlpack_device_method, METH_NOARGS, "(device type, device id) with the numbers of DLPack."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace anyarray
