// SPDX-License-Identifier: Apache-2.0
// The pool: one for the process, made when it is first needed. It serves one caller at a time; whoever finds it busy
// does all of his work himself, as does whoever calls from inside of a part, so nobody ever waits for a place. A caller
// doesn't wait for helpers that haven't come: he works on the parts himself until none is left.
#include "src/copy/threads.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace anyarray {
namespace {

using Work = void (*)(void* what, std::int64_t begin, std::int64_t end) noexcept;

constexpr int parts_each = 4;                               // so that a slow thread doesn't hold up the others
constexpr std::int64_t part_bytes = bytes_for_threads / 4;  // below that, taking a part costs too much of its time
constexpr int spins = 400;                                  // some microseconds: back-to-back copies need no wake-up
constexpr int most_helpers = 255;

struct Job {
  Work work;
  void* what;
  std::int64_t n;
  std::int64_t step;
  std::int64_t parts;
};

/// Never freed: its threads may sleep in it until the process ends, and those of a parent are gone after a fork.
struct Pool {
  const pid_t process;
  Pool* const before_fork;
  std::atomic<bool> busy{false};      ///< a caller has it
  std::atomic<std::int64_t> next{0};  ///< part
  std::atomic<int> running{0};        ///< helpers in the job
  std::atomic<unsigned> posted{0};

  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  // Under the lock:
  pthread_cond_t work_came = PTHREAD_COND_INITIALIZER;
  pthread_cond_t work_done = PTHREAD_COND_INITIALIZER;
  Job job{};
  int wanted = 0;  ///< helpers that may still join
  int sleeping = 0;
  int threads = 0;
  bool ends = false;
  pthread_t ids[most_helpers];

  Pool(pid_t now, Pool* before) noexcept : process(now), before_fork(before) {}
};

std::atomic<Pool*> current{nullptr};

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

void run(Pool& pool, const Job& job) noexcept {
  for (;;) {
    const std::int64_t part = pool.next.fetch_add(1, std::memory_order_relaxed);
    if (part >= job.parts) return;
    const std::int64_t begin = part * job.step;
    job.work(job.what, begin, part + 1 == job.parts ? job.n : begin + job.step);
  }
}

void* help(void* argument) {
  auto& pool = *static_cast<Pool*>(argument);
  unsigned seen = 0;
  for (;;) {
    for (int i = 0; i < spins && pool.posted.load(std::memory_order_relaxed) == seen; ++i) pause();
    pthread_mutex_lock(&pool.lock);
    while (pool.wanted == 0 && !pool.ends) {
      ++pool.sleeping;
      pthread_cond_wait(&pool.work_came, &pool.lock);
      --pool.sleeping;
    }
    if (pool.ends) {
      pthread_mutex_unlock(&pool.lock);
      return nullptr;
    }
    --pool.wanted;
    pool.running.fetch_add(1, std::memory_order_relaxed);
    const Job job = pool.job;
    seen = pool.posted.load(std::memory_order_relaxed);
    pthread_mutex_unlock(&pool.lock);
    run(pool, job);
    if (pool.running.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
    pthread_mutex_lock(&pool.lock);
    pthread_cond_signal(&pool.work_done);
    pthread_mutex_unlock(&pool.lock);
  }
}

/// Starts threads until there are so many; as many as can be had. Under the lock. Signals are for the program's own.
void start(Pool& pool, int helpers) noexcept {
  if (pool.threads >= helpers) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.threads < helpers && pthread_create(&pool.ids[pool.threads], nullptr, help, &pool) == 0) ++pool.threads;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// This process's pool. Null without memory.
Pool* find_pool() noexcept {
  Pool* pool = current.load(std::memory_order_acquire);
  const pid_t now = getpid();
  while (pool == nullptr || pool->process != now) {
    auto* const made = new (std::nothrow) Pool(now, pool);
    if (made == nullptr) return nullptr;
    if (current.compare_exchange_strong(pool, made, std::memory_order_acq_rel)) return made;
    delete made;
  }
  return pool;
}

void share_out(Pool& pool, const Job& job, int helpers) noexcept {
  pthread_mutex_lock(&pool.lock);
  if (!pool.ends) start(pool, helpers);
  pool.job = job;
  pool.next.store(0, std::memory_order_relaxed);
  pool.wanted = pool.ends ? 0 : helpers < pool.threads ? helpers : pool.threads;
  pool.posted.fetch_add(1, std::memory_order_relaxed);
  const int wakes = pool.wanted < pool.sleeping ? pool.wanted : pool.sleeping;
  for (int i = 0; i < wakes; ++i) pthread_cond_signal(&pool.work_came);
  pthread_mutex_unlock(&pool.lock);

  run(pool, job);

  pthread_mutex_lock(&pool.lock);
  pool.wanted = 0;
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < spins && pool.running.load(std::memory_order_acquire) != 0; ++i) pause();
  if (pool.running.load(std::memory_order_acquire) == 0) return;
  pthread_mutex_lock(&pool.lock);
  while (pool.running.load(std::memory_order_acquire) != 0) pthread_cond_wait(&pool.work_done, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}

/// When the library is unloaded or the process ends, no thread may be left in its code.
struct AtEnd {
  ~AtEnd() {
    Pool* const pool = current.load(std::memory_order_acquire);
    if (pool == nullptr || pool->process != getpid()) return;
    pthread_mutex_lock(&pool->lock);
    pool->ends = true;
    const int threads = pool->threads;
    pthread_cond_broadcast(&pool->work_came);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < threads; ++i) pthread_join(pool->ids[i], nullptr);
  }
} at_end;

}  // namespace

void in_parts(std::int64_t n, std::int64_t grain, std::int64_t bytes, Work work, void* what) noexcept {
  if (n <= 0) return;
  const std::int64_t threads = bytes < bytes_for_threads || n <= grain ? 1 : num_threads();
  Pool* const pool = threads > 1 ? find_pool() : nullptr;
  if (pool == nullptr || pool->busy.exchange(true, std::memory_order_acquire)) return work(what, 0, n);
  const std::int64_t most = threads * parts_each < bytes / part_bytes ? threads * parts_each : bytes / part_bytes;
  const std::int64_t grains = (n - 1) / grain + 1;
  const std::int64_t step = ((grains - 1) / most + 1) * grain;
  const Job job{work, what, n, step, (n - 1) / step + 1};
  const std::int64_t others = (threads < job.parts ? threads : job.parts) - 1;
  share_out(*pool, job, static_cast<int>(others < most_helpers ? others : most_helpers));
  pool->busy.store(false, std::memory_order_release);
}

}  // namespace anyarray
