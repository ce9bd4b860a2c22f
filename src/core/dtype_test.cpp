// SPDX-License-Identifier: Apache-2.0
// Names of element types both ways over the whole table, and interning: equality, bounds, depth, threads.
#include "anyarray/dtype.h"

#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/core/dtype_table.h"
#include "tests/cpp/check.h"

using namespace anyarray;

namespace {

std::string name_of(DType d) {
  char text[512];
  const std::size_t n = format_dtype(d, text, sizeof text);
  CHECK(n < sizeof text && n == std::strlen(text));
  return text;
}

DType parsed(const char* text) {
  DType d = make_dtype(TypeCode::opaque_handle, 1);
  CHECK(parse_dtype(text, &d));
  return d;
}

void round_trip(DType d) {
  const std::string name = name_of(d);
  DType back;
  CHECK(parse_dtype(name.c_str(), &back));
  CHECK_EQ(name_of(back), name);
  CHECK(back == d);
  // Cut off at every size, as snprintf does.
  for (std::size_t size = 0; size <= name.size(); ++size) {
    char text[512];
    std::memset(text, '#', sizeof text);
    CHECK_EQ(format_dtype(d, text, size), name.size());
    if (size > 0) CHECK_EQ(std::string(text), name.substr(0, size - 1));
    CHECK_EQ(text[size], '#');
  }
}

void test_table() {
  for (const DTypeRow& row : dtype_table) {
    const DType d = make_dtype(row.code, row.bits);
    const bool alias = find_row(d) != &row;  // long double where it is double
    CHECK(alias == (!has_long_double && std::strstr(row.name, "longdouble") != nullptr));
    if (!alias) CHECK_EQ(name_of(d), row.name);
    CHECK(parsed(row.name) == d);
    for (const DTypeRow& other : dtype_table) {
      CHECK(&other == &row || std::strcmp(other.name, row.name) != 0);
    }
    for (std::uint32_t lanes : {1u, 2u, 3u, 4u, 16u, 65535u}) {
      round_trip(make_dtype(row.code, row.bits, lanes));
      if (has_byte_order(d)) round_trip(make_dtype(row.code, row.bits, lanes).with_swapped(true));
    }
    DType none;
    for (const char* end : {"x0", "x", "x1", "_x", "_y", " ", "x4294967296", "[us]"}) {
      CHECK(!parse_dtype((std::string(row.name) + end).c_str(), &none));
    }
    if (row.bits < 8) {
      CHECK(parsed((std::string(row.name) + "_padded").c_str()) == d.with_padded(true));
      CHECK_EQ(name_of(d.with_padded(true)), row.name);
    }
  }
}

void test_spellings() {
  const bool little = little_endian;
  CHECK_EQ(name_of(make_dtype(TypeCode::float4_e2m1fn, 4, 2)), "float4_e2m1fn_x2");
  CHECK_EQ(name_of(make_dtype(TypeCode::float_, 32, 4)), "float32x4");
  CHECK_EQ(name_of(make_dtype(TypeCode::float_, 64).with_swapped(true)), little ? ">f8" : "<f8");
  CHECK_EQ(name_of(make_dtype(TypeCode::complex, 128).with_swapped(true)), little ? ">c16" : "<c16");
  CHECK_EQ(name_of(make_ucs4(4).with_swapped(true)), little ? ">U4" : "<U4");
  CHECK_EQ(name_of(make_time(TypeCode::datetime64, TimeUnit::us)), "datetime64[us]");
  CHECK_EQ(name_of(make_time(TypeCode::timedelta64, TimeUnit::s, 25)), "timedelta64[25s]");
  CHECK_EQ(name_of(make_time(TypeCode::datetime64, TimeUnit::generic)), "datetime64");
  CHECK_EQ(name_of(make_time(TypeCode::datetime64, TimeUnit::us).with_swapped(true)), little ? ">M8[us]" : "<M8[us]");
  CHECK_EQ(name_of(make_bytes(5)), "S5");
  CHECK_EQ(name_of(make_ucs4(3)), "U3");
  CHECK_EQ(name_of(make_void(7)), "V7");
  for (unsigned u = 1; u <= static_cast<unsigned>(TimeUnit::generic); ++u) {
    for (TypeCode code : {TypeCode::datetime64, TypeCode::timedelta64}) {
      for (bool swapped : {false, true}) {
        round_trip(make_time(code, static_cast<TimeUnit>(u)).with_swapped(swapped));
        if (static_cast<TimeUnit>(u) == TimeUnit::generic) continue;
        round_trip(make_time(code, static_cast<TimeUnit>(u), 7).with_swapped(swapped));
        round_trip(make_time(code, static_cast<TimeUnit>(u), INT32_MAX).with_swapped(swapped));
      }
    }
  }
  for (std::uint32_t n : {0u, 1u, 4u, UINT32_MAX}) {
    round_trip(make_bytes(n));
    round_trip(make_void(n));
    round_trip(make_ucs4(n));
    round_trip(make_ucs4(n).with_swapped(true));
  }
  const DType f64 = make_dtype(TypeCode::float_, 64);
  const DType f32 = make_dtype(TypeCode::float_, 32);
  const char* const doubles[] = {"float", "double", "f8", "=f8", "|f8", little ? "<f8" : ">f8", "float64"};
  for (const char* text : doubles) CHECK(parsed(text) == f64);
  CHECK(parsed("f4") == f32);
  CHECK(parsed("half") == make_dtype(TypeCode::float_, 16));
  CHECK(parsed("int") == make_dtype(TypeCode::int_, 64));
  CHECK(parsed("|b1") == make_dtype(TypeCode::bool_, 8));
  CHECK(parsed("M8[ns]") == make_time(TypeCode::datetime64, TimeUnit::ns));
  CHECK(parsed(little ? ">i2" : "<i2") == make_dtype(TypeCode::int_, 16).with_swapped(true));
  CHECK(parsed(little ? ">i1" : "<i1") == make_dtype(TypeCode::int_, 8));
  DType d;
  CHECK_EQ(parse_dtype("float128", &d), has_long_double && sizeof(long double) == 16);
  CHECK_EQ(parse_dtype("float96", &d), has_long_double && sizeof(long double) == 12);
  for (const char* bad : {"",
                          "f",
                          "f3",
                          "Float32",
                          "float32 ",
                          " float32",
                          "<",
                          "O",
                          "object",
                          "U",
                          "S",
                          "V-1",
                          "datetime64[",
                          "datetime64[]",
                          "datetime64[0s]",
                          "datetime64[xs]",
                          "datetime64[s]]",
                          "datetime64[2generic]",
                          "datetime64[2147483648s]",
                          "M8[s/2]",
                          "M4",
                          "(2)",
                          "()f4",
                          "(2,-1)f4",
                          "(2f4",
                          "(2)(2)f4",
                          "(99999999999,99999999999)f8",
                          "c4",
                          "S4294967296",
                          "{'a': int32; 4}",
                          ">",
                          "><f4",
                          "<>f4",
                          "xf4",
                          ">S4x2",
                          "float8",
                          "int3",
                          "int128"}) {
    CHECK(!parse_dtype(bad, &d));
  }
}

void test_garbage_names() {
  std::mt19937 random(5);
  const char alphabet[] = "<>|=fiucbSUVMm0123456789[]()x_, {}'@;float32datetime64nsbool";
  for (int round = 0; round < 50000; ++round) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = alphabet[random() % (sizeof alphabet - 1)];
    DType d;
    if (parse_dtype(text.c_str(), &d)) round_trip(d.with_padded(false));
  }
}

