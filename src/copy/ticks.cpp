// SPDX-License-Identifier: Apache-2.0
#include "src/copy/ticks.h"

#include <numeric>

namespace anyarray {
namespace {

/// One tick of a unit in the next finer one; by TimeUnit.
constexpr std::int64_t steps[] = {1, 12, 0, 7, 24, 60, 60, 1000, 1000, 1000, 1000, 1000, 1000, 1};

/// NumPy counts no more ticks than this in one.
constexpr std::int64_t too_many = std::int64_t{1} << 56;

/// `type`'s multiplier in ticks of `fine`; 0 where that is too much.
std::int64_t multiplier_in(DType type, TimeUnit fine) noexcept {
  const std::int64_t one = ticks_in(type.unit(), fine);
  std::int64_t ticks = 0;
  return one >= too_many || __builtin_mul_overflow(one, std::int64_t{type.count}, &ticks) ? 0 : ticks;
}

}  // namespace

std::int64_t ticks_in(TimeUnit coarse, TimeUnit fine) noexcept {
  std::int64_t ticks = 1;
  for (int unit = static_cast<int>(coarse); unit < static_cast<int>(fine); ++unit) {
    if (__builtin_mul_overflow(ticks, steps[unit], &ticks)) return 0;
  }
  return ticks;
}

bool ticks_divide(DType from, DType to) noexcept {
  if (is_calendar(from.unit()) != is_calendar(to.unit())) return true;
  if (from.unit() > to.unit()) return false;
  const std::int64_t ticks = multiplier_in(from, to.unit());
  return ticks != 0 && ticks < too_many && ticks % to.count == 0;
}

bool common_ticks(DType a, DType b, DType* out) noexcept {
  if (a.unit() == TimeUnit::generic || b.unit() == TimeUnit::generic) {
    *out = a.unit() == TimeUnit::generic ? b : a;
    return true;
  }
  DType coarse = a.unit() <= b.unit() ? a : b;
  DType fine = a.unit() <= b.unit() ? b : a;
  if (is_calendar(coarse.unit()) != is_calendar(fine.unit())) {  // both say days
    coarse = make_time(a.code, TimeUnit::D);
    if (fine.unit() == TimeUnit::W) fine = make_time(a.code, TimeUnit::D);
  }
  const std::int64_t ticks = multiplier_in(coarse, fine.unit());
  if (ticks == 0) return false;
  *out = make_time(a.code, fine.unit(), static_cast<std::uint32_t>(std::gcd(ticks, std::int64_t{fine.count})));
  return true;
}

}  // namespace anyarray
