// SPDX-License-Identifier: Apache-2.0
// The PEP 3118 codec: letters, padding, structs, what is refused, round trips, and random text.
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "anyarray/layout.h"
#include "anyarray/protocols/pep3118.h"
#include "src/core/dtype_table.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

Reason reason;

DType decoded(const char* format, std::ptrdiff_t itemsize) {
  DType d;
  const Status s = pep3118::decode_format(format, itemsize, &d, &reason);
  if (s != Status::ok) {
    std::cerr << (format != nullptr ? format : "NULL") << ": " << reason.text << '\n';
    return DType{TypeCode::opaque_handle, 0, 0, 0};
  }
  return d;
}

Status refused(const char* format, std::ptrdiff_t itemsize, const char* word = "") {
  DType d;
  reason.text[0] = '\0';
  const Status s = pep3118::decode_format(format, itemsize, &d, &reason);
  const bool says = std::strstr(reason.text, word) != nullptr;
  if (!says) std::cerr << format << ": no '" << word << "' in: " << reason.text << '\n';
  CHECK(says);
  CHECK(s == Status::ok || reason.text[0] != '\0');
  return s;
}

std::string encoded(DType d) {
  char text[4096];
  const Status s = pep3118::encode_format(d, text, sizeof text, &reason);
  return s == Status::ok ? text : status_name(s);
}

DType number(TypeCode code, unsigned bits) { return make_dtype(code, bits); }
DType make_struct(std::vector<Field> fields, std::int64_t itemsize) {
  DType d;
  CHECK(intern_struct(fields.data(), static_cast<std::uint32_t>(fields.size()), itemsize, &d, &reason) == Status::ok);
  return d;
}
DType make_sub(DType base, std::vector<std::int64_t> shape) {
  DType d;
  CHECK(intern_subarray(base, static_cast<std::int32_t>(shape.size()), shape.data(), &d, &reason) == Status::ok);
  return d;
}

const DType i8 = number(TypeCode::int_, 8), i32 = number(TypeCode::int_, 32), i64 = number(TypeCode::int_, 64);
const DType u8 = number(TypeCode::uint, 8), f32 = number(TypeCode::float_, 32), f64 = number(TypeCode::float_, 64);
const std::string other = std::string(1, swapped_order);
const std::string own = std::string(1, native_order);

void test_letters() {
  const struct {
    const char* letter;
    DType native;
    std::size_t standard;  // 0: none
  } rows[] = {
      {"?", number(TypeCode::bool_, 8), 1},
      {"b", i8, 1},
      {"B", u8, 1},
      {"h", number(TypeCode::int_, 16), 2},
      {"H", number(TypeCode::uint, 16), 2},
      {"i", i32, 4},
      {"I", number(TypeCode::uint, 32), 4},
      {"l", number(TypeCode::int_, 8 * sizeof(long)), 4},
      {"L", number(TypeCode::uint, 8 * sizeof(long)), 4},
      {"q", i64, 8},
      {"Q", number(TypeCode::uint, 64), 8},
      {"n", number(TypeCode::int_, 8 * sizeof(std::size_t)), 0},
      {"N", number(TypeCode::uint, 8 * sizeof(std::size_t)), 0},
      {"e", number(TypeCode::float_, 16), 2},
      {"f", f32, 4},
      {"d", f64, 8},
      {"Ze", number(TypeCode::complex, 32), 4},
      {"Zf", number(TypeCode::complex, 64), 8},
      {"Zd", number(TypeCode::complex, 128), 16},
      {"F", number(TypeCode::complex, 64), 8},
      {"D", number(TypeCode::complex, 128), 16},
      {"c", make_bytes(1), 1},
  };
  for (const auto& row : rows) {
    const std::string letter = row.letter;
    for (const char* prefix : {"", "@", "^", " ", "@ "}) {
      CHECK(decoded((prefix + letter).c_str(), row.native.itemsize()) == row.native);
      CHECK(refused((prefix + letter).c_str(), row.native.itemsize() + 1, "itemsize") == Status::invalid);
    }
    for (const std::string& prefix : {std::string("="), own, other, std::string("!")}) {
      const std::string format = prefix + letter;
      if (row.standard == 0) {
        CHECK(refused(format.c_str(), row.native.itemsize(), "native size") == Status::invalid);
        continue;
      }
      const DType d = decoded(format.c_str(), static_cast<std::ptrdiff_t>(row.standard));
      CHECK(d.code == row.native.code);
      CHECK_EQ(d.itemsize(), static_cast<std::int64_t>(row.standard));
      const bool swaps = (prefix == other || (prefix == "!" && little_endian)) && has_byte_order(d);
      CHECK_EQ(d.swapped(), swaps);
    }
  }
  CHECK(decoded(nullptr, 1) == u8);
  CHECK(refused("B", 8, "says 1 bytes") == Status::invalid);
  CHECK(refused("", 1, "empty") == Status::invalid);
  CHECK(refused(" @ ", 1, "empty") == Status::invalid);
  CHECK(refused("i", -4) == Status::invalid);
  CHECK(refused("i", 0) == Status::invalid);
}

