// SPDX-License-Identifier: Apache-2.0
// dtype → PEP 3118 format. Padding is always written out. A type whose parts all lie on their alignment is written
// with native letters and no prefix; any other one in standard sizes ('=', '>' or '<', and '^' for long double,
// which has no standard size), so that no reader adds padding of its own.
#include <cstdint>
#include <cstring>

#include "anyarray/protocols/pep3118.h"
#include "src/core/letters.h"
#include "src/core/text_writer.h"

namespace anyarray::pep3118 {
namespace {

/// Whether every part lies on its alignment and in the machine's order; `*align` is that of the whole.
bool is_aligned(DType d, std::int64_t* align) noexcept {
  const InternedType* entry = interned_type(d);
  if (entry == nullptr) {
    *align = align_of(d);
    return !d.swapped();
  }
  if (entry->ndim > 0) return is_aligned(entry->base, align);
  *align = 1;
  for (std::uint32_t i = 0; i < entry->n_fields; ++i) {
    std::int64_t own = 1;
    if (!is_aligned(entry->fields[i].dtype, &own) || entry->fields[i].offset % own != 0) return false;
    if (own > *align) *align = own;
  }
  return entry->itemsize % *align == 0;
}

class Writer {
 public:
  Writer(char* out, std::size_t size, bool plain, Reason* why) noexcept : text_(out, size), plain_(plain), why_(why) {}

  Status whole(DType d) noexcept {
    if (const Status s = type(d, nullptr); s != Status::ok) return s;
    return text_.fits() ? Status::ok
                        : because(Status::unsupported, why_, "the PEP 3118 format is too long for its buffer");
  }

 private:
  /// A type and, inside a struct, the name behind it.
  Status type(DType d, const char* name) noexcept {
    const InternedType* entry = interned_type(d);
    if (entry != nullptr && entry->ndim > 0) {
      for (int i = 0; i < entry->ndim; ++i) {
        text_.print("%c%lld", i == 0 ? '(' : ',', static_cast<long long>(entry->shape[i]));
      }
      text_.print(")");
      d = entry->base;
      entry = interned_type(d);
    }
    const Status s = entry != nullptr ? structure(*entry) : element(d);
    if (s == Status::ok && name != nullptr) text_.print(":%s:", name);
    return s;
  }

  void padding(std::int64_t bytes) noexcept {
    if (bytes > 16) {
      text_.print("%lldx", static_cast<long long>(bytes));
    } else {
      text_.print("%.*s", static_cast<int>(bytes), "xxxxxxxxxxxxxxxx");
    }
  }

  Status structure(const InternedType& entry) noexcept {
    text_.print("T{");
    std::int64_t at = 0;
    for (std::uint32_t i = 0; i < entry.n_fields; ++i) {
      const Field& field = entry.fields[i];
      if (field.offset < at) {
        return because(Status::unsupported, why_,
                       "field '%s' overlaps or precedes the one before it: a PEP 3118 format can't say that",
                       field.name);
      }
      if (std::strchr(field.name, ':') != nullptr) {
        return because(Status::unsupported, why_, "field '%s': a PEP 3118 format can't hold a name with ':'",
                       field.name);
      }
      padding(field.offset - at);
      if (const Status s = type(field.dtype, field.name); s != Status::ok) return s;
      at = field.offset + field.dtype.itemsize();
    }
    padding(entry.itemsize - at);
    text_.print("}");
    return Status::ok;
  }

  void prefix(char wanted) noexcept {
    if (prefix_ != wanted) text_.print("%c", wanted);
    prefix_ = wanted;
  }

  Status element(DType d) noexcept {
    if (d.code == TypeCode::fixed_bytes || d.code == TypeCode::void_ || d.code == TypeCode::fixed_ucs4) {
      if (d.code == TypeCode::fixed_ucs4 && plain_) prefix(d.swapped() ? swapped_order : '=');
      text_.print("%u%c", d.count, d.code == TypeCode::fixed_bytes ? 's' : d.code == TypeCode::void_ ? 'x' : 'w');
      return Status::ok;
    }
    const DTypeRow* row = d.is_scalar() && d.count == 1 && !d.padded() ? find_row(d) : nullptr;
    if (row == nullptr || row->native == nullptr) {
      char name[64];
      format_dtype(d, name, sizeof name);
      return because(Status::unsupported, why_, "PEP 3118 has no letter for %s", name);
    }
    const bool native = !plain_ || (row->standard == nullptr && !d.swapped());
    if (plain_ && has_byte_order(d)) prefix(d.swapped() ? swapped_order : native ? '^' : '=');
    text_.print("%s", native || row->standard == nullptr ? row->native : row->standard);
    return Status::ok;
  }

  TextWriter text_;
  const bool plain_;
  Reason* const why_;
  char prefix_ = '@';
};

}  // namespace

Status encode_format(DType d, char* out, std::size_t size, Reason* why) noexcept {
  std::int64_t align = 1;
  const bool plain = !is_aligned(d, &align);
  return Writer(out, size, plain, why).whole(d);
}

}  // namespace anyarray::pep3118
