// SPDX-License-Identifier: Apache-2.0
// The Arrow codec: the ABI of our own structs (against an installed arrow/c/abi.h where ANYARRAY_ARROW_HEADER names
// one), every format, nested lists with offsets at every level against a plain walk, tensors, nulls, and every rule
// that a schema or an array can break.
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "anyarray/protocols/arrow.h"
#include "tests/cpp/check.h"
#ifdef ANYARRAY_ARROW_HEADER
#include ANYARRAY_ARROW_HEADER
#endif

namespace ar = anyarray::arrow;
using namespace anyarray;

namespace {

static_assert(sizeof(void*) != 8 ||
              (sizeof(ar::Schema) == 72 && offsetof(ar::Schema, metadata) == 16 && offsetof(ar::Schema, flags) == 24 &&
               offsetof(ar::Schema, n_children) == 32 && offsetof(ar::Schema, children) == 40 &&
               offsetof(ar::Schema, dictionary) == 48 && offsetof(ar::Schema, release) == 56));
static_assert(sizeof(void*) != 8 ||
              (sizeof(ar::Array) == 80 && offsetof(ar::Array, null_count) == 8 && offsetof(ar::Array, offset) == 16 &&
               offsetof(ar::Array, n_buffers) == 24 && offsetof(ar::Array, n_children) == 32 &&
               offsetof(ar::Array, buffers) == 40 && offsetof(ar::Array, children) == 48 &&
               offsetof(ar::Array, dictionary) == 56 && offsetof(ar::Array, release) == 64));
static_assert(sizeof(void*) != 8 ||
              (sizeof(ar::ArrayStream) == 40 && offsetof(ar::ArrayStream, get_next) == 8 &&
               offsetof(ar::ArrayStream, get_last_error) == 16 && offsetof(ar::ArrayStream, release) == 24));
static_assert(sizeof(ar::Array) <= sizeof(Borrow::token), "an array fits into a borrow's token");

#ifdef ANYARRAY_ARROW_HEADER
#define SAME_PLACE(ours, theirs, field) \
  static_assert(offsetof(ours, field) == offsetof(theirs, field) && sizeof(ours::field) == sizeof(theirs::field))
static_assert(sizeof(ar::Schema) == sizeof(ArrowSchema) && sizeof(ar::Array) == sizeof(ArrowArray) &&
              sizeof(ar::ArrayStream) == sizeof(ArrowArrayStream));
SAME_PLACE(ar::Schema, ArrowSchema, format);
SAME_PLACE(ar::Schema, ArrowSchema, name);
SAME_PLACE(ar::Schema, ArrowSchema, metadata);
SAME_PLACE(ar::Schema, ArrowSchema, flags);
SAME_PLACE(ar::Schema, ArrowSchema, n_children);
SAME_PLACE(ar::Schema, ArrowSchema, children);
SAME_PLACE(ar::Schema, ArrowSchema, dictionary);
SAME_PLACE(ar::Schema, ArrowSchema, release);
SAME_PLACE(ar::Schema, ArrowSchema, private_data);
SAME_PLACE(ar::Array, ArrowArray, length);
SAME_PLACE(ar::Array, ArrowArray, null_count);
SAME_PLACE(ar::Array, ArrowArray, offset);
SAME_PLACE(ar::Array, ArrowArray, n_buffers);
SAME_PLACE(ar::Array, ArrowArray, n_children);
SAME_PLACE(ar::Array, ArrowArray, buffers);
SAME_PLACE(ar::Array, ArrowArray, children);
SAME_PLACE(ar::Array, ArrowArray, dictionary);
SAME_PLACE(ar::Array, ArrowArray, release);
SAME_PLACE(ar::Array, ArrowArray, private_data);
SAME_PLACE(ar::ArrayStream, ArrowArrayStream, get_schema);
SAME_PLACE(ar::ArrayStream, ArrowArrayStream, get_next);
SAME_PLACE(ar::ArrayStream, ArrowArrayStream, get_last_error);
SAME_PLACE(ar::ArrayStream, ArrowArrayStream, release);
SAME_PLACE(ar::ArrayStream, ArrowArrayStream, private_data);
#endif

constexpr std::int64_t big = INT64_MAX;
std::int32_t memory[4096];
std::mt19937 randomly(20250301);

void no_release(ar::Schema*) {}
void no_release(ar::Array*) {}

/// A schema and an array of lists of the given sizes around one element; every field may be changed afterwards.
struct Forge {
  std::deque<ar::Schema> schemas;
  std::deque<ar::Array> arrays;
  std::deque<std::string> texts;
  std::deque<ar::Schema*> schema_links;
  std::deque<ar::Array*> array_links;
  std::deque<std::array<const void*, 2>> buffers;

