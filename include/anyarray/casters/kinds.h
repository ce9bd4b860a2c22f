// SPDX-License-Identifier: Apache-2.0
// What functions declare besides views and arrays: parameters that may be copies, results of a library's kind. For all
// binding libraries; no Python.h.
#pragma once
#include "anyarray/array.h"

namespace anyarray {

/// As a parameter: the view (or array) of P, of the object's memory where that is what P takes, and of a copy where a
/// copy would be: of another dtype (precision may go, no kind does: CApi::copy), order, or alignment. The one place
/// where a caster copies. Not where the parameter says noconvert, and not before all overloads refused the object as it
/// is. Read-only: what is written to a copy would be lost.
template <class P>
class or_copy;

template <class T, int Rank, class Layout, class On>
class or_copy<view<T, Rank, Layout, On>> : public view<T, Rank, Layout, On> {
  static_assert(!detail::elements_of<T>::writable,
                "anyarray::or_copy: what is written to a copy would be lost: say view<const T, …>");

 public:
  using plain_type = view<T, Rank, Layout, On>;
  or_copy() noexcept = default;
  or_copy(const plain_type& plain) noexcept : plain_type(plain) {}
};

template <class T, int Rank, class Layout, class On>
class or_copy<array<T, Rank, Layout, On>> : public array<T, Rank, Layout, On> {
  static_assert(!detail::elements_of<T>::writable,
                "anyarray::or_copy: what is written to a copy would be lost: say array<const T, …>");

 public:
  using plain_type = array<T, Rank, Layout, On>;
  or_copy() noexcept = default;
  or_copy(plain_type plain) noexcept : plain_type(static_cast<plain_type&&>(plain)) {}
};

/// Libraries that results can be given to: their names, as in aa.convert(), and the Python types of their arrays. One
/// of your own: struct mine { static constexpr const char* name = "mine"; static constexpr const char* type =
/// "mine.Array"; };
namespace library {
#define ANYARRAY_LIBRARY(id, python_type)            \
  struct id {                                        \
    static constexpr const char* name = #id;         \
    static constexpr const char* type = python_type; \
  };
ANYARRAY_LIBRARY(numpy, "numpy.typing.NDArray[typing.Any]")
ANYARRAY_LIBRARY(torch, "torch.Tensor")
ANYARRAY_LIBRARY(jax, "jax.Array")
ANYARRAY_LIBRARY(cupy, "cupy.ndarray")
ANYARRAY_LIBRARY(dpnp, "dpnp.ndarray")
ANYARRAY_LIBRARY(mlx, "mlx.core.array")
ANYARRAY_LIBRARY(tensorflow, "tensorflow.Tensor")
ANYARRAY_LIBRARY(paddle, "paddle.Tensor")
ANYARRAY_LIBRARY(warp, "warp.array")
ANYARRAY_LIBRARY(tvm_ffi, "tvm_ffi.Tensor")
ANYARRAY_LIBRARY(pyarrow, "typing.Any")  // of one dimension an Array, else a Tensor
ANYARRAY_LIBRARY(array_api_strict, "typing.Any")
#undef ANYARRAY_LIBRARY
}  // namespace library

/// As a result: an array of this library, shared where it can hold the memory as it is and copied where it can't, as
/// aa.convert() does.  given_as<library::torch, array<float, 2>> f(…) { …; return result; }
template <class Library, class Result>
struct given_as {
  Result result;
  given_as(Result r) noexcept : result(static_cast<Result&&>(r)) {}
};

namespace detail {
template <class T, int Rank, class Layout, class On>
const void* source_of(const view<T, Rank, Layout, On>& x) noexcept {
  return x.source();
}
template <class T, int Rank, class Layout, class On>
const void* source_of(const array<T, Rank, Layout, On>& x) noexcept {
  return x.ok() ? x.held().owner() : nullptr;
}
template <class T, int Rank, class Layout, class On>
const void* source_of(const or_copy<array<T, Rank, Layout, On>>&) noexcept {
  static_assert(!std::is_same_v<T, T>,
                "anyarray::given_like: a copy doesn't know what it was made of: take the "
                "parameter as or_copy<view<…>>, or give the PyObject*");
  return nullptr;
}
inline const void* source_of(const _object* x) noexcept { return x; }
}  // namespace detail

/// As a result: as the caller's kind. `like`: a parameter of the function (or a PyObject* that lives as long as one):
/// torch in, torch out. An aa.Array where that came from no library that arrays can be given to: bytes, a memoryview,
/// a class of somebody's own, an array made in C++.  return given_like{result, x};
template <class Result>
struct given_like {
  Result result;
  const void* example;  ///< a PyObject*, borrowed; may be null
  template <class X>
  given_like(Result r, const X& like) noexcept : result(static_cast<Result&&>(r)), example(detail::source_of(like)) {}
};
template <class Result, class X>
given_like(Result, const X&) -> given_like<Result>;

}  // namespace anyarray
