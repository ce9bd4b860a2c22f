// SPDX-License-Identifier: Apache-2.0
// Typed views: what a function declares, and gets, instead of a descriptor that it has to check. A view owns nothing:
// it is valid as long as what it was taken from is held. Conditions are in the type; a descriptor meets all of them, or
// there is no view. No Python; everything inline.
#pragma once
#include "anyarray/element.h"
#include "anyarray/request.h"

namespace anyarray {

/// In place of a rank: any number of dimensions.
inline constexpr int dynamic_rank = -1;

/// Layouts: any strides (whole elements), row-major without gaps, column-major without gaps.
struct strided {
  static constexpr Order order = Order::any;
};
struct c_order {
  static constexpr Order order = Order::c;
};
struct f_order {
  static constexpr Order order = Order::f;
};

/// Devices. `host`: memory that the host can read, pinned and managed memory too (the latter when the work on it is
/// done). The others are of their kind, whatever their number.
template <DeviceType kind>
struct on {
  static constexpr DeviceType type = kind;
};
using host = on<DeviceType::cpu>;
using cuda = on<DeviceType::cuda>;
using rocm = on<DeviceType::rocm>;
using oneapi = on<DeviceType::oneapi>;
using any_device = on<DeviceType::any>;

template <class T, int Rank = dynamic_rank, class Layout = strided, class On = host>
class view;

namespace detail {

/// mdspan.h says what this gives; view.h names it, so that view::mdspan() is there whatever was included first.
template <class View>
struct to_mdspan;

/// The request that asks for what a view takes.
template <class T, int Rank, class Layout, class On>
constexpr Request request_of() noexcept {
  Request r;
  r.device = {On::type, -1};
  r.ndim = static_cast<std::int8_t>(Rank);
  r.order = Layout::order;
  r.writable = elements_of<T>::writable;
  if constexpr (elements_of<T>::count > 0) {
    r.n_dtypes = elements_of<T>::count;
    r.dtypes = elements_of<T>::dtypes;
    r.layout = layout_elements;
  } else if (Rank != dynamic_rank) {
    r.layout = layout_bytes;
  }
  return r;
}

/// See layout_elements.
inline bool can_walk(const Descriptor& d, std::int64_t size, std::size_t alignment) noexcept {
  if (d.size() == 0) return true;
  if (reinterpret_cast<std::uintptr_t>(d.data) % alignment != 0) return false;
  for (int i = 0; d.strides != nullptr && i < d.ndim; ++i) {
    if (d.shape[i] > 1 && d.strides[i] % size != 0) return false;
  }
  return d.strides != nullptr || d.ndim == 0;
}

/// Where the elements of a view lie when its rank is known. Strides are kept, in bytes, where the layout doesn't say
/// them.
template <int Rank, Order order>
struct Place {
  static constexpr int slots = Rank > 0 ? Rank : 1;
  void* data = nullptr;
  const void* source = nullptr;
  std::int64_t extents[slots] = {};
  std::int64_t strides[order == Order::any ? slots : 1] = {};

  static constexpr int rank() noexcept { return Rank; }
  constexpr std::int64_t extent(int i) const noexcept { return extents[i]; }
  constexpr std::int64_t byte_stride(int i, std::int64_t itemsize) const noexcept {
    if constexpr (order == Order::any) return strides[i];
    std::int64_t step = itemsize;
    if constexpr (order == Order::c) {
      for (int k = Rank - 1; k > i; --k) step *= extents[k];
    } else {
      for (int k = 0; k < i; ++k) step *= extents[k];
    }
    return step;
  }
  constexpr std::int64_t size() const noexcept {
    std::int64_t n = 1;
    for (int i = 0; i < Rank; ++i) n *= extents[i];
    return n;
  }
  void show(const Descriptor& d) noexcept {
    data = d.data;
    for (int i = 0; i < Rank; ++i) {
      extents[i] = d.shape[i];
      if constexpr (order == Order::any) strides[i] = d.strides[i];
    }
  }
};
/// The same for any rank: the extents are those of the descriptor, wherever they lie.
template <Order order>
struct Place<dynamic_rank, order> {
  void* data = nullptr;
  const void* source = nullptr;
  const std::int64_t* extents = nullptr;
  const std::int64_t* strides = nullptr;
  int ndim = 0;

