// SPDX-License-Identifier: Apache-2.0
// Work in parts: each element once, whatever calls from wherever; and how many threads there are.
#include "src/copy/threads.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

constexpr std::int64_t plenty = std::int64_t{1} << 30;

/// Counts how often each element was worked on, and by how many threads.
struct Counts {
  std::vector<std::atomic<int>> times;
  std::mutex lock;
  std::set<std::thread::id> threads;
  std::atomic<int> calls{0};
  std::int64_t grain;
  bool whole = true;  // parts begin at multiples of the grain

  explicit Counts(std::int64_t n, std::int64_t g) : times(static_cast<std::size_t>(n)), grain(g) {}
  void run(std::int64_t bytes) { in_parts(static_cast<std::int64_t>(times.size()), grain, bytes, &Counts::work, this); }
  static void work(void* what, std::int64_t begin, std::int64_t end) noexcept {
    auto& c = *static_cast<Counts*>(what);
    ++c.calls;
    for (std::int64_t i = begin; i < end; ++i) ++c.times[static_cast<std::size_t>(i)];
    const std::lock_guard<std::mutex> hold(c.lock);
    c.threads.insert(std::this_thread::get_id());
    c.whole &= begin < end && begin % c.grain == 0;
  }
  bool each(int n) const {
    bool equal = true;
    for (const auto& one : times) equal &= one == n;
    return equal;
  }
};

void test_parts_cover_all() {
  for (const int threads : {1, 2, 3, 8, 200}) {
    set_num_threads(threads);
    for (const std::int64_t n : {0, 1, 2, 7, 64, 1000, 4097}) {
      for (const std::int64_t grain : {1, 3, 64, 5000}) {
        Counts c(n, grain);
        c.run(plenty);
        CHECK(c.each(1) && c.whole);
        CHECK(static_cast<int>(c.threads.size()) <= threads);
        CHECK(c.calls <= (threads == 1 ? 1 : 4 * threads));
      }
    }
  }
  set_num_threads(4);
  Counts little(100, 1);
  little.run(bytes_for_threads - 1);
  CHECK(little.calls == 1 && little.each(1));
  // Near the end of the numbers nothing overflows.
  static std::atomic<std::int64_t> sum;
  in_parts(
      INT64_MAX, std::int64_t{1} << 62, plenty,
      [](void*, std::int64_t begin, std::int64_t end) noexcept { sum += end - begin; }, nullptr);
  CHECK_EQ(sum.load(), INT64_MAX);
}

/// Others do take part: a part that waits for another one to begin would never end without them.
void test_others_help() {
  set_num_threads(2);
  struct Met {
    std::atomic<int> come{0};
  } met;
  in_parts(
      2, 1, plenty,
      [](void* what, std::int64_t, std::int64_t) noexcept {
        auto& m = *static_cast<Met*>(what);
        ++m.come;
        while (m.come < 2) std::this_thread::yield();
      },
      &met);
  CHECK_EQ(met.come.load(), 2);
}

void test_nested() {
  set_num_threads(3);
  struct Outer {
    Counts inner{512, 1};
    std::atomic<bool> here{true};
  } outer;
  in_parts(
      16, 1, plenty,
      [](void* what, std::int64_t begin, std::int64_t end) noexcept {
        for (; begin < end; ++begin) {
          auto& o = *static_cast<Outer*>(what);
          Counts mine(64, 1);
          mine.run(plenty);
          o.here = o.here && mine.threads.size() == 1 && mine.each(1);
          o.inner.run(plenty);
        }
      },
      &outer);
  CHECK(outer.here && outer.inner.each(16));
}

/// Many callers at once, while the number changes.
void test_callers_at_once() {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&wrong, caller] {
      for (int i = 0; i < 100; ++i) {
        if (caller == 0) set_num_threads(1 + i % 5);
        Counts c(100, 7);
        c.run(plenty);
        if (!c.each(1) || !c.whole) ++wrong;
      }
    });
  }
  for (std::thread& one : callers) one.join();
  CHECK_EQ(wrong.load(), 0);
}

