// SPDX-License-Identifier: Apache-2.0
// Moves against a plain loop: every instruction set, through the cache and past it, one thread and two, over shapes,
// permutations, signs, steps, sizes and turned bytes at random, in memory that ends where pages begin that can't be
// touched.
#include "src/copy/move.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "anyarray/copy.h"
#include "src/copy/isa.h"
#include "src/copy/move_plan.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

using Ints = std::vector<std::int64_t>;

/// Memory between two pages that nobody may touch.
class Guarded {
 public:
  explicit Guarded(std::size_t room) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    room_ = (room + page_ - 1) / page_ * page_;
    base_ = static_cast<char*>(
        mmap(nullptr, room_ + 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_, page_, PROT_NONE);
    mprotect(base_ + page_ + room_, page_, PROT_NONE);
  }
  ~Guarded() { munmap(base_, room_ + 2 * page_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  char* begin() const { return base_ + page_; }
  std::size_t room() const { return room_; }
  /// Room for so many bytes that ends, or begins, where the forbidden page does.
  char* place(std::size_t bytes, bool at_end) const { return at_end ? begin() + room_ - bytes : begin(); }

 private:
  std::size_t page_;
  std::size_t room_;
  char* base_;
};

/// Steps of one side in bytes, where its first element lies, and the bytes from the lowest to the highest.
struct Side {
  Ints steps;
  std::int64_t first = 0;
  std::int64_t extent = 0;
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t upto(std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(0, most)(engine_); }
  bool one_in(int n) { return upto(n - 1) == 0; }
  std::int64_t of(const Ints& from) {
    return from[static_cast<std::size_t>(upto(static_cast<std::int64_t>(from.size()) - 1))];
  }
  /// Dimensions in any order, with gaps, backwards, and, for a source, standing still.
  Side side(const Ints& shape, std::int64_t size, bool source) {
    std::vector<std::size_t> order(shape.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (!one_in(3)) std::shuffle(order.begin(), order.end(), engine_);
    Side s;
    s.steps.resize(shape.size());
    std::int64_t step = size;
    if (one_in(6)) step += upto(9);
    for (const std::size_t i : order) {
      if (one_in(5)) step *= 1 + upto(8);
      if (one_in(12)) step += upto(200);
      s.steps[i] = source && one_in(12) ? 0 : step;
      s.extent += (shape[i] - 1) * s.steps[i];
      if (s.steps[i] != 0) step *= shape[i];
      if (one_in(5)) {
        s.first += (shape[i] - 1) * s.steps[i];
        s.steps[i] = -s.steps[i];
      }
    }
    s.extent += size;
    return s;
  }

 private:
  std::mt19937 engine_;
};

void plain(char* to, const char* from, const std::vector<Axis>& axes, std::size_t dim, Moved what) {
  if (dim < axes.size()) {
    for (std::int64_t i = 0; i < axes[dim].extent; ++i) {
      plain(to + i * axes[dim].to, from + i * axes[dim].from, axes, dim + 1, what);
    }
    return;
  }
  for (std::size_t i = 0; i < what.size; ++i) to[i] = from[i / what.turn * what.turn + what.turn - 1 - i % what.turn];
}

std::string described(const std::vector<Axis>& axes, Moved what) {
  std::string text = "size " + std::to_string(what.size) + ", turn " + std::to_string(what.turn);
  for (const Axis& a : axes) {
    text += ", " + std::to_string(a.extent) + " (" + std::to_string(a.to) + " <- " + std::to_string(a.from) + ")";
  }
  return text;
}

/// Moves once as asked for and once by the plain loop, and compares the whole target, gaps included.
class Bench {
 public:
  explicit Bench(std::size_t room) : from_(room), to_(room), expected_(to_.room()) {
    std::mt19937 engine(1);
    for (std::size_t i = 0; i < from_.room(); ++i) from_.begin()[i] = static_cast<char>(engine());
  }
  std::int64_t room() const { return static_cast<std::int64_t>(to_.room()); }

  void compare(const Ints& shape, const Side& to, const Side& from, Moved what, bool at_end) {
    std::vector<Axis> axes;
    for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back({shape[i], to.steps[i], from.steps[i]});
    const char* const source = from_.place(static_cast<std::size_t>(from.extent), at_end) + from.first;
    char* const low = to_.place(static_cast<std::size_t>(to.extent), at_end);
    const auto bytes = static_cast<std::size_t>(to.extent);
    std::memset(low, 0x5a, bytes);
    plain(low + to.first, source, axes, 0, what);
    std::memcpy(expected_.data(), low, bytes);
    std::memset(low, 0x5a, bytes);
    move_elements(low + to.first, source, axes.data(), static_cast<int>(axes.size()), what);
    const bool same = std::memcmp(low, expected_.data(), bytes) == 0;
    CHECK(same);
    if (!same) std::printf("  %s: %s\n", isa_name(chosen_isa()), described(axes, what).c_str());
  }

 private:
  Guarded from_;
  Guarded to_;
  std::vector<char> expected_;
};

Moved moved(Random& random, std::int64_t size) {
  std::size_t turn = 1;
  if (random.one_in(4)) {
    for (const std::size_t unit : {16u, 8u, 6u, 4u, 2u}) {
      if (static_cast<std::size_t>(size) % unit == 0) turn = unit;
      if (turn > 1 && random.one_in(2)) break;
    }
  }
  return {static_cast<std::size_t>(size), turn};
}

const Ints sizes = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 17, 24, 32, 40, 64, 100};

void test_at_random(unsigned seed, int count, std::int64_t room) {
  Bench bench(static_cast<std::size_t>(room));
  Random random(seed);
  int done = 0;
  while (done < count) {
    const std::int64_t size = random.of(sizes);
    Ints shape(static_cast<std::size_t>(1 + random.upto(5)));
    for (auto& n : shape) n = random.one_in(3) ? 1 + random.upto(130) : 1 + random.upto(20);
    const Side to = random.side(shape, size, false);
    const Side from = random.side(shape, size, true);
    if (to.extent > bench.room() || from.extent > bench.room()) continue;
    std::int64_t elements = 1;
    for (const auto n : shape) elements *= n;
    if (elements > 200000) continue;
    bench.compare(shape, to, from, moved(random, size), random.one_in(2));
    ++done;
  }
}

/// Each pair of small extents, so that every remainder of every register tile occurs.
void test_small_transposes() {
  Bench bench(1 << 16);
  for (const std::int64_t size : {1, 2, 3, 4, 8, 12, 16}) {
    for (std::int64_t rows = 1; rows <= 40; ++rows) {
      for (std::int64_t columns = 1; columns <= 40; ++columns) {
        const Side to{{columns * size, size}, 0, rows * columns * size};
        const Side from{{size, rows * size}, 0, rows * columns * size};
        bench.compare({rows, columns}, to, from, {static_cast<std::size_t>(size), 1}, (rows + columns) % 2 == 0);
      }
    }
  }
}

/// Long rows with every small step and of every small number of parts, whose ends permutations must not overstep.
void test_steps_and_strands() {
  Bench bench(1 << 18);
  for (const std::int64_t size : {1, 2, 4, 8, 16}) {
    for (std::int64_t step = -9; step <= 9; ++step) {
      for (const std::int64_t n : {33, 64, 65, 127, 200, 513, 1100}) {
        const std::int64_t reach = (n - 1) * (step < 0 ? -step : step) * size;
        const Side from{{step * size}, step < 0 ? reach : 0, reach + size};
        bench.compare({n}, {{size}, 0, n * size}, from, {static_cast<std::size_t>(size), 1}, step % 2 == 0);
      }
    }
    for (std::int64_t strands = 2; strands <= 10; ++strands) {
      for (const std::int64_t n : {17, 64, 100, 257, 1000}) {
        const Side planes{{size, n * size}, 0, n * strands * size};
        const Side pixels{{strands * size, size}, 0, n * strands * size};
        bench.compare({n, strands}, pixels, planes, {static_cast<std::size_t>(size), 1}, n % 2 == 0);
        bench.compare({n, strands}, planes, pixels, {static_cast<std::size_t>(size), 1}, n % 2 == 0);
      }
    }
  }
}

void test_contiguous_and_turned() {
  Bench bench(1 << 16);
  for (std::int64_t n = 1; n < 300; ++n) {
    bench.compare({n}, {{1}, 0, n}, {{1}, 0, n}, {1, 1}, n % 2 == 0);
    for (const std::int64_t unit : {2, 4, 8, 16, 10}) {
      const Side dense{{unit}, 0, n * unit};
      bench.compare({n}, dense, dense, {static_cast<std::size_t>(unit), static_cast<std::size_t>(unit)}, n % 2 == 0);
    }
  }
}

/// Large enough for more than one thread.
void test_threads() {
  Bench bench(12 << 20);
  const std::int64_t rows = 701;
  const std::int64_t columns = 1003;
  for (const int threads : {1, 2, 3}) {
    const int before = set_num_threads(threads);
    for (const std::int64_t size : {1, 2, 4, 8, 16}) {
      const Side to{{columns * size, size}, 0, rows * columns * size};
      const Side from{{size, rows * size}, 0, rows * columns * size};
      bench.compare({rows, columns}, to, from, {static_cast<std::size_t>(size), 1}, true);
      bench.compare({rows, columns}, to, to, {static_cast<std::size_t>(size), 1}, true);
    }
    set_num_threads(before);
  }
}

}  // namespace

int main() {
  for (int isa = 0; isa < isa_count; ++isa) {
    if (choose_isa(static_cast<Isa>(isa)) != static_cast<Isa>(isa)) continue;  // this machine has none such
    for (const std::int64_t past_cache : {std::int64_t{-1}, std::int64_t{0}}) {
      stream_from(past_cache);
      test_small_transposes();
      test_steps_and_strands();
      test_contiguous_and_turned();
      test_at_random(static_cast<unsigned>(isa + 1), 6000, 1 << 18);
      test_at_random(static_cast<unsigned>(isa + 11), 300, 4 << 20);
      test_threads();
    }
  }
  return check::done();
}
