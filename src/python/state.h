// SPDX-License-Identifier: Apache-2.0
// The state of the module anyarray._core in one interpreter, the objects of its types, and what the files of
// src/python ask of each other. Everything here needs the GIL. May include the engine and all below it.
#pragma once
#include "src/engine/engine.h"
#include "src/support/context.h"

namespace anyarray {

/// What an Array of a type serves. `__array__` is on all.
enum Capability : std::uint8_t {
  can_buffer = 1,     ///< the buffer slot
  can_interface = 2,  ///< __array_interface__
  can_dlpack = 4,     ///< __dlpack__ and __dlpack_device__
};
inline constexpr int capability_sets = 8;

/// Families of devices; each has its own types.
enum class DeviceFamily : std::uint8_t { host, pinned, cuda, rocm, oneapi, other, count };
inline constexpr int device_families = static_cast<int>(DeviceFamily::count);

/// Arrays whose memory is kept for the next view.
inline constexpr int free_arrays_max = 32;
/// Arrays that free each other directly before the rest waits in a list (the stack is finite).
inline constexpr int dealloc_depth_max = 64;
/// Scalar codes and sizes (bits / 8) whose facts are kept in tables.
inline constexpr int scalar_codes = 18;
inline constexpr int scalar_sizes = 17;

struct ArrayObject;

/// What an element type can be served over (capability bits), once asked.
struct KnownCapabilities {
  DType dtype;
  bool filled;
  std::uint8_t capabilities;
};
inline constexpr unsigned known_capabilities_max = 64;

/// A library that convert() hands arrays to without Python code, under one of the names for it.
struct FastTarget {
  PyObject* key = nullptr;                   ///< what the caller gave: an interned name, a module, a type
  PyTypeObject* type = nullptr;              ///< of the arrays that it makes
  const dlpack::ExchangeApi* api = nullptr;  ///< null: NumPy
  unsigned limits = 0;                       ///< see convert.cpp
  std::uint32_t sizes[scalar_codes] = {};    ///< for each code, bit n: it has the type of n bytes
};
inline constexpr int fast_targets_max = 32;

/// NumPy's dtype object for an element type that its number alone doesn't say.
struct KnownNumpyDType {
  DType dtype;
  PyObject* object = nullptr;
};
inline constexpr unsigned known_numpy_dtypes_max = 64;

struct State {
  Context cx;
  PyInterpreterState* interpreter = nullptr;
  bool main_interpreter = true;
  bool closed = false;       ///< the module is gone; only arrays and exports that outlived it remain
  std::int64_t arrays = 0;   ///< Array objects that live
  std::int64_t exports = 0;  ///< DLPack structs that consumers hold
  PyTypeObject* array_base = nullptr;
  PyTypeObject* array_types[device_families][capability_sets] = {};
  PyTypeObject* dtype_type = nullptr;
  PyTypeObject* policy_type = nullptr;
  Policy process_policy = default_policy;                    ///< holds where no policy is named, nor set in the context
  PyObject* scoped_policy = nullptr;                         ///< the context variable, once a scope was entered
  PyObject* dtypes = nullptr;                                ///< 8-byte value → DType, for the less common
  PyObject* scalar_dtypes[scalar_codes][scalar_sizes] = {};  ///< the common ones
  KnownCapabilities known_capabilities[known_capabilities_max];       ///< of other dtypes, direct-mapped
  std::uint8_t scalar_capabilities[scalar_codes][scalar_sizes] = {};  ///< computed when the module is made
  PyObject* device_class = nullptr;                                   ///< anyarray.device.Device, when first needed
  PyObject* cpu = nullptr;                                            ///< Device("cpu")
  ArrayObject* free_arrays = nullptr;
  int n_free_arrays = 0;
  ArrayObject* waiting = nullptr;  ///< arrays to be freed when the outermost one is
  int dealloc_depth = 0;
  FastTarget fast_targets[fast_targets_max];
  int n_fast_targets = 0;
  KnownNumpyDType known_numpy_dtypes[known_numpy_dtypes_max];  ///< direct-mapped
};

struct ArrayObject {
  PyObject ob_base;
  PyObject* weakrefs;
  State* state;
  Holder* holder;        ///< after the first DLPack export: where the borrow went
  PyObject* dtype;       ///< DType, when first asked for
  std::int32_t exports;  ///< buffers given out
  std::int32_t readers;  ///< calls that are reading the descriptor now
  bool released;
  bool exposed;       ///< its address was given to someone who holds only this object
  ArrayObject* next;  ///< in the list of free or waiting ones
  Borrow borrow;
};

struct DTypeObject {
  PyObject ob_base;
  DType value;
  PyObject* name;
  char* format;  ///< PEP 3118, when first asked for
};

struct PolicyObject {
  PyObject ob_base;
  Policy policy;
};

inline State& state_of(Context& cx) noexcept { return *static_cast<State*>(cx.python); }
State& state_of_module(PyObject* module) noexcept;
/// Frees a state whose module is gone once nothing of it is left.
void state_collect(State* s) noexcept;

// array_object.cpp
bool array_types_init(State& s, PyObject* module) noexcept;
/// Memory for an Array, its type still unknown. Give it to array_adopt or array_discard. Null: MemoryError.
ArrayObject* array_reserve(State& s) noexcept;
PyObject* array_adopt(State& s, ArrayObject* a) noexcept;  ///< a->borrow is filled; gives the finished object
void array_discard(State& s, ArrayObject* a) noexcept;
void array_free_all(State& s) noexcept;  ///< empties the list of free ones
inline bool is_array(State& s, PyObject* o) noexcept { return Py_TYPE(o)->tp_base == s.array_base; }

inline ArrayObject* as_array(PyObject* o) noexcept { return reinterpret_cast<ArrayObject*>(o); }
/// The borrow wherever it lies now.
inline Borrow& borrow_of(ArrayObject* a) noexcept { return a->holder != nullptr ? a->holder->borrow : a->borrow; }
/// The descriptor, or null with ValueError when the array was released.
const Descriptor* array_descriptor(ArrayObject* a) noexcept;
/// The descriptor of a live array for the length of a call. Whatever allocates can run a collection, and so anybody's
/// code: meanwhile release() is refused. False with ValueError set when the array was released already.
class Reading {
 public:
  explicit Reading(ArrayObject* a) noexcept : a_(a), d_(array_descriptor(a)) { ++a_->readers; }
  ~Reading() { --a_->readers; }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  explicit operator bool() const noexcept { return d_ != nullptr; }
  const Descriptor* operator->() const noexcept { return d_; }
  const Descriptor& operator*() const noexcept { return *d_; }

