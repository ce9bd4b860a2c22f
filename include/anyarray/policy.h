// SPDX-License-Identifier: Apache-2.0
// Which protocol is tried first and what happens when it fails: data only. The policy sees ids and
// bits, never objects; the engine alone acts on it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "anyarray/device.h"
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
enum RowTraits : std::uint8_t { row_mirror = 1, row_type_only = 2, row_host = 4, row_cuda = 8, row_sycl = 16 };

/// The traits of every row.
inline constexpr std::uint8_t row_traits[protocol_count] = {
#define ANYARRAY_PROTOCOL(id, attribute, traits, text) traits,
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL
};

/// Whether memory of this kind can be had over this row. Host memory is what the host can read; a kind that isn't
/// known is served by rows of any device alone.
constexpr bool serves(Protocol row, DeviceType kind) noexcept {
  const unsigned traits = row_traits[static_cast<int>(row)];
  if ((traits & row_host) != 0) return host_readable(kind);
  if ((traits & row_sycl) != 0) return kind == DeviceType::oneapi;
  if ((traits & row_cuda) == 0) return true;
  return kind == DeviceType::cuda || kind == DeviceType::cuda_host || kind == DeviceType::cuda_managed ||
         kind == DeviceType::rocm || kind == DeviceType::rocm_host;
}

/// Whether a device-first policy asks for the object's device before this row.
constexpr bool asks_device(Protocol row) noexcept {
  return (row_traits[static_cast<int>(row)] & (row_mirror | row_cuda | row_sycl)) != 0;
}

/// "host", "CUDA", "SYCL": the memory that the row gives; "any" where it isn't of one kind. Static storage.
constexpr const char* row_memory(Protocol row) noexcept {
  const unsigned traits = row_traits[static_cast<int>(row)];
  return (traits & row_host) != 0   ? "host"
         : (traits & row_cuda) != 0 ? "CUDA"
         : (traits & row_sycl) != 0 ? "SYCL"
                                    : "any";
}

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

/// Where an offer is looked for.
enum class Lookup : std::uint8_t {
  type_first,  ///< rows on the type in order, then rows that only the instance offers
  instance,    ///< both ranked together
  type,        ///< on the type alone
  method,      ///< the type's own callable, as it stands there: no property, nothing of the instance
};

/// What a consumer does with __dlpack_device__ before it calls __dlpack__.
enum class DeviceMethod : std::uint8_t {
  ignored,
  present,  ///< without it __dlpack__ is no offer
  called,   ///< the same, and it is called, whatever it answers
  checked,  ///< the same, and the answer must be a tuple of two
};

/// What an offered protocol that fails leads to.
enum class OnFailure : std::uint8_t {
  go_on,  ///< the next protocol
  stop,   ///< the error ("raise" in Python)
};

/// The ways in which an offer comes to nothing. Consumers differ in which of them end their search.
enum class Cause : std::uint8_t {
  none,             ///< the attribute is None
  read,             ///< reading the attribute raised something else than AttributeError or NotImplementedError
  attribute_error,  ///< its call raised AttributeError
  type_error,       ///< its call raised TypeError, however it was called
  buffer_error,     ///< its call, or the buffer slot, raised BufferError
  not_implemented,  ///< reading or calling it raised NotImplementedError
  call,             ///< its call, or the buffer slot, raised anything else
  content,          ///< what came breaks a rule of the protocol, or can't be had as a view
  read_only,        ///< what came is read-only
  count
};
inline constexpr int cause_count = static_cast<int>(Cause::count);
/// "none", "read", "attribute_error", …
const char* cause_name(Cause cause) noexcept;

/// Rows that are looked up as an attribute, which alone can be None.
inline constexpr std::uint16_t attribute_rows = 0
#define ANYARRAY_PROTOCOL(id, attribute, traits, text) | (sizeof(attribute) > 1 ? mask_of(Protocol::id) : 0)
#include "anyarray/protocols.def"
#undef ANYARRAY_PROTOCOL
    ;

/// An order of tries and what counts as a reason to go on. Trivially copyable; two that say the same are the same to
/// the engine's cache, whoever made them and when.
struct Policy {
  std::uint64_t rows = 0;  ///< the order: four bits a row, the first row lowest
  std::uint8_t n = 0;      ///< rows in the order
  Lookup lookup = Lookup::type_first;
  OnFailure on_failure = OnFailure::go_on;
  bool device_first = false;
  DeviceMethod device_method = DeviceMethod::ignored;
  bool none_ends = false;  ///< whether None ends it for some row with an attribute; kept by end() and pass()
  std::uint16_t reserved = 0;
  std::uint16_t final[cause_count] = {};  ///< rows for which this cause ends the search even under OnFailure::go_on
  ProtocolMask mask = 0;                  ///< the rows in the order