void test_structs() {
  const DType i32 = make_dtype(TypeCode::int_, 32);
  const DType f64 = make_dtype(TypeCode::float_, 64);
  const Field fields[] = {{"a", i32, 0}, {"b", f64, 8}};
  DType s;
  CHECK(intern_struct(fields, 2, 16, &s, nullptr) == Status::ok);
  CHECK_EQ(name_of(s), "{'a': int32, 'b': float64 @ 8; 16}");
  CHECK_EQ(s.itemsize(), 16);
  CHECK_EQ(s.bits, 0);
  {
    // The name is copied; an equal struct from other memory is the same type.
    std::string name = "a";
    const Field copy[] = {{name.c_str(), i32, 0}, {"b", f64, 8}};
    DType again;
    CHECK(intern_struct(copy, 2, 16, &again, nullptr) == Status::ok);
    CHECK(again == s);
    name = "z";
  }
  const InternedType* t = interned_type(s);
  CHECK(t != nullptr && t->n_fields == 2 && t->ndim == 0 && std::strcmp(t->fields[0].name, "a") == 0);
  CHECK(interned_type(i32) == nullptr);
  CHECK(interned_type(make_dtype(TypeCode::interned, 65535, 4)) == nullptr);

  // Every fact counts.
  const Field swapped_order_fields[] = {{"b", f64, 8}, {"a", i32, 0}};
  const Field other_type[] = {{"a", i32.with_swapped(true), 0}, {"b", f64, 8}};
  const Field other_offset[] = {{"a", i32, 4}, {"b", f64, 8}};
  const Field other_name[] = {{"a", i32, 0}, {"c", f64, 8}};
  DType o;
  for (const auto& other : {swapped_order_fields, other_type, other_offset, other_name}) {
    CHECK(intern_struct(other, 2, 16, &o, nullptr) == Status::ok && o != s);
  }
  CHECK(intern_struct(fields, 2, 24, &o, nullptr) == Status::ok && o != s);
  CHECK(intern_struct(fields, 1, 16, &o, nullptr) == Status::ok && o != s);
  CHECK(intern_struct(nullptr, 0, 4, &o, nullptr) == Status::ok);
  CHECK_EQ(name_of(o), "{; 4}");

  const Field overlap[] = {{"x", i32, 0}, {"y", i32, 2}};
  CHECK(intern_struct(overlap, 2, 6, &o, nullptr) == Status::ok);
  CHECK_EQ(name_of(o), "{'x': int32, 'y': int32 @ 2; 6}");
  const Field quoted[] = {{"it's\\\n", i32, 0}};
  CHECK(intern_struct(quoted, 1, 4, &o, nullptr) == Status::ok);
  CHECK_EQ(name_of(o), "{'it\\'s\\\\\\x0a': int32; 4}");

  const auto refuses = [](const Field* f, std::uint32_t n, std::int64_t size, Status want, const char* part) {
    DType d;
    Reason why;
    CHECK(intern_struct(f, n, size, &d, &why) == want);
    CHECK(std::strstr(why.text, part) != nullptr);
  };
  refuses(fields, 2, 15, Status::invalid, "'b'");
  refuses(fields, 2, -1, Status::invalid, "-1 bytes");
  const Field negative[] = {{"n", i32, -1}};
  refuses(negative, 1, 16, Status::invalid, "'n'");
  const Field far[] = {{"n", i32, INT64_MAX}};
  refuses(far, 1, 16, Status::invalid, "'n'");
  const Field nameless[] = {{nullptr, i32, 0}};
  refuses(nameless, 1, 16, Status::invalid, "no name");
  const Field twice[] = {{"k", i32, 0}, {"l", i32, 4}, {"k", i32, 8}};
  refuses(twice, 3, 16, Status::invalid, "'k'");
  const Field packed[] = {{"p", make_dtype(TypeCode::int_, 4), 0}};
  refuses(packed, 1, 16, Status::unsupported, "packed");
  const Field unknown[] = {{"u", make_dtype(TypeCode::interned, 65000, 4), 0}};
  refuses(unknown, 1, 16, Status::invalid, "65000");

  DType nested = i32;
  for (int depth = 1; depth <= 17; ++depth) {
    const Field in[] = {{"in", nested, 0}};
    CHECK(intern_struct(in, 1, 4, &nested, nullptr) == (depth <= 16 ? Status::ok : Status::invalid));
  }
  char text[16];
  CHECK(format_dtype(nested, text, sizeof text) > 100);
}

