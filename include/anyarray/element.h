// SPDX-License-Identifier: Apache-2.0
// Which DType a C++ type is. Specialise element<T> for types of your own, a half of a numeric library or a struct, with
// the dtype as constant:  template <> struct anyarray::element<Half> { static constexpr DType dtype = …; };
// std::complex is in complex.h, which costs more to compile than all of this.
#pragma once
#include <cstddef>
#include <type_traits>

#include "anyarray/dtype.h"

namespace anyarray {

/// The dtype of an element of type T, as the constant `dtype`. Only for types that mean one dtype: `char` is text, a
/// number or a byte, so it isn't one (std::int8_t, std::uint8_t and std::byte are).
template <class T, class = void>
struct element;

template <>
struct element<bool> {
  static constexpr DType dtype = make_dtype(TypeCode::bool_, 8);
};
template <>
struct element<std::byte> {
  static constexpr DType dtype = make_dtype(TypeCode::uint, 8);
};
template <>
struct element<float> {
  static constexpr DType dtype = make_dtype(TypeCode::float_, 32);
};
template <>
struct element<double> {
  static constexpr DType dtype = make_dtype(TypeCode::float_, 64);
};
template <>
struct element<long double> {
  static constexpr DType dtype = sizeof(long double) == sizeof(double)
                                     ? make_dtype(TypeCode::float_, 64)
                                     : make_dtype(TypeCode::long_double, 8 * sizeof(long double));
};
#if defined(__FLT16_MAX__) && (defined(__clang__) || __GNUC__ >= 13)
template <>
struct element<_Float16> {
  static constexpr DType dtype = make_dtype(TypeCode::float_, 16);
};
#endif

namespace detail {
template <class T>
inline constexpr bool is_text =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>
#if defined(__cpp_char8_t)
    || std::is_same_v<T, char8_t>
#endif
    ;
}  // namespace detail

template <class T>
struct element<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !detail::is_text<T> &&
                                   sizeof(T) <= sizeof(std::int64_t)>> {
  static constexpr DType dtype = make_dtype(std::is_signed_v<T> ? TypeCode::int_ : TypeCode::uint, 8 * sizeof(T));
};

/// In place of an element type: one of several. visit() of a view of it hands a generic function the view of the type
/// that is there; of two types that mean the same dtype, the first. Const for all: `const any_of<…>`, or each of them.
template <class... Ts>
struct any_of;

namespace detail {

template <class T, class = void>
struct is_element : std::false_type {};
template <class T>
struct is_element<T, std::void_t<decltype(element<T>::dtype)>> : std::true_type {};

/// The dtypes that a view of T takes, and whether it needs memory that can be written.
template <class T>
struct elements_of {
  static_assert(is_element<std::remove_const_t<T>>::value,
                "anyarray::view<T>: T isn't an element type. Use a fixed-width number instead of char, include "
                "anyarray/complex.h for std::complex, or specialise anyarray::element<T>");
  static constexpr bool writable = !std::is_const_v<T>;
  static constexpr std::uint32_t count = 1;
  static constexpr DType dtypes[1] = {element<std::remove_const_t<T>>::dtype};
  static_assert(dtypes[0].itemsize() == sizeof(T) && !dtypes[0].packed(),
                "anyarray::element<T>: the dtype's elements must be as large as T");
};
template <class... Ts>
struct elements_of<any_of<Ts...>> {
  static_assert(sizeof...(Ts) > 0, "anyarray::any_of<>: name the element types");
  static constexpr bool writable = (elements_of<Ts>::writable || ...);
  static constexpr std::uint32_t count = sizeof...(Ts);
  static constexpr DType dtypes[sizeof...(Ts)] = {elements_of<Ts>::dtypes[0]...};
  static constexpr std::size_t alignment(DType d) noexcept {
    std::size_t n = 1;
    ((d == elements_of<Ts>::dtypes[0] ? (n = alignof(Ts), 0) : 0), ...);
    return n;
  }
};
template <class... Ts>
struct elements_of<const any_of<Ts...>> : elements_of<any_of<const Ts...>> {};
/// Any dtype.
template <>
struct elements_of<void> {
  static constexpr bool writable = true;
  static constexpr std::uint32_t count = 0;
};
template <>
struct elements_of<const void> {
  static constexpr bool writable = false;
  static constexpr std::uint32_t count = 0;
};

/// Whether T is one type, so that there are a size and a T&.
template <class T>
struct is_one : std::bool_constant<!std::is_void_v<T>> {};
template <class... Ts>
struct is_one<any_of<Ts...>> : std::false_type {};
template <class... Ts>
struct is_one<const any_of<Ts...>> : std::false_type {};

}  // namespace detail
}  // namespace anyarray