void test_long_double() {
  constexpr std::ptrdiff_t size = sizeof(long double);
  const TypeCode code = has_long_double ? TypeCode::long_double : TypeCode::float_;
  for (const std::string& format : {std::string("g"), std::string("^g"), own + "g"}) {
    CHECK(decoded(format.c_str(), size) == number(code, 8 * size));
  }
  CHECK(decoded((other + "g").c_str(), size) == number(code, 8 * size).with_swapped(true));
  CHECK_EQ(decoded("Zg", 2 * size).itemsize(), 2 * size);
  CHECK(decoded("G", 2 * size) == decoded("Zg", 2 * size));
  if (size != 8) CHECK(refused("g", 8, "itemsize") == Status::invalid);
}

void test_text_and_bytes() {
  CHECK(decoded("s", 1) == make_bytes(1));
  CHECK(decoded("5s", 5) == make_bytes(5));
  CHECK(decoded((other + "5s").c_str(), 5) == make_bytes(5));
  CHECK(decoded("5c", 5) == make_sub(make_bytes(1), {5}));
  CHECK(decoded("w", 4) == make_ucs4(1));
  CHECK(decoded("3w", 12) == make_ucs4(3));
  CHECK(decoded((other + "3w").c_str(), 12) == make_ucs4(3).with_swapped(true));
  CHECK(decoded((own + "u").c_str(), 4) == make_ucs4(1));
  CHECK(decoded("2u", 8) == make_ucs4(2));
  CHECK(refused("u", 2, "UCS2") == Status::unsupported);
  CHECK(refused("T{2u:a:b:b:}", 5, "UCS2") == Status::unsupported);
  CHECK(decoded("4x", 4) == make_void(4));
  CHECK(decoded("x", 1) == make_void(1));
  CHECK(decoded("xx 2x", 4) == make_void(4));
  CHECK(decoded("(2)4x", 8) == make_sub(make_void(4), {2}));
  CHECK(decoded("0x", 0) == make_void(0));
  CHECK(refused("4294967296s", INT64_C(4294967296), "length") == Status::unsupported);
}