  explicit Forge(const char* format, std::int64_t length = 3, std::vector<std::int64_t> lists = {}) {
    std::int64_t n = length;
    for (std::size_t i = 0; i <= lists.size(); ++i) {
      const bool leaf = i == lists.size();
      texts.push_back(leaf ? std::string(format) : "+w:" + std::to_string(lists[i]));
      buffers.push_back({nullptr, leaf ? memory : nullptr});
      schemas.push_back({texts.back().c_str(), "", nullptr, 2, leaf ? 0 : 1, nullptr, nullptr, no_release, nullptr});
      arrays.push_back(
          {n, 0, 0, leaf ? 2 : 1, leaf ? 0 : 1, buffers.back().data(), nullptr, nullptr, no_release, nullptr});
      if (!leaf) n *= lists[i];
    }
    for (std::size_t i = 0; i + 1 < schemas.size(); ++i) {
      schema_links.push_back(&schemas[i + 1]);
      array_links.push_back(&arrays[i + 1]);
    }
    for (std::size_t i = 0; i + 1 < schemas.size(); ++i) {
      schemas[i].children = &schema_links[i];
      arrays[i].children = &array_links[i];
    }
  }
  Forge(const Forge&) = delete;

  /// Metadata as the interface spells it, of this level.
  void describe(std::size_t level, const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::string all;
    const auto number = [&all](std::size_t n) {
      const auto small = static_cast<std::int32_t>(n);
      all.append(reinterpret_cast<const char*>(&small), sizeof small);
    };
    number(pairs.size());
    for (const auto& pair : pairs) {
      number(pair.first.size());
      all += pair.first;
      number(pair.second.size());
      all += pair.second;
    }
    texts.push_back(all);
    schemas[level].metadata = texts.back().data();
  }
  void tensor(std::size_t level, const std::string& json) {
    describe(
        level,
        {{"other", "1"}, {"ARROW:extension:name", "arrow.fixed_shape_tensor"}, {"ARROW:extension:metadata", json}});
  }
};

Borrow fresh() {
  Borrow b;
  std::memset(static_cast<void*>(&b), 0x5a, sizeof b);
  b.release_fn = nullptr;
  b.heap_dims = 0;
  return b;
}

Status take(const Forge& f, Borrow& b, Reason* why = nullptr) {
  ar::Type type;
  std::memset(static_cast<void*>(&type), 0x5a, sizeof type);
  Status s = ar::decode_type(f.schemas[0], &type, why);
  if (s == Status::ok) s = ar::decode(type, f.arrays[0], b, why);
  if (s == Status::ok) s = validate(b.desc, why);
  return s;
}

/// It ends in this status, with these words, and reserves nothing.
void check_refused(const Forge& f, Status want, const char* words, int line) {
  Borrow b = fresh();
  Reason why;
  const Status s = take(f, b, &why);
  if (s != want || std::strstr(why.text, words) == nullptr) {
    std::printf("line %d: %s, %s\n", line, status_name(s), why.text);
  }
  CHECK(s == want);
  CHECK(std::strstr(why.text, words) != nullptr);
  CHECK_EQ(int{b.heap_dims}, 0);
  Borrow again = fresh();
  CHECK(take(f, again, nullptr) == want);  // the sentence is nobody's duty
}
#define REFUSED(f, status, words) check_refused(f, Status::status, words, __LINE__)

void test_formats() {
  const struct {
    const char* format;
    const char* name;
  } good[] = {
      {"c", "int8"},
      {"C", "uint8"},
      {"s", "int16"},
      {"S", "uint16"},
      {"i", "int32"},
      {"I", "uint32"},
      {"l", "int64"},
      {"L", "uint64"},
      {"e", "float16"},
      {"f", "float32"},
      {"g", "float64"},
      {"tdm", "datetime64[ms]"},
      {"tss:", "datetime64[s]"},
      {"tsm:", "datetime64[ms]"},
      {"tsu:", "datetime64[us]"},
      {"tsn:", "datetime64[ns]"},
      {"tDs", "timedelta64[s]"},
      {"tDm", "timedelta64[ms]"},
      {"tDu", "timedelta64[us]"},
      {"tDn", "timedelta64[ns]"},
      {"w:1", "S1"},
      {"w:16", "S16"},
  };
  for (const auto& g : good) {
    Forge f(g.format);
    Borrow b = fresh();
    CHECK(take(f, b) == Status::ok);
    char name[64];
    format_dtype(b.desc.dtype, name, sizeof name);
    CHECK_EQ(std::string(name), std::string(g.name));
    CHECK(b.desc.ndim == 1 && b.desc.shape[0] == 3 && b.desc.strides[0] == b.desc.dtype.itemsize());
    CHECK(b.desc.data == memory && b.desc.device == cpu_device);
    CHECK(b.desc.flags == (flag_readonly | flag_copied_unknown));
  }
  for (const char* format :
       {"n",   "b",   "z",   "Z",   "vz", "u",  "U",   "vu",  "d:19,10", "d:5,2,256", "tdD",     "tts",   "ttm", "ttu",
        "ttn", "tiM", "tiD", "tin", "+l", "+L", "+vl", "+vL", "+s",      "+m",        "+ud:0,1", "+us:0", "+r"}) {
    REFUSED(Forge(format), unsupported, format);
  }
  for (const char* zone : {"UTC", "Europe/Paris", "+01:00", " "}) {
    REFUSED(Forge((std::string("tsu:") + zone).c_str()), guarded, zone);
  }
  for (const char* format : {"",
                             "x",
                             "cc",
                             "ll",
                             "i ",
                             " i",
                             "ts",
                             "tsu",
                             "tsx:",
                             "tDx",
                             "tDsx",
                             "tdx",
                             "td",
                             "w",
                             "w:",
                             "w:x",
                             "w:-1",
                             "w:4 ",
                             "w:99999999999999999999",
                             "+",
                             "+w",
                             "+x",
                             "+uz:",
                             "nn",
                             "+ss"}) {
    REFUSED(Forge(format), invalid, "");
  }
  REFUSED(Forge("w:0"), unsupported, "0 bytes");
  REFUSED(Forge("w:2147483648"), unsupported, "2147483648");
}

/// The address of an element by what the interface says of lists: element j of list i is child element i * N + j, and
/// an offset is added on each level.
std::int64_t place_of(const Forge& f, const std::vector<std::int64_t>& lists, const std::vector<std::int64_t>& index) {
  std::int64_t at = index[0];
  for (std::size_t level = 0; level < lists.size(); ++level) {
    at = (f.arrays[level].offset + at) * lists[level] + index[level + 1];
  }
  return f.arrays[lists.size()].offset + at;
}

void test_lists_with_offsets() {
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::int64_t> lists(randomly() % 4);
    for (auto& size : lists) size = randomly() % 4;
    const std::int64_t length = randomly() % 4;
    Forge f("i", length, lists);
    std::int64_t needed = length;
    for (std::size_t level = 0; level < f.arrays.size(); ++level) {
      f.arrays[level].length = needed + (level == 0 ? 0 : randomly() % 3);  // a child may be longer
      f.arrays[level].offset = randomly() % 5;
      if (level < lists.size()) needed = (needed + f.arrays[level].offset) * lists[level];
    }
    Borrow b = fresh();
    CHECK(take(f, b) == Status::ok);
    const Descriptor& d = b.desc;
    CHECK_EQ(d.ndim, static_cast<int>(lists.size()) + 1);
    CHECK_EQ(d.shape[0], length);
    for (std::size_t i = 0; i < lists.size(); ++i) CHECK_EQ(d.shape[i + 1], lists[i]);
    std::vector<std::int64_t> index(lists.size() + 1);
    for (std::int64_t n = 0; n < d.size(); ++n) {
      std::int64_t rest = n, bytes = 0;
      for (int i = d.ndim - 1; i >= 0; --i) {
        index[static_cast<std::size_t>(i)] = rest % d.shape[i];
        bytes += rest % d.shape[i] * d.strides[i];
        rest /= d.shape[i];
      }
      CHECK(static_cast<char*>(d.data) + bytes == reinterpret_cast<char*>(memory + place_of(f, lists, index)));
    }
    if (d.size() > 0 && !lists.empty()) {  // one element less than is needed
      f.arrays.back().length = 0;
      REFUSED(f, invalid, "");
    }
  }
}

