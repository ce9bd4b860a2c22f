// SPDX-License-Identifier: Apache-2.0
// What a try can end in, and the words that go with it. Includes nothing but the C headers named
// below; every layer includes this file. No exception is thrown anywhere below src/python.
#pragma once
#if __cplusplus < 201703L
#error "anyarray's headers need C++17: compile with -std=c++17 or newer"
#endif
#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace anyarray {

/// How one try of one protocol ended. The engine goes on to the next protocol after every status
/// for which goes_on() is true; the others end the search.
enum class Status : std::int32_t {
  ok = 0,
  not_offered,  ///< the object doesn't have the protocol: missing, None, or AttributeError on this instance
  not_tried,    ///< an earlier try ended the search
  skipped,      ///< passed over by the policy: this protocol can't serve the object's device
  failed,       ///< offered, but the producer raised; the exception is kept
  invalid,      ///< offered, but what came breaks a rule of the protocol
  unsupported,  ///< lawful, but not to be had as a view: a dtype without a fixed size, suboffsets, …
  device,       ///< decoded, but not on the device that was asked for
  mismatch,     ///< decoded, but dtype, ndim, order or writability isn't what was asked for: ends the search
  guarded,      ///< taking it would lose meaning silently (mask, conj bit, …): ends the search
  interrupted,  ///< an exception that is never passed over (KeyboardInterrupt, MemoryError, …): ends the search
  no_memory,    ///< an allocation of ours failed: ends the search
};

/// True when the engine may try the next protocol after this status.
constexpr bool goes_on(Status s) noexcept { return s != Status::ok && s < Status::mismatch; }

/// The status as the word used in traces ("ok", "not offered", "failed", …). Static storage.
const char* status_name(Status s) noexcept;

/// A caller-owned sentence that says why a function returned other than ok. Every function that
/// takes a `Reason*` accepts null. The text is always terminated; a longer one is cut.
struct Reason {
  char text[240];
  Reason() noexcept { text[0] = '\0'; }  // clearing all of it would cost more than a whole borrow
};

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
/// Writes the sentence, printf-style, if `why` isn't null, and returns `s`.
inline Status because(Status s, Reason* why, const char* format, ...) noexcept {
  if (why != nullptr) {
    std::va_list args;
    va_start(args, format);
    std::vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
  }
  return s;
}

}  // namespace anyarray
