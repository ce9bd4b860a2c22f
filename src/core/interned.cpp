// SPDX-License-Identifier: Apache-2.0
// Structs and sub-arrays: equal types share one immortal entry. Writing takes a lock, reading an entry doesn't.
// Includes dtype.h and the C++ library's lock.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "anyarray/dtype.h"
#include "anyarray/layout.h"

namespace anyarray {
namespace {

constexpr std::uint32_t max_entries = 65536;  // the index stands in DType::bits
constexpr std::uint32_t n_buckets = 4096;

// An entry and what follows it in the same block: fields or shape, then the names.
struct Entry {
  InternedType type;
  std::uint64_t hash;
  const Entry* next;  // of the same bucket
  std::uint32_t index;
  int depth;  // 1 where nothing inside is interned
};

std::mutex lock;
Entry* buckets[n_buckets];                       // under the lock
std::uint32_t n_entries = 0;                     // under the lock
std::atomic<const Entry*> entries[max_entries];  // written once each, then read by anybody

const Entry* entry_of(DType d) noexcept {
  if (d.code != TypeCode::interned) return nullptr;
  const Entry* e = entries[d.bits].load(std::memory_order_acquire);
  return e != nullptr && e->type.itemsize == d.count ? e : nullptr;
}

struct Hash {
  std::uint64_t value = 14695981039346656037u;  // FNV-1a
  void add(const void* bytes, std::size_t n) noexcept {
    const auto* p = static_cast<const unsigned char*>(bytes);
    for (std::size_t i = 0; i < n; ++i) value = (value ^ p[i]) * 1099511628211u;
  }
  void add(std::int64_t v) noexcept { add(&v, sizeof v); }
  void add(DType d) noexcept { add(&d, sizeof d); }
};

std::uint64_t hash_of(const InternedType& t) noexcept {
  Hash h;
  h.add(t.itemsize);
  h.add(static_cast<std::int64_t>(t.n_fields));
  for (std::uint32_t i = 0; i < t.n_fields; ++i) {
    h.add(t.fields[i].name, std::strlen(t.fields[i].name) + 1);
    h.add(t.fields[i].dtype);
    h.add(t.fields[i].offset);
  }
  h.add(static_cast<std::int64_t>(t.ndim));
  if (t.ndim > 0) {
    h.add(t.base);
    h.add(t.shape, sizeof(std::int64_t) * static_cast<std::size_t>(t.ndim));
  }
  return h.value;
}

bool same(const InternedType& a, const InternedType& b) noexcept {
  if (a.itemsize != b.itemsize || a.n_fields != b.n_fields || a.ndim != b.ndim) return false;
  for (std::uint32_t i = 0; i < a.n_fields; ++i) {
    const Field &f = a.fields[i], &g = b.fields[i];
    if (f.offset != g.offset || f.dtype != g.dtype || std::strcmp(f.name, g.name) != 0) return false;
  }
  return a.ndim == 0 || (a.base == b.base && std::equal(a.shape, a.shape + a.ndim, b.shape));
}

// A copy of `t` in one block that owns everything `t` points to. Null when out of memory.
Entry* copy_entry(const InternedType& t) noexcept {
  const std::size_t parts = t.n_fields * sizeof(Field) + static_cast<std::size_t>(t.ndim) * sizeof(std::int64_t);
  std::size_t bytes = sizeof(Entry) + parts;
  for (std::uint32_t i = 0; i < t.n_fields; ++i) bytes += std::strlen(t.fields[i].name) + 1;
  auto* block = static_cast<unsigned char*>(std::malloc(bytes));
  if (block == nullptr) return nullptr;
  auto* e = new (block) Entry{t, 0, nullptr, 0, 0};
  auto* fields = reinterpret_cast<Field*>(block + sizeof(Entry));
  auto* names = reinterpret_cast<char*>(block + sizeof(Entry) + parts);
  for (std::uint32_t i = 0; i < t.n_fields; ++i) {
    const std::size_t length = std::strlen(t.fields[i].name) + 1;
    std::memcpy(names, t.fields[i].name, length);
    fields[i] = Field{names, t.fields[i].dtype, t.fields[i].offset};
    names += length;
  }
  e->type.fields = t.n_fields > 0 ? fields : nullptr;
  if (t.ndim > 0) {
    auto* shape = reinterpret_cast<std::int64_t*>(block + sizeof(Entry));
    std::copy(t.shape, t.shape + t.ndim, shape);
    e->type.shape = shape;
  }
  return e;
}

Status intern(const InternedType& t, int depth, DType* out, Reason* why) noexcept {
  if (depth > max_nesting) {
    return because(Status::invalid, why, "the element type is nested over %d deep", max_nesting);
  }
  if (t.itemsize > INT64_C(0xFFFFFFFF)) {
    return because(Status::unsupported, why, "a struct or sub-array type of over 2^32-1 bytes");
  }
  const std::uint64_t hash = hash_of(t);
  const std::lock_guard<std::mutex> guard(lock);
  Entry*& bucket = buckets[hash % n_buckets];
  std::uint32_t index = n_entries;
  for (const Entry* e = bucket; e != nullptr; e = e->next) {
    if (e->hash == hash && same(e->type, t)) index = e->index;
  }
  if (index == n_entries) {
    if (n_entries == max_entries) {
      return because(Status::unsupported, why, "over %u different struct and sub-array types in one process",
                     static_cast<unsigned>(max_entries));
    }
    Entry* e = copy_entry(t);
    if (e == nullptr) return because(Status::no_memory, why, "no memory for a struct or sub-array type");
    e->hash = hash;
    e->next = bucket;
    e->index = index;
    e->depth = depth;
    bucket = e;
    entries[index].store(e, std::memory_order_release);
    ++n_entries;
  }
  *out = make_dtype(TypeCode::interned, index, static_cast<std::uint32_t>(t.itemsize));
  return Status::ok;
}

// How deep an element type is nested; -1 for the index of no entry.
int depth_of(DType d) noexcept {
  if (d.code != TypeCode::interned) return 0;
  const Entry* e = entry_of(d);
  return e != nullptr ? e->depth : -1;
}

Status check_part(DType d, Reason* why) noexcept {
  if (depth_of(d) < 0) {
    return because(Status::invalid, why, "an element type with the index %u that was never made", unsigned{d.bits});
  }
  if (d.packed()) {
    return because(Status::unsupported, why, "packed elements of %u bits inside a struct or sub-array: pad them",
                   unsigned{d.bits} * d.count);
  }
  return Status::ok;
}

// ok, invalid with the name that stands there twice, or no_memory.
Status check_names(const Field* fields, std::uint32_t n, Reason* why) noexcept {
  if (n < 2) return Status::ok;
  auto* names = static_cast<const char**>(std::malloc(n * sizeof(const char*)));
  if (names == nullptr) return because(Status::no_memory, why, "no memory for %u fields", static_cast<unsigned>(n));
  for (std::uint32_t i = 0; i < n; ++i) names[i] = fields[i].name;
  std::sort(names, names + n, [](const char* a, const char* b) { return std::strcmp(a, b) < 0; });
  const char** twice =
      std::adjacent_find(names, names + n, [](const char* a, const char* b) { return std::strcmp(a, b) == 0; });
  Status s = Status::ok;
  if (twice != names + n) s = because(Status::invalid, why, "two fields are named '%.80s'", *twice);
  std::free(names);
  return s;
}

}  // namespace

Status intern_struct(const Field* fields, std::uint32_t n, std::int64_t itemsize, DType* out, Reason* why) noexcept {
  if (itemsize < 0) {
    return because(Status::invalid, why, "a struct of %lld bytes", static_cast<long long>(itemsize));
  }
  int depth = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const Field& f = fields[i];
    if (f.name == nullptr) return because(Status::invalid, why, "field %u has no name", static_cast<unsigned>(i));
    const Status s = check_part(f.dtype, why);
    if (s != Status::ok) return s;
    const std::int64_t size = f.dtype.itemsize();
    if (f.offset < 0 || size > itemsize || f.offset > itemsize - size) {
      return because(Status::invalid, why, "field '%.80s' (%lld bytes at offset %lld) isn't inside the struct's %lld",
                     f.name, static_cast<long long>(size), static_cast<long long>(f.offset),
                     static_cast<long long>(itemsize));
    }
    depth = std::max(depth, depth_of(f.dtype));
  }
  const Status s = check_names(fields, n, why);
  if (s != Status::ok) return s;
  return intern(InternedType{itemsize, n, fields, 0, DType{}, nullptr}, depth + 1, out, why);
}