  /// The row that is tried as number `i`.
  constexpr Protocol at(int i) const noexcept { return static_cast<Protocol>(rows >> (4 * i) & 15); }
  /// Appends a row; false when it is there already.
  constexpr bool add(Protocol p) noexcept {
    if ((mask & mask_of(p)) != 0) return false;
    rows |= static_cast<std::uint64_t>(p) << (4 * n++);
    mask |= mask_of(p);
    return true;
  }
  constexpr ProtocolMask ends_on(Cause cause) const noexcept { return final[static_cast<int>(cause)]; }
  /// Makes `cause` final for these rows.
  constexpr Policy& end(Cause cause, ProtocolMask of_rows) noexcept {
    final[static_cast<int>(cause)] |= static_cast<std::uint16_t>(of_rows & mask);
    none_ends = (final[static_cast<int>(Cause::none)] & attribute_rows) != 0;
    return *this;
  }
  /// Makes every cause final for these rows but None, which stays absence, and what is read-only.
  constexpr Policy& end(ProtocolMask of_rows) noexcept {
    for (int i = static_cast<int>(Cause::read); i <= static_cast<int>(Cause::content); ++i) {
      end(static_cast<Cause>(i), of_rows);
    }
    return *this;
  }
  /// Lets the search go on after `cause` in these rows.
  constexpr Policy& pass(Cause cause, ProtocolMask of_rows) noexcept {
    final[static_cast<int>(cause)] &= static_cast<std::uint16_t>(~of_rows);
    none_ends = (final[static_cast<int>(Cause::none)] & attribute_rows) != 0;
    return *this;
  }
  /// Whether some cause ends the search by itself.
  constexpr bool has_final() const noexcept {
    unsigned any = 0;
    for (std::uint16_t rows_of_cause : final) any |= rows_of_cause;
    return any != 0;
  }
  /// All but the order and `final` as one number, for caches in this process.
  std::uint64_t traits() const noexcept {
    std::uint64_t all;
    __builtin_memcpy(&all, &n, sizeof all);
    return all;
  }
  constexpr bool operator==(const Policy& o) const noexcept {
    for (int i = 0; i < cause_count; ++i) {
      if (final[i] != o.final[i]) return false;
    }
    return rows == o.rows && n == o.n && lookup == o.lookup && on_failure == o.on_failure &&
           device_first == o.device_first && device_method == o.device_method;
  }
  constexpr bool operator!=(const Policy& o) const noexcept { return !(*this == o); }
};
static_assert(protocol_count <= 16, "an order has four bits a row");

static_assert(offsetof(Policy, final) - offsetof(Policy, n) == sizeof(std::uint64_t),
              "traits() reads what lies between");

/// Whether the search ends after `row` came to `s` by `cause` (which counts for failed, invalid and unsupported). What
/// isn't offered, was passed over or lies on another device never ends it; what goes_on() is false for always does.
constexpr bool failure_is_final(const Policy& p, Protocol row, Status s, Cause cause) noexcept {
  if (!goes_on(s)) return true;
  if (s != Status::failed && s != Status::invalid && s != Status::unsupported) return false;
  return p.on_failure == OnFailure::stop || (p.ends_on(cause) & mask_of(row)) != 0;
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
  p.end(Cause::content, mask_of(Protocol::numpy));  // what the struct can't say, NumPy's other protocols only lose
  return p;
}
inline constexpr Policy default_policy = make_default_policy();

/// A named policy that comes with the library; those that imitate a consumer say which, and where that was seen. Texts
/// that don't apply are empty.
struct Preset {
  const char* name;
  Policy policy;
  const char* text;      ///< in one sentence
  const char* consumer;  ///< "numpy.asarray"
  const char* steps;     ///< all that it looks for, in order: rows of the registry, and "=words" for the rest
  /// Keywords of each call of __dlpack__; "/" before what follows a TypeError. "?stream": for memory of a device alone;
  /// "max_version!": a legacy capsule in answer is refused.
  const char* handshake;
  const char* nothing;   ///< what it does with an object that offers nothing
  const char* versions;  ///< the versions in which this was seen
  const char* source;    ///< file, function, commit
  bool runs;             ///< checked against the installed library; false: read from source alone
};
extern const Preset presets[];
extern const int preset_count;

/// The preset of this name; null when there is none. "default" is presets[0].
const Policy* find_preset(const char* name) noexcept;

}  // namespace anyarray
