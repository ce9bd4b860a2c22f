// SPDX-License-Identifier: Apache-2.0
// PEP 3118's letters by their code, made from the dtype table at compile time, with the spellings that only
// exporters other than NumPy use; and alignment as '@' means it. Included by the two halves of the codec, and
// by src/support for the one letter that most formats are.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "src/core/dtype_table.h"

namespace anyarray::pep3118 {

inline constexpr DType no_type = make_dtype(TypeCode::void_, 0, 0);

template <class T>
constexpr DType int_of() noexcept {
  return make_dtype(static_cast<T>(-1) < static_cast<T>(0) ? TypeCode::int_ : TypeCode::uint, 8 * sizeof(T));
}

/// What each letter stands for alone; no bits where it stands for nothing.
struct LetterTables {
  DType native[128] = {};
  DType standard[128] = {};
  DType complex[128] = {};  ///< behind a 'Z'; the same in both sizes
};

constexpr LetterTables make_tables() noexcept {
  LetterTables t;
  for (int i = 0; i < 128; ++i) t.native[i] = t.standard[i] = t.complex[i] = no_type;
  for (const DTypeRow& row : dtype_table) {
    if (row.native == nullptr) continue;
    const DType d = make_dtype(row.code, row.bits);
    if (row.native[0] == 'Z') {
      t.complex[static_cast<unsigned char>(row.native[1])] = d;
    } else {
      t.native[static_cast<unsigned char>(row.native[0])] = d;
      if (row.standard != nullptr) t.standard[static_cast<unsigned char>(row.standard[0])] = d;
    }
  }
  // C's integer types of the same size have a letter each; long is 4 bytes in standard size.
  t.native['l'] = int_of<long>();
  t.native['L'] = int_of<unsigned long>();
  t.native['q'] = int_of<long long>();
  t.native['Q'] = int_of<unsigned long long>();
  t.native['n'] = int_of<std::ptrdiff_t>();
  t.native['N'] = int_of<std::size_t>();
  t.standard['l'] = make_dtype(TypeCode::int_, 32);
  t.standard['L'] = make_dtype(TypeCode::uint, 32);
  t.standard['g'] = t.native['g'];  // has no standard size; ctypes writes "<g" all the same
  for (DType* table : {t.native, t.standard}) {
    table['c'] = make_bytes(1);
    table['w'] = make_ucs4(1);
    table['F'] = t.complex['f'];
    table['D'] = t.complex['d'];
    table['G'] = t.complex['g'];
  }
  return t;
}
inline constexpr LetterTables letter_tables = make_tables();

/// A format that is one letter of this size, native ("f") or standard in the machine's order ("=f", as JAX writes),
/// which nearly all are; null for every other.
inline const DType* find_letter(const char* format, std::ptrdiff_t itemsize) noexcept {
  if (format == nullptr) return nullptr;
  const DType* table = letter_tables.native;
  if (*format == '=') {
    table = letter_tables.standard;
    ++format;
  }
  if (static_cast<signed char>(format[0]) <= 0 || format[1] != '\0') return nullptr;
  const DType& d = table[static_cast<unsigned char>(format[0])];
  return d.bits != 0 && d.bits % 8 == 0 && d.bits / 8 == itemsize ? &d : nullptr;
}

/// A type as it is aligned inside a C struct (which on some machines isn't alignof).
template <class T>
struct Member {
  T value;
};

/// Alignment under '@' of what isn't interned.
constexpr std::int64_t align_of(DType d) noexcept {
  if (d.code == TypeCode::fixed_bytes || d.code == TypeCode::void_) return 1;
  if (d.code == TypeCode::long_double || d.code == TypeCode::complex_long_double) return alignof(Member<long double>);
  switch (d.is_complex() ? d.bits / 2 : d.bits) {
    case 16:
      return alignof(Member<std::uint16_t>);
    case 32:
      return alignof(Member<std::uint32_t>);
    case 64:
      return d.code == TypeCode::int_ || d.code == TypeCode::uint ? alignof(Member<std::uint64_t>)
                                                                  : alignof(Member<double>);
    default:
      return 1;
  }
}

}  // namespace anyarray::pep3118