Status intern_subarray(DType base, std::int32_t ndim, const std::int64_t* shape, DType* out, Reason* why) noexcept {
  const Status s = check_part(base, why);
  if (s != Status::ok) return s;
  const InternedType* inner = interned_type(base);
  const std::int32_t inner_ndim = inner != nullptr ? inner->ndim : 0;
  if (ndim < 1 || ndim > max_ndim - inner_ndim) {
    return because(Status::invalid, why, "a sub-array of %d dimensions: 1 to %d are possible", ndim + inner_ndim,
                   max_ndim);
  }
  std::int64_t extents[max_ndim];
  std::copy(shape, shape + ndim, extents);
  if (inner_ndim > 0) {
    std::copy(inner->shape, inner->shape + inner_ndim, extents + ndim);
    base = inner->base;
    ndim += inner_ndim;
  }
  std::int64_t n = 0;
  std::int64_t bytes = 0;
  if (!element_count(ndim, extents, &n)) {
    return because(Status::invalid, why, "a sub-array with a negative extent, or with too many elements");
  }
  if (__builtin_mul_overflow(n, base.itemsize(), &bytes)) {
    return because(Status::invalid, why, "a sub-array of more bytes than 64 bits can count");
  }
  return intern(InternedType{bytes, 0, nullptr, ndim, base, extents}, depth_of(base) + 1, out, why);
}

const InternedType* interned_type(DType d) noexcept {
  const Entry* e = entry_of(d);
  return e != nullptr ? &e->type : nullptr;
}

}  // namespace anyarray
