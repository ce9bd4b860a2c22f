// SPDX-License-Identifier: Apache-2.0
// torch: what a tensor says outside of its memory (conj, neg, requires_grad), tensors without memory, subclasses that
// answer for themselves. The flags are read through the descriptors of torch's C type, which costs a third of a call.
#include "src/quirks/hooks.h"

namespace anyarray::quirks {
namespace {

/// Whether the address is only the offset into memory that isn't there. 1, 0, or -1 with an exception set.
int has_no_memory(PyObject* obj, const Descriptor& d) noexcept {
  Ref offset(PyObject_CallMethod(obj, "storage_offset", nullptr));
  if (!offset) return -1;
  const long long elements = PyLong_AsLongLong(offset.get());
  if (elements == -1 && PyErr_Occurred() != nullptr) return -1;
  return reinterpret_cast<std::uintptr_t>(d.data) ==
         static_cast<std::uintptr_t>(elements) * static_cast<std::uintptr_t>(d.dtype.itemsize());
}

/// Whether torch's own __array__ gave memory that isn't the tensor's: NumPy allocates where the address is null. 1, 0,
/// or -1 with an exception set.
int is_fresh_memory(Context& cx, PyObject* obj, const Descriptor& d) noexcept {
  const State& s = *static_cast<State*>(cx.quirks);
  if (s.torch_tensor == nullptr || d.size() == 0) return 0;
  if (!inherits(cx, Match{Py_TYPE(obj), s.torch_tensor}, Protocol::array_method)) return 0;
  Ref address(PyObject_CallMethod(obj, "data_ptr", nullptr));
  if (!address) return -1;
  void* own = PyLong_AsVoidPtr(address.get());
  if (own == nullptr && PyErr_Occurred() != nullptr) return -1;
  return own != d.data;
}

/// Whether the address is one below which the tensor is asked; null needs none.
inline bool is_low(const Descriptor& d) noexcept {
  return reinterpret_cast<std::uintptr_t>(d.data) - 1 < low_address - 1;
}

/// A tensor whose address is doubtful: made by __array__, or one at which no memory lies.
__attribute__((noinline)) Status check_memory(Context& cx, PyObject* obj, const Borrow& taken, Failure& why) noexcept {
  const Descriptor& d = taken.desc;
  if (taken.protocol == static_cast<std::uint8_t>(Protocol::array_method)) {
    const int fresh = is_fresh_memory(cx, obj, d);
    if (fresh < 0) return producer_raised(why);
    if (fresh != 0) {
      return because(Status::guarded, &why.reason,
                     "the tensor has no memory (a wrapper, fake or functional tensor, or its storage was freed): its "
                     "__array__ made up some; pass the tensor that holds the data");
    }
  }
  if (is_low(d)) {
    const int empty = has_no_memory(obj, d);
    if (empty < 0) return producer_raised(why);
    if (empty != 0) {
      return because(Status::guarded, &why.reason,
                     "the tensor has no memory (a wrapper, fake or functional tensor, or its storage was freed): its "
                     "address is only an offset; pass the tensor that holds the data");
    }
  }
  return Status::ok;
}

/// The flags that a tensor of floats or complex numbers may have.
__attribute__((noinline)) Status check_flags(const State& s, PyObject* obj, const Request& request, const Descriptor& d,
                                             Failure& why) noexcept {
  const bool direct =
      Py_TYPE(obj) == s.torch_tensor || (s.torch_tensor != nullptr && PyType_IsSubtype(Py_TYPE(obj), s.torch_tensor));
  if ((request.allow & waive_grad) == 0) {
    const int set = read_flag(s.requires_grad, obj, direct);
    if (set < 0) return producer_raised(why);
    if (set != 0) {
      return because(Status::guarded, &why.reason,
                     "the tensor requires grad, and what is done through a view is unseen by autograd: take "
                     "x.detach(), or pass allow=(\"grad\",)");
    }
  }
  if ((request.allow & waive_neg) == 0) {
    const int set = read_flag(s.is_neg, obj, direct);
    if (set < 0) return producer_raised(why);
    if (set != 0) {
      return because(Status::guarded, &why.reason,
                     "the tensor's negative bit is set, so its memory holds values of the other sign: take "
                     "x.resolve_neg(), or pass allow=(\"neg\",) for the memory as it lies");
    }
  }
  if (d.dtype.is_complex() && (request.allow & waive_conj) == 0) {
    const int set = read_flag(s.is_conj, obj, direct);
    if (set < 0) return producer_raised(why);
    if (set != 0) {
      return because(Status::guarded, &why.reason,
                     "the tensor's conjugate bit is set, so its memory holds the conjugates of its values: take "
                     "x.resolve_conj(), or pass allow=(\"conj\",) for the memory as it lies");
    }
  }
  return Status::ok;
}

}  // namespace

Status find_torch_flags(Context& cx, const Match& match, Route& route) noexcept {
  route.traits |= trait_plain_passes;
  State* s = state(cx);
  if (s == nullptr) return Status::interrupted;
  if (s->torch_tensor != nullptr) return Status::ok;
  // A class that only looks like it is asked by name, and leaves the descriptors to the real one.
  PyTypeObject* owner = loaded("torch", "Tensor") == reinterpret_cast<PyObject*>(match.base) ? match.base : nullptr;
  if (!find_flag(owner, "requires_grad", false, s->requires_grad) || !find_flag(owner, "is_neg", true, s->is_neg) ||
      !find_flag(owner, "is_conj", true, s->is_conj)) {
    return Status::interrupted;
  }
  if (owner == nullptr) return Status::ok;
  Py_INCREF(match.base);
  s->torch_tensor = match.base;
  return Status::ok;
}

Status drop_torch_table(Context& cx, const Match& match, Route& route) noexcept {
  if (inherits(cx, match, Protocol::dlpack) || !inherits(cx, match, Protocol::dlpack_exchange)) return Status::ok;
  route.on_type &= ~mask_of(Protocol::dlpack_exchange);
  return Status::ok;
}

Status trust_torch_table(Context& cx, const Match& match, Route& route) noexcept {
  const bool is_torch = loaded("torch", "Tensor") == reinterpret_cast<PyObject*>(match.base);
  if (is_torch && inherits(cx, match, Protocol::dlpack_exchange)) route.traits |= trait_exact_table;
  return Status::ok;
}

Status torch_fake_before(Context&, PyObject*, const Request&, Failure& why) noexcept {
  return because(Status::guarded, &why.reason,
                 "a FakeTensor has no memory: it stands for a shape and a dtype only; pass the real tensor that it "
                 "stands for");
}

// Calls nothing but at its end: what most tensors need costs no saved registers.
Status torch_after(Context& cx, PyObject* obj, const Request& request, const Borrow& taken, Failure& why) noexcept {
  const Descriptor& d = taken.desc;
  if (__builtin_expect(is_low(d) || taken.protocol == static_cast<std::uint8_t>(Protocol::array_method), 0)) {
    if (const Status s = check_memory(cx, obj, taken, why); s != Status::ok) return s;
  }
  const TypeCode code = d.dtype.code;
  if (code <= TypeCode::uint || code == TypeCode::bool_) return Status::ok;
  return check_flags(*static_cast<State*>(cx.quirks), obj, request, d, why);
}

}  // namespace anyarray::quirks
