// SPDX-License-Identifier: Apache-2.0
#include "src/python/handover.h"

#include <cstddef>
#include <cstdlib>

#include "src/python/enter.h"

namespace anyarray {
namespace {

using dlpack::ManagedTensorVersioned;

/// What a library holds: the DLPack struct, and behind it what keeps the memory.
struct Handed {
  ManagedTensorVersioned managed;
  State* state;
  PyObject* owner;       ///< a strong reference; of an Array a share
  bool is_array;         ///< the owner is an Array
  bool giving;           ///< the library's function that takes it hasn't returned yet
  bool deleted;          ///< it has called the deleter already
  std::int64_t dims[1];  // 2 * ndim of them
};

void let_owner_go(void* what) {
  auto* block = static_cast<Handed*>(what);
  if (block->is_array) return unshare(as_array(block->owner));
  State& s = *block->state;
  apart_from_errors([block] { Py_DECREF(block->owner); });
  --s.handed;
  if (s.closed) state_collect(&s);
}

void end(Handed* block) noexcept {
  run_inside(*block->state, let_owner_go, block);
  std::free(block);
}

void deleter(ManagedTensorVersioned* m) {
  auto* block = static_cast<Handed*>(m->manager_ctx);
  if (block->giving) {
    block->deleted = true;
  } else {
    end(block);
  }
}

/// The block for memory that `owner` keeps. Null with BufferError or MemoryError.
Handed* make_block(State& s, const Descriptor& d, PyObject* owner, bool is_array) noexcept {
  const auto n = static_cast<std::size_t>(d.ndim);
  auto* block = static_cast<Handed*>(std::malloc(sizeof(Handed) + 2 * n * sizeof(std::int64_t)));
  if (block == nullptr) {
    PyErr_NoMemory();
    return nullptr;
  }
  Reason why;
  if (dlpack::encode(d, &block->managed.tensor, block->dims, &block->managed.flags, &why) != Status::ok) {
    std::free(block);
    PyErr_SetString(PyExc_BufferError, why.text);
    return nullptr;
  }
  // Memory that the host can read is the host's: libraries refuse the number of pinned memory.
  if (host_readable(d.device.type)) block->managed.tensor.device = cpu_device;
  block->managed.version = dlpack::our_version;
  block->managed.manager_ctx = block;
  block->managed.deleter = deleter;
  if (is_array) {
    share(as_array(owner));
  } else {
    Py_INCREF(owner);
    ++s.handed;
  }
  block->state = &s;
  block->owner = owner;
  block->is_array = is_array;
  block->giving = false;
  block->deleted = false;
  return block;
}

PyObject* give(Handed* block, const dlpack::ExchangeApi& api) noexcept {
  if (block == nullptr) return nullptr;
  // DLPack doesn't say who deletes the tensor after a failure. Meanwhile the deleter only takes note, so that it ends
  // once whatever the library did.
  block->giving = true;
  void* made = nullptr;
  const int failed = api.managed_tensor_to_py_object_no_sync(&block->managed, &made);
  block->giving = false;
  if (__builtin_expect(failed == 0 && made != nullptr, 1)) {
    if (block->deleted) end(block);
    return static_cast<PyObject*>(made);
  }
  {
    SavedError raised;
    end(block);
  }
  if (PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_BufferError, "the library's exchange table refused the tensor and gave no reason");
  }
  return nullptr;
}

}  // namespace

PyObject* hand_over(ArrayObject* a, const dlpack::ExchangeApi& api) noexcept {
  PyObject* self = reinterpret_cast<PyObject*>(a);
  return give(make_block(*a->state, a->borrow.desc, self, true), api);
}

PyObject* hand_over(State& s, const Descriptor& d, PyObject* owner, const dlpack::ExchangeApi& api) noexcept {
  return give(make_block(s, d, owner, false), api);
}

}  // namespace anyarray