  int rank() const noexcept { return ndim; }
  std::int64_t extent(int i) const noexcept { return extents[i]; }
  std::int64_t byte_stride(int i, std::int64_t) const noexcept { return strides[i]; }
  std::int64_t size() const noexcept {
    if (data == nullptr && extents == nullptr) return 0;
    std::int64_t n = 1;
    for (int i = 0; i < ndim; ++i) n *= extents[i];
    return n;
  }
  void show(const Descriptor& d) noexcept {
    data = d.data;
    extents = d.shape;
    strides = d.strides;
    ndim = d.ndim;
  }
};

/// What a view's type says already, and what it has to keep.
template <bool known>
struct KeptDevice {
  Device kept_device = cpu_device;
};
template <>
struct KeptDevice<true> {};
template <bool known>
struct KeptDType {
  DType kept_dtype = {};
};
template <>
struct KeptDType<true> {};

}  // namespace detail

/// Walks one dimension in steps of any size. Random access; <anyarray/ranges.h> tells the standard library so.
template <class T>
class strided_iterator {
 public:
  using value_type = std::remove_const_t<T>;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  constexpr strided_iterator() noexcept = default;
  /// `step` in elements.
  constexpr strided_iterator(T* at, std::ptrdiff_t step, std::ptrdiff_t index) noexcept
      : first_(at), step_(step), index_(index) {}

  constexpr T& operator*() const noexcept { return first_[index_ * step_]; }
  constexpr T* operator->() const noexcept { return first_ + index_ * step_; }
  constexpr T& operator[](std::ptrdiff_t n) const noexcept { return first_[(index_ + n) * step_]; }
  constexpr strided_iterator& operator++() noexcept { return ++index_, *this; }
  constexpr strided_iterator& operator--() noexcept { return --index_, *this; }
  constexpr strided_iterator operator++(int) noexcept { return {first_, step_, index_++}; }
  constexpr strided_iterator operator--(int) noexcept { return {first_, step_, index_--}; }
  constexpr strided_iterator& operator+=(std::ptrdiff_t n) noexcept { return index_ += n, *this; }
  constexpr strided_iterator& operator-=(std::ptrdiff_t n) noexcept { return index_ -= n, *this; }
  friend constexpr strided_iterator operator+(strided_iterator i, std::ptrdiff_t n) noexcept { return i += n; }
  friend constexpr strided_iterator operator+(std::ptrdiff_t n, strided_iterator i) noexcept { return i += n; }
  friend constexpr strided_iterator operator-(strided_iterator i, std::ptrdiff_t n) noexcept { return i -= n; }
  friend constexpr std::ptrdiff_t operator-(strided_iterator a, strided_iterator b) noexcept {
    return a.index_ - b.index_;
  }
  friend constexpr bool operator==(strided_iterator a, strided_iterator b) noexcept { return a.index_ == b.index_; }
  friend constexpr bool operator!=(strided_iterator a, strided_iterator b) noexcept { return a.index_ != b.index_; }
  friend constexpr bool operator<(strided_iterator a, strided_iterator b) noexcept { return a.index_ < b.index_; }
  friend constexpr bool operator>(strided_iterator a, strided_iterator b) noexcept { return a.index_ > b.index_; }
  friend constexpr bool operator<=(strided_iterator a, strided_iterator b) noexcept { return a.index_ <= b.index_; }
  friend constexpr bool operator>=(strided_iterator a, strided_iterator b) noexcept { return a.index_ >= b.index_; }