void test_sub_arrays() {
  CHECK(decoded("3f", 12) == make_sub(f32, {3}));
  CHECK(decoded("1f", 4) == f32);
  CHECK(decoded("(2,3)f", 24) == make_sub(f32, {2, 3}));
  CHECK(decoded(" ( 2 , 3 ) f ", 24) == make_sub(f32, {2, 3}));
  CHECK(decoded("(2)3f", 24) == make_sub(f32, {2, 3}));
  CHECK(decoded("(2)(3)f", 24) == make_sub(f32, {2, 3}));
  CHECK(decoded(("(2,3)" + other + "f").c_str(), 24) == make_sub(f32.with_swapped(true), {2, 3}));
  CHECK(decoded((other + "(2,3)f").c_str(), 24) == make_sub(f32.with_swapped(true), {2, 3}));
  CHECK(decoded("(2)5s", 10) == make_sub(make_bytes(5), {2}));
  CHECK(decoded("(0,2)d", 0) == make_sub(f64, {0, 2}));
  CHECK(decoded("2T{b:a:}", 2) == make_sub(make_struct({{"a", i8, 0}}, 1), {2}));
  for (const char* format : {"()f", "(2f", "(2,)f", "(,2)f", "(-1)f", "(2)", "3", "2(3)f", "2 3f", "(2x)f"}) {
    CHECK(refused(format, 8) == Status::invalid);
  }
  CHECK(refused("(4294967296,4294967296)f", 4, "2^63") == Status::invalid);
  CHECK(refused("99999999999999999999f", 4, "2^63") == Status::invalid);
  CHECK(refused("4611686018427387904i4611686018427387904i", 4, "2^63") == Status::invalid);
  std::string many;
  for (int i = 0; i < max_ndim; ++i) many += "(1)";
  CHECK(decoded((many + "b").c_str(), 1).code == TypeCode::interned);
  CHECK(refused((many + "(1)b").c_str(), 1, "64") == Status::invalid);
}