void test_empty() {
  Forge f("g", 0);
  f.buffers[0][1] = nullptr;
  f.arrays[0].offset = 7;
  Borrow b = fresh();
  CHECK(take(f, b) == Status::ok && b.desc.shape[0] == 0 && b.desc.data == nullptr);
  Forge nested("g", 0, {2, 5});
  nested.buffers[2][1] = reinterpret_cast<void*>(8);  // an address that means nothing
  CHECK(take(nested, b) == Status::ok && b.desc.ndim == 3 && b.desc.shape[2] == 5 && b.desc.data == nullptr);
  ar::Type type;
  CHECK(ar::decode_type(nested.schemas[0], &type, nullptr) == Status::ok);
  CHECK(ar::decode_nothing(type, b, nullptr) == Status::ok);
  CHECK(b.desc.ndim == 3 && b.desc.shape[0] == 0 && b.desc.shape[1] == 2 && b.desc.shape[2] == 5);
  CHECK(b.desc.readonly() && b.desc.data == nullptr && validate(b.desc, nullptr) == Status::ok);
}

void test_tensors() {
  Forge f("i", 2, {24});
  f.tensor(0,
           R"({"shape": [2, 3, 4], "permutation": [2, 0, 1], "dim_names": ["a\"]", "b", "c"], "x": {"y": [1, {}]}})");
  Borrow b = fresh();
  CHECK(take(f, b) == Status::ok);
  CHECK(b.desc.ndim == 4 && b.desc.shape[0] == 2 && b.desc.shape[1] == 4 && b.desc.shape[2] == 2 &&
        b.desc.shape[3] == 3);
  CHECK(b.desc.strides[0] == 96 && b.desc.strides[1] == 4 && b.desc.strides[2] == 48 && b.desc.strides[3] == 16);
  for (const char* json : {R"({"shape":[24]})", R"( { "shape" : [ 24 ] , "permutation" : null } )",
                           R"({"permutation":[0],"shape":[24],"dim_names":null,"z":[true,-1.5e+3,"\\"]})"}) {
    Forge one("i", 2, {24});
    one.tensor(0, json);
    CHECK(take(one, b) == Status::ok && b.desc.ndim == 2 && b.desc.shape[1] == 24);
  }
  Forge scalar("i", 2, {1});
  scalar.tensor(0, R"({"shape":[],"permutation":[]})");
  CHECK(take(scalar, b) == Status::ok && b.desc.ndim == 1 && b.desc.shape[0] == 2);
  Forge none("i", 2, {0});
  none.tensor(0, R"({"shape":[3,0]})");
  CHECK(take(none, b) == Status::ok && b.desc.ndim == 3 && b.desc.size() == 0);
  // Tensors of lists, and lists of tensors.
  Forge around("i", 2, {6, 5});
  around.tensor(0, R"({"shape":[2,3],"permutation":[1,0]})");
  CHECK(take(around, b) == Status::ok && b.desc.ndim == 4 && b.desc.shape[1] == 3 && b.desc.shape[3] == 5);
  CHECK(b.desc.strides[1] == 20 && b.desc.strides[2] == 60 && b.desc.strides[3] == 4);
  Forge inside("i", 2, {5, 6});
  inside.tensor(1, R"({"shape":[2,3],"permutation":[1,0]})");
  CHECK(take(inside, b) == Status::ok && b.desc.ndim == 4 && b.desc.shape[1] == 5 && b.desc.shape[2] == 3);
  CHECK(b.desc.strides[1] == 24 && b.desc.strides[2] == 4 && b.desc.strides[3] == 12);

  for (const char* json :
       {"",
        "{",
        "{}",
        "[]",
        "null",
        "{\"shape\":[24]",
        "{\"shape\":[24]}}",
        "{\"shape\":[24],}",
        "{\"shape\":24}",
        "{\"shape\":[24.0]}",
        "{\"shape\":[-24]}",
        "{\"shape\":[2e1]}",
        "{\"shape\":[\"24\"]}",
        "{\"shape\":[24,]}",
        "{\"shape\":[99999999999999999999]}",
        "{\"shape\":[24],\"shape\":[24]}",
        "{\"shape",
        "{\"shape\":[24],\"x\":}",
        "{\"shape\":[24],\"x\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
        "{\"a\\",
        "{\"shape\":[24],\"permutation\":nul}",
        "{\"shape\":[23]}",
        "{\"shape\":[24],\"permutation\":[1]}",
        "{\"shape\":[4,6],\"permutation\":[0,0]}",
        "{\"shape\":[4,6],\"permutation\":[0]}",
        "{\"shape\":[4,6],\"permutation\":[0,1,2]}",
        "{\"shape\":[4294967296,4294967296,24]}"}) {
    Forge bad("i", 2, {24});
    bad.tensor(0, json);
    REFUSED(bad, invalid, "");
  }
  std::string ones = "{\"shape\":[24";
  for (int i = 0; i < 63; ++i) ones += ",1";
  Forge wide("i", 2, {24});
  wide.tensor(0, ones + "]}");
  REFUSED(wide, unsupported, "65 dimensions");
  Forge wider("i", 2, {24});
  wider.tensor(0, ones + ",1]}");
  REFUSED(wider, invalid, "64");
  Forge on_element("i");
  on_element.tensor(0, R"({"shape":[1]})");
  REFUSED(on_element, invalid, "fixed-size lists");
}

