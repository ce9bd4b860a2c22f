// SPDX-License-Identifier: Apache-2.0
// The descriptor (owns nothing), the borrow (a descriptor with the token that keeps it valid, in the
// caller's own storage) and the holder (a shared borrow on the heap). Layouts are ABI: see c_api.h. Functions of the C
// library are called as the compiler's own: its headers would cost more to compile than this one.
#pragma once
#include <cstdint>

#include "anyarray/device.h"
#include "anyarray/dtype.h"
#include "anyarray/layout.h"

namespace anyarray {

/// What is known of the memory beyond its layout. Bits of Descriptor::flags.
enum DescriptorFlags : std::uint32_t {
  flag_readonly = 1u << 0,           ///< must not be written
  flag_copied = 1u << 1,             ///< the producer said that it copied (DLPack IS_COPIED)
  flag_copied_unknown = 1u << 2,     ///< the producer couldn't be asked not to copy
  flag_device_unverified = 1u << 3,  ///< the protocol can't say the device, and nothing else did
};

/// Where elements lie and what they are. Owns nothing; trivially copyable. Valid while what it came
/// from is held. Element [i, j, …] is at data + i*strides[0] + j*strides[1] + … bytes.
struct Descriptor {
  void* data;                   ///< element [0, …, 0], every offset included; may be null when size is 0
  const std::int64_t* shape;    ///< ndim extents in elements; never null
  const std::int64_t* strides;  ///< ndim strides in BYTES; null only for packed sub-byte elements
  DType dtype;
  Device device;
  std::int32_t ndim;    ///< 0 to max_ndim
  std::uint32_t flags;  ///< DescriptorFlags

  bool readonly() const noexcept { return (flags & flag_readonly) != 0; }
  /// Number of elements (checked when the descriptor was made: can't overflow).
  std::int64_t size() const noexcept {
    std::int64_t n = 0;
    element_count(ndim, shape, &n);
    return n;
  }
  /// Bytes of the elements alone, gaps not counted.
  std::int64_t nbytes() const noexcept {
    return dtype.packed() ? (size() * dtype.bits * static_cast<std::int64_t>(dtype.count) + 7) / 8
                          : size() * dtype.itemsize();
  }
  bool c_contiguous() const noexcept {
    return strides == nullptr || is_c_contiguous(ndim, shape, strides, dtype.itemsize());
  }
  bool f_contiguous() const noexcept {
    return strides == nullptr ? ndim <= 1 : is_f_contiguous(ndim, shape, strides, dtype.itemsize());
  }
};

namespace detail {
/// validate() for everything that is_usual() doesn't settle.
Status validate_any(const Descriptor& d, Reason* why) noexcept;

/// Most arrays: one or two dimensions of plain numbers. With extents below 2^27, strides from 0 to 2^34, an itemsize
/// below 2^8 and an address below 2^63 nothing overflows, and no branch is needed to see that: negative numbers are
/// huge ones here.
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
inline bool is_usual(const Descriptor& d) noexcept {
  const std::uint32_t last = static_cast<std::uint32_t>(d.ndim) - 1;
  if (last >= 2 || d.data == nullptr || d.shape == nullptr || d.strides == nullptr ||
      d.dtype.code > TypeCode::complex || (d.dtype.bits & 7) != 0) {
    return false;
  }
  const std::uint64_t itemsize = d.dtype.bits * std::uint64_t{d.dtype.count} / 8;
  const auto extents = static_cast<std::uint64_t>(d.shape[0] | d.shape[last]);
  const auto strides = static_cast<std::uint64_t>(d.strides[0] | d.strides[last]);
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(d.data));
  return ((extents >> 27) | (strides >> 34) | (itemsize >> 8) | (address >> 63)) == 0;
}
}  // namespace detail

/// Checks what every consumer relies on: ndim in range, shape and strides there, extents not negative, sizes and
/// reach without overflow, address not null where there are elements, the touched range inside the address space.
#if defined(__GNUC__)
__attribute__((always_inline))
#endif
inline Status validate(const Descriptor& d, Reason* why) noexcept {
  return detail::is_usual(d) ? Status::ok : detail::validate_any(d, why);
}

/// Borrow::protocol of memory that came over none: of its owner, or of anyarray's own.
inline constexpr std::uint8_t no_protocol = 0xff;

