// SPDX-License-Identifier: Apache-2.0
// Checks for the C++ tests: a failed one prints where and what, and the program's exit status tells.
#pragma once
#include <cstdio>
#include <iostream>

namespace check {
inline int failures = 0;
inline int checks = 0;

template <class A, class B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
  ++checks;
  if (a == b) return;
  ++failures;
  std::cerr << file << ':' << line << ": " << text << ": " << a << " != " << b << '\n';
}
inline void is_true(bool ok, const char* text, const char* file, int line) {
  ++checks;
  if (ok) return;
  ++failures;
  std::cerr << file << ':' << line << ": " << text << '\n';
}
/// For the end of main(): prints the count, gives the exit status; a test without checks fails.
inline int done() {
  std::printf("%d checks, %d failed\n", checks, failures);
  return failures != 0 || checks == 0 ? 1 : 0;
}
}  // namespace check

#define CHECK(condition) ::check::is_true(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b) ::check::equal((a), (b), #a " == " #b, __FILE__, __LINE__)
