// SPDX-License-Identifier: Apache-2.0
// The headers of C++ and of C, held to what has been promised (abi.def). Compiling this file is most of the check: an
// error here says which promise would be broken. What is added after the record passes.
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <type_traits>

#include "anyarray/c.h"
#include "anyarray/c_api.h"
#include "tests/cpp/check.h"

static_assert(sizeof(void*) == 8, "recorded for 64-bit machines");

// --- What is compared ------------------------------------------------------------------------------------------------

#define HOLDS_STRUCT(name, size)                                           \
  static_assert(sizeof(name) == (size), #name " has another size");        \
  static_assert(std::is_trivially_copyable_v<name>, #name " isn't plain"); \
  static_assert(std::is_standard_layout_v<name>, #name " isn't plain");
#define HOLDS_MEMBER(name, member, type, offset, size)                                     \
  static_assert(offsetof(name, member) == (offset), #name "::" #member " lies elsewhere"); \
  static_assert(sizeof(name::member) == (size), #name "::" #member " has another size");   \
  static_assert(std::is_same_v<decltype(name::member), type>, #name "::" #member " has another type");
#define HOLDS_ROW(table, offset, result, name, parameters)                                  \
  static_assert(offsetof(table, name) == (offset), #name " stands elsewhere in the table"); \
  static_assert(std::is_same_v<decltype(table::name), result(*) parameters>, #name " has another signature");

// --- C's headers -----------------------------------------------------------------------------------------------------

#define ABI_STRUCT(name, c_name, size) HOLDS_STRUCT(c_name, size)
#define ABI_MEMBER(name, c_name, member, type, c_type, offset, size) HOLDS_MEMBER(c_name, member, c_type, offset, size)
#define ABI_OPAQUE_STRUCT(name, size)
#define ABI_OPAQUE_MEMBER(name, member, type, offset, size)
#define ABI_VALUE(name, member, c_name, value) static_assert((c_name) == (value), #c_name " has another value");
#define ABI_OPAQUE_VALUE(name, member, value)
#define ABI_ROW(since, offset, result, name, parameters)      \
  HOLDS_ROW(anyarray_c_api, offset, result, name, parameters) \
  static_assert(ANYARRAY_SINCE_##name == (since), #name " came with another version");
#include "tests/cpp/abi.def"
#undef ABI_STRUCT
#undef ABI_MEMBER
#undef ABI_OPAQUE_STRUCT
#undef ABI_OPAQUE_MEMBER
#undef ABI_VALUE
#undef ABI_OPAQUE_VALUE
#undef ABI_ROW

// --- C++'s -----------------------------------------------------------------------------------------------------------

namespace anyarray {

#define ABI_STRUCT(name, c_name, size) HOLDS_STRUCT(name, size)
#define ABI_MEMBER(name, c_name, member, type, c_type, offset, size) HOLDS_MEMBER(name, member, type, offset, size)
#define ABI_OPAQUE_STRUCT HOLDS_STRUCT
#define ABI_OPAQUE_MEMBER HOLDS_MEMBER
#define ABI_OPAQUE_VALUE(name, member, value) \
  static_assert(static_cast<std::uint32_t>(name::member) == (value), #name "::" #member " has another value");
#define ABI_VALUE(name, member, c_name, value) ABI_OPAQUE_VALUE(name, member, value)
#define ABI_ROW(since, offset, result, name, parameters) HOLDS_ROW(CApi, offset, result, name, parameters)
#include "tests/cpp/abi.def"
#undef ABI_STRUCT
#undef ABI_MEMBER
#undef ABI_OPAQUE_STRUCT
#undef ABI_OPAQUE_MEMBER
#undef ABI_VALUE
#undef ABI_OPAQUE_VALUE
#undef ABI_ROW

// --- What was added since --------------------------------------------------------------------------------------------

namespace {

constexpr std::uint32_t recorded[] = {
#define ABI_STRUCT(name, c_name, size)
#define ABI_MEMBER(name, c_name, member, type, c_type, offset, size)
#define ABI_OPAQUE_STRUCT(name, size)
#define ABI_OPAQUE_MEMBER(name, member, type, offset, size)
#define ABI_VALUE(name, member, c_name, value)
#define ABI_OPAQUE_VALUE(name, member, value)
#define ABI_ROW(since, offset, result, name, parameters) since,
#include "tests/cpp/abi.def"
};
constexpr std::uint32_t now[] = {
#define ANYARRAY_FUNCTION(since, result, name, parameters) since,
#include "anyarray/c_api.def"
#undef ANYARRAY_FUNCTION
};

constexpr bool versions_rise() {
  for (std::size_t i = 1; i < std::size(now); ++i) {
    if (now[i] < now[i - 1]) return false;
    // A minor that was released has the rows that it was released with.
    if (i >= std::size(recorded) && now[i] <= recorded[std::size(recorded) - 1]) return false;
  }
  return true;
}
static_assert(std::size(now) >= std::size(recorded), "a row is gone");
static_assert(versions_rise(), "new rows stand at the end, under a minor version of their own");
static_assert(c_api_minor == now[std::size(now) - 1]);
static_assert(c_api_major == 0, "another major: begin a new record");
static_assert(sizeof(CApi) == 24 + std::size(now) * sizeof(void*) && sizeof(anyarray_c_api) == sizeof(CApi));

// --- What C computes -------------------------------------------------------------------------------------------------

void test_itemsize() {
  for (unsigned code = 0; code <= ANYARRAY_CODE_INTERNED; ++code) {
    for (unsigned attributes = 0; attributes < 4; ++attributes) {
      for (const unsigned bits : {1u, 4u, 6u, 8u, 12u, 16u, 64u, 65535u}) {
        for (const std::uint32_t count : {0u, 1u, 2u, 3u, 7u, 0xffffffffu}) {
          ::anyarray_dtype c = anyarray_make_dtype(static_cast<std::uint8_t>(code), static_cast<std::uint16_t>(bits));
          c.attributes = static_cast<std::uint8_t>(attributes);
          c.count = count;
          DType d;
          std::memcpy(static_cast<void*>(&d), &c, sizeof d);
          CHECK_EQ(anyarray_itemsize(c), d.itemsize());
        }
      }
    }
  }
}

void test_requests() {
  const ::anyarray_request c = anyarray_request_any();
  const Request r;
  CHECK(c.policy == nullptr && r.policy == nullptr && c.device.type == static_cast<int>(r.device.type) &&
        c.device.id == r.device.id);
  CHECK(c.has_dtype == r.has_dtype && c.writable == r.writable && c.order == static_cast<int>(r.order));
  CHECK(c.ndim == r.ndim && c.allow == r.allow && c.layout == r.layout && c.n_dtypes == r.n_dtypes);
  CHECK(c.dtypes == nullptr && r.dtypes == nullptr && c.reserved[0] == 0 && c.reserved[1] == 0);
}

/// What is said of a table; "" of one that fits.
std::string verdict(std::uint32_t size, std::uint32_t major, std::uint32_t minor, std::uint32_t wanted) {
  char why[160] = "";
  return anyarray_table_fits(size, major, minor, wanted, why, sizeof why) != 0 ? "" : why;
}

void test_versions() {
  CHECK_EQ(anyarray_table_size(0), 80u);
  CHECK_EQ(anyarray_table_size(1), 104u);
  CHECK_EQ(anyarray_table_size(c_api_minor), sizeof(CApi));
  CHECK_EQ(verdict(80, 0, 0, 0), "");
  CHECK_EQ(verdict(104, 0, 1, 0), "");
  CHECK_EQ(verdict(4000, 0, 99, 1), "");
  const std::string start = "this extension was built for anyarray's C API 0.1, the installed anyarray has ";
  CHECK_EQ(verdict(80, 0, 0, 1), start + "0.0: upgrade the package anyarray");
  CHECK_EQ(verdict(96, 0, 1, 1), start + "0.1: upgrade the package anyarray");
  CHECK_EQ(verdict(4000, 1, 0, 1), start + "1.0: rebuild the extension");
}

}  // namespace
}  // namespace anyarray

int main() {
  anyarray::test_itemsize();
  anyarray::test_requests();
  anyarray::test_versions();
  return check::done();
}
