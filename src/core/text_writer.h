// SPDX-License-Identifier: Apache-2.0
// Text of many parts into the room that a caller has: names of element types, PEP 3118 formats. C headers alone.
#pragma once
#include <climits>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

namespace anyarray {

/// Appends like snprintf: what doesn't fit is counted all the same, and the end is always terminated.
class TextWriter {
 public:
  TextWriter(char* out, std::size_t size) noexcept : out_(out), size_(size) {
    if (size > 0) out[0] = '\0';
  }
#if defined(__GNUC__)
  __attribute__((format(printf, 2, 3)))
#endif
  void print(const char* format, ...) noexcept {
    std::va_list args;
    va_start(args, format);
    const bool room = length_ < size_;
    const int n = std::vsnprintf(room ? out_ + length_ : nullptr, room ? size_ - length_ : 0, format, args);
    va_end(args);
    length_ += static_cast<std::size_t>(n >= 0 ? n : INT_MAX);  // what printf itself can't count is longer than that
  }
  std::size_t length() const noexcept { return length_; }
  bool fits() const noexcept { return length_ < size_; }

 private:
  char* out_;
  std::size_t size_;
  std::size_t length_ = 0;
};

}  // namespace anyarray