void test_subarrays() {
  const DType f32 = make_dtype(TypeCode::float_, 32);
  const std::int64_t shape[] = {2, 3};
  DType s;
  CHECK(intern_subarray(f32, 2, shape, &s, nullptr) == Status::ok);
  CHECK_EQ(name_of(s), "(2, 3)float32");
  CHECK_EQ(s.itemsize(), 24);
  round_trip(s);
  CHECK(parsed("(2,3)f4") == s);
  CHECK(parsed("(2, 3,)float32") == s);
  // A sub-array of a sub-array is one of both shapes.
  DType inner;
  DType outer;
  CHECK(intern_subarray(f32, 1, shape + 1, &inner, nullptr) == Status::ok);
  CHECK_EQ(name_of(inner), "(3)float32");
  CHECK(intern_subarray(inner, 1, shape, &outer, nullptr) == Status::ok);
  CHECK(outer == s);
  round_trip(inner);
  round_trip(parsed("(4)datetime64[25s]"));
  round_trip(parsed("(0)V7"));
  const std::vector<std::int64_t> ones(65, 1);
  const std::int64_t* const many = ones.data();
  CHECK(intern_subarray(f32, 64, many, &outer, nullptr) == Status::ok);
  const auto refuses = [&](DType base, std::int32_t ndim, const std::int64_t* extents, Status want, const char* part) {
    DType d;
    Reason why;
    CHECK(intern_subarray(base, ndim, extents, &d, &why) == want);
    CHECK(std::strstr(why.text, part) != nullptr);
  };
  refuses(f32, 65, many, Status::invalid, "65 dimensions");
  refuses(f32, 0, many, Status::invalid, "0 dimensions");
  refuses(outer, 1, shape, Status::invalid, "65 dimensions");
  const std::int64_t negative[] = {-2};
  refuses(f32, 1, negative, Status::invalid, "negative");
  const std::int64_t huge[] = {INT64_MAX};
  refuses(f32, 1, huge, Status::invalid, "more bytes");
  refuses(make_dtype(TypeCode::int_, 4), 1, shape, Status::unsupported, "packed");
}

