// SPDX-License-Identifier: Apache-2.0
// The letters of Arrow's numbers and of its units of time, for both halves of the codec. Bools aren't among them: they
// are given, but not taken.
#pragma once
#include "anyarray/dtype.h"

namespace anyarray::arrow {

struct Number {
  char letter;
  TypeCode code;
  std::uint8_t bits;
};
inline constexpr Number numbers[] = {
    {'c', TypeCode::int_, 8},    {'C', TypeCode::uint, 8},    {'s', TypeCode::int_, 16},   {'S', TypeCode::uint, 16},
    {'i', TypeCode::int_, 32},   {'I', TypeCode::uint, 32},   {'l', TypeCode::int_, 64},   {'L', TypeCode::uint, 64},
    {'e', TypeCode::float_, 16}, {'f', TypeCode::float_, 32}, {'g', TypeCode::float_, 64},
};

struct Unit {
  char letter;
  TimeUnit unit;
};
inline constexpr Unit units[] = {{'s', TimeUnit::s}, {'m', TimeUnit::ms}, {'u', TimeUnit::us}, {'n', TimeUnit::ns}};

}  // namespace anyarray::arrow