void test_metadata() {
  Borrow b = fresh();
  Forge harmless("i");
  harmless.describe(0, {{"", ""}, {"ARROW:extension:name", ""}, {"key", std::string(3000, 'x')}});
  CHECK(take(harmless, b) == Status::ok);
  Forge uuid("w:16");
  uuid.describe(0, {{"ARROW:extension:name", "arrow.uuid"}, {"ARROW:extension:metadata", ""}});
  REFUSED(uuid, unsupported, "arrow.uuid");
  Forge child("i", 2, {3});
  child.describe(1, {{"ARROW:extension:name", "arrow.bool8"}});
  REFUSED(child, unsupported, "arrow.bool8");
  for (std::int32_t n : {-1, INT32_MIN, INT32_MAX, 1 << 20}) {
    Forge pairs("i");
    pairs.schemas[0].metadata = reinterpret_cast<const char*>(&n);
    REFUSED(pairs, invalid, "pairs");
    const std::int32_t key[] = {1, n == (1 << 20) ? INT32_MAX - 1 : n};
    pairs.schemas[0].metadata = reinterpret_cast<const char*>(key);
    REFUSED(pairs, invalid, "bytes");
  }
}

void test_nulls() {
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t length = randomly() % 300, offset = randomly() % 100;
    unsigned char bits[64];
    for (auto& byte : bits) byte = static_cast<unsigned char>(round % 3 == 0 ? 255 : randomly());
    std::int64_t nulls = 0;
    for (std::int64_t i = offset; i < offset + length; ++i) nulls += (bits[i / 8] >> (i % 8) & 1) == 0;
    // Exactly the bytes that the bits are in, so that a sanitizer sees one too many.
    std::vector<unsigned char> exact(bits, bits + (offset + length + 7) / 8);
    exact.shrink_to_fit();
    Forge f("c", length);
    f.arrays[0].offset = offset;
    f.arrays[0].null_count = round % 2 == 0 ? -1 : nulls;
    f.buffers[0][0] = exact.empty() ? nullptr : exact.data();
    if (nulls == 0 || exact.empty()) {
      Borrow b = fresh();
      CHECK(take(f, b) == Status::ok);
    } else {
      REFUSED(f, guarded, (std::to_string(nulls) + " null").c_str());
      f.arrays[0].null_count = 0;
      REFUSED(f, invalid, "0 nulls");
    }
  }
  // Those of a child that no list reaches don't count; the others do, on every level.
  const unsigned char marks[] = {0xfe, 0xff, 0xff, 0xff};
  for (std::size_t level = 0; level < 3; ++level) {
    Forge f("i", 2, {2, 2});
    f.buffers[level][0] = marks;
    f.arrays[level].null_count = level == 0 ? 1 : -1;
    REFUSED(f, guarded, "1 null,");
    for (auto& a : f.arrays) a.length = 20;
    f.arrays[0].length = 2;
    f.arrays[0].offset = 1;
    f.arrays[level].null_count = level == 0 ? 0 : 1;
    Borrow b = fresh();
    CHECK(take(f, b) == Status::ok);
  }
  Forge f("i");
  f.arrays[0].null_count = 1;
  REFUSED(f, invalid, "no validity bitmap");
  f.arrays[0].null_count = 4;
  REFUSED(f, invalid, "4 of its 3");
  f.arrays[0].null_count = -2;
  REFUSED(f, invalid, "-2");
  const unsigned char all = 0xff;
  f.buffers[0][0] = &all;
  f.arrays[0].null_count = 2;
  REFUSED(f, invalid, "marks 0");
}

