// SPDX-License-Identifier: Apache-2.0
// Typed views: what a function declares, and gets, instead of a descriptor that it has to check. A view owns nothing:
// it is valid as long as what it was taken from is held. Conditions are in the type; a descriptor meets all of them, or
// there is no view. No Python; everything inline. -DANYARRAY_CHECK_BOUNDS, for a whole program: an index out of bounds
// is named on stderr, and ends it.
#pragma once
#include "anyarray/view_parts.h"

namespace anyarray {

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

/// Kinds of mdspan, for view::mdspan<Kind>().
struct std_mdspan;     ///< std::mdspan: anyarray/mdspan.h
struct cuda_mdspan;    ///< cuda::std::mdspan: anyarray/mdspan_cuda.h
struct kokkos_mdspan;  ///< Kokkos::mdspan, std::experimental::mdspan: anyarray/mdspan_kokkos.h

template <class T, int Rank = dynamic_rank, class Layout = strided, class On = host>
class view;

namespace detail {

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

/// Whether view<T, …> shows with fewer promises what view<U, …> shows.
template <class T, class Layout, class On, class U, class L, class D>
inline constexpr bool is_widening =
    !(std::is_same_v<U, T> && std::is_same_v<L, Layout> && std::is_same_v<D, On>) &&
    std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>> && (std::is_const_v<T> || !std::is_const_v<U>) &&
    (std::is_same_v<L, Layout> || Layout::order == Order::any) &&
    (std::is_same_v<D, On> || On::type == DeviceType::any);

}  // namespace detail

/// A view of `Rank` dimensions of T: an element type, any_of<…> several, or `void` for whatever it is. `const T`:
/// read-only memory is fine, and can't be written through the view; plain T: writable memory was asked for. Trivially
/// copyable, passed by value; const is that of T, as with pointers. Indices aren't checked.
template <class T, int Rank, class Layout, class On>
class view : private detail::KeptDevice<On::type>, private detail::KeptDType<detail::is_one<T>::value> {
  static_assert(Rank == dynamic_rank || (Rank >= 0 && Rank <= max_ndim),
                "anyarray::view: a rank is 0 to 64, or anyarray::dynamic_rank");
  static_assert(!std::is_reference_v<T> && !std::is_volatile_v<T>,
                "anyarray::view<T>: T is an element type, const or not: no reference, not volatile");
  using elements = detail::elements_of<T>;
  static constexpr bool is_one = detail::is_one<T>::value;
  static constexpr bool is_open = elements::count == 0;
  static constexpr bool is_host = On::type == DeviceType::cpu;
  static constexpr bool on_host = host_readable(On::type);
  static constexpr bool is_strided = Layout::order == Order::any;
  static constexpr bool is_fixed = Rank != dynamic_rank;
  static constexpr bool is_walked = Rank == 1 && is_one && on_host;
  using Extents = std::int64_t[is_fixed && Rank > 0 ? Rank : 1];
  static constexpr std::size_t unit() noexcept {
    if constexpr (is_one) {
      return sizeof(T);
    } else {
      return 1;
    }
  }

 public:
  using element_type = T;
  using value_type = std::remove_const_t<T>;
  using layout_type = Layout;
  using device_type = On;
  using index_type = std::int64_t;
  using difference_type = std::ptrdiff_t;
  /// data(): void where the element type is open.
  using pointer = std::conditional_t<is_one, T, std::conditional_t<elements::writable, void, const void>>*;
  using reference = std::add_lvalue_reference_t<T>;
  /// Rank, or dynamic_rank.
  static constexpr int static_rank = Rank;

  /// What a view of this type asks for.
  static constexpr Request request = detail::request_of<T, Rank, Layout, On>();

