// SPDX-License-Identifier: Apache-2.0
// Metadata of an Arrow schema: the list of pairs, whose lengths nothing bounds but reason, and the little JSON that
// describes a tensor. No Python.
#include "src/protocols/arrow/metadata.h"

#include <cstring>

namespace anyarray::arrow {
namespace {

// The interface says nowhere how long metadata is. Beyond these a number is no length but garbage.
constexpr std::int32_t max_pairs = 1 << 16;
constexpr std::int32_t max_length = 1 << 26;
constexpr int max_depth = 32;

std::int32_t read_int32(const char* at) noexcept {
  std::int32_t n;
  std::memcpy(&n, at, sizeof n);
  return n;
}

bool is(Text text, const char* word) noexcept {
  return text.size == std::strlen(word) && std::memcmp(text.bytes, word, text.size) == 0;
}

/// A reader of JSON, as much as is needed. After a failure `at` is null.
class Json {
 public:
  explicit Json(Text text) noexcept : at_(text.bytes), end_(text.bytes + text.size) {}

  bool ok() const noexcept { return at_ != nullptr; }
  void fail() noexcept { at_ = nullptr; }

  bool at_end() noexcept {
    skip_space();
    return at_ == end_;
  }
  /// Whether this sign comes next, which is then behind.
  bool take(char sign) noexcept {
    skip_space();
    if (!ok() || at_ == end_ || *at_ != sign) return false;
    ++at_;
    return true;
  }
  void need(char sign) noexcept {
    if (!take(sign)) fail();
  }
  /// Whether null comes next, which is as good as nothing, and is then behind.
  bool take_null() noexcept {
    skip_space();
    if (!ok() || end_ - at_ < 4 || std::memcmp(at_, "null", 4) != 0) return false;
    at_ += 4;
    return true;
  }
  /// What stands between the quotes, escapes as they are.
  Text string() noexcept {
    need('"');
    const char* start = at_;
    while (ok() && at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && at_ + 1 != end_ ? 2 : 1;
    if (!ok() || at_ == end_) {
      fail();
      return {nullptr, 0};
    }
    return {start, static_cast<std::size_t>(at_++ - start)};
  }
  /// A whole number that isn't negative.
  std::int64_t number() noexcept {
    skip_space();
    std::int64_t n = 0;
    const char* start = at_;
    while (ok() && at_ != end_ && *at_ >= '0' && *at_ <= '9') {
      if (__builtin_mul_overflow(n, std::int64_t{10}, &n) || __builtin_add_overflow(n, *at_ - '0', &n)) {
        fail();
        return 0;
      }
      ++at_;
    }
    const bool goes_on = ok() && at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E');
    if (at_ == start || goes_on) fail();
    return n;
  }
  /// Up to max_ndim numbers in brackets; the count.
  int numbers(std::int64_t* out) noexcept {
    int n = 0;
    need('[');
    if (take(']')) return 0;
    do {
      if (n == max_ndim) fail();
      if (!ok()) return 0;
      out[n++] = number();
    } while (take(','));
    need(']');
    return n;
  }
  /// Any value.
  void skip(int depth = 0) noexcept {
    skip_space();
    if (!ok() || at_ == end_ || depth == max_depth) return fail();
    if (*at_ == '"') {
      string();
    } else if (take('[')) {
      if (take(']')) return;
      do skip(depth + 1);
      while (take(','));
      need(']');
    } else if (take('{')) {
      if (take('}')) return;
      do {
        string();
        need(':');
        skip(depth + 1);
      } while (take(','));
      need('}');
    } else {
      skip_word();
    }
  }

 private:
  void skip_space() noexcept {
    while (ok() && at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  }
  /// true, false, null and numbers, whose spelling doesn't matter here.
  void skip_word() noexcept {
    const char* start = at_;
    const auto is_word = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' || c == '.';
    };
    while (at_ != end_ && is_word(*at_)) ++at_;
    if (at_ == start) fail();
  }

  const char* at_;
  const char* end_;
};

/// The physical shape and, where it is said, the order of its dimensions.
struct Tensor {
  int ndim = -1;  // -1: no shape was said
  int n_order = -1;
  std::int64_t shape[max_ndim];
  std::int64_t order[max_ndim];
};

/// False where it isn't the JSON of a tensor.
bool read_object(Text text, Tensor* out) noexcept {
  Json json(text);
  json.need('{');
  if (!json.take('}')) {
    do {
      const Text key = json.string();
      json.need(':');
      if (!json.ok()) return false;
      if (is(key, "shape") && out->ndim < 0) {
        out->ndim = json.numbers(out->shape);
      } else if (is(key, "permutation") && out->n_order < 0) {
        if (!json.take_null()) out->n_order = json.numbers(out->order);
      } else if (is(key, "shape") || is(key, "permutation")) {
        return false;  // said twice
      } else {
        json.skip();
      }
    } while (json.take(','));
    json.need('}');
  }
  return json.ok() && json.at_end();
}

bool is_permutation(const Tensor& t) noexcept {
  if (t.n_order != t.ndim) return false;
  std::uint64_t seen = 0;
  for (int i = 0; i < t.ndim; ++i) {
    if (t.order[i] >= t.ndim) return false;
    seen |= std::uint64_t{1} << t.order[i];
  }
  return t.ndim == 0 || seen == ~std::uint64_t{0} >> (64 - t.ndim);
}

}  // namespace

Status read_extension(const char* metadata, Text* name, Text* content, Reason* why) noexcept {
  *name = *content = {nullptr, 0};
  if (metadata == nullptr) return Status::ok;
  const std::int32_t n = read_int32(metadata);
  if (n < 0 || n > max_pairs) {
    return because(Status::invalid, why, "the Arrow schema's metadata says that it has %d pairs", int{n});
  }
  const char* at = metadata + sizeof n;
  for (std::int32_t i = 0; i < n; ++i) {
    Text pair[2];
    for (Text& part : pair) {
      const std::int32_t length = read_int32(at);
      if (length < 0 || length > max_length) {
        return because(Status::invalid, why, "the Arrow schema's metadata says that its pair %d has %d bytes", int{i},
                       int{length});
      }
      part = {at + sizeof length, static_cast<std::size_t>(length)};
      at = part.bytes + part.size;
    }
    if (is(pair[0], name_key)) *name = pair[1];
    if (is(pair[0], content_key)) *content = pair[1];
  }
  return Status::ok;
}

Status read_tensor(Text json, Type* out, std::int64_t* size, Reason* why) noexcept {
  Tensor t;
  if (json.bytes == nullptr || !read_object(json, &t) || t.ndim < 0) {
    return because(Status::invalid, why,
                   "the metadata of an arrow.fixed_shape_tensor must be a JSON object with a 'shape' of up to %d "
                   "extents, not: %.*s",
                   max_ndim, static_cast<int>(json.size < 80 ? json.size : 80),
                   json.bytes == nullptr ? "" : json.bytes);
  }
  if (t.n_order >= 0 && !is_permutation(t)) {
    return because(Status::invalid, why,
                   "'permutation' of an arrow.fixed_shape_tensor of %d dimensions must name each of them once", t.ndim);
  }
  if (out->ndim + t.ndim > max_ndim) {
    return because(Status::unsupported, why, "an Arrow array of %d dimensions: up to %d are possible",
                   int{out->ndim} + t.ndim, max_ndim);
  }
  if (!element_count(t.ndim, t.shape, size)) {
    return because(Status::invalid, why,
                   "the shape of the arrow.fixed_shape_tensor has more elements than 64 bits count");
  }
  const int first = out->ndim - 1;
  for (int i = 0; i < t.ndim; ++i) {
    out->extent[first + i] = t.shape[i];
    out->lies_as[first + i] = static_cast<std::uint8_t>(first + (t.n_order < 0 ? i : t.order[i]));
  }
  out->permuted |= t.n_order >= 0;
  out->ndim += t.ndim;
  return Status::ok;
}

}  // namespace anyarray::arrow