/// One change to a forge of lists of 4 in lists of 2.
#define BROKEN(status, words, change) \
  do {                                \
    Forge f("i", 3, {2, 4});          \
    change;                           \
    REFUSED(f, status, words);        \
  } while (false)

void test_broken() {
  for (std::size_t i = 0; i < 3; ++i) {
    BROKEN(invalid, "released", f.schemas[i].release = nullptr);
    BROKEN(invalid, "released", f.arrays[i].release = nullptr);
    BROKEN(invalid, "no format", f.schemas[i].format = nullptr);
    BROKEN(unsupported, "dictionary", f.schemas[i].dictionary = &f.schemas[0]);
    BROKEN(invalid, "dictionary", f.arrays[i].dictionary = &f.arrays[0]);
    BROKEN(invalid, "", f.arrays[i].length = -1);
    if (i == 0) BROKEN(invalid, "", f.arrays[i].length = big);  // a child may be longer than what is in reach
    BROKEN(invalid, "64 bits", f.arrays[i].length = big; f.arrays[i].offset = 1);
    BROKEN(invalid, "", f.arrays[i].length = INT64_MIN);
    BROKEN(invalid, "", f.arrays[i].offset = -1);
    BROKEN(invalid, "", f.arrays[i].offset = big);
    BROKEN(invalid, "", f.arrays[i].offset = INT64_MIN);
    for (std::int64_t n : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}, big, INT64_MIN}) {
      BROKEN(invalid, "buffers", f.arrays[i].n_buffers = n);
      BROKEN(invalid, "child", f.arrays[i].n_children = n == 0 && i == 2 ? 1 : n);
      BROKEN(invalid, "child", f.schemas[i].n_children = n == 0 && i == 2 ? 1 : n);
    }
    BROKEN(invalid, "null", f.arrays[i].buffers = nullptr);
    if (i == 2) continue;
    BROKEN(invalid, "null", f.arrays[i].children = nullptr);
    BROKEN(invalid, "null", f.array_links[i] = nullptr);
    BROKEN(invalid, "null", f.schemas[i].children = nullptr);
    BROKEN(invalid, "null", f.schema_links[i] = nullptr);
    for (const char* format : {"+w:", "+w:x", "+w:-2", "+w:2 ", "+w:99999999999999999999"}) {
      BROKEN(invalid, "no size", f.schemas[i].format = format);
    }
    BROKEN(invalid, "", f.schemas[i].format = "+w:9223372036854775807");
    BROKEN(invalid, "", f.schemas[i].format = "+w:4611686018427387904");
  }
  BROKEN(invalid, "null", f.buffers[2][1] = nullptr);
  BROKEN(invalid, "", f.arrays[1].length = 5);
  BROKEN(invalid, "23", f.arrays[2].length = 23);
  Forge far("l");
  far.arrays[0].offset = big / 2;
  REFUSED(far, invalid, "address space");
  far.arrays[0].offset = big / 8 - 4;
  far.buffers[0][1] = reinterpret_cast<void*>(~std::uintptr_t{0} - 64);
  REFUSED(far, invalid, "address space");
  Forge huge("w:2147483647", big / 4);
  REFUSED(huge, invalid, "64 bits");
  Forge nothing("i", 0, {2147483647, 2147483647, 2147483647});  // of no elements, so that nothing overflows
  Borrow b = fresh();
  CHECK(take(nothing, b) == Status::ok && b.desc.size() == 0);
}

void test_depth() {
  for (std::size_t n : {7u, 8u, 63u, 64u, 65u, 300u}) {
    Forge f("i", 3, std::vector<std::int64_t>(n, 1));
    if (n > 63) {
      REFUSED(f, unsupported, "63");
      continue;
    }
    Borrow b = fresh();
    CHECK(take(f, b) == Status::ok && b.desc.ndim == static_cast<int>(n) + 1);
    drop_dims(b);
  }
  // Lists that add no dimension end as well.
  Forge f("i", 3, std::vector<std::int64_t>(100, 1));
  for (std::size_t i = 0; i < 100; ++i) f.tensor(i, R"({"shape":[]})");
  REFUSED(f, unsupported, "63");
  Forge self("i", 3, {1});
  self.schema_links[0] = &self.schemas[0];  // a schema that is its own child
  REFUSED(self, unsupported, "63");
}

}  // namespace

int main() {
  test_formats();
  test_lists_with_offsets();
  test_empty();
  test_tensors();
  test_metadata();
  test_nulls();
  test_broken();
  test_depth();
  return check::done();
}
