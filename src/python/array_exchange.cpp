// SPDX-License-Identifier: Apache-2.0
// The DLPack C exchange table (dlpack.h 1.3) that the types with DLPack carry. Its functions know no interpreter: an
// Array is told by its type, and says the rest. Errors are Python exceptions, but for the allocator's.
#include <cstdlib>
#include <cstring>

#include "anyarray/policy.h"
#include "anyarray/protocols/dlpack.h"
#include "src/python/state.h"
#include "src/support/owned.h"

namespace anyarray {
namespace {

using dlpack::ManagedTensorVersioned;
using dlpack::Tensor;

using SetError = void (*)(void* context, const char* kind, const char* message);

/// A tensor of new memory, with all that it needs in one struct.
struct Allocated {
  ManagedTensorVersioned managed;
  std::int64_t dims[1];  // 2 * ndim of them follow
};

void free_allocated(ManagedTensorVersioned* m) {
  free_memory(m->tensor.data);
  std::free(m->manager_ctx);
}

int fail(SetError set_error, void* context, const char* kind, const char* message) noexcept {
  if (set_error != nullptr) set_error(context, kind, message);
  return -1;
}

/// New memory for the prototype's dtype and shape, on the host alone. Needs no GIL.
int allocate(Tensor* prototype, ManagedTensorVersioned** out, void* context, SetError set_error) {
  if (prototype == nullptr || out == nullptr) return fail(set_error, context, "ValueError", "a null pointer was given");
  *out = nullptr;
  if (prototype->device != cpu_device) {
    return fail(set_error, context, "BufferError", "anyarray allocates memory of the host alone, device (1, 0)");
  }
  // Decoded as if it lay somewhere, which checks dtype and shape; the prototype's address and strides don't count.
  Tensor like = *prototype;
  static char somewhere;
  like.data = &somewhere;
  like.strides = nullptr;
  like.byte_offset = 0;
  Borrow checked;
  begin(checked);
  Reason why;
  if (dlpack::decode(like, 0, checked, &why) != Status::ok) return fail(set_error, context, "BufferError", why.text);
  const std::int64_t bytes = checked.desc.nbytes();
  const auto n = static_cast<std::size_t>(like.ndim);
  auto* whole = static_cast<Allocated*>(std::malloc(sizeof(Allocated) + 2 * n * sizeof(std::int64_t)));
  void* memory = bytes > 0 ? allocate_memory(bytes) : nullptr;
  if (whole == nullptr || (memory == nullptr && bytes > 0)) {
    std::free(whole);
    free_memory(memory);
    drop_dims(checked);
    return fail(set_error, context, "MemoryError", "no memory for the tensor");
  }
  for (std::size_t i = 0; i < n; ++i) whole->dims[i] = like.shape[i];
  c_strides(like.ndim, like.shape, 1, whole->dims + n);
  drop_dims(checked);
  ManagedTensorVersioned& m = whole->managed;
  m.version = dlpack::our_version;
  m.manager_ctx = whole;
  m.deleter = free_allocated;
  m.flags = 0;
  m.tensor = like;
  m.tensor.data = memory;
  m.tensor.shape = whole->dims;
  m.tensor.strides = whole->dims + n;
  *out = &m;
  return 0;
}

/// The Array that is meant, not released; null with an exception set.
ArrayObject* array_of(void* object) noexcept {
  auto* o = static_cast<PyObject*>(object);
  if (o == nullptr || !is_any_array(o)) {
    PyErr_Format(PyExc_TypeError, "this exchange table is that of anyarray.Array and knows nothing of %.200s",
                 o != nullptr ? Py_TYPE(o)->tp_name : "a null pointer");
    return nullptr;
  }
  return can_export(as_array(o)) ? as_array(o) : nullptr;
}

int export_array(void* object, ManagedTensorVersioned** out) {
  *out = nullptr;
  ArrayObject* a = array_of(object);
  if (a == nullptr) return -1;
  *out = array_export(a);
  return *out != nullptr ? 0 : -1;
}

/// The first time, and whenever it can't be lent: says why.
__attribute__((noinline)) int lend_first(void* object, Tensor* out) noexcept {
  ArrayObject* a = array_of(object);
  if (a == nullptr) return -1;
  const Tensor* tensor = array_tensor(a);
  if (tensor == nullptr) return -1;
  const char* unsaid = nullptr;
  if ((a->tensor_flags & dlpack::read_only) != 0) {
    unsaid = "the array is read-only, which a borrowed DLTensor can't say: use managed_tensor_from_py_object_no_sync";
  } else if ((a->tensor_flags & dlpack::is_subbyte_padded) != 0) {
    unsaid =
        "the elements are padded to a byte, which a borrowed DLTensor can't say: use "
        "managed_tensor_from_py_object_no_sync";
  }
  if (unsaid != nullptr) {
    PyErr_SetString(PyExc_BufferError, unsaid);
    return -1;
  }
  a->lendable = true;
  *out = *tensor;
  return 0;
}

/// Shape and strides lie in the array, and are good as long as it is and isn't released.
int lend_array(void* object, Tensor* out) {
  auto* o = static_cast<PyObject*>(object);
  if (__builtin_expect(o == nullptr || !is_any_array(o) || !as_array(o)->lendable, 0)) return lend_first(object, out);
  *out = as_array(o)->tensor;
  return 0;
}

/// On success the tensor is the new Array's; on failure it stays the caller's.
int import_tensor(ManagedTensorVersioned* tensor, void** out) {
  *out = nullptr;
  State* s = state_here();
  if (s == nullptr) return -1;
  // Taken as a capsule is. One without a destructor owns nothing: the row, which validates first, does from then on.
  const Ref capsule(PyCapsule_New(tensor, dlpack::versioned_name, nullptr));  // null: ValueError
  ArrayObject* a = capsule ? array_reserve(*s) : nullptr;
  if (a == nullptr) return -1;
  static constexpr Policy policy = make_policy({Protocol::dlpack});
  Request request;
  request.policy = &policy;
  Trace trace;
  const Status status = take(s->cx, capsule.get(), &request, a->borrow, trace);
  if (status != Status::ok) {
    array_discard(*s, a);
    raise_trace(s->cx, capsule.get(), &request, status, trace);
    return -1;
  }
  *out = array_adopt(*s, a);
  return 0;
}

/// Nothing is enqueued here: there is no stream but the default one, which is null.
int current_stream(DeviceType type, std::int32_t, void** out) {
  *out = nullptr;
  if (is_known(type)) return 0;
  PyErr_Format(PyExc_BufferError, "there is no DLPack device kind %d", static_cast<int>(type));
  return -1;
}

/// Lives as long as the process, as the capsules say it does.
dlpack::ExchangeApi table = {
    {dlpack::our_version, nullptr}, allocate, export_array, import_tensor, lend_array, current_stream};

}  // namespace

const dlpack::ExchangeApi& exchange_table() noexcept { return table; }
PyObject* exchange_capsule() noexcept { return PyCapsule_New(&table, dlpack::exchange_name, nullptr); }

}  // namespace anyarray
