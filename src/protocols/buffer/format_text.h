// SPDX-License-Identifier: Apache-2.0
// What the format parser needs beside the grammar: a format as it may stand in a sentence, the check of names, and
// the list in which fields are gathered. Included by codec.cpp alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "anyarray/dtype.h"

namespace anyarray::pep3118 {

/// The format cut to the length of a phrase, with nothing but printable ASCII in it.
struct Shown {
  char text[64];
  explicit Shown(const char* format) noexcept {
    std::size_t n = 0;
    for (; format[n] != '\0' && n < sizeof text - 4; ++n) {
      text[n] = format[n] < ' ' || format[n] > '~' ? '?' : format[n];
    }
    std::strcpy(text + n, format[n] != '\0' ? "..." : "");
  }
};

/// Whether the bytes up to `end` are UTF-8.
inline bool is_utf8(const char* p, const char* end) noexcept {
  while (p < end) {
    const auto lead = static_cast<unsigned char>(*p++);
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || end - p < more) return false;
    const auto second = static_cast<unsigned char>(*p);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) || (lead == 0xF0 && second < 0x90) ||
        (lead == 0xF4 && second > 0x8F)) {
      return false;  // overlong, a surrogate, or past the last code point
    }
    for (int i = 0; i < more; ++i, ++p) {
      if ((static_cast<unsigned char>(*p) & 0xC0) != 0x80) return false;
    }
  }
  return true;
}

/// The fields of one struct while it is read. False from add() and name_all() when memory runs out.
class Fields {
 public:
  Fields() noexcept = default;
  ~Fields() {
    std::free(fields_);
    std::free(names_);
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  bool add(const Field& field) noexcept {
    if (n_ == room_) {
      const std::size_t room = room_ == 0 ? 8 : std::size_t{room_} * 2;
      auto* grown = static_cast<Field*>(std::realloc(fields_, room * sizeof(Field)));
      if (grown == nullptr) return false;
      fields_ = grown;
      room_ = static_cast<std::uint32_t>(room);
    }
    fields_[n_++] = field;
    return true;
  }
  /// Names the fields without a name f0, f1, … by their position.
  bool name_all() noexcept {
    constexpr std::size_t longest = sizeof "f4294967295";
    if (n_ == 0) return true;
    names_ = static_cast<char*>(std::malloc(n_ * longest));
    if (names_ == nullptr) return false;
    for (std::uint32_t i = 0; i < n_; ++i) {
      if (fields_[i].name != nullptr) continue;
      std::snprintf(names_ + i * longest, longest, "f%u", i);
      fields_[i].name = names_ + i * longest;
    }
    return true;
  }
  const Field* data() const noexcept { return fields_; }
  std::uint32_t size() const noexcept { return n_; }

 private:
  Field* fields_ = nullptr;
  char* names_ = nullptr;
  std::uint32_t n_ = 0;
  std::uint32_t room_ = 0;
};

}  // namespace anyarray::pep3118
