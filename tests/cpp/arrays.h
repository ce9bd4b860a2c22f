// SPDX-License-Identifier: Apache-2.0
// Arrays and copies for the C++ tests.
#pragma once
#include <cstring>
#include <utility>
#include <vector>

#include "anyarray/copy.h"
#include "anyarray/element.h"
#include "tests/cpp/check.h"

namespace arrays {
using namespace anyarray;

using Ints = std::vector<std::int64_t>;
template <class T>
inline constexpr DType of = element<T>::dtype;
inline constexpr DType f16 = make_dtype(TypeCode::float_, 16);
inline constexpr DType bf16 = make_dtype(TypeCode::bfloat, 16);

/// A descriptor over elements; strides in bytes, C order where they are left out.
struct Source {
  Ints shape, strides;
  Descriptor desc;
  Source(const void* data, DType t, Ints extents, Ints steps = {})
      : shape(std::move(extents)), strides(std::move(steps)) {
    shape.reserve(1);  // never null
    if (strides.empty()) {
      strides.resize(shape.size() + 1);
      c_strides(static_cast<int>(shape.size()), shape.data(), t.itemsize(), strides.data());
    }
    desc = {const_cast<void*>(data),
            shape.data(),
            t.packed() ? nullptr : strides.data(),
            t,
            cpu_device,
            static_cast<std::int32_t>(shape.size()),
            flag_readonly};
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
};

/// A copy that ends with its scope.
class Made {
 public:
  Made(const Descriptor& from, const Request& wanted, Casting casting = Casting::same_kind)
      : status(copy_as(from, wanted, &borrow_, &why, casting)) {
    CHECK_EQ(borrow_.held(), status == Status::ok);
  }
  Made(const Source& from, DType t, Casting casting = Casting::unsafe) : Made(from.desc, asks(t), casting) {}
  ~Made() { release(borrow_); }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  static Request asks(DType t) {
    Request r;
    r.has_dtype = true;
    r.dtype = t;
    return r;
  }
  const Descriptor& operator*() const { return borrow_.desc; }
  const Descriptor* operator->() const { return &borrow_.desc; }
  const Borrow& borrow() const { return borrow_; }
  template <class T>
  std::vector<T> values() const {
    const T* p = static_cast<const T*>(borrow_.desc.data);
    return std::vector<T>(p, p + borrow_.desc.nbytes() / static_cast<std::int64_t>(sizeof(T)));
  }
  bool refused(Status s, const char* words) const {
    const bool ok = status == s && std::strstr(why.text, words) != nullptr;
    if (!ok) std::printf("expected %s \"%s\", got %s \"%s\"\n", status_name(s), words, status_name(status), why.text);
    return ok;
  }

 private:
  Borrow borrow_;

 public:
  Reason why;
  Status status;
};

}  // namespace arrays
