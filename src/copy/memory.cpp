// SPDX-License-Identifier: Apache-2.0
// All blocks come from malloc, which keeps what was freed up to some 32 MB: memory that is used again needn't be
// cleared by the kernel. Alignment is made here, with a word before the block that says where it starts: aligned_alloc
// takes three to six times as long.
#include "src/copy/memory.h"

#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace anyarray {
namespace {

struct Head {
  void* start;  ///< of malloc's block
};

/// With its head before it, at a multiple of `alignment`, and that many bytes times a whole number long.
void* aligned_block(std::size_t bytes, std::size_t alignment) noexcept {
  std::size_t whole = 0;
  if (__builtin_add_overflow(bytes, alignment - 1, &whole)) return nullptr;
  whole &= ~(alignment - 1);
  if (__builtin_add_overflow(whole, sizeof(Head) + alignment - 1, &whole)) return nullptr;
  const Head head{std::malloc(whole)};
  if (head.start == nullptr) return nullptr;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(head.start) + sizeof head;
  char* const block = static_cast<char*>(head.start) + sizeof head + (alignment - first % alignment) % alignment;
  std::memcpy(block - sizeof head, &head, sizeof head);
  return block;
}

}  // namespace

void* allocate_memory(std::int64_t bytes) noexcept {
  const auto wanted = static_cast<std::size_t>(bytes);
#if defined(__linux__)
  constexpr std::size_t huge_page = std::size_t{1} << 21;
  if (wanted >= 2 * huge_page) {
    void* const block = aligned_block(wanted, huge_page);
    // A hint: where there are no huge pages it fails, and the block is as good as any.
    if (block != nullptr) madvise(block, (wanted + huge_page - 1) & ~(huge_page - 1), MADV_HUGEPAGE);
    return block;
  }
#endif
  return aligned_block(wanted, owned_alignment);
}

void free_memory(void* memory) noexcept {
  if (memory == nullptr) return;
  Head head;
  std::memcpy(&head, static_cast<char*>(memory) - sizeof head, sizeof head);
  std::free(head.start);
}

}  // namespace anyarray
