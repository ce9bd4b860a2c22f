// SPDX-License-Identifier: Apache-2.0
// Arrays that own: a share of memory of any origin, Python's or C++'s, for as long as it is needed. Untyped (Held) and
// typed (array). No Python.h: what came from Python is let go through the function table, from any thread.
#pragma once
#include "anyarray/c_api.h"
#include "anyarray/produce.h"
#include "anyarray/view.h"

namespace anyarray {

/// An array of any kind that is kept for longer than a call: in a member, in another thread. Copies share it. Made with
/// the GIL; copied, moved, read and let go from any thread, with the GIL or without. One that holds nothing (ok() is
/// false: default-made, moved from, refused) may be copied, moved and asked for its owner, not be read.
class Held {
 public:
  Held() noexcept = default;
  /// Takes a reference of `holder` over, which was made without Python; null holds nothing.
  explicit Held(Holder* holder) noexcept : holder_(holder) {}
  /// Takes `obj`; on failure ok() is false and the Python exception with the whole trace is set.
  Held(const CApi* api, PyObject* obj, const Request* request = nullptr) noexcept
      : api_(api), holder_(api->take(api->context, obj, request)) {}
  /// The same of one that was made through the table, which will drop it.
  Held(const CApi* api, Holder* holder) noexcept : api_(api), holder_(holder) {}
  Held(const Held& o) noexcept : api_(o.api_), holder_(o.holder_) {
    if (holder_ != nullptr) retain(*holder_);
  }
  Held(Held&& o) noexcept : api_(o.api_), holder_(o.holder_) { o.holder_ = nullptr; }
  Held& operator=(Held o) noexcept {
    Holder* const before = holder_;
    const CApi* const its_api = api_;
    api_ = o.api_;
    holder_ = o.holder_;
    o.api_ = its_api;
    o.holder_ = before;
    return *this;
  }
  ~Held() {
    if (holder_ == nullptr) return;
    if (api_ != nullptr) {
      api_->drop(api_->context, holder_);
    } else {
      drop(holder_);
    }
  }

  bool ok() const noexcept { return holder_ != nullptr; }
  const Descriptor& operator*() const& noexcept { return holder_->borrow.desc; }
  const Descriptor* operator->() const& noexcept { return &holder_->borrow.desc; }
  const Descriptor& operator*() const&& = delete;  // the descriptor would outlive what keeps it valid
  const Descriptor* operator->() const&& = delete;
  /// The object that was taken: borrowed; look at it with the GIL. Null where there is none.
  PyObject* owner() const noexcept {
    return holder_ != nullptr ? static_cast<PyObject*>(holder_->borrow.owner) : nullptr;
  }

  /// A new aa.Array over the same memory, which shares it. Needs the GIL. Null with an exception set: a ValueError
  /// where nothing is held. `api`: needed where the array was made in C++; otherwise that of the same interpreter.
  PyObject* to_array(const CApi* api = nullptr) const noexcept {
    if (api == nullptr) api = api_;
    if (holder_ == nullptr) return api->to_array(api->context, nullptr);
    retain(*holder_);
    // Called with the GIL, so that the last reference may go there and then.
    PyObject* array =
        api->produce(api->context, &**this, owner(), [](void* holder) { drop(static_cast<Holder*>(holder)); }, holder_);
    if (array == nullptr) drop(holder_);
    return array;
  }

 private:
  const CApi* api_ = nullptr;  ///< that took it; null: made in C++
  Holder* holder_ = nullptr;
};

namespace detail {
/// What a view shows as a descriptor, with its shape and strides in `dims`, which has room for both.
template <class T, int Rank, class Layout, class On>
void describe(const view<T, Rank, Layout, On>& v, std::int64_t* dims, Descriptor* out) noexcept {
  const int n = v.rank();
  for (int i = 0; i < n; ++i) {
    dims[i] = v.extent(i);
    dims[n + i] = v.byte_stride(i);
  }
  const DType dtype = v.dtype();
  const std::uint32_t flags = view<T, Rank, Layout, On>::request.writable ? 0u : flag_readonly;
  *out = {const_cast<void*>(static_cast<const void*>(v.data())),
          dims,
          dtype.packed() ? nullptr : dims + n,
          dtype,
          v.device(),
          n,
          flags};
}
}  // namespace detail

/// A typed array that owns its memory together with its copies: a view, and a share of what keeps it valid. Const is
/// that of T, as with the view. One that holds nothing shows an empty view.
template <class T, int Rank = dynamic_rank, class Layout = strided, class On = host>
class array {
 public:
  using view_type = view<T, Rank, Layout, On>;
  using element_type = T;
  using value_type = std::remove_const_t<T>;

