// SPDX-License-Identifier: Apache-2.0
// tvm-ffi's own import: a tensor as the argument of an exported C++ function.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

namespace {

void take(tvm::ffi::TensorView t) {
  asm volatile("" : : "r"(t.data_ptr()));
  for (int i = 0; i < t.ndim(); ++i) asm volatile("" : : "r"(t.size(i)), "r"(t.stride(i)));
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(take, take);
