// SPDX-License-Identifier: Apache-2.0
// What a parameter or a result says of itself, as text that is made by the compiler: in signatures (and so in
// docstrings and stubs) as a Python type, in errors in a few words. No Python.h.
#pragma once
#include "anyarray/dtype_rows.h"
#include "anyarray/view.h"

namespace anyarray::casters {

/// A text that grows while it is compiled.
struct Text {
  char text[768] = {};
  std::size_t size = 0;

  constexpr void put(const char* s) noexcept {
    while (*s != '\0') text[size++] = *s++;
  }
  constexpr void put(std::uint32_t n) noexcept {
    char digits[10] = {};
    int i = 0;
    do {
      digits[i++] = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n != 0);
    while (i > 0) text[size++] = digits[--i];
  }
  /// Before the second and every later part of a list.
  constexpr void comma(bool* first) noexcept {
    if (!*first) put(", ");
    *first = false;
  }
};

/// A text of just its size, terminated: what binding libraries join to a signature.
template <std::size_t N>
struct Exactly {
  char text[N + 1] = {};
};
template <std::size_t N>
constexpr Exactly<N> exactly(const Text& from) noexcept {
  Exactly<N> to;
  for (std::size_t i = 0; i < N; ++i) to.text[i] = from.text[i];
  return to;
}

/// "float32", "complex128", "datetime64[us]", …; false, and nothing is put, for what has no name at compile time.
constexpr bool put_dtype(Text& out, DType d) noexcept {
  if (d.swapped()) return false;
  if (d.is_time()) {
    out.put(d.code == TypeCode::datetime64 ? "datetime64" : "timedelta64");
    if (d.unit() != TimeUnit::generic) {
      out.put("[");
      if (d.count != 1) out.put(d.count);
      out.put(time_unit_names[static_cast<int>(d.unit())]);
      out.put("]");
    }
    return true;
  }
  const DTypeRow* const row = find_row(d.code, d.bits);
  if (row == nullptr) return false;
  out.put(row->name);
  if (d.count != 1) {
    out.put(d.bits < 8 ? "_x" : "x");
    out.put(d.count);
  }
  return true;
}

/// How the signature tells what a view takes, or what an array is.
enum class Role : std::uint8_t {
  parameter,  ///< any array that meets the conditions
  or_copy,    ///< any array that meets them, or that a copy of would
  result,     ///< an anyarray.Array
};

/// The Python type: "typing.Annotated[anyarray.typing.AnyArray, dict(dtype='float32', shape=(None, None), …)]".
/// `type` stands in place of the first part where a result is of another library.
template <class View>
constexpr Text python_type(Role role, const char* type = nullptr) noexcept {
  using elements = anyarray::detail::elements_of<typename View::element_type>;
  constexpr Request r = View::request;
  Text facts;
  bool first = true;
  if constexpr (elements::count > 0) {
    Text names;
    bool known = true;
    for (std::uint32_t i = 0; i < elements::count; ++i) {
      if (i > 0) names.put(", ");
      names.put("'");
      known = known && put_dtype(names, elements::dtypes[i]);
      names.put("'");
    }
    if (known) {
      facts.comma(&first);
      facts.put("dtype=");
      if (elements::count > 1) facts.put("(");
      facts.put(names.text);
      if (elements::count > 1) facts.put(")");
    }
  }
  if (r.ndim >= 0) {
    facts.comma(&first);
    facts.put("shape=(");
    for (int i = 0; i < r.ndim; ++i) facts.put(i == 0 ? "None" : ", None");
    facts.put(r.ndim == 1 ? ",)" : ")");
  }
  if (r.order != Order::any) {
    facts.comma(&first);
    facts.put(r.order == Order::c ? "order='C'" : "order='F'");
  }
  if (r.device.type != DeviceType::any) {
    facts.comma(&first);
    facts.put("device='");
    facts.put(device_type_name(r.device.type));
    facts.put("'");
  }
  if (r.writable && role == Role::parameter) {
    facts.comma(&first);
    facts.put("writable=True");
  }
  if (role == Role::or_copy) {
    facts.comma(&first);
    facts.put("copy=None");
  }
  if (type == nullptr) type = role == Role::result ? "anyarray.Array" : "anyarray.typing.AnyArray";
  Text out;
  if (!first) out.put("typing.Annotated[");
  out.put(type);
  if (!first) {
    out.put(", dict(");
    out.put(facts.text);
    out.put(")]");
  }
  return out;
}

/// The same in the words of C++, for errors: "view[const float32, 2, c_order, cuda]".
template <class View>
constexpr Text cpp_type(const char* name) noexcept {
  using elements = anyarray::detail::elements_of<typename View::element_type>;
  constexpr Request r = View::request;
  Text out;
  out.put(name);
  out.put("[");
  if (!elements::writable) out.put("const ");
  if constexpr (elements::count == 0) {
    out.put("void");
  } else {
    for (std::uint32_t i = 0; i < elements::count; ++i) {
      if (i > 0) out.put(" or ");
      if (!put_dtype(out, elements::dtypes[i])) out.put("own type");
    }
  }
  if (r.ndim >= 0) {
    out.put(", ");
    out.put(static_cast<std::uint32_t>(r.ndim));
  }
  if (r.order != Order::any) out.put(r.order == Order::c ? ", c_order" : ", f_order");
  if (r.device.type != DeviceType::cpu) {
    out.put(", ");
    out.put(r.device.type == DeviceType::any ? "any" : device_type_name(r.device.type));
  }
  out.put("]");
  return out;
}

}  // namespace anyarray::casters
