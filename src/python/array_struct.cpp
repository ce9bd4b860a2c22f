// SPDX-License-Identifier: Apache-2.0
// __array_struct__ of an Array: NumPy's PyArrayInterface in a capsule without a name. The capsule holds a share of the
// array; a consumer may also keep the array alone, as the interface allows.
#include <cstdlib>

#include "anyarray/protocols/typestr.h"
#include "src/python/state.h"

namespace anyarray {
namespace {

/// The struct, with all that it points at. Consumers scribble on it, so every capsule has its own.
struct Block {
  typestr::ArrayInterface facts;
  ArrayObject* array;
  std::intptr_t dims[1];  // 2 * ndim of them follow
};

void capsule_gone(PyObject* capsule) {
  auto* block = static_cast<Block*>(PyCapsule_GetPointer(capsule, nullptr));
  // The description is ours only if the consumer left it where it was: it is kept in the context.
  Py_XDECREF(static_cast<PyObject*>(PyCapsule_GetContext(capsule)));
  unshare(block->array);
  std::free(block);
}

/// NumPy's letter of a dtype that the struct can say.
char kind_of(DType d) noexcept {
  switch (d.code) {
    case TypeCode::int_:
      return 'i';
    case TypeCode::uint:
      return 'u';
    case TypeCode::float_:
    case TypeCode::long_double:
      return 'f';
    case TypeCode::complex:
    case TypeCode::complex_long_double:
      return 'c';
    case TypeCode::bool_:
      return 'b';
    case TypeCode::fixed_bytes:
      return 'S';
    default:
      return 'V';
  }
}

int flags_of(const Descriptor& d) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(d.data);
  // As far as numbers go: an item of 16 bytes needs 16, one of 12 needs 4, and so on; complex ones as their parts.
  const std::int64_t part = d.dtype.is_complex() ? d.dtype.itemsize() / 2 : d.dtype.itemsize();
  const std::int64_t needed = d.dtype.is_scalar() && part > 0 ? part & -part : 1;
  std::uintptr_t places = address;
  for (int i = 0; i < d.ndim; ++i) {
    if (d.shape[i] > 1) places |= static_cast<std::uintptr_t>(d.strides[i]);
  }
  int flags = 0;
  if (d.c_contiguous()) flags |= typestr::flag_c;
  if (d.f_contiguous()) flags |= typestr::flag_f;
  if (interned_type(d.dtype) == nullptr && places % static_cast<std::uintptr_t>(needed) == 0) {
    flags |= typestr::flag_aligned;
  }
  if (!d.dtype.swapped()) flags |= typestr::flag_notswapped;
  if (!d.readonly()) flags |= typestr::flag_writeable;
  return flags;
}

PyObject* get_struct(PyObject* self, void*) {
  ArrayObject* a = as_array(self);
  const Reading d(a);
  if (!d) return nullptr;
  Ref descr;
  if (interned_type(d->dtype) != nullptr) {
    descr = Ref(descr_list(d->dtype));
    if (!descr) return nullptr;
  }
  const auto n = static_cast<std::size_t>(d->ndim);
  auto* block = static_cast<Block*>(std::malloc(sizeof(Block) + 2 * n * sizeof(std::intptr_t)));
  if (block == nullptr) return PyErr_NoMemory();
  for (std::size_t i = 0; i < n; ++i) {
    block->dims[i] = static_cast<std::intptr_t>(d->shape[i]);
    block->dims[n + i] = static_cast<std::intptr_t>(d->strides[i]);
  }
  block->facts = {2,
                  d->ndim,
                  kind_of(d->dtype),
                  static_cast<int>(d->dtype.itemsize()),
                  flags_of(*d) | (descr ? typestr::has_descr : 0),
                  block->dims,
                  block->dims + n,
                  d->data,
                  descr.get()};
  block->array = a;
  PyObject* capsule = PyCapsule_New(block, nullptr, nullptr);
  if (capsule == nullptr) {
    std::free(block);
    return nullptr;
  }
  share(a);
  a->exposed = true;
  PyCapsule_SetContext(capsule, descr.release());
  PyCapsule_SetDestructor(capsule, capsule_gone);
  return capsule;
}

}  // namespace

PyGetSetDef array_struct_getset = {"__array_struct__", get_struct, nullptr,
                                   "NumPy's PyArrayInterface in a capsule, which keeps the memory.", nullptr};

}  // namespace anyarray