/// A descriptor that is valid until release(). Lives where the caller puts it (stack, object), is moved
/// only by move_borrow(). The token is the producer's own handle: a Py_buffer, a DLPack tensor, objects.
struct Borrow {
  Descriptor desc;
  void (*release_fn)(Borrow*) noexcept;  ///< null when nothing is held
  void* owner;                           ///< the object taken from (a strong PyObject* from Python rows)
  void* context;                         ///< of the engine that filled it
  std::uint8_t protocol;                 ///< the Protocol that served, or no_protocol
  std::uint8_t heap_dims;                ///< shape and strides are one malloc'ed block
  std::uint8_t checked;                  ///< who filled `desc` proved what validate() would
  std::uint8_t reserved[5];
  void* token[10];                     ///< protocol's own
  std::int64_t dims[2 * inline_ndim];  ///< shape and strides when ndim ≤ inline_ndim

  bool held() const noexcept { return release_fn != nullptr; }
};

/// Before a borrow is filled: it owns no dims, nothing is proven.
inline void begin(Borrow& b) noexcept {
  b.heap_dims = 0;
  b.checked = 0;
}

/// Makes room for `ndim` extents and strides and points desc.shape/strides there. Null when out of memory.
/// The strides follow the shape: `std::int64_t* shape = reserve_dims(b, n), * strides = shape + n`.
inline std::int64_t* reserve_dims(Borrow& b, int ndim) noexcept {
  std::int64_t* block = b.dims;
  b.heap_dims = 0;
  if (__builtin_expect(ndim > inline_ndim, 0)) {
    block = static_cast<std::int64_t*>(__builtin_malloc(sizeof(std::int64_t) * 2 * static_cast<std::size_t>(ndim)));
    if (block == nullptr) return nullptr;
    b.heap_dims = 1;
  }
  b.desc.ndim = ndim;
  b.desc.shape = block;
  b.desc.strides = block + ndim;
  return block;
}

/// Frees what reserve_dims allocated, if anything. For failed tries; release() does it as well.
inline void drop_dims(Borrow& b) noexcept {
  if (b.heap_dims != 0) {
    __builtin_free(const_cast<std::int64_t*>(b.desc.shape));
    b.heap_dims = 0;
  }
}

/// Gives everything back; safe to call twice. From Python rows: needs the GIL of the borrow's interpreter.
inline void release(Borrow& b) noexcept {
  auto* const fn = b.release_fn;
  if (fn == nullptr) return;
  b.release_fn = nullptr;
  fn(&b);
  drop_dims(b);
}

/// Moves a borrow to other storage; `from` holds nothing afterwards.
inline void move_borrow(Borrow& to, Borrow& from) noexcept {
  __builtin_memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof to);
  if (from.heap_dims == 0) {
    to.desc.shape = to.dims;
    if (from.desc.strides != nullptr) to.desc.strides = to.dims + from.desc.ndim;
  }
  from.heap_dims = 0;
  from.release_fn = nullptr;
}

/// A borrow shared by count: what outlives a call. Made by make_holder, freed by the last drop.
struct Holder {
  Borrow borrow;
  std::int64_t references;  ///< changed by retain() and drop_reference() alone, from any thread
};

/// One reference more. By the compiler's own atomics: <atomic> alone would cost as much to compile as this header.
inline void retain(Holder& h) noexcept { __atomic_fetch_add(&h.references, 1, __ATOMIC_RELAXED); }
/// One reference less; true for the last one: the caller must end the holder.
inline bool drop_reference(Holder& h) noexcept { return __atomic_fetch_sub(&h.references, 1, __ATOMIC_ACQ_REL) == 1; }

/// Moves `from` to the heap with one reference. Null when out of memory (`from` is then unchanged).
inline Holder* make_holder(Borrow& from) noexcept {
  auto* h = static_cast<Holder*>(__builtin_malloc(sizeof(Holder)));
  if (h == nullptr) return nullptr;
  move_borrow(h->borrow, from);
  h->references = 1;
  return h;
}
/// Gives one reference back; the last one releases the borrow (same rule on the GIL as release()).
inline void drop(Holder* h) noexcept {
  if (drop_reference(*h)) {
    release(h->borrow);
#if !defined(__clang_analyzer__)  // which doesn't count, and takes every drop for the last
    __builtin_free(h);
#endif
  }
}

}  // namespace anyarray
