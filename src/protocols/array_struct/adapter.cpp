// SPDX-License-Identifier: Apache-2.0
// Row `array_struct`: a capsule with NumPy's PyArrayInterface. Both capsule and object are held. What the struct has
// no room for is left to the dict: the unit of times, and void types without a descr (NumPy itself clears all flags
// of a structured array's struct, has_descr and writeable among them).
#include "anyarray/protocols/typestr.h"
#include "src/core/type_string.h"
#include "src/protocols/adapters.h"
#include "src/support/capsule.h"
#include "src/support/interface_dict.h"

namespace anyarray::adapters {
namespace {

// token[0]: the capsule.
void release_capsule(Borrow* b) noexcept {
  Py_DECREF(static_cast<PyObject*>(b->token[0]));
  let_go_uncounted(b);
}

/// What a void type's bytes are. The struct names a kind and a size alone, under which structs, bfloat16 and plain
/// bytes are the same; only a descr tells.
Status read_void(const typestr::ArrayInterface& facts, DType* out, Failure& why) noexcept {
  if ((facts.flags & typestr::has_descr) == 0) {
    return because(Status::unsupported, &why.reason,
                   "the struct says %d bytes of kind 'V' without a descr, so what they mean can't be told",
                   facts.itemsize);
  }
  auto* descr = static_cast<PyObject*>(facts.descr);
  if (descr == nullptr) return because(Status::invalid, &why.reason, "the struct promises a descr, but it is null");
  return read_descr(Ref::borrow(descr).get(), facts.itemsize, out, why);
}

/// Out of line: the usual way then saves few registers. Of a copy: a descr is read by Python code, under which other
/// consumers scribble on the struct.
__attribute__((noinline)) Status decode_any(const typestr::ArrayInterface& shared, Borrow& out, Failure& why) noexcept {
  const typestr::ArrayInterface facts = shared;
  Status s = typestr::decode_struct(facts, out, &why.reason);
  if (s != Status::ok || out.desc.dtype.code != TypeCode::void_) return s;
  s = read_void(facts, &out.desc.dtype, why);
  if (s != Status::ok) drop_dims(out);
  return s;
}

/// Numbers of the machine's order in one or two dimensions, so small that nothing overflows (as detail::is_usual),
/// without a loop or a call. False for every other struct; nothing is reserved then.
__attribute__((always_inline)) inline bool decode_usual(const typestr::ArrayInterface& s, Borrow& out) noexcept {
  const auto last = static_cast<unsigned>(s.nd) - 1, kind = static_cast<unsigned>(s.typekind - 'a');
  const auto size = static_cast<unsigned>(s.itemsize);
  if (s.two != 2 || last >= 2 || kind >= 26 || size > 8 || s.data == nullptr || s.shape == nullptr ||
      s.strides == nullptr || (s.flags & typestr::flag_notswapped) == 0) {
    return false;
  }
  const DType& dtype = short_types.of[kind][size];
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(s.data));
  const std::int64_t rows = s.shape[0], columns = s.shape[last], step = s.strides[0], inner = s.strides[last];
  const auto extents = static_cast<std::uint64_t>(rows | columns), strides = static_cast<std::uint64_t>(step | inner);
  if (dtype.count == 0 || ((extents >> 27) | (strides >> 34) | (address >> 63)) != 0) return false;
  std::int64_t* const dims = reserve_dims(out, s.nd);
  dims[0] = rows;
  if (last == 0) {
    dims[1] = step;
  } else {
    dims[1] = columns;
    dims[2] = step;
    dims[3] = inner;
  }
  out.checked = 1;
  out.desc.data = s.data;
  out.desc.dtype = dtype;
  out.desc.device = cpu_device;
  out.desc.flags = (s.flags & typestr::flag_writeable) != 0 ? 0u : unsigned{flag_readonly};
  return true;
}

}  // namespace

Status array_struct(Context& cx, PyObject* obj, const Route& route, const Request&, Borrow& out,
                    Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::array_struct, &attribute, why);
  if (found != Status::ok) return found;
  Ref held(attribute);
  if (!PyCapsule_CheckExact(attribute) || capsule::name(cx, attribute) != nullptr) {
    return because(Status::invalid, &why.reason, "__array_struct__ must be a capsule without a name, not %.100s",
                   PyCapsule_CheckExact(attribute) ? "one that has a name" : Py_TYPE(attribute)->tp_name);
  }
  const auto& facts = *static_cast<const typestr::ArrayInterface*>(capsule::pointer(cx, attribute, nullptr));
  if (__builtin_expect(!decode_usual(facts, out), 0)) {
    if (const Status s = decode_any(facts, out, why); s != Status::ok) return s;
  }
  if ((route.traits & trait_dict_readonly) != 0) out.desc.flags |= flag_readonly;
  out.token[0] = held.release();
  hold_uncounted(cx, obj, out, release_capsule);
  return Status::ok;
}

}  // namespace anyarray::adapters
