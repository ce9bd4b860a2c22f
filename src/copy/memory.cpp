// SPDX-License-Identifier: Apache-2.0
// Small blocks come from malloc: aligned_alloc takes three times as long. Before each block lies where it really
// starts.
#include "src/copy/memory.h"

#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace anyarray {
namespace {

/// What lies before a block.
struct Head {
  void* start;         ///< of the allocation
  std::size_t mapped;  ///< its size where it was mapped; 0: it is malloc's
};

#if defined(__linux__)
constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{1} << 21;
/// From here on a block gets pages of its own. Below, the C library's memory, which is used again without being cleared
/// by the kernel, is faster.
constexpr std::size_t large = 2 * huge_page;

/// At the start of a huge page, with its head at the end of the small page before.
void* map_block(std::size_t bytes) noexcept {
  std::size_t whole = 0;
  if (__builtin_add_overflow(bytes, huge_page + page, &whole)) return nullptr;
  whole &= ~(page - 1);
  void* const start = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(start);
  const std::uintptr_t block = (first + page + huge_page - 1) & ~(std::uintptr_t{huge_page} - 1);
  madvise(reinterpret_cast<void*>(block), whole - (block - first), MADV_HUGEPAGE);  // fails without harm
  const Head head{start, whole};
  std::memcpy(reinterpret_cast<void*>(block - sizeof head), &head, sizeof head);
  return reinterpret_cast<void*>(block);
}
#endif

}  // namespace

void* allocate_memory(std::int64_t bytes) noexcept {
  const auto wanted = static_cast<std::size_t>(bytes);
#if defined(__linux__)
  if (wanted >= large) return map_block(wanted);
#endif
  std::size_t whole = 0;
  if (__builtin_add_overflow(wanted, sizeof(Head) + owned_alignment - 1, &whole)) return nullptr;
  void* const start = std::malloc(whole);
  if (start == nullptr) return nullptr;
  const std::uintptr_t block = (reinterpret_cast<std::uintptr_t>(start) + sizeof(Head) + owned_alignment - 1) &
                               ~(std::uintptr_t{owned_alignment} - 1);
  const Head head{start, 0};
  std::memcpy(reinterpret_cast<void*>(block - sizeof head), &head, sizeof head);
  return reinterpret_cast<void*>(block);
}

void free_memory(void* memory) noexcept {
  if (memory == nullptr) return;
  Head head;
  std::memcpy(&head, static_cast<char*>(memory) - sizeof head, sizeof head);
#if defined(__linux__)
  if (head.mapped != 0) {
    munmap(head.start, head.mapped);
    return;
  }
#endif
  std::free(head.start);
}

}  // namespace anyarray
