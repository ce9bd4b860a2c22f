// SPDX-License-Identifier: Apache-2.0
// PEP 3118 format → dtype. A format of one letter is one table look-up. Everything else is parsed twice: first for
// sizes alone, under each reading of the padding that exporters leave out; then, for the reading that gives the
// exporter's itemsize, once more with interning. So a format that is refused leaves nothing in the dtype table.
#include "anyarray/protocols/pep3118.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "anyarray/layout.h"
#include "src/core/letters.h"
#include "src/protocols/buffer/format_text.h"

namespace anyarray::pep3118 {
namespace {

constexpr const LetterTables& tables = letter_tables;

/// What a prefix sets until the next one.
struct Mode {
  bool native;   ///< sizes are the compiler's
  bool aligned;  ///< and so is the padding
  bool swapped;
};

constexpr bool read_prefix(char c, Mode* mode) noexcept {
  switch (c) {
    case '@':
      *mode = {true, true, false};
      return true;
    case '^':
      *mode = {true, false, false};
      return true;
    case '=':
      *mode = {false, false, false};
      return true;
    case '<':
      *mode = {false, false, !little_endian};
      return true;
    case '>':
    case '!':
      *mode = {false, false, little_endian};
      return true;
    default:
      return false;
  }
}

constexpr bool is_space(char c) noexcept { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// How one reading takes what the grammar leaves open.
struct Reading {
  int pad_depth;  ///< structs under '@' end on their alignment down to this depth (-1: none)
  int u_width;    ///< bytes of a 'u'
  bool intern;    ///< make the dtypes; otherwise only sizes are right
};

struct Element {
  DType dtype = no_type;
  std::int64_t size = 0;
  std::int64_t align = 1;
};

/// What stands before a letter: sub-array extents, as "(2,3)" or as a count.
struct Extents {
  std::int64_t of[max_ndim];
  int ndim = 0;
  bool has_count = false;  ///< a number stood right before the letter
  std::int64_t count = 1;
};

class Parser {
 public:
  Parser(char* text, const char* original, const Reading& reading, Reason* why) noexcept
      : at_(text), original_(original), reading_(reading), why_(why) {}

  /// The whole format; `out->size` is the element's in this reading.
  Status whole(Element* out) noexcept { return items('\0', 0, out); }
  bool saw_u() const noexcept { return saw_u_; }

 private:
  Status bad(const char* what) noexcept {
    return because(Status::invalid, why_, "PEP 3118 format '%s': %s", Shown(original_).text, what);
  }
  Status cannot(const char* what) noexcept {
    return because(Status::unsupported, why_, "PEP 3118 format '%s': %s", Shown(original_).text, what);
  }
  Status too_big() noexcept { return bad("an element of more than 2^63-1 bytes"); }

  Status number(std::int64_t* out) noexcept {
    std::int64_t n = 0;
    for (; is_digit(*at_); ++at_) {
      if (__builtin_mul_overflow(n, std::int64_t{10}, &n) || __builtin_add_overflow(n, std::int64_t{*at_ - '0'}, &n)) {
        return bad("a number over 2^63-1");
      }
    }
    *out = n;
    return Status::ok;
  }

  void skip_space() noexcept {
    while (is_space(*at_)) ++at_;
  }

  Status add_extent(Extents* x, std::int64_t extent) noexcept {
    if (x->ndim == max_ndim) return bad("a sub-array of more than 64 dimensions");
    x->of[x->ndim++] = extent;
    return Status::ok;
  }

  /// "(2,3)", the parenthesis at at_.
  Status shape(Extents* x) noexcept {
    do {
      ++at_;
      skip_space();
      if (!is_digit(*at_)) return bad("a sub-array's shape is digits and commas in parentheses");
      std::int64_t extent = 0;
      if (const Status s = number(&extent); s != Status::ok) return s;
      if (const Status s = add_extent(x, extent); s != Status::ok) return s;
      skip_space();
    } while (*at_ == ',');
    if (*at_ != ')') return bad("a sub-array's shape isn't closed");
    ++at_;
    return Status::ok;
  }

  /// Everything that may stand before a letter.
  Status lead_in(Extents* x) noexcept {
    for (;;) {
      if (is_space(*at_) || read_prefix(*at_, &mode_)) {
        ++at_;
      } else if (*at_ == '(' || is_digit(*at_)) {
        if (x->has_count) return bad("a count must stand right before its letter");
        x->has_count = *at_ != '(';
        if (const Status s = x->has_count ? number(&x->count) : shape(x); s != Status::ok) return s;
      } else {
        return Status::ok;
      }
    }
  }

  /// Text and padding, whose count is a length.
  Status sized(char letter, Extents* x, Element* out) noexcept {
    const std::int64_t length = x->count;
    x->has_count = false;
    x->count = 1;
    if (length > INT64_C(0xFFFFFFFF)) return cannot("a length over 2^32-1");
    const auto n = static_cast<std::uint32_t>(length);
    const bool text = letter == 'w' || letter == 'u';
    saw_u_ |= letter == 'u';
    out->dtype = letter == 's' ? make_bytes(n) : letter == 'x' ? make_void(n) : make_ucs4(n);
    if (text) {
      out->dtype = out->dtype.with_swapped(mode_.swapped);
      out->align = mode_.aligned ? align_of(out->dtype) : 1;
    }
    out->size = text ? length * (letter == 'u' ? reading_.u_width : 4) : length;
    return Status::ok;
  }

  Status letter(char c, Extents* x, int depth, Element* out) noexcept {
    switch (c) {
      case 's':
      case 'x':
      case 'w':
      case 'u':
        return sized(c, x, out);
      case 'T':
        return structure(depth, out);
      case 'O':
        return cannot("Python objects ('O') can't be taken as memory");
      case '&':
      case 'P':
      case 'z':
        return cannot("pointers ('&', 'P', 'z') can't be taken as values");
      case 'X':
        return cannot("functions ('X{}') can't be taken as values");
      case 't':
        return cannot("bit fields ('t') have no dtype");
      case 'p':
        return cannot("Pascal strings ('p') have no dtype");
      case '\0':
        return bad("it ends where a letter must stand");
      default:
        break;
    }
    const bool z = c == 'Z';
    if (z) c = *at_;
    const auto index = static_cast<unsigned char>(c);
    const DType* table = z ? tables.complex : mode_.native ? tables.native : tables.standard;
    const DType found = index < 128 ? table[index] : no_type;
    if (found.bits == 0) {
      if (z) return cannot("a 'Z' without e, f, d or g behind it isn't a complex number");
      if (index < 128 && tables.native[index].bits != 0) return bad("'n' and 'N' have a native size only ('@', '^')");
      return bad("a letter that PEP 3118 doesn't have");
    }
    if (z) ++at_;
    out->dtype = found.with_swapped(mode_.swapped && has_byte_order(found));
    out->size = found.itemsize();
    if (mode_.aligned) out->align = align_of(found);
    return Status::ok;
  }

  /// "{…}" behind a 'T'.
  Status structure(int depth, Element* out) noexcept {
    if (*at_ != '{') return bad("a 'T' without '{' behind it");
    if (depth == max_nesting) return bad("structs nested over 16 deep");
    ++at_;
    const bool aligned = mode_.aligned;
    const Status s = items('}', depth + 1, out);
    if (!aligned) out->align = 1;
    return s;
  }

  /// Makes the element the sub-array of these extents.
  Status sub_array(const Extents& x, Element* e) noexcept {
    if (x.ndim == 0) return Status::ok;
    std::int64_t n = 0;
    if (!element_count(x.ndim, x.of, &n) || __builtin_mul_overflow(n, e->size, &e->size)) return too_big();
    return reading_.intern ? intern_subarray(e->dtype, x.ndim, x.of, &e->dtype, why_) : Status::ok;
  }

  /// ":name:" if one follows; null without.
  Status name(const char** out) noexcept {
    *out = nullptr;
    skip_space();
    if (*at_ != ':') return Status::ok;
    char* const begin = at_ + 1;
    char* const end = std::strchr(begin, ':');
    if (end == nullptr) return bad("a field's name isn't closed by ':'");
    if (!is_utf8(begin, end)) return bad("a field's name isn't UTF-8");
    if (reading_.intern) *end = '\0';  // the copy is ours, and this is its last reading
    at_ = end + 1;
    *out = begin;
    return Status::ok;
  }

  /// Items up to `closer`: a struct, or at depth 0 also a single element or plain bytes.
  Status items(char closer, int depth, Element* out) noexcept {
    Fields fields;
    Element last;
    std::int64_t offset = 0;
    std::int64_t align = 1;
    std::int64_t n_fields = 0;
    bool padded = false;
    bool named = false;
    bool any = false;
    for (;;) {
      Extents x;
      if (const Status s = lead_in(&x); s != Status::ok) return s;
      if (*at_ == closer && x.ndim == 0 && !x.has_count) break;
      if (*at_ == '\0' && depth > 0) return bad("a struct isn't closed by '}'");
      const char c = *at_;
      if (c != '\0') ++at_;
      Element e;
      if (const Status s = letter(c, &x, depth, &e); s != Status::ok) return s;
      const char* field_name = nullptr;
      if (const Status s = name(&field_name); s != Status::ok) return s;
      const bool only_aligns = x.has_count && x.count == 0 && field_name == nullptr;
      if (x.has_count && x.count != 1 && !only_aligns) {
        if (const Status s = add_extent(&x, x.count); s != Status::ok) return s;
      }
      any = true;
      if (e.align > 1) {
        const std::int64_t gap = (e.align - offset % e.align) % e.align;
        if (__builtin_add_overflow(offset, gap, &offset)) return too_big();
        padded |= gap != 0;
        if (e.align > align) align = e.align;
      }
      if (only_aligns) {
        padded = true;
        continue;
      }
      if (const Status s = sub_array(x, &e); s != Status::ok) return s;
      const std::int64_t begin = offset;
      if (__builtin_add_overflow(offset, e.size, &offset)) return too_big();
      // Bytes without a name are padding, but for a sub-array of them that is all there is.
      if (c == 'x' && field_name == nullptr && (x.ndim == 0 || depth > 0)) {
        padded = true;
        continue;
      }
      ++n_fields;
      named |= field_name != nullptr;
      last = e;
      if (reading_.intern && !fields.add({field_name, e.dtype, begin})) return Status::no_memory;
    }
    if (depth > 0) ++at_;
    if (depth == 0) {
      if (!any) return bad("it's empty");
      if (n_fields == 1 && !named && !padded) {
        *out = last;
        return Status::ok;
      }
      if (n_fields == 0) {
        if (offset > INT64_C(0xFFFFFFFF)) return cannot("a length over 2^32-1");
        *out = {make_void(static_cast<std::uint32_t>(offset)), offset, 1};
        return Status::ok;
      }
    }
    if (mode_.aligned && depth <= reading_.pad_depth) {
      const std::int64_t gap = (align - offset % align) % align;
      if (__builtin_add_overflow(offset, gap, &offset)) return too_big();
    }
    *out = {no_type, offset, align};
    if (!reading_.intern) return Status::ok;
    if (!fields.name_all()) return Status::no_memory;
    return intern_struct(fields.data(), fields.size(), offset, &out->dtype, why_);
  }

  char* at_;
  const char* const original_;
  const Reading reading_;
  Reason* const why_;
  Mode mode_ = {true, true, false};
  bool saw_u_ = false;
};

/// Depths down to which padding at the end may have been left out: none (explicit or packed), the whole element
/// (NumPy writes aligned structs so), the struct in it, every struct (as a C compiler lays them out).
constexpr int pad_depths[] = {-1, 0, 1, max_nesting};

Status parse(const char* format, char* copy, std::ptrdiff_t itemsize, DType* out, Reason* why) noexcept {
  std::int64_t said = 0;
  bool saw_u = false;
  for (const int u_width : {4, 2}) {
    if (u_width == 2 && !saw_u) break;
    for (const int pad_depth : pad_depths) {
      Element e;
      Parser sizes(copy, format, {pad_depth, u_width, false}, why);
      if (const Status s = sizes.whole(&e); s != Status::ok) return s;
      saw_u = sizes.saw_u();
      if (pad_depth < 0 && u_width == 4) said = e.size;
      if (e.size != itemsize) continue;
      if (saw_u && u_width == 2) {
        return because(Status::unsupported, why,
                       "PEP 3118 format '%s': text of 2 bytes a character (UCS2) has no dtype", Shown(format).text);
      }
      const Status s = Parser(copy, format, {pad_depth, u_width, true}, why).whole(&e);
      if (s == Status::ok) *out = e.dtype;
      return s;
    }
  }
  return because(Status::invalid, why, "PEP 3118 format '%s' says %lld bytes an element, itemsize says %lld",
                 Shown(format).text, static_cast<long long>(said), static_cast<long long>(itemsize));
}

/// "=f", ">i", "Zd", "<Zf": no general parsing either. False where it's something else.
bool short_format(const char* p, std::ptrdiff_t itemsize, DType* out) noexcept {
  Mode mode{true, true, false};
  if (read_prefix(*p, &mode)) ++p;
  const DType* table = mode.native ? tables.native : tables.standard;
  if (*p == 'Z') {
    table = tables.complex;
    ++p;
  }
  const auto index = static_cast<unsigned char>(*p);
  if (index == 0 || index >= 128 || p[1] != '\0') return false;
  const DType d = table[index];
  if (d.bits == 0 || d.itemsize() != itemsize) return false;
  *out = mode.swapped && has_byte_order(d) ? d.with_swapped(true) : d;
  return true;
}

Status decode_slowly(const char* format, std::ptrdiff_t itemsize, DType* out, Reason* why) noexcept {
  if (format == nullptr) format = "B";
  if (short_format(format, itemsize, out)) return Status::ok;
  const std::size_t size = std::strlen(format) + 1;
  auto* copy = static_cast<char*>(std::malloc(size));
  if (copy == nullptr) return Status::no_memory;
  std::memcpy(copy, format, size);
  const Status s = parse(format, copy, itemsize, out, why);
  std::free(copy);
  return s;
}

}  // namespace

Status decode_format(const char* format, std::ptrdiff_t itemsize, DType* out, Reason* why) noexcept {
  if (const DType* d = find_letter(format, itemsize); d != nullptr) {
    *out = *d;
    return Status::ok;
  }
  return decode_slowly(format, itemsize, out, why);
}

}  // namespace anyarray::pep3118