/// What is written in parts is seen by the caller, and what was written before by the parts.
void test_memory_order() {
  set_num_threads(2);
  std::vector<std::int64_t> from(1 << 16), to(1 << 16);
  struct Both {
    std::int64_t* to;
    const std::int64_t* from;
  } both{to.data(), from.data()};
  bool equal = true;
  for (std::int64_t round = 1; round <= 50; ++round) {
    for (auto& one : from) one = round;
    in_parts(
        1 << 16, 64, plenty,
        [](void* what, std::int64_t begin, std::int64_t end) noexcept {
          const auto& b = *static_cast<Both*>(what);
          for (; begin < end; ++begin) b.to[begin] = b.from[begin] + 1;
        },
        &both);
    for (const auto one : to) equal &= one == round + 1;
  }
  CHECK(equal);
}

/// The exit status of a child that does this; -1 where it didn't end by itself.
template <class F>
int in_child(F body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// After a fork the threads are gone, and the child gets new ones.
void test_fork() {
  set_num_threads(2);
  test_others_help();
  const int status = in_child([] {
    test_others_help();
    Counts c(100, 1);
    c.run(plenty);
    return c.each(1) && check::failures == 0 ? 7 : 1;
  });
  CHECK_EQ(status, 7);
  // Also where another thread is in the middle of its work.
  std::atomic<bool> stop{false};
  std::thread busy([&stop] {
    while (!stop) Counts(100, 1).run(plenty);
  });
  for (int i = 0; i < 20; ++i) {
    CHECK_EQ(in_child([] {
               Counts c(100, 1);
               c.run(plenty);
               return c.each(1) ? 7 : 1;
             }),
             7);
  }
  stop = true;
  busy.join();
}

/// What num_threads() is at first in a process with this environment.
int first_count(const char* own, const char* omp) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    const auto put = [](const char* name, const char* value) {
      if (value != nullptr) {
        setenv(name, value, 1);
      } else {
        unsetenv(name);
      }
    };
    put("ANYARRAY_NUM_THREADS", own);
    put("OMP_NUM_THREADS", omp);
    const int n = num_threads();
    _exit(write(ends[1], &n, sizeof n) == sizeof n ? 0 : 1);
  }
  int n = -1;
  if (read(ends[0], &n, sizeof n) != sizeof n) n = -1;
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  close(ends[1]);
  return n;
}

/// Before anything asks in this process: the answer is kept.
void test_environment() {
  const int cpus = first_count(nullptr, nullptr);
  CHECK(cpus >= 1);
  CHECK(cpus <= static_cast<int>(std::thread::hardware_concurrency()));
  CHECK_EQ(first_count("3", "5"), 3);
  CHECK_EQ(first_count(nullptr, "5"), 5);
  CHECK_EQ(first_count(nullptr, "6,2,1"), 6);
  CHECK_EQ(first_count(nullptr, " 4 ,2"), 4);
  CHECK_EQ(first_count("99999", nullptr), 1024);
  for (const char* wrong : {"", "0", "-2", "x", "3x", "3.5", ",4", "99999999999999999999"}) {
    CHECK_EQ(first_count(wrong, "5"), 5);
    CHECK_EQ(first_count(wrong, nullptr), cpus);
    CHECK_EQ(first_count(nullptr, wrong), cpus);
  }
}

void test_setting() {
  const int first = num_threads();
  CHECK(first >= 1);
  CHECK_EQ(set_num_threads(5), first);
  CHECK_EQ(num_threads(), 5);
  CHECK_EQ(set_num_threads(0), 5);
  CHECK_EQ(num_threads(), first);
  CHECK_EQ(set_num_threads(-3), first);
  CHECK_EQ(set_num_threads(1 << 30), first);
  CHECK_EQ(set_num_threads(0), 1024);
}

}  // namespace

int main() {
  test_environment();
  test_setting();
  test_parts_cover_all();
  test_others_help();
  test_nested();
  test_callers_at_once();
  test_memory_order();
  test_fork();
  return check::done();
}
