// SPDX-License-Identifier: Apache-2.0
// The floors of copies: the C library's memcpy, on one thread or on several that are kept, into memory that is there or
// into new memory in huge pages; and a loop over the floats of a list.
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "floors.h"

namespace bench {
namespace {

constexpr int most_threads = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

/// Threads that copy their part when they are told to, and spin between calls that follow each other: a pool that costs
/// next to nothing, at the price of a busy machine, which only a floor may ask.
struct Helper {
  std::atomic<int> state{0};  ///< 0: idle, 1: has work
  char* to = nullptr;
  const char* from = nullptr;
  std::size_t n = 0;
};
Helper helpers[most_threads];
int started = 1;

void help(Helper& h) noexcept {
  for (;;) {
    for (int spins = 0; h.state.load(std::memory_order_acquire) == 0; ++spins) {
      if (spins > 20000) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    std::memcpy(h.to, h.from, h.n);
    h.state.store(0, std::memory_order_release);
  }
}

void copy_on(int threads, char* to, const char* from, std::size_t n) noexcept {
  const std::size_t part = (n / static_cast<std::size_t>(threads) + 4095) & ~std::size_t{4095};
  for (int i = 1; i < threads; ++i) {
    const std::size_t at = part * static_cast<std::size_t>(i);
    if (at >= n) continue;
    helpers[i].to = to + at;
    helpers[i].from = from + at;
    helpers[i].n = i + 1 == threads || at + part > n ? n - at : part;
    helpers[i].state.store(1, std::memory_order_release);
  }
  std::memcpy(to, from, part < n ? part : n);
  for (int i = 1; i < threads; ++i) {
    while (helpers[i].state.load(std::memory_order_acquire) != 0) {
    }
  }
}

}  // namespace

/// floor_memcpy(to, from, n, threads): addresses and bytes.
PyObject* floor_memcpy(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 4) return PyErr_Format(PyExc_TypeError, "floor_memcpy(to, from, n, threads)");
  auto* to = static_cast<char*>(PyLong_AsVoidPtr(args[0]));
  const auto* from = static_cast<const char*>(PyLong_AsVoidPtr(args[1]));
  const auto n = static_cast<std::size_t>(PyLong_AsSsize_t(args[2]));
  const long threads = PyLong_AsLong(args[3]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (threads < 1 || threads > most_threads) return PyErr_Format(PyExc_ValueError, "1 to %d threads", most_threads);
  for (; started < threads; ++started) std::thread(help, std::ref(helpers[started])).detach();
  copy_on(static_cast<int>(threads), to, from, n);
  Py_RETURN_NONE;
}

/// floor_new(from, n): new memory, huge pages asked for, filled by memcpy, and given back.
PyObject* floor_new(PyObject*, PyObject* const* args, Py_ssize_t nargs) {
  if (nargs != 2) return PyErr_Format(PyExc_TypeError, "floor_new(from, n)");
  const auto* from = static_cast<const char*>(PyLong_AsVoidPtr(args[0]));
  const auto n = static_cast<std::size_t>(PyLong_AsSsize_t(args[1]));
  if (PyErr_Occurred() != nullptr) return nullptr;
  void* to = std::aligned_alloc(huge_page, (n + huge_page - 1) & ~(huge_page - 1));
  if (to == nullptr) return PyErr_NoMemory();
  madvise(to, n, MADV_HUGEPAGE);
  std::memcpy(to, from, n);
  read(static_cast<char*>(to)[n - 1]);
  std::free(to);
  Py_RETURN_NONE;
}

/// The floats of a list into new memory.
PyObject* floor_float_list(PyObject*, PyObject* list) {
  if (!PyList_CheckExact(list)) return wrong_type(list);
  const Py_ssize_t n = PyList_GET_SIZE(list);
  auto* to = static_cast<double*>(std::malloc(static_cast<std::size_t>(n) * sizeof(double)));
  if (to == nullptr) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyList_GET_ITEM(list, i);
    if (!PyFloat_CheckExact(item)) {
      std::free(to);
      return wrong_type(item);
    }
    to[i] = PyFloat_AS_DOUBLE(item);
  }
  asm volatile("" : : "r"(to) : "memory");
  std::free(to);
  Py_RETURN_NONE;
}

}  // namespace bench