void test_structs() {
  const DType padded = make_struct({{"a", i32, 0}, {"b", f64, 8}}, 16);
  CHECK(decoded("T{i:a:xxxxd:b:}", 16) == padded);
  CHECK(decoded("T{i:a:d:b:}", 16) == padded);
  CHECK(decoded("T{i:a:4xd:b:}", 16) == padded);
  CHECK(decoded(("T{" + own + "i:a:4x" + own + "d:b:}").c_str(), 16) == padded);
  CHECK(decoded("i:a:d:b:", 16) == padded);
  const DType packed = make_struct({{"a", i32, 0}, {"b", f64, 4}}, 12);
  for (const char* format : {"T{i:a:=d:b:}", "T{=i:a:d:b:}", "=T{i:a:d:b:}", "^T{i:a:d:b:}", " = T{ i :a: d :b: } "}) {
    CHECK(decoded(format, 12) == packed);
  }
  CHECK(refused("T {i:a:d:b:}", 16) == Status::invalid);
  // No order or size but the exporter's: a struct without the padding that its itemsize needs.
  CHECK(refused(("T{" + own + "i:a:" + own + "d:b:}").c_str(), 16, "says 12 bytes") == Status::invalid);
  CHECK(decoded("T{(2,3)f:a:}", 24) == make_struct({{"a", make_sub(f32, {2, 3}), 0}}, 24));
  CHECK(decoded("if", 8) == make_struct({{"f0", i32, 0}, {"f1", f32, 4}}, 8));
  CHECK(decoded("T{i:x:f}", 8) == make_struct({{"x", i32, 0}, {"f1", f32, 4}}, 8));
  CHECK(decoded("xf", 8) == make_struct({{"f0", f32, 4}}, 8));
  CHECK(decoded("=xf", 5) == make_struct({{"f0", f32, 1}}, 5));
  CHECK(decoded("fx", 5) == make_struct({{"f0", f32, 0}}, 5));
  CHECK(decoded("f:x:", 4) == make_struct({{"x", f32, 0}}, 4));
  CHECK(decoded("T{f:x:}", 4) == make_struct({{"x", f32, 0}}, 4));
  CHECK(decoded("T{4x:v:0x:w:0s:s:}", 4) ==
        make_struct({{"v", make_void(4), 0}, {"w", make_void(0), 4}, {"s", make_bytes(0), 4}}, 4));
  CHECK(decoded("T{}", 0) == make_struct({}, 0));
  CHECK(decoded("T{4x}", 4) == make_struct({}, 4));
  CHECK(decoded("T{i:}d:b:T{:}", 5) == make_struct({{"}d", i32, 0}, {"T{", i8, 4}}, 5));
  CHECK(decoded("T{i::}", 4) == make_struct({{"", i32, 0}}, 4));
  CHECK(decoded("T{i:\xC3\xA9:}", 4) == make_struct({{"\xC3\xA9", i32, 0}}, 4));
  for (const std::string name : {"\xC3", "\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) {
    CHECK(refused(("T{i:" + name + ":}").c_str(), 4, "UTF-8") == Status::invalid);
  }
  for (const char* format :
       {"T", "T{", "T{i", "T{i:a", "T{i:a:", "i:a", "T{i:a:i:a:}", "}", "T{i:a:}}", "i(2)", ":a:", "T{:a:}"}) {
    CHECK(refused(format, 4) == Status::invalid);
  }
}

void test_padding_at_the_end() {
  // 'T{d:a:b:b:}' is what NumPy writes for an aligned struct of 16 bytes; packed, it has 9.
  CHECK(decoded("T{d:a:b:b:}", 16) == make_struct({{"a", f64, 0}, {"b", i8, 8}}, 16));
  CHECK(decoded("T{d:a:b:b:}", 9) == make_struct({{"a", f64, 0}, {"b", i8, 8}}, 9));
  CHECK(decoded("T{d:a:b:b:xxxxxxx}", 16) == make_struct({{"a", f64, 0}, {"b", i8, 8}}, 16));
  CHECK(decoded("db", 16) == make_struct({{"f0", f64, 0}, {"f1", i8, 8}}, 16));
  CHECK(decoded("d b 0d", 16) == make_struct({{"f0", f64, 0}, {"f1", i8, 8}}, 16));
  CHECK(refused("T{d:a:b:b:}", 12) == Status::invalid);
  CHECK(refused("T{d:a:b:b:}", 24) == Status::invalid);
  CHECK(refused("=T{d:a:b:b:}", 16) == Status::invalid);
  CHECK(refused("^T{d:a:b:b:}", 16) == Status::invalid);
  const DType inner5 = make_struct({{"a", i32, 0}, {"b", i8, 4}}, 5);
  const DType inner8 = make_struct({{"a", i32, 0}, {"b", i8, 4}}, 8);
  CHECK(decoded("T{T{i:a:b:b:}:n:b:c:}", 6) == make_struct({{"n", inner5, 0}, {"c", i8, 5}}, 6));
  CHECK(decoded("T{T{i:a:b:b:}:n:b:c:}", 12) == make_struct({{"n", inner8, 0}, {"c", i8, 8}}, 12));
  CHECK(decoded("T{T{i:a:b:b:}:n:xxxi:c:}", 12) == make_struct({{"n", inner5, 0}, {"c", i32, 8}}, 12));
  CHECK(decoded("2T{i:a:b:b:}", 16) == make_sub(inner8, {2}));
  CHECK(decoded("2T{i:a:b:b:}", 10) == make_sub(inner5, {2}));
  const DType mixed = make_struct({{"f0", i8, 0}, {"f1", i32, 1}}, 5);
  CHECK(decoded("bT{=bi}", 6) == make_struct({{"f0", i8, 0}, {"f1", mixed, 1}}, 6));
}

void test_nesting() {
  std::string deep = "b:x:";
  for (int i = 0; i < 16; ++i) deep = "T{" + deep + "}" + (i < 15 ? ":x:" : "");
  CHECK(decoded(deep.c_str(), 1).code == TypeCode::interned);
  CHECK(refused(("T{" + deep + ":x:}").c_str(), 1, "16 deep") == Status::invalid);
  std::string bomb;
  for (int i = 0; i < 100000; ++i) bomb += "T{";
  CHECK(refused(bomb.c_str(), 1, "16 deep") == Status::invalid);
  CHECK(refused(std::string(100000, '(').c_str(), 1) == Status::invalid);
}

void test_unsupported() {
  CHECK(refused("O", 8, "objects") == Status::unsupported);
  CHECK(refused("T{i:a:O:o:}", 16, "objects") == Status::unsupported);
  CHECK(refused("&i", 8, "pointers") == Status::unsupported);
  CHECK(refused("&<i", 8, "pointers") == Status::unsupported);
  CHECK(refused("T{&<i:p:}", 8, "pointers") == Status::unsupported);
  CHECK(refused("<P", 8, "pointers") == Status::unsupported);
  CHECK(refused("<z", 8, "pointers") == Status::unsupported);
  CHECK(refused("<Z", 8) == Status::unsupported);
  CHECK(refused("Zi", 8) == Status::unsupported);
  CHECK(refused("X{}", 8, "functions") == Status::unsupported);
  CHECK(refused("3t", 1, "bit fields") == Status::unsupported);
  CHECK(refused("5p", 5, "Pascal") == Status::unsupported);
  CHECK(refused("bfloat16", 2, "letter") == Status::invalid);
  CHECK(refused("\xFFi", 4, "'?i'") == Status::invalid);
  CHECK(refused("k", 4) == Status::invalid);
}

void test_a_refused_format_interns_nothing() {
  const DType before = make_struct({{"interns nothing, before", i8, 0}}, 1);
  for (const char* format : {"T{T{i:inner only here:}:x:(7)b:y:}", "T{(9,9)h:q:&i:p:}", "T{T{b:once:}:a:"}) {
    CHECK(refused(format, 3) != Status::ok);
  }
  CHECK_EQ(int{make_struct({{"interns nothing, after", i8, 0}}, 1).bits}, before.bits + 1);
}

void test_encode() {
  CHECK_EQ(encoded(f32), "f");
  CHECK_EQ(encoded(number(TypeCode::bool_, 8)), "?");
  if (sizeof(long) == 8) CHECK_EQ(encoded(i64), "l");
  CHECK_EQ(encoded(i64.with_swapped(true)), other + "q");
  CHECK_EQ(encoded(number(TypeCode::complex, 128).with_swapped(true)), other + "Zd");
  CHECK_EQ(encoded(make_bytes(5)), "5s");
  CHECK_EQ(encoded(make_ucs4(3).with_swapped(true)), other + "3w");
  CHECK_EQ(encoded(make_void(4)), "4x");
  CHECK_EQ(encoded(make_sub(f32.with_swapped(true), {2, 3})), "(2,3)" + other + "f");
  CHECK_EQ(encoded(make_struct({{"a", i32, 0}, {"b", f64, 8}}, 16)), "T{i:a:xxxxd:b:}");
  CHECK_EQ(encoded(make_struct({{"a", i32, 0}, {"b", f64, 4}}, 12)), "T{=i:a:d:b:}");
  CHECK_EQ(encoded(make_struct({{"a", f64, 0}, {"b", i8, 8}}, 16)), "T{d:a:b:b:xxxxxxx}");
  CHECK_EQ(encoded(make_struct({{"a", i8, 0}, {"b", i64.with_swapped(true), 1}, {"c", i64, 9}}, 17)),
           "T{b:a:" + other + "q:b:=q:c:}");
  CHECK_EQ(encoded(make_struct({{"a", i8, 0}}, 40)), "T{b:a:39x}");
  for (const DType d : {number(TypeCode::bfloat, 16), number(TypeCode::float8_e4m3fn, 8), number(TypeCode::int_, 4),
                        make_time(TypeCode::datetime64, TimeUnit::s), make_dtype(TypeCode::float_, 32, 4),
                        number(TypeCode::int_, 4).with_padded(true), make_struct({{"a", i32, 4}, {"b", i32, 0}}, 8),
                        make_struct({{"a", i32, 0}, {"b", i32, 2}}, 6), make_struct({{"a:b", i32, 0}}, 4),
                        make_struct({{"t", make_time(TypeCode::datetime64, TimeUnit::s), 0}}, 8)}) {
    CHECK_EQ(encoded(d), "unsupported");
    CHECK(reason.text[0] != '\0');
  }
  char small[4] = {'#', '#', '#', '#'};
  CHECK(pep3118::encode_format(make_bytes(100), small, 3, &reason) == Status::unsupported);
  CHECK_EQ(small[3], '#');
  CHECK(pep3118::encode_format(f32, small, 0, &reason) == Status::unsupported);
  CHECK(pep3118::encode_format(f32, small, 2, nullptr) == Status::ok);
}

/// A random dtype that a format can say.
DType random_dtype(std::mt19937& rng, int depth) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  const unsigned kind = below(depth > 0 ? 10 : 7);
  if (kind < 5) {
    for (;;) {
      const DTypeRow& row = dtype_table[below(sizeof dtype_table / sizeof *dtype_table)];
      if (row.native == nullptr) continue;
      const DType d = number(row.code, row.bits);
      return below(3) == 0 && has_byte_order(d) ? d.with_swapped(true) : d;
    }
  }
  if (kind == 5) return make_bytes(below(6));
  if (kind == 6) return below(2) == 0 ? make_void(below(6)) : make_ucs4(below(4)).with_swapped(below(2) == 0);
  if (kind == 7) {
    std::vector<std::int64_t> shape;
    for (unsigned i = 0; i <= below(3); ++i) shape.push_back(below(4));
    return make_sub(random_dtype(rng, depth - 1), shape);
  }
  const bool aligned = below(2) == 0;
  std::vector<Field> fields;
  std::vector<std::string> names;
  std::int64_t at = 0;
  const unsigned n = below(5);
  for (unsigned i = 0; i < n; ++i) {
    names.push_back(std::string(1, static_cast<char>('a' + i)) + (below(2) != 0 ? "{x}" : ""));
  }
  for (unsigned i = 0; i < n; ++i) {
    at += below(3);
    if (aligned) at = (at + 15) & ~INT64_C(15);
    fields.push_back({names[i].c_str(), random_dtype(rng, depth - 1), at});
    at += fields.back().dtype.itemsize();
  }
  at += below(3);
  return make_struct(fields, aligned ? (at + 15) & ~INT64_C(15) : at);
}

