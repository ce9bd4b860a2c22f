// SPDX-License-Identifier: Apache-2.0
// Own memory: where it starts, that all of it is there, that it is freed, and arrays that are made in it.
#include "src/copy/memory.h"

#include <thread>

#include "tests/cpp/arrays.h"

using namespace anyarray;
using namespace arrays;

namespace {

void test_blocks() {
  std::vector<void*> blocks;
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 1000, 4096, 1 << 20, (1 << 22) - 1, 1 << 22, (9 << 20) + 5}) {
    auto* const block = static_cast<unsigned char*>(allocate_memory(bytes));
    CHECK(block != nullptr && reinterpret_cast<std::uintptr_t>(block) % owned_alignment == 0);
    std::memset(block, static_cast<int>(blocks.size()), static_cast<std::size_t>(bytes));
    if (bytes >= 1 << 22) CHECK_EQ(reinterpret_cast<std::uintptr_t>(block) % (1 << 21), 0u);
    blocks.push_back(block);
  }
  std::thread([&blocks] {
    for (void* block : blocks) free_memory(block);
  }).join();
  free_memory(nullptr);
  CHECK(allocate_memory(INT64_MAX) == nullptr);
  CHECK(allocate_memory(std::int64_t{1} << 62) == nullptr);
}

/// Made and released.
struct Empty {
  Borrow borrow;
  Reason why;
  Status status;
  Empty(DType t, const Ints& shape, Order order = Order::any)
      : status(make_empty(t, static_cast<int>(shape.size()), shape.data(), order, &borrow, &why)) {
    CHECK_EQ(borrow.held(), status == Status::ok);
  }
  ~Empty() { release(borrow); }
  Empty(const Empty&) = delete;
  Empty& operator=(const Empty&) = delete;
  const Descriptor* operator->() const { return &borrow.desc; }
  bool refused(Status s, const char* words) const { return status == s && std::strstr(why.text, words) != nullptr; }
};

void test_make_empty() {
  const Empty c(of<float>, {3, 2});
  CHECK(c->c_contiguous() && !c->f_contiguous() && c->dtype == of<float> && c->ndim == 2 && c->shape[0] == 3);
  CHECK(c->flags == 0 && c->device == cpu_device && c.borrow.protocol == no_protocol);
  CHECK(reinterpret_cast<std::uintptr_t>(c->data) % owned_alignment == 0);
  CHECK(Empty(of<float>, {3, 2}, Order::f)->f_contiguous());
  CHECK(Empty(of<double>, {})->size() == 1);
  const Empty none(of<double>, {3, 0, std::int64_t{1} << 62});
  CHECK(none.status == Status::ok && none->data != nullptr && none->size() == 0);
  const Empty deep(of<double>, Ints(64, 1));
  CHECK(deep.status == Status::ok && deep->ndim == 64);
  const DType i4 = make_dtype(TypeCode::int_, 4);
  const Empty packed(i4, {3, 3});
  CHECK(packed->strides == nullptr && packed->nbytes() == 5);
  CHECK((static_cast<unsigned char*>(packed->data)[4] & 0xf0) == 0);
  CHECK(Empty(i4, {3}, Order::f).status == Status::ok);
}

void test_refusals() {
  CHECK(Empty(of<float>, {3, -1}).refused(Status::invalid, "extent 1 is -1"));
  CHECK(Empty(of<float>, Ints(65, 1)).refused(Status::invalid, "65 dimensions"));
  CHECK(Empty(make_dtype(TypeCode::int_, 4), {3, 3}, Order::f).refused(Status::invalid, "C order only"));
  CHECK(Empty(of<float>, {std::int64_t{1} << 61, 2}).refused(Status::no_memory, "more bytes than 64 bits"));
  CHECK(Empty(of<float>, {std::int64_t{1} << 40, std::int64_t{1} << 40})
            .refused(Status::no_memory, "more elements than 64 bits"));
  CHECK(Empty(of<std::int8_t>, {INT64_MAX}).refused(Status::no_memory, "out of memory"));
}

}  // namespace

int main() {
  test_blocks();
  test_make_empty();
  test_refusals();
  return check::done();
}