  /// Shows nothing: no dimension, or extents of 0; null.
  constexpr view() noexcept = default;
  /// Contiguous memory: in C order, or in F order where the layout says so.
  template <bool known = is_one && is_fixed, std::enable_if_t<known, int> = 0>
  constexpr view(pointer data, const Extents& extents) noexcept {
    set(data, extents);
    if constexpr (is_strided) {
      std::int64_t step = 1;
      for (int i = Rank - 1; i >= 0; --i) {
        place_.strides[i] = step;
        step = detail::wrapping_product(step, extents[i] > 1 ? extents[i] : 1);
      }
    }
  }
  /// Any memory; `strides` in elements.
  template <bool known = is_one && is_fixed && is_strided, std::enable_if_t<known, int> = 0>
  constexpr view(pointer data, const Extents& extents, const Extents& strides) noexcept {
    set(data, extents);
    for (int i = 0; i < Rank; ++i) place_.strides[i] = strides[i];
  }
  /// The same memory with fewer promises: const, any strides, any device. Never the other way round.
  template <class U, class L, class D, std::enable_if_t<detail::is_widening<T, Layout, On, U, L, D>, int> = 0>
  constexpr view(const view<U, Rank, L, D>& other) noexcept {
    if constexpr (std::is_same_v<L, Layout> || !is_fixed) {
      place_ = decltype(place_)(other.place_);
    } else {
      place_.data = other.place_.data;
      place_.source = other.place_.source;
      for (int i = 0; i < Rank; ++i) {
        place_.extents[i] = other.place_.extents[i];
        place_.strides[i] = other.place_.stride(i, is_one ? 1 : other.itemsize());
      }
    }
    if constexpr (!is_host) this->kept_device = other.device();
    if constexpr (!is_one) this->kept_dtype = other.dtype();
  }
  /// Of a descriptor that takes() is true for.
  view(detail::Fitting, const Descriptor& d, const void* source) noexcept : place_(d, source) {
    if constexpr (!is_host) this->kept_device = d.device;
    if constexpr (!is_one) this->kept_dtype = d.dtype;
  }

  /// The same on this device, of the kind that the type says.
  constexpr view on_device(Device device) const noexcept {
    static_assert(!is_host, "anyarray::view::on_device(): a view on the host is on the cpu");
    view other = *this;
    other.kept_device = device;
    return other;
  }

  /// Element [0, …, 0].
  constexpr pointer data() const noexcept { return place_.data; }
  /// Number of dimensions.
  constexpr int rank() const noexcept { return place_.rank(); }
  constexpr std::int64_t extent(int i) const noexcept { return place_.extent(i); }
  /// Distance between neighbours along dimension `i`, in elements; along an extent of 1, and where there are no
  /// elements, it places nothing. Of `void`: byte_stride() is exact; packed elements have none, it is 0.
  constexpr std::int64_t stride(int i) const noexcept {
    if constexpr (is_one) {
      return place_.stride(i, 1);
    } else {
      const std::int64_t size = itemsize();
      return size == 0 ? 0 : place_.stride(i, size) / size;
    }
  }
  /// The same in bytes.
  constexpr std::int64_t byte_stride(int i) const noexcept {
    if constexpr (is_one) {
      return detail::wrapping_product(place_.stride(i, 1), itemsize());
    } else {
      return place_.stride(i, itemsize());
    }
  }
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
    if constexpr (is_host) {
      return cpu_device;
    } else {
      return this->kept_device;
    }
  }
  /// The object that the memory was taken from (a PyObject*, borrowed); null where it came from none.
  constexpr const void* source() const noexcept { return place_.source; }