  array() noexcept = default;
  /// Takes `obj`; on failure ok() is false and the Python exception with the whole trace is set. Needs the GIL, and
  /// anyarray/python.h.
  array(const CApi* api, PyObject* obj) noexcept;
  /// What is held already, if it is what the view takes; otherwise ok() is false.
  explicit array(Held held) noexcept {
    if (!held.ok() || !view_type::from(*held, &view_, held.owner())) return;
    held_ = static_cast<Held&&>(held);
  }
  array(const array&) noexcept = default;
  array(array&& o) noexcept : held_(static_cast<Held&&>(o.held_)), view_(o.view_) { o.view_ = view_type(); }
  array& operator=(array o) noexcept {
    view_ = o.view_;  // first: the end of what was held may run code that reads this array
    held_ = static_cast<Held&&>(o.held_);
    return *this;
  }
  ~array() = default;

  /// Memory of your own: `release(what)` gives it back when nobody uses it any more, from whichever thread that is.
  /// Shape and strides are copied. ok() is false when out of memory, and `release` is then called.
  static array own(const view_type& parts, void (*release)(void* what), void* what) noexcept {
    array made;
    Borrow b;
    b.release_fn = nullptr;
    std::int64_t* const shape = reserve_dims(b, parts.rank());
    Holder* holder = nullptr;
    if (shape != nullptr) {
      detail::describe(parts, shape, &b.desc);
      detail::hold_parts(b, release, what);
      holder = make_holder(b);
      if (holder == nullptr) anyarray::release(b);
    } else if (release != nullptr) {
      release(what);
    }
    if (holder == nullptr) return made;
    made.held_ = Held(holder);
    made.view_ = view_type(detail::Fitting(), holder->borrow.desc, nullptr);
    return made;
  }
  /// New memory, 64-byte aligned and not initialised, in the layout's order (C where it is open). ok() is false when
  /// out of memory, where the size overflows, and for negative extents.
  static array make(const std::int64_t (&extents)[Rank > 0 ? Rank : 1]) noexcept {
    static_assert(Rank != dynamic_rank && detail::is_one<T>::value && host_readable(On::type) && !std::is_const_v<T>,
                  "anyarray::array::make: of one element type that isn't const, of a known rank, on the host");
    static_assert(alignof(T) <= 64, "anyarray::array::make: memory is aligned to 64 bytes");
    std::int64_t n = 0;
    if (!element_count(Rank, extents, &n) || n > (INT64_MAX - 127) / static_cast<std::int64_t>(sizeof(T))) return {};
    const std::size_t bytes = (static_cast<std::size_t>(n) * sizeof(T) + 63) / 64 * 64;
    void* const block = __builtin_malloc(bytes + 64);
    if (block == nullptr) return {};
    // The next multiple of 64, at most 64 bytes on.
    char* const memory = static_cast<char*>(block) + (64 - reinterpret_cast<std::uintptr_t>(block) % 64);
    return own(view_type(reinterpret_cast<T*>(memory), extents), [](void* what) { __builtin_free(what); }, block);
  }
  /// A contiguous container, a std::vector say, that is moved into the array. Of one dimension.
  template <class Container>
  static array adopt(Container&& container) {
    static_assert(Rank == 1 && !std::is_reference_v<Container> && !std::is_const_v<Container>,
                  "anyarray::array::adopt: move a container in, for one dimension");
    static_assert(host_readable(On::type), "anyarray::array::adopt: a container's memory is the host's");
    auto* const kept = new Container(static_cast<Container&&>(container));
    return own(
        view_type(kept->data(), {static_cast<std::int64_t>(kept->size())}),
        [](void* what) { delete static_cast<Container*>(what); }, kept);
  }

  bool ok() const noexcept { return held_.ok(); }
  explicit operator bool() const noexcept { return ok(); }
  /// The view, valid as long as this array, or a copy of it.
  const view_type& operator*() const& noexcept { return view_; }
  const view_type* operator->() const& noexcept { return &view_; }
  /// To every view that view_type becomes by itself: of const, of any strides, of any device.
  template <class View, std::enable_if_t<std::is_convertible_v<const view_type&, View>, int> = 0>
  operator View() const& noexcept {
    return view_;
  }
  template <class... Index>
  typename view_type::reference operator()(Index... index) const& noexcept {
    return view_(index...);
  }
  template <class Index>
  typename view_type::reference operator[](Index i) const& noexcept {
    return view_[i];
  }
  // The view, and the element, would outlive the array.
  const view_type& operator*() const&& = delete;
  const view_type* operator->() const&& = delete;
  template <class View, std::enable_if_t<std::is_convertible_v<const view_type&, View>, int> = 0>
  operator View() const&& = delete;
  template <class... Index>
  typename view_type::reference operator()(Index... index) const&& = delete;
  template <class Index>
  typename view_type::reference operator[](Index i) const&& = delete;
  const Held& held() const& noexcept { return held_; }
  Held held() && noexcept {
    view_ = view_type();
    return static_cast<Held&&>(held_);
  }
  /// A new aa.Array that shares the memory; null with an exception set. Needs the GIL.
  PyObject* to_array(const CApi* api) const noexcept { return held_.to_array(api); }

 private:
  Held held_;
  view_type view_;
};

}  // namespace anyarray