void test_round_trip() {
  std::mt19937 rng(20240607);
  for (int i = 0; i < 3000; ++i) {
    const DType d = random_dtype(rng, 3);
    const std::string format = encoded(d);
    if (format == "unsupported") {
      std::cerr << reason.text << '\n';
      CHECK(false);
      continue;
    }
    const DType back = decoded(format.c_str(), d.itemsize());
    if (back != d) {
      char text[512];
      format_dtype(d, text, sizeof text);
      std::cerr << format << " for " << text << '\n';
    }
    CHECK(back == d);
  }
}

void test_random_text() {
  std::mt19937 rng(11);
  const char* const pieces[] = {"T{", "}", ":a:", ":", "(", ")", ",", "2", "3", "0",  "x",   "s",    "w",    "u",  "i",
                                "d",  "Z", "f",   "g", "<", ">", "@", "^", "=", "!",  " ",   "?",    "b",    "O",  "&",
                                "n",  "T", "{",   "c", "q", "e", "F", "h", "-", "\t", ":b:", "9999", "\x80", "X{}"};
  int good = 0;
  for (int i = 0; i < 100000; ++i) {
    std::string format;
    for (unsigned n = rng() % 7; n > 0; --n) format += pieces[rng() % (sizeof pieces / sizeof *pieces)];
    // On the heap and exactly as long, so that the sanitizer sees a read past the terminator.
    std::vector<char> exact(format.c_str(), format.c_str() + format.size() + 1);
    const std::ptrdiff_t itemsize = static_cast<std::ptrdiff_t>(rng() % 20) - 1;
    DType d;
    reason.text[0] = '\0';
    const Status s = pep3118::decode_format(exact.data(), itemsize, &d, &reason);
    CHECK(s == Status::ok || s == Status::invalid || s == Status::unsupported);
    if (s != Status::ok) {
      CHECK(reason.text[0] != '\0');
      continue;
    }
    ++good;
    CHECK_EQ(d.itemsize(), static_cast<std::int64_t>(itemsize));
    const std::string again = encoded(d);
    CHECK(decoded(again.c_str(), itemsize) == d);
  }
  CHECK(good > 500);  // otherwise the text is too random to test much
}

}  // namespace

int main() {
  test_letters();
  test_long_double();
  test_text_and_bytes();
  test_sub_arrays();
  test_structs();
  test_padding_at_the_end();
  test_nesting();
  test_unsupported();
  test_a_refused_format_interns_nothing();
  test_encode();
  test_round_trip();
  test_random_text();
  return check::done();
}
