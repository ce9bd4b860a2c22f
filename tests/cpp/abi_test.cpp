// SPDX-License-Identifier: Apache-2.0
// The recorded layout of what extensions were compiled with: the table's rows and the structs that cross it. A row may
// be added at the end; a line here that has to be changed is an ABI that breaks.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <type_traits>

#include "anyarray/c_api.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

static_assert(sizeof(void*) == 8, "recorded for 64-bit machines");

struct Row {
  const char* name;
  std::size_t offset;
  unsigned since;
};
// As released: name, offset, version that brought it.
constexpr Row recorded[] = {
    {"borrow", 24, 0},      {"borrow_or_raise", 32, 0}, {"release", 40, 0}, {"to_array", 48, 0}, {"explain", 56, 0},
    {"status_text", 64, 0}, {"preset", 72, 0},          {"produce", 80, 1}, {"take", 88, 1},     {"drop", 96, 1},
    {"convert", 104, 2},    {"convert_like", 112, 2},   {"copy", 120, 2},
};
constexpr Row now[] = {
#define ANYARRAY_FUNCTION(since, result, name, parameters) {#name, offsetof(CApi, name), since},
#include "anyarray/c_api.def"
#undef ANYARRAY_FUNCTION
};

static_assert(offsetof(CApi, size) == 0 && offsetof(CApi, major) == 4 && offsetof(CApi, minor) == 8);
static_assert(offsetof(CApi, context) == 16);
static_assert(std::is_same_v<decltype(CApi::borrow), Status (*)(void*, PyObject*, const Request*, Borrow*)>);
static_assert(std::is_same_v<decltype(CApi::borrow_or_raise), Status (*)(void*, PyObject*, const Request*, Borrow*)>);
static_assert(std::is_same_v<decltype(CApi::release), void (*)(void*, Borrow*)>);
static_assert(std::is_same_v<decltype(CApi::to_array), PyObject* (*)(void*, Borrow*)>);
static_assert(std::is_same_v<decltype(CApi::explain), PyObject* (*)(void*, PyObject*, const Request*)>);
static_assert(std::is_same_v<decltype(CApi::status_text), const char* (*)(void*, Status)>);
static_assert(std::is_same_v<decltype(CApi::preset), const Policy* (*)(void*, const char*)>);
static_assert(std::is_same_v<decltype(CApi::produce),
                             PyObject* (*)(void*, const Descriptor*, PyObject*, void (*)(void*), void*)>);
static_assert(std::is_same_v<decltype(CApi::take), Holder* (*)(void*, PyObject*, const Request*)>);
static_assert(std::is_same_v<decltype(CApi::drop), void (*)(void*, Holder*)>);
static_assert(std::is_same_v<decltype(CApi::convert), PyObject* (*)(void*, PyObject*, PyObject*)>);
static_assert(std::is_same_v<decltype(CApi::convert_like), PyObject* (*)(void*, PyObject*, PyObject*)>);
static_assert(
    std::is_same_v<decltype(CApi::copy), Status (*)(void*, const Descriptor*, const Request*, Borrow*, Reason*)>);

static_assert(sizeof(DType) == 8 && offsetof(DType, bits) == 2 && offsetof(DType, count) == 4);
static_assert(sizeof(Descriptor) == 48 && offsetof(Descriptor, dtype) == 24 && offsetof(Descriptor, device) == 32);
static_assert(offsetof(Descriptor, ndim) == 40 && offsetof(Descriptor, flags) == 44);
static_assert(offsetof(Borrow, release_fn) == 48 && offsetof(Borrow, owner) == 56 && offsetof(Borrow, context) == 64);
static_assert(offsetof(Borrow, protocol) == 72 && offsetof(Borrow, token) == 80 && offsetof(Borrow, dims) == 160);
static_assert(sizeof(Borrow) == 288 && offsetof(Holder, references) == 288 && sizeof(Holder) == 296);
static_assert(std::is_trivially_copyable_v<Descriptor> && std::is_standard_layout_v<Holder>);
static_assert(offsetof(Request, policy) == 0 && offsetof(Request, device) == 8 && offsetof(Request, dtype) == 24);

}  // namespace

int main() {
  CHECK_EQ(std::size(now), std::size(recorded));
  unsigned newest = 0;
  for (std::size_t i = 0; i < std::min(std::size(now), std::size(recorded)); ++i) {
    CHECK_EQ(std::string(now[i].name), recorded[i].name);
    CHECK_EQ(now[i].offset, recorded[i].offset);
    CHECK_EQ(now[i].since, recorded[i].since);
    CHECK(now[i].since >= newest);
    newest = now[i].since;
  }
  CHECK_EQ(c_api_minor, newest);
  CHECK_EQ(c_api_major, 0u);
  CHECK_EQ(sizeof(CApi), recorded[std::size(recorded) - 1].offset + sizeof(void*));
  return check::done();
}
