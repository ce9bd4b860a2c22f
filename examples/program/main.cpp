// SPDX-License-Identifier: Apache-2.0
// columns DTYPE ROWS COLUMNS: reads a table of raw elements from standard input, row by row, and prints the mean of
// each column. DTYPE is any name or typestr of a number: "float32", ">i2", "bfloat16".
#include <anyarray/anyarray.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  anyarray::DType dtype;
  if (argc != 4 || !anyarray::parse_dtype(argv[1], &dtype)) {
    std::fprintf(stderr, "usage: columns DTYPE ROWS COLUMNS < elements\n");
    return 2;
  }
  const std::int64_t shape[2] = {std::atoll(argv[2]), std::atoll(argv[3])};

  std::vector<char> bytes;
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, stdin)) > 0;) {
    bytes.insert(bytes.end(), block, block + n);
  }

  // What the memory is. produce() checks all that can be checked: shape, sizes, alignment.
  anyarray::Reason why;
  anyarray::Borrow raw;
  const anyarray::Descriptor parts = {bytes.data(), shape, nullptr, dtype, anyarray::cpu_device, 2, 0};
  anyarray::Status status = anyarray::produce(parts, nullptr, nullptr, &raw, &why);
  if (status == anyarray::Status::ok && raw.desc.nbytes() != static_cast<std::int64_t>(bytes.size())) {
    std::fprintf(stderr, "%zu bytes were read, %lld are needed\n", bytes.size(),
                 static_cast<long long>(raw.desc.nbytes()));
    return 1;
  }

  // The same as float64 of the machine: a copy.
  using Table = anyarray::view<const double, 2>;
  anyarray::Borrow numbers;
  if (status == anyarray::Status::ok) status = anyarray::copy_as(raw.desc, Table::request, &numbers, &why);
  if (status != anyarray::Status::ok) {
    std::fprintf(stderr, "%s: %s\n", anyarray::status_name(status), why.text);
    return 1;
  }
  Table table;
  Table::from(numbers.desc, &table);
  for (std::int64_t j = 0; j < table.extent(1); ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < table.extent(0); ++i) sum += table(i, j);
    std::printf("%g\n", sum / static_cast<double>(table.extent(0)));
  }
  anyarray::release(numbers);
  anyarray::release(raw);
  return 0;
}
