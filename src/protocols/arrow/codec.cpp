// SPDX-License-Identifier: Apache-2.0
// Arrow arrays → descriptors. Every level of lists has an offset, a length and a validity bitmap of its own; what of
// the level below is in reach follows from it. Nothing that the producer says is taken on trust but the size of
// buffers, which the interface doesn't tell. No Python.
#include "anyarray/protocols/arrow.h"

#include <cstring>

namespace anyarray::arrow {
namespace {

using Wide = long long;  // what printf calls it

/// The elements of one level that are in reach, counted from the start of its buffers.
struct Window {
  std::int64_t first;
  std::int64_t count;
};

/// Zero bits among `count` bits from bit `first` on, the lowest bit of a byte first. Reads no other bytes.
std::int64_t count_zeros(const void* bitmap, Window w) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(bitmap) + w.first / 8;
  const auto lead = static_cast<unsigned>(w.first % 8);
  std::int64_t left = w.count;
  std::int64_t zeros = 0;
  if (lead != 0) {
    const auto here = static_cast<unsigned>(left < 8 - lead ? left : 8 - lead);
    const unsigned mask = ((1u << here) - 1) << lead;
    zeros += __builtin_popcount(~unsigned{*bytes++} & mask);
    left -= here;
  }
  for (; left >= 64; left -= 64, bytes += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    if (__builtin_expect(word != ~std::uint64_t{0}, 0)) zeros += __builtin_popcountll(~word);
  }
  for (; left > 0; left -= 8, ++bytes) {
    const unsigned mask = left < 8 ? (1u << left) - 1 : 0xffu;
    zeros += __builtin_popcount(~unsigned{*bytes} & mask);
  }
  return zeros;
}

/// The nulls in reach. A count of 0 is looked into as well where there is a bitmap: a view can't carry what it marks.
Status check_nulls(const Array& a, Window w, bool whole, Reason* why) noexcept {
  const void* bitmap = a.buffers[0];
  if (a.null_count < -1 || a.null_count > a.length) {
    return because(Status::invalid, why, "the Arrow array says that %lld of its %lld elements are null",
                   static_cast<Wide>(a.null_count), static_cast<Wide>(a.length));
  }
  if (bitmap == nullptr) {
    if (a.null_count <= 0) return Status::ok;
    return because(Status::invalid, why, "the Arrow array says that it has %lld nulls, but has no validity bitmap",
                   static_cast<Wide>(a.null_count));
  }
  const std::int64_t nulls = w.count > 0 ? count_zeros(bitmap, w) : 0;
  if (a.null_count >= 0 && nulls != a.null_count && (whole || nulls > a.null_count)) {
    return because(Status::invalid, why, "the Arrow array says that it has %lld nulls, but its bitmap marks %lld",
                   static_cast<Wide>(a.null_count), static_cast<Wide>(nulls));
  }
  if (nulls == 0) return Status::ok;
  return because(Status::guarded, why,
                 "the Arrow array has %lld null%s, which a view would drop: fill or drop them first (fill_null(), "
                 "drop_nulls())",
                 static_cast<Wide>(nulls), nulls == 1 ? "" : "s");
}

/// What every level must be, whatever it holds.
Status check_node(const Array& a, std::int64_t buffers, std::int64_t children, Reason* why) noexcept {
  if (a.release == nullptr) {
    return because(Status::invalid, why, "the Arrow array was released or moved elsewhere: it holds nothing");
  }
  if (a.length < 0 || a.offset < 0) {
    return because(Status::invalid, why, "the Arrow array has length %lld and offset %lld: neither may be negative",
                   static_cast<Wide>(a.length), static_cast<Wide>(a.offset));
  }
  std::int64_t end = 0;
  if (__builtin_add_overflow(a.length, a.offset, &end)) {
    return because(Status::invalid, why, "the Arrow array has offset %lld and length %lld, which 64 bits can't count",
                   static_cast<Wide>(a.offset), static_cast<Wide>(a.length));
  }
  if (a.n_buffers != buffers || a.buffers == nullptr) {
    return because(Status::invalid, why, "the Arrow array has %lld buffers%s; its type has %lld",
                   static_cast<Wide>(a.n_buffers), a.buffers == nullptr ? " (and the pointer to them is null)" : "",
                   static_cast<Wide>(buffers));
  }
  if (a.n_children != children || (children > 0 && (a.children == nullptr || a.children[0] == nullptr))) {
    return because(Status::invalid, why, "the Arrow array has %lld children%s; its type has %lld",
                   static_cast<Wide>(a.n_children), a.n_children == children ? " that are null" : "",
                   static_cast<Wide>(children));
  }
  if (a.dictionary != nullptr) {
    return because(Status::invalid, why, "the Arrow array has a dictionary, which its schema doesn't tell of");
  }
  return Status::ok;
}

/// From the lists of a level to the elements of its child.
Status step_down(const Array& child, std::int64_t list_size, Window* w, Reason* why) noexcept {
  std::int64_t start = 0, count = 0, end = 0, first = 0;
  bool overflow = __builtin_mul_overflow(w->first, list_size, &start);
  overflow |= __builtin_mul_overflow(w->count, list_size, &count);
  overflow |= __builtin_add_overflow(start, count, &end);
  overflow |= __builtin_add_overflow(start, child.offset, &first);
  if (overflow) {
    return because(Status::invalid, why, "Arrow lists %lld to %lld of %lld elements are more than 64 bits can count",
                   static_cast<Wide>(w->first), Wide{w->first} + Wide{w->count}, static_cast<Wide>(list_size));
  }
  if (child.offset < 0 || child.length < end) {
    return because(Status::invalid, why,
                   "Arrow lists of %lld elements reach to element %lld of their child, which has %lld (offset %lld)",
                   static_cast<Wide>(list_size), static_cast<Wide>(end), static_cast<Wide>(child.length),
                   static_cast<Wide>(child.offset));
  }
  *w = {first, count};
  return Status::ok;
}

/// Shape and strides of `length` elements of the type. On failure nothing is reserved.
Status lay_out(const Type& t, std::int64_t length, Borrow& out, Reason* why) noexcept {
  std::int64_t* const shape = reserve_dims(out, t.ndim);
  if (shape == nullptr) return because(Status::no_memory, why, "no memory for the shape of %d dimensions", int{t.ndim});
  std::int64_t* const strides = shape + t.ndim;
  shape[0] = length;
  std::memcpy(shape + 1, t.extent, sizeof *shape * static_cast<std::size_t>(t.ndim - 1));
  std::int64_t n = 0;
  if (!element_count(t.ndim, shape, &n) || !c_strides(t.ndim, shape, t.dtype.itemsize(), strides)) {
    drop_dims(out);
    return because(Status::invalid, why, "the Arrow array needs more bytes than 64 bits can count");
  }
  if (t.permuted) {
    std::int64_t steps[max_ndim];
    std::memcpy(steps, strides + 1, sizeof *steps * static_cast<std::size_t>(t.ndim - 1));
    for (int i = 1; i < t.ndim; ++i) {
      shape[i] = t.extent[t.lies_as[i - 1]];
      strides[i] = steps[t.lies_as[i - 1]];
    }
  }
  out.desc.data = nullptr;
  out.desc.dtype = t.dtype;
  out.desc.device = cpu_device;
  out.desc.flags = flag_readonly | flag_copied_unknown;
  return Status::ok;
}

Status find_data(const Array& leaf, std::int64_t itemsize, Window w, void** out, Reason* why) noexcept {
  *out = nullptr;
  if (w.count == 0) return Status::ok;  // the buffer may be null, or an address that means nothing
  if (leaf.buffers[1] == nullptr) {
    return because(Status::invalid, why, "the Arrow array has %lld elements, but its data buffer is null",
                   static_cast<Wide>(w.count));
  }
  std::int64_t bytes = 0;
  std::uintptr_t address = 0;
  if (__builtin_mul_overflow(w.first, itemsize, &bytes) ||
      __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(leaf.buffers[1]), bytes, &address)) {
    return because(Status::invalid, why, "the Arrow array's offset of %lld elements leaves the address space",
                   static_cast<Wide>(w.first));
  }
  *out = reinterpret_cast<void*>(address);
  return Status::ok;
}

}  // namespace

Status decode(const Type& type, const Array& array, Borrow& out, Reason* why) noexcept {
  const Array* a = &array;
  Window w{0, 0};
  for (int level = 0;; ++level) {
    const bool is_leaf = level == type.levels;
    Status s = check_node(*a, is_leaf ? 2 : 1, is_leaf ? 0 : 1, why);
    if (level == 0) w = {array.offset, array.length};
    if (s == Status::ok) s = check_nulls(*a, w, level == 0, why);
    if (s != Status::ok) return s;
    if (is_leaf) break;
    a = a->children[0];
    s = step_down(*a, type.list_size[level], &w, why);
    if (s != Status::ok) return s;
  }
  void* data = nullptr;
  Status s = find_data(*a, type.dtype.itemsize(), w, &data, why);
  if (s == Status::ok) s = lay_out(type, array.length, out, why);
  if (s == Status::ok) out.desc.data = data;
  return s;
}

Status decode_nothing(const Type& type, Borrow& out, Reason* why) noexcept { return lay_out(type, 0, out, why); }

}  // namespace anyarray::arrow