 private:
  ArrayObject* a_;
  const Descriptor* d_;
};
/// The DType object of a live array: borrowed; null with an error.
DTypeObject* array_dtype(ArrayObject* a) noexcept;
/// Moves the borrow to the heap (once), so that exports may outlive the array. Null: MemoryError.
Holder* array_share(ArrayObject* a) noexcept;

// Method tables and slots of the Array types, one file each.
extern PyGetSetDef array_getset[];
extern PyGetSetDef array_interface_getset[];  ///< with __array_interface__
extern PyMethodDef array_methods[];
extern PyMethodDef array_dlpack_methods[];
PyObject* array_repr(PyObject* self);
Py_ssize_t array_length(PyObject* self);
int array_getbuffer(PyObject* self, Py_buffer* view, int flags);
void array_releasebuffer(PyObject* self, Py_buffer* view);
/// Whether a `descr` can say the struct (fields in order, without overlap, each with a typestr).
bool has_descr_form(DType d) noexcept;
/// An __array_interface__ dict; with `raw` as void of the item's size, for dtypes that a typestr can't say.
PyObject* interface_dict(ArrayObject* a, bool raw) noexcept;

// dtype_object.cpp
bool dtype_type_init(State& s, PyObject* module) noexcept;
PyObject* dtype_object(State& s, DType d) noexcept;  ///< new reference
/// DType, name, or whatever stands for one in a known library. False with TypeError or ValueError set.
bool dtype_from_object(State& s, PyObject* o, DType* out) noexcept;
PyObject* dtype_struct(PyObject* module, PyObject* args);
PyObject* dtype_subarray(PyObject* module, PyObject* args);

// policy_object.cpp
bool policy_type_init(State& s, PyObject* module) noexcept;
/// None, a preset's name, a sequence of row names or a Policy. `storage` is used for sequences. Null with an error.
const Policy* policy_from_object(State& s, PyObject* o, Policy* storage) noexcept;
PyObject* policy_words(const Policy& p) noexcept;                   ///< "Policy(order=(…), …)"
PyObject* policy_object(State& s, const Policy& p) noexcept;        ///< new reference
inline const Policy& policy_of_object(PyObject* policy) noexcept {  ///< of an exact Policy
  return reinterpret_cast<PolicyObject*>(policy)->policy;
}

// default_policy.cpp
PyObject* get_default_policy(PyObject* module, PyObject*);
PyObject* set_default_policy(PyObject* module, PyObject* policy);  ///< gives the one that held before
PyObject* scope_policy(PyObject* module, PyObject* policy);        ///< gives the token that ends the scope
PyObject* unscope_policy(PyObject* module, PyObject* token);

// request.cpp
/// The request that the keywords of view() and explain() make.
struct ParsedRequest {
  Request request;
  Policy policy;  ///< where one was given as a sequence
};
/// False with TypeError or ValueError set. `args[0]` is the object.
bool parse_request(State& s, const char* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                   ParsedRequest& out) noexcept;
/// "dtype=float32, ndim=2"; empty when nothing is asked.
PyObject* request_words(State& s, const Request* request) noexcept;
/// The id is -1 for a kind without a number, as "cuda".
bool device_from_object(PyObject* o, Device* out) noexcept;
PyObject* device_object(State& s, Device d) noexcept;  ///< new reference

// elements.cpp, times.cpp
/// One element as a Python object. `p` may be unaligned; swapped order is honoured.
PyObject* element_to_object(DType d, const char* p) noexcept;
PyObject* datetime_to_object(DType d, std::int64_t ticks) noexcept;
PyObject* timedelta_to_object(DType d, std::int64_t ticks) noexcept;
/// numerator * 2**exponent exactly, as decimal.Decimal.
PyObject* long_double_to_object(long double v) noexcept;
PyObject* array_tolist(PyObject* self, PyObject*);
PyObject* array_item(PyObject* self, PyObject*);

// raise.cpp
/// The attempts as a tuple of plain tuples (protocol, attribute, status, reason, exception, ns).
PyObject* attempts_tuple(Trace& trace) noexcept;
/// A function of the package, imported when needed. New reference.
PyObject* package_function(const char* module, const char* name) noexcept;

// convert.cpp
PyObject* convert(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* register_target(PyObject* module, PyObject* args);
PyObject* to_exchange(PyObject* module, PyObject* args);
PyObject* to_ndarray(PyObject* module, PyObject* args);
PyObject* to_legacy_capsule(PyObject* module, PyObject* array);
PyObject* copy_of(PyObject* module, PyObject* array);
PyObject* overlap_of(PyObject* module, PyObject* array);

// explain.cpp
PyObject* explain_object(State& s, PyObject* obj, const Request* request) noexcept;

// c_api.cpp
PyObject* c_api_new(State& s) noexcept;  ///< the capsule

}  // namespace anyarray