  /// The element at these indices, one for each dimension.
  template <class... Index>
  constexpr reference operator()(Index... index) const noexcept {
    static_assert(!is_fixed || static_cast<int>(sizeof...(Index)) == Rank,
                  "anyarray::view: as many indices as dimensions");
    static_assert((... && (std::is_convertible_v<Index, std::int64_t> && !std::is_floating_point_v<Index>)),
                  "anyarray::view: an index is an integer");
    detail::check_count(sizeof...(Index), rank());
    const std::int64_t indices[sizeof...(Index) + 1] = {static_cast<std::int64_t>(index)..., 0};
    return at(indices);
  }
  /// The same with the indices in an array.
  constexpr reference at(const std::int64_t* index) const noexcept {
    static_assert(is_one, "anyarray::view: the element type is open: visit() gives it");
    static_assert(on_host, "anyarray::view: the host can't read elements of other devices");
    std::int64_t n = 0;
    if constexpr (is_strided || !is_fixed) {
      for (int i = 0; i < rank(); ++i) {
        detail::check_index(index[i], extent(i), i);
        n += index[i] * place_.stride(i, 1);
      }
    } else {
      for (int i = 0; i < Rank; ++i) {
        const int k = Layout::order == Order::c ? i : Rank - 1 - i;
        detail::check_index(index[k], extent(k), k);
        n = n * place_.extents[k] + index[k];
      }
    }
    return place_.data[n];
  }
  /// Of one dimension.
  template <class Index>
  constexpr reference operator[](Index i) const noexcept {
    static_assert(Rank == 1, "anyarray::view: operator[] is for one dimension; operator() takes more");
    return (*this)(i);
  }
  /// Of one dimension on the host: the elements in order, by pointer where the layout is contiguous. ranges.h has
  /// elements() for more dimensions.
  template <bool walked = is_walked, std::enable_if_t<walked, int> = 0>
  constexpr auto begin() const noexcept {
    return iterator_at(0);
  }
  template <bool walked = is_walked, std::enable_if_t<walked, int> = 0>
  constexpr auto end() const noexcept {
    return iterator_at(extent(0));
  }

  /// Of any_of<Ts…>: f(view<Ti, Rank, Layout, On>) for the type that is there. f must give the same type for each.
  template <class F>
  constexpr decltype(auto) visit(F&& f) const {
    static_assert(!is_one && !std::is_void_v<T>, "anyarray::view: visit() is for views of any_of<…>");
    if constexpr (!is_one && !std::is_void_v<T>) return visit_types(f, static_cast<value_type*>(nullptr));
  }

  /// The same memory as an mdspan of the standard library (anyarray/mdspan.h), or as another kind (mdspan_cuda.h,
  /// mdspan_kokkos.h), which is named always: two files of a program that include different ones must agree.
  template <class Kind = std_mdspan, class Self = view>
  constexpr auto mdspan() const noexcept {
    return detail::to_mdspan<Kind, Self>::make(*this);
  }

  /// Whether the descriptor, as a borrow gives it, is what this view takes. What isn't met, meets(d, request, …) tells
  /// in words.
  static bool takes(const Descriptor& d) noexcept {
    if (is_fixed && d.ndim != Rank) return false;
    if (!has_dtype(d.dtype) || (elements::writable && d.readonly())) return false;
    if constexpr (is_host) {
      if (d.device.type != DeviceType::cpu && !host_readable(d.device.type)) return false;
    } else if constexpr (On::type != DeviceType::any) {
      if (d.device.type != On::type) return false;
    }
    if (Layout::order == Order::c && !d.c_contiguous()) return false;
    if (Layout::order == Order::f && !d.f_contiguous()) return false;
    if constexpr (is_one) {
      // Most sizes are powers of two, and most strides whole: one test for all of them.
      constexpr std::uint64_t size = sizeof(T);
      std::uint64_t bits = reinterpret_cast<std::uintptr_t>(d.data) & (alignof(T) - 1);
      if constexpr (is_fixed && (size & (size - 1)) == 0) {
        for (int i = 0; is_strided && i < Rank; ++i) {
          bits |= static_cast<std::uint64_t>(detail::alone(d.strides[i])) & (size - 1);
        }
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
    *out = view(detail::Fitting(), d, source);
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
    place_.data = data;
    for (int i = 0; i < Rank; ++i) place_.extents[i] = extents[i];
  }
  constexpr auto iterator_at(std::int64_t index) const noexcept {
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
    typed.place_ = decltype(typed.place_)(place_);
    if constexpr (!is_host) typed.kept_device = this->kept_device;
    return f(typed);
  }

  detail::Place<pointer, unit(), Rank, Layout::order> place_;
};

}  // namespace anyarray
