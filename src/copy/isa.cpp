// SPDX-License-Identifier: Apache-2.0
#include "src/copy/isa.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace anyarray {
namespace {

constexpr const char* names[isa_count] = {"baseline", "avx2", "avx512"};

Isa of_machine() noexcept {
#if defined(ANYARRAY_ISA_X86)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                    __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0 &&
                    __builtin_cpu_supports("f16c") != 0 && __builtin_cpu_supports("lzcnt") != 0 &&
                    __builtin_cpu_supports("popcnt") != 0;
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
                      __builtin_cpu_supports("avx512vbmi") != 0;
  if (avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::baseline;
}

Isa allowed() noexcept {
  const Isa machine = of_machine();
  const char* const limit = std::getenv("ANYARRAY_ISA");
  if (limit == nullptr) return machine;
  for (int i = 0; i < static_cast<int>(machine); ++i) {
    if (std::strcmp(limit, names[i]) == 0) return static_cast<Isa>(i);
  }
  return machine;
}

std::atomic<int> chosen{-1};

}  // namespace

const char* isa_name(Isa isa) noexcept { return names[static_cast<int>(isa)]; }

Isa best_isa() noexcept {
  static const Isa best = allowed();
  return best;
}

Isa choose_isa(Isa isa) noexcept {
  const Isa taken = isa < best_isa() ? isa : best_isa();
  chosen.store(static_cast<int>(taken), std::memory_order_relaxed);
  return taken;
}

Isa chosen_isa() noexcept {
  const int now = chosen.load(std::memory_order_relaxed);
  return now >= 0 ? static_cast<Isa>(now) : choose_isa(best_isa());
}

}  // namespace anyarray