 private:
  T* first_ = nullptr;
  std::ptrdiff_t step_ = 1;
  std::ptrdiff_t index_ = 0;
};

/// A view of `Rank` dimensions of T: an element type, any_of<…> several, or `void` for whatever it is. `const T`:
/// read-only memory is fine, and can't be written through the view; plain T: writable memory was asked for. Trivially
/// copyable, passed by value. Indices aren't checked.
template <class T, int Rank, class Layout, class On>
class view : private detail::KeptDevice<On::type == DeviceType::cpu>,
             private detail::KeptDType<detail::is_one<T>::value> {
  static_assert(Rank == dynamic_rank || (Rank >= 0 && Rank <= max_ndim),
                "anyarray::view: a rank is 0 to 64, or anyarray::dynamic_rank");
  using elements = detail::elements_of<T>;
  static constexpr bool is_one = detail::is_one<T>::value;
  static constexpr bool is_open = elements::count == 0;
  static constexpr bool on_host = On::type == DeviceType::cpu;
  static constexpr bool is_strided = Layout::order == Order::any;
  static constexpr bool is_fixed = Rank != dynamic_rank;
  using Extents = std::int64_t[is_fixed && Rank > 0 ? Rank : 1];

 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using layout_type = Layout;
  using device_type = On;
  using index_type = std::int64_t;
  /// data(): void where the element type is open.
  using pointer = std::conditional_t<is_one, T, std::conditional_t<elements::writable, void, const void>>*;

  /// What a view of this type asks for.
  static constexpr Request request = detail::request_of<T, Rank, Layout, On>();

  constexpr view() noexcept = default;
  /// Contiguous memory: in C order, or in F order where the layout says so.
  template <bool known = is_one && is_fixed, std::enable_if_t<known, int> = 0>
  constexpr view(pointer data, const Extents& extents) noexcept {
    set(data, extents);
    if constexpr (is_strided) {
      std::int64_t step = itemsize();
      for (int i = Rank - 1; i >= 0; --i) {
        place_.strides[i] = step;
        step *= extents[i] > 1 ? extents[i] : 1;
      }
    }
  }
  /// Any memory; `strides` in elements.
  template <bool known = is_one && is_fixed && is_strided, std::enable_if_t<known, int> = 0>
  constexpr view(pointer data, const Extents& extents, const Extents& strides) noexcept {
    set(data, extents);
    for (int i = 0; i < Rank; ++i) place_.strides[i] = strides[i] * itemsize();
  }
  /// The same memory with fewer promises: const, any strides, any device. Never the other way round.
  template <class U, class L, class D,
            std::enable_if_t<
                detail::is_one<U>::value && is_one && is_fixed && std::is_same_v<std::remove_const_t<U>, value_type> &&
                    (std::is_const_v<T> || !std::is_const_v<U>) && (std::is_same_v<L, Layout> || is_strided) &&
                    (std::is_same_v<D, On> || On::type == DeviceType::any) &&
                    !(std::is_same_v<U, T> && std::is_same_v<L, Layout> && std::is_same_v<D, On>),
                int> = 0>
  constexpr view(const view<U, Rank, L, D>& other) noexcept {
    place_.data = other.place_.data;
    place_.source = other.place_.source;
    for (int i = 0; i < Rank; ++i) {
      place_.extents[i] = other.place_.extents[i];
      if constexpr (is_strided) place_.strides[i] = other.place_.byte_stride(i, itemsize());
    }
    if constexpr (!on_host) this->kept_device = other.device();
  }

  /// Element [0, …, 0].
  constexpr pointer data() const noexcept { return static_cast<pointer>(place_.data); }
  /// Number of dimensions.
  constexpr int rank() const noexcept { return place_.rank(); }
  constexpr std::int64_t extent(int i) const noexcept { return place_.extent(i); }
  /// Distance between neighbours along dimension `i`, in elements; along an extent of 1 it places nothing.
  constexpr std::int64_t stride(int i) const noexcept {
    const std::int64_t size = itemsize();
    return is_open && size == 0 ? 0 : place_.byte_stride(i, size) / size;
  }
  /// The same in bytes.
  constexpr std::int64_t byte_stride(int i) const noexcept { return place_.byte_stride(i, itemsize()); }
  /// Number of elements.
  constexpr std::int64_t size() const noexcept { return place_.size(); }
  constexpr bool empty() const noexcept { return size() == 0; }
  constexpr DType dtype() const noexcept {
    if constexpr (is_one) {
      return elements::dtypes[0];
    } else {
      return this->kept_dtype;
    }
  }
  /// The device that the memory lies on. A view on the host says cpu, of pinned memory too.
  constexpr Device device() const noexcept {
    if constexpr (on_host) {
      return cpu_device;
    } else {
      return this->kept_device;
    }
  }
  /// The object that the memory was taken from (a PyObject*, borrowed); null where it came from none.
  constexpr const void* source() const noexcept { return place_.source; }

  /// The element at these indices, one for each dimension.
  template <class... Index>
  constexpr auto& operator()(Index... index) const noexcept {
    static_assert(!is_fixed || sizeof...(Index) == Rank, "anyarray::view: as many indices as dimensions");
    const std::int64_t indices[sizeof...(Index) + 1] = {static_cast<std::int64_t>(index)..., 0};
    return at(indices);
  }
  /// The same with the indices in an array.
  constexpr auto& at(const std::int64_t* index) const noexcept {
    static_assert(is_one, "anyarray::view: the element type is open: visit() gives it");
    static_assert(on_host, "anyarray::view: the host can't read elements of other devices");
    using Element = std::conditional_t<is_one, T, char>;
    if constexpr (is_strided || !is_fixed) {
      std::int64_t bytes = 0;
      for (int i = 0; i < rank(); ++i) bytes += index[i] * place_.byte_stride(i, itemsize());
      return *reinterpret_cast<Element*>(reinterpret_cast<std::uintptr_t>(place_.data) +
                                         static_cast<std::uintptr_t>(bytes));
    } else {
      std::int64_t n = 0;
      for (int i = 0; i < Rank; ++i) {
        const int k = Layout::order == Order::c ? i : Rank - 1 - i;
        n = n * place_.extents[k] + index[k];
      }
      return static_cast<Element*>(place_.data)[n];
    }
  }
  /// Of one dimension.
  template <class Index>
  constexpr auto& operator[](Index i) const noexcept {
    static_assert(Rank == 1, "anyarray::view: operator[] is for one dimension; operator() takes more");
    return (*this)(i);
  }
  /// Of one dimension: the elements in order, by pointer where the layout is contiguous.
  constexpr auto begin() const noexcept { return iterator_at(0); }
  constexpr auto end() const noexcept { return iterator_at(extent(0)); }

  /// Of any_of<Ts…>: f(view<Ti, Rank, Layout, On>) for the type that is there. f must give the same type for each.
  template <class F>
  constexpr decltype(auto) visit(F&& f) const {
    static_assert(!is_one && !std::is_void_v<T>, "anyarray::view: visit() is for views of any_of<…>");
    return visit_types(f, static_cast<value_type*>(nullptr));
  }

  /// The same memory as an mdspan: include anyarray/mdspan.h.
  template <class Self = view>
  constexpr auto mdspan() const noexcept {
    return detail::to_mdspan<Self>::make(*this);
  }

  /// Whether the descriptor is what this view takes. What isn't met, meets(d, request, …) tells in words.
  static bool takes(const Descriptor& d) noexcept {
    if (is_fixed && d.ndim != Rank) return false;
    if (!has_dtype(d.dtype) || (elements::writable && d.readonly())) return false;
    if (On::type != DeviceType::any && d.device.type != On::type && !(on_host && host_readable(d.device.type))) {
      return false;
    }
    if (Layout::order == Order::c && !d.c_contiguous()) return false;
    if (Layout::order == Order::f && !d.f_contiguous()) return false;
    if constexpr (is_one) {
      // Most sizes are powers of two, and most strides whole: one test for all of them.
      constexpr std::uint64_t size = sizeof(T);
      std::uint64_t bits = reinterpret_cast<std::uintptr_t>(d.data) & (alignof(T) - 1);
      if constexpr (is_fixed && (size & (size - 1)) == 0) {
        for (int i = 0; is_strided && i < Rank; ++i) bits |= static_cast<std::uint64_t>(d.strides[i]) & (size - 1);
        if (__builtin_expect(bits == 0, 1)) return true;
      }
      return detail::can_walk(d, size, alignof(T));
    } else if constexpr (is_open) {
      return d.strides != nullptr || !is_fixed;
    } else {
      return detail::can_walk(d, d.dtype.itemsize(), elements::alignment(d.dtype));
    }
  }
  /// Shows what the descriptor shows; false where it isn't what this view takes, and `*out` is as it was. Extents of a
  /// dynamic rank stay the descriptor's. `source`: see source().
#if defined(__GNUC__)
  __attribute__((always_inline))  // under -Os too: nanobind's default
#endif
  static bool from(const Descriptor& d, view* out, const void* source = nullptr) noexcept {
    if (!takes(d)) return false;
    if constexpr (!on_host) out->kept_device = d.device;
    if constexpr (!is_one) out->kept_dtype = d.dtype;
    out->place_.show(d);
    out->place_.source = source;
    return true;
  }

 private:
  template <class, int, class, class>
  friend class view;

  constexpr std::int64_t itemsize() const noexcept {
    if constexpr (is_one) {
      return sizeof(T);
    } else {
      return this->kept_dtype.itemsize();
    }
  }
  static bool has_dtype(const DType& d) noexcept {
    if constexpr (is_one) {
      // Eight bytes at once: member by member is what costs most here, and memcmp() is a call under -Os.
      constexpr DType wanted = elements::dtypes[0];
      std::uint64_t given_bits = 0;
      std::uint64_t wanted_bits = 0;
      static_assert(sizeof given_bits == sizeof wanted, "");
      __builtin_memcpy(&given_bits, &d, sizeof d);
      __builtin_memcpy(&wanted_bits, &wanted, sizeof wanted);
      return given_bits == wanted_bits;
    } else if constexpr (elements::count > 0) {
      for (const DType& one : elements::dtypes) {
        if (d == one) return true;
      }
      return false;
    } else {
      return true;
    }
  }
  constexpr void set(pointer data, const Extents& extents) noexcept {
    place_.data = const_cast<value_type*>(data);
    for (int i = 0; i < Rank; ++i) place_.extents[i] = extents[i];
  }
  constexpr auto iterator_at(std::int64_t index) const noexcept {
    static_assert(Rank == 1, "anyarray::view: iteration is for one dimension; ranges.h has elements() for more");
    static_assert(on_host, "anyarray::view: the host can't read elements of other devices");
    if constexpr (is_strided) {
      return strided_iterator<T>(data(), stride(0), index);
    } else {
      return data() + index;
    }
  }
  template <class F, class U, class... Others>
  constexpr decltype(auto) visit_types(F& f, any_of<U, Others...>*) const {
    if constexpr (sizeof...(Others) > 0) {
      if (dtype() != detail::elements_of<U>::dtypes[0]) return visit_types(f, static_cast<any_of<Others...>*>(nullptr));
    }
    view<std::conditional_t<std::is_const_v<T>, const U, U>, Rank, Layout, On> typed;
    typed.place_ = place_;
    if constexpr (!on_host) typed.kept_device = this->kept_device;
    return f(typed);
  }

  detail::Place<Rank, Layout::order> place_;
};

}  // namespace anyarray
