// SPDX-License-Identifier: Apache-2.0
// The state of the engine's module, _core, in one interpreter, the objects of its types, and what the files of
// src/python ask of each other. Everything here needs the GIL. May include the engine and all below it.
#pragma once
#include <cstring>

#include "anyarray/c_api.h"
#include "src/engine/engine.h"
#include "src/support/context.h"

namespace anyarray {

/// What an Array of a type serves. `__array__` is on all.
enum Capability : std::uint8_t {
  can_buffer = 1,     ///< the buffer slot
  can_interface = 2,  ///< __array_interface__
  can_struct = 4,     ///< __array_struct__
  can_dlpack = 8,     ///< __dlpack__, __dlpack_device__, and the exchange table on the type
  can_cuda = 16,      ///< __cuda_array_interface__
  can_arrow = 32,     ///< __arrow_c_array__, __arrow_c_schema__
};
inline constexpr int capability_sets = 64;

/// Families of devices; each has its own types.
enum class DeviceFamily : std::uint8_t { host, pinned, managed, cuda, rocm, oneapi, other, count };
inline constexpr int device_families = static_cast<int>(DeviceFamily::count);

/// Arrays whose memory is kept for the next view.
inline constexpr int free_arrays_max = 32;
/// Arrays that free each other directly before the rest waits in a list (the stack is finite).
inline constexpr int dealloc_depth_max = 64;
/// Scalar codes and sizes (bits / 8) whose facts are kept in tables.
inline constexpr int scalar_codes = 18;
inline constexpr int scalar_sizes = 17;

/// Whether facts about this type lie in such a table, at [code][bits / 8].
inline bool is_tabled(DType d) noexcept {
  return d.attributes == 0 && d.count == 1 && static_cast<unsigned>(d.code) < scalar_codes && d.bits % 8 == 0 &&
         d.bits / 8 < scalar_sizes;
}
/// The slot of any type in a direct-mapped cache of that many.
inline unsigned slot_of(DType d, unsigned slots) noexcept {
  std::uint64_t key;
  std::memcpy(&key, &d, sizeof key);
  return static_cast<unsigned>((key ^ key >> 8 ^ key >> 16 ^ key >> 32) % slots);
}

struct ArrayObject;

/// Keywords of view(), and then the other ones of asarray() and its kin.
enum class Keyword : std::uint8_t { policy, device, dtype, ndim, order, writable, allow, copy, casting, out };
inline constexpr int view_keywords = 7;
inline constexpr int keyword_count = 10;

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

/// What stood for a dtype, and will again: a str, or a dtype object of a library.
struct KnownSpelling {
  PyObject* object = nullptr;
  DType dtype;
};
inline constexpr unsigned known_spellings_max = 64;

struct State {
  Context cx;
  CApi table = {};              ///< what extensions call; lives as long as anything that was made through it
  std::int64_t tables = 0;      ///< capsules of it that live
  PyObject* package = nullptr;  ///< name of the package that the engine's module is in
  PyInterpreterState* interpreter = nullptr;
  std::int64_t interpreter_id = -1;  ///< a later one may have the address of one that ended
  bool main_interpreter = true;
  bool closed = false;      ///< the module is gone; only arrays and exports that outlived it remain
  std::int64_t arrays = 0;  ///< Array objects that live
  std::int64_t handed = 0;  ///< DLPack structs over memory of others that consumers hold
  PyTypeObject* array_base = nullptr;
  PyTypeObject* array_types[device_families][capability_sets] = {};
  PyTypeObject* bytes_type = nullptr;  ///< exporter of an array's bytes, for pickles
  PyTypeObject* dtype_type = nullptr;
  PyTypeObject* policy_type = nullptr;
  PyTypeObject* served_type = nullptr;                       ///< what aa.exchange puts on classes
  PyObject* declared_method = nullptr;                       ///< "__anyarray__"
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
  PyObject* keywords[keyword_count] = {};                      ///< interned names, as Keyword counts them
  KnownNumpyDType known_numpy_dtypes[known_numpy_dtypes_max];  ///< direct-mapped
  KnownSpelling known_spellings[known_spellings_max];          ///< the same, by the object's address
};

struct ArrayObject {
  PyObject ob_base;
  PyObject* weakrefs;
  State* state;
  PyObject* dtype;       ///< DType, when first asked for
  std::int64_t shares;   ///< holders of the memory that outlive release(): DLPack structs, copies
  std::int32_t exports;  ///< buffers given out
  std::int32_t readers;  ///< calls that are reading the descriptor now
  bool released;
  bool exposed;       ///< its address was given to someone who holds only this object
  bool tensor_known;  ///< `tensor` is filled
  bool lendable;      ///< and the exchange table may lend it
  ArrayObject* next;  ///< in the list of free or waiting ones
  Borrow borrow;
  dlpack::Tensor tensor;  ///< for DLPack, which counts strides in elements; see array_tensor()
  std::uint64_t tensor_flags;
  std::int64_t element_strides[inline_ndim];  ///< of `tensor`; more of them are in a block of their own
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

/// Of this interpreter's engine. Null with an exception set.
State* state_here() noexcept;
/// What the engine's module is made from.
PyModuleDef& engine_definition() noexcept;
/// Of the module that made the type. Null with an exception set.
State* state_of_type(PyTypeObject* type) noexcept;

// functions.cpp
extern PyMethodDef module_functions[];

// package.cpp
/// Notes the name of the package that the module is in. False with an exception set.
bool package_init(State& s, PyObject* module) noexcept;
/// A new heap type. In the spec its name is that of a type of the package anyarray; it becomes one of the state's own.
/// Null with an exception set.
PyTypeObject* new_type(State& s, PyObject* module, const PyType_Spec& spec, PyTypeObject* base) noexcept;
/// A function of one of the package's modules ("errors"), imported when needed. New reference.
PyObject* package_function(State& s, const char* module, const char* name) noexcept;

// array_object.cpp
DeviceFamily device_family(DeviceType t) noexcept;
/// The slots that all Array types have.
int array_traverse(PyObject* self, visitproc visit, void* arg);
int array_clear(PyObject* self);
/// Memory for an Array, its type still unknown. Give it to array_adopt or array_discard. Null: MemoryError.
ArrayObject* array_reserve(State& s) noexcept;
PyObject* array_adopt(State& s, ArrayObject* a) noexcept;  ///< a->borrow is filled; gives the finished object
void array_discard(State& s, ArrayObject* a) noexcept;
void array_free_all(State& s) noexcept;  ///< empties the list of free ones
inline bool is_array(State& s, PyObject* o) noexcept { return Py_TYPE(o)->tp_base == s.array_base; }

inline ArrayObject* as_array(PyObject* o) noexcept { return reinterpret_cast<ArrayObject*>(o); }
void array_dealloc(PyObject* self);
/// Whether an object of any interpreter is an Array: all of its types, and no others, are freed by one function.
inline bool is_any_array(PyObject* o) noexcept { return Py_TYPE(o)->tp_dealloc == array_dealloc; }
/// The descriptor, or null with ValueError when the array was released.
const Descriptor* array_descriptor(ArrayObject* a) noexcept;
/// The same for protocols whose error is a BufferError: false with it set when the array was released.
bool can_export(ArrayObject* a) noexcept;
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
/// For someone who holds the memory where Python doesn't see it: the object stays, and its memory, released or not.
inline void share(ArrayObject* a) noexcept {
  Py_INCREF(reinterpret_cast<PyObject*>(a));
  ++a->shares;
}
/// Gives a share back. Keeps an exception that is set.
void unshare(ArrayObject* a) noexcept;
/// The same from any thread, with or without the GIL; where Python can't be entered any more, the memory is left to the
/// end of the process.
void unshare_from_anywhere(ArrayObject* a) noexcept;

// array_types.cpp
bool array_types_init(State& s, PyObject* module) noexcept;
/// The type that serves what the array's device and dtype can serve, and nothing else.
PyTypeObject* array_type_for(State& s, const Descriptor& d) noexcept;

// Method tables and slots of the Array types, one file each.
extern PyGetSetDef array_getset[];
extern PyGetSetDef array_interface_getset;       ///< __array_interface__
extern PyGetSetDef array_cuda_interface_getset;  ///< __cuda_array_interface__
extern PyGetSetDef array_struct_getset;          ///< __array_struct__
extern PyMethodDef array_methods[];
extern PyMethodDef array_dlpack_methods[];
extern PyMethodDef array_arrow_methods[];
PyObject* array_repr(PyObject* self);
PyObject* tuple_of(const std::int64_t* values, int n) noexcept;  ///< of int; new reference
Py_ssize_t array_length(PyObject* self);
int array_getbuffer(PyObject* self, Py_buffer* view, int flags);
void array_releasebuffer(PyObject* self, Py_buffer* view);
PyObject* array_copy(PyObject* self, PyObject*);
PyObject* array_deepcopy(PyObject* self, PyObject* memo);
PyObject* array_reduce(PyObject* self, PyObject*);
PyObject* array_reduce_ex(PyObject* self, PyObject* protocol);
/// Release function of a copy.copy(): token[0] is the Array whose memory it shares, a strong reference.
void release_copy(Borrow* b) noexcept;
/// The borrow that a copy.copy() shares; an array's own otherwise.
const Borrow& root_borrow(ArrayObject* a) noexcept;
/// Whether the host can read the memory; false with TypeError set, which says what can't be done.
bool host_can(ArrayObject* a, const Descriptor& d, const char* what) noexcept;
/// The array as DLPack says it, with strides in elements: kept in the array, valid as long as it isn't released. Null
/// with BufferError set.
const dlpack::Tensor* array_tensor(ArrayObject* a) noexcept;
/// A struct for a consumer, which owns it: a share of the array, in its deleter. Null with an exception set.
dlpack::ManagedTensorVersioned* array_export(ArrayObject* a) noexcept;
/// A legacy capsule whatever it can't say of the array, for convert(), which has made sure that the library doesn't
/// write where it mustn't. Null with an exception set.
PyObject* legacy_capsule(ArrayObject* a) noexcept;
/// The Array of this interpreter that a borrow over DLPack is a share of: where the collector must go on. Or null.
PyObject* exported_array(const State& s, const Borrow& b) noexcept;
/// The DLPack C exchange table of Arrays, one for all interpreters, and a capsule of it.
const dlpack::ExchangeApi& exchange_table() noexcept;
PyObject* exchange_capsule() noexcept;
bool bytes_type_init(State& s, PyObject* module) noexcept;
PyObject* array_from_bytes(PyObject* module, PyObject* const* args, Py_ssize_t nargs);
PyObject* has_buffer_slot(PyObject* module, PyObject* type);
/// Whether a `descr` can say the struct (fields in order, without overlap, each with a typestr).
bool has_descr_form(DType d) noexcept;
/// The `descr` of a struct that has one: a new list.
PyObject* descr_list(DType d) noexcept;
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
/// The Keyword of this name, or -1. Most names are interned, and so found by their address.
int find_keyword(const State& s, PyObject* name) noexcept;
/// Reads an order; None is any, and changes nothing. False with TypeError or ValueError set.
bool read_order(PyObject* o, Order* out) noexcept;
/// Reads one of view()'s. False with TypeError or ValueError set.
bool read_keyword(State& s, Keyword keyword, PyObject* value, ParsedRequest& out) noexcept;
/// ValueError where no row of the policy can give memory on the device that is asked for, whatever the object.
bool policy_serves(const Request& r) noexcept;
/// Whether there is one positional argument, the object; false with TypeError set.
bool is_one_object(const char* function, Py_ssize_t nargs) noexcept;
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
/// raise_trace() for what was to be done with the object: "view", or another action of errors.py.
PyObject* raise_failed(Context& cx, PyObject* obj, const Request* request, Status status, Trace& trace,
                       const char* action) noexcept;

// convert.cpp
PyObject* convert(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
/// convert() without keywords.
PyObject* convert_object(State& s, PyObject* x, PyObject* to) noexcept;
/// The same, or an Array, where `example` is of no library that arrays can be given to.
PyObject* convert_as_example(State& s, PyObject* x, PyObject* example) noexcept;
PyObject* register_target(PyObject* module, PyObject* args);
PyObject* to_exchange(PyObject* module, PyObject* args);
PyObject* to_ndarray(PyObject* module, PyObject* args);
PyObject* to_legacy_capsule(PyObject* module, PyObject* array);
PyObject* copy_of(PyObject* module, PyObject* array);
PyObject* overlap_of(PyObject* module, PyObject* array);

// asarray.cpp, copyto.cpp, empty.cpp
PyObject* asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* explain_asarray(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* copyto(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
PyObject* empty(PyObject* module, PyObject* args, PyObject* keywords);
PyObject* empty_like(PyObject* module, PyObject* args, PyObject* keywords);
PyObject* can_cast_objects(PyObject* module, PyObject* args, PyObject* keywords);
PyObject* promote_types(PyObject* module, PyObject* args);
PyObject* get_num_threads(PyObject* module, PyObject*);
PyObject* set_num_threads_object(PyObject* module, PyObject* number);

// explain.cpp
/// The preset that this policy is: not one that says the same, but the one that was named. "" for any other.
const char* preset_named(const Policy& p) noexcept;
PyObject* explain_object(State& s, PyObject* obj, const Request* request) noexcept;

// produced.cpp
/// Reads a sequence of ints, or (for a shape, with `one_is_enough`) one int: how many there were, at most max_ndim; -1
/// with an error set, which calls them `what`.
int read_integers(PyObject* o, const char* what, bool one_is_enough, std::int64_t* out) noexcept;
/// A new Array over memory of its maker's own; see CApi::produce. Null with ValueError or MemoryError.
PyObject* produce_array(State& s, const Descriptor& parts, PyObject* owner, void (*release)(void*),
                        void* what) noexcept;
/// Makes a borrow that produce() filled one of this interpreter, which keeps `owner`.
void own_produced(Context& cx, Borrow& b, PyObject* owner) noexcept;
PyObject* from_pointer(PyObject* module, PyObject* args, PyObject* keywords);

// exchange_class.cpp
bool served_type_init(State& s, PyObject* module) noexcept;
/// The Array types of a kind of device, a tuple; None for a kind means all.
PyObject* types_of_device(PyObject* module, PyObject* device);

// c_api.cpp
void c_api_fill(State& s) noexcept;
PyObject* c_api_capsule_new(State& s) noexcept;  ///< of the state's table

}  // namespace anyarray