void test_threads() {
  constexpr int n = 200;
  std::vector<std::vector<DType>> seen(4, std::vector<DType>(n));
  std::vector<std::thread> threads;
  for (auto& mine : seen) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < n; ++i) {
        const std::string name = "t" + std::to_string(i);
        const Field f[] = {{name.c_str(), make_dtype(TypeCode::int_, 32), 0}};
        DType d;
        if (intern_struct(f, 1, 4 + i, &d, nullptr) == Status::ok && d.itemsize() == 4 + i) {
          mine[static_cast<std::size_t>(i)] = d;
        }
      }
    });
  }
  for (auto& t : threads) t.join();
  for (std::size_t i = 0; i < n; ++i) {
    CHECK(seen[0][i].code == TypeCode::interned);
    for (const auto& other : seen) CHECK(other[i] == seen[0][i]);
  }
}

// Last: fills the process's table.
void test_limit() {
  DType d;
  Reason why;
  Status s = Status::ok;
  std::int64_t made = 0;
  while (s == Status::ok && made < 70000) s = intern_struct(nullptr, 0, 1000000 + made++, &d, &why);
  CHECK(s == Status::unsupported);
  CHECK(std::strstr(why.text, "65536") != nullptr);
  const DType f32 = make_dtype(TypeCode::float_, 32);
  const std::int64_t shape[] = {2, 3};
  CHECK(intern_subarray(f32, 2, shape, &d, nullptr) == Status::ok);  // what is known stays to be had
}

}  // namespace

int main() {
  test_table();
  test_spellings();
  test_garbage_names();
  test_structs();
  test_subarrays();
  test_threads();
  test_limit();
  return check::done();
}
