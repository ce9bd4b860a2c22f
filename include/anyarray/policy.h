// SPDX-License-Identifier: Apache-2.0
// Which protocol is tried first and what happens when it fails: data only. The policy sees ids and
// bits, never objects; the engine alone acts on it.
#pragma once
#include <cstdint>

#include "anyarray/status.h"

namespace anyarray {

/// The registry's rows.
enum class Protocol : std::uint8_t {
#define ANYARRAY_PROTOCOL(id, attribute, traits, text) id,
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL
  count
};
inline constexpr int protocol_count = static_cast<int>(Protocol::count);

/// A set of protocols, a bit each.
using ProtocolMask = std::uint32_t;
constexpr ProtocolMask mask_of(Protocol p) noexcept { return ProtocolMask{1} << static_cast<unsigned>(p); }

/// Row traits of the registry (see protocols.def).
enum RowTraits : std::uint8_t { row_mirror = 1, row_type_only = 2 };

/// One row of the registry as data.
struct ProtocolRow {
  const char* name;       ///< as in policies and traces
  const char* attribute;  ///< "" where the C type is the offer
  std::uint8_t traits;    ///< RowTraits
  const char* text;
};
extern const ProtocolRow protocol_rows[protocol_count];

/// The row with this name; false when there is none.
bool parse_protocol(const char* name, Protocol* out) noexcept;

/// Where an offer is looked for first.
enum class Lookup : std::uint8_t {
  type_first,  ///< rows on the type in order, then rows that only the instance offers
  instance,    ///< both ranked together
};

/// What an offered protocol that fails leads to.
enum class OnFailure : std::uint8_t {
  go_on,  ///< the next protocol
  stop,   ///< the error ("raise" in Python)
};

/// An order of tries and what counts as a reason to go on. Trivially copyable; two that say the same are the same to
/// the engine's cache, whoever made them and when.
struct Policy {
  std::uint64_t rows = 0;  ///< the order: four bits a row, the first row lowest
  std::uint8_t n = 0;      ///< rows in the order
  Lookup lookup = Lookup::type_first;
  OnFailure on_failure = OnFailure::go_on;
  bool device_first = false;
  ProtocolMask mask = 0;           ///< the rows in the order
  ProtocolMask final_rows = 0;     ///< rows whose failure of any kind is final even under OnFailure::go_on
  ProtocolMask final_content = 0;  ///< rows whose wrong content (invalid, unsupported) is final, exceptions aren't

  /// The row that is tried as number `i`.
  constexpr Protocol at(int i) const noexcept { return static_cast<Protocol>(rows >> (4 * i) & 15); }
  /// Appends a row; false when it is there already.
  constexpr bool add(Protocol p) noexcept {
    if ((mask & mask_of(p)) != 0) return false;
    rows |= static_cast<std::uint64_t>(p) << (4 * n++);
    mask |= mask_of(p);
    return true;
  }
  /// All but the order that a plan depends on, for caches.
  constexpr std::uint32_t plan_traits() const noexcept {
    return n | static_cast<std::uint32_t>(lookup) << 8 | static_cast<std::uint32_t>(device_first) << 16;
  }
};
static_assert(protocol_count <= 16, "an order has four bits a row");

/// Whether the search ends after `row` came to `s`. What isn't offered, was passed over or lies on another device
/// never ends it; what goes_on() is false for always does.
constexpr bool failure_is_final(const Policy& p, Protocol row, Status s) noexcept {
  if (!goes_on(s)) return true;
  const bool content = s == Status::invalid || s == Status::unsupported;
  if (s != Status::failed && !content) return false;
  const ProtocolMask rows = p.final_rows | (content ? p.final_content : 0);
  return p.on_failure == OnFailure::stop || (rows & mask_of(row)) != 0;
}

/// A policy from rows, at compile time or run time: `make_policy({Protocol::dlpack, Protocol::buffer})`.
template <int N>
constexpr Policy make_policy(const Protocol (&rows)[N]) noexcept {
  Policy p;
  for (Protocol row : rows) p.add(row);
  return p;
}

/// The policy that serves where none is given: the registry's order, device first. It is presets[0].
constexpr Policy make_default_policy() noexcept {
  Policy p;
  for (int i = 0; i < protocol_count; ++i) p.add(static_cast<Protocol>(i));
  p.device_first = true;
  p.final_content = mask_of(Protocol::numpy);  // what the struct can't say, NumPy's other protocols only lose
  return p;
}
inline constexpr Policy default_policy = make_default_policy();

/// A named policy that comes with the library.
struct Preset {
  const char* name;
  Policy policy;
  const char* text;
};
extern const Preset presets[];
extern const int preset_count;

/// The preset of this name; null when there is none. "default" is presets[0].
const Policy* find_preset(const char* name) noexcept;

}  // namespace anyarray
