// SPDX-License-Identifier: Apache-2.0
// How many threads: what was set, else what the environment says, else how many CPUs the process may use.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sched.h>
#endif
#include <unistd.h>

#include "anyarray/copy.h"

namespace anyarray {
namespace {

/// More than these are never of use to a copy, and a typo shouldn't start thousands.
constexpr int most_threads = 1024;

int in_bounds(long n) noexcept { return n < 1 ? 0 : n > most_threads ? most_threads : static_cast<int>(n); }

/// The number in an environment variable, of a list by commas the first; 0 where there is none above 0.
int from_environment(const char* name) noexcept {
  const char* const text = std::getenv(name);
  if (text == nullptr) return 0;
  char* end = nullptr;
  errno = 0;
  const long n = std::strtol(text, &end, 10);
  const bool number = end != text && errno == 0;
  end += std::strspn(end, " \t");
  return number && (*end == '\0' || *end == ',') ? in_bounds(n) : 0;
}

#if defined(__linux__)
int allowed_cpus() noexcept {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {  // machines may have more than a cpu_set_t has bits
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const bool known = sched_getaffinity(0, size, set) == 0;
    const bool longer = !known && errno == EINVAL;
    const int n = known ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (!longer) return n;
  }
  return 0;
}

/// How many CPUs' time a container may use, rounded up; 0: no limit is known. "max 100000", or "150000 100000".
int quota() noexcept {
  std::FILE* const file = std::fopen("/sys/fs/cgroup/cpu.max", "re");
  if (file == nullptr) return 0;
  char line[64] = "";
  const bool read = std::fgets(line, sizeof line, file) != nullptr;
  std::fclose(file);
  char* end = line;
  const long time = read ? std::strtol(line, &end, 10) : 0;
  const long period = std::strtol(end, nullptr, 10);
  return time > 0 && period > 0 ? in_bounds((time - 1) / period + 1) : 0;
}
#else
int allowed_cpus() noexcept { return in_bounds(sysconf(_SC_NPROCESSORS_ONLN)); }
int quota() noexcept { return 0; }
#endif

int first_count() noexcept {
  if (const int n = from_environment("ANYARRAY_NUM_THREADS"); n > 0) return n;
  if (const int n = from_environment("OMP_NUM_THREADS"); n > 0) return n;
  const int cpus = in_bounds(allowed_cpus());
  const int limit = quota();
  if (cpus == 0) return 1;
  return limit > 0 && limit < cpus ? limit : cpus;
}

std::atomic<int> count{0};  // 0: nobody has asked

/// Asked once, when it is first needed: the environment may be set up to then.
int first() noexcept {
  static const int n = first_count();
  return n;
}

}  // namespace

int num_threads() noexcept {
  const int n = count.load(std::memory_order_relaxed);
  return n > 0 ? n : first();
}

int set_num_threads(int n) noexcept {
  const int before = count.exchange(in_bounds(n), std::memory_order_relaxed);
  return before > 0 ? before : first();
}

}  // namespace anyarray
