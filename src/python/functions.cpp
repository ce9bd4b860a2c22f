// SPDX-License-Identifier: Apache-2.0
// The functions of the engine's module: view() and the small ones, and the table of all with what help() says.
#include "src/engine/fast.h"
#include "src/python/state.h"
#include "src/quirks/quirks.h"

namespace anyarray {
namespace {

template <class F>
PyCFunction as_cfunction(F* f) noexcept {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

__attribute__((noinline)) PyObject* view_with_keywords(State& s, PyObject* const* args, Py_ssize_t nargs,
                                                       PyObject* kwnames) noexcept {
  ParsedRequest parsed;
  if (!parse_request(s, "view", args, nargs, kwnames, parsed)) return nullptr;
  ArrayObject* a = array_reserve(s);
  if (a == nullptr) return nullptr;
  if (take_as_asked(s.cx, args[0], &parsed.request, a->borrow, raise_trace) == Status::ok) return array_adopt(s, a);
  array_discard(s, a);
  return nullptr;
}

PyObject* view(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& s = state_of_module(module);
  if (__builtin_expect(nargs != 1 || kwnames != nullptr || s.cx.current_policy != nullptr, 0)) {
    return view_with_keywords(s, args, nargs, kwnames);
  }
  ArrayObject* a = array_reserve(s);
  if (__builtin_expect(a == nullptr, 0)) return nullptr;
  if (__builtin_expect(take_quick(s.cx, args[0], a->borrow, raising_call) == Status::ok, 1)) return array_adopt(s, a);
  array_discard(s, a);
  return nullptr;
}

PyObject* explain(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& s = state_of_module(module);
  ParsedRequest parsed;
  if (!parse_request(s, "explain", args, nargs, kwnames, parsed)) return nullptr;
  return explain_object(s, args[0], &parsed.request);
}

PyObject* live(PyObject* module, PyObject*) { return PyLong_FromLongLong(state_of_module(module).cx.live); }
PyObject* quirks_table(PyObject* module, PyObject*) { return quirks::table(state_of_module(module).cx); }

PyObject* protocols(PyObject*, PyObject*) {
  Ref all(PyTuple_New(protocol_count));
  for (int i = 0; all && i < protocol_count; ++i) {
    const ProtocolRow& r = protocol_rows[i];
    PyObject* row = Py_BuildValue("(ssNNs)", r.name, r.attribute, PyBool_FromLong(r.traits & row_mirror),
                                  PyBool_FromLong(r.traits & row_type_only), r.text);
    if (row == nullptr) return nullptr;
    PyTuple_SET_ITEM(all.get(), i, row);
  }
  return all.release();
}

PyObject* preset_table(PyObject* module, PyObject*) {
  State& s = state_of_module(module);
  Ref all(PyDict_New());
  for (int i = 0; all && i < preset_count; ++i) {
    Ref policy(PyObject_CallFunction(reinterpret_cast<PyObject*>(s.policy_type), "s", presets[i].name));
    Ref row(policy ? Py_BuildValue("(Os)", policy.get(), presets[i].text) : nullptr);
    if (!row || PyDict_SetItemString(all.get(), presets[i].name, row.get()) < 0) return nullptr;
  }
  return all.release();
}

PyObject* consumer_table(PyObject* module, PyObject*) {
  State& s = state_of_module(module);
  Ref all(PyDict_New());
  for (int i = 0; all && i < preset_count; ++i) {
    const Preset& p = presets[i];
    if (p.consumer[0] == '\0') continue;
    Ref row(Py_BuildValue("{s:N,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:O}", "policy", policy_object(s, p.policy), "text", p.text,
                          "consumer", p.consumer, "steps", p.steps, "handshake", p.handshake, "nothing", p.nothing,
                          "versions", p.versions, "source", p.source, "runs", p.runs ? Py_True : Py_False));
    if (!row || PyDict_SetItemString(all.get(), p.name, row.get()) < 0) return nullptr;
  }
  return all.release();
}

/// "cuda:1" → (2, 1). A kind without a number is its first device.
PyObject* parse_device_text(PyObject*, PyObject* text) {
  Device d;
  if (!device_from_object(text, &d)) return nullptr;
  return Py_BuildValue("(ii)", static_cast<int>(d.type), d.id < 0 ? 0 : static_cast<int>(d.id));
}

PyObject* device_text(PyObject*, PyObject* pair) {
  Device d;
  if (!device_from_object(pair, &d)) return nullptr;
  char text[32];
  format_device(d, text, sizeof text);
  return PyUnicode_FromString(text);
}

PyObject* raw_interface(PyObject* module, PyObject* array) {
  if (!is_array(state_of_module(module), array)) return PyErr_Format(PyExc_TypeError, "an Array is needed");
  return interface_dict(as_array(array), true);
}

}  // namespace

PyMethodDef module_functions[] = {
    {"view", as_cfunction(view), METH_FASTCALL | METH_KEYWORDS,
     "view($module, obj, /, *, policy=None, device=None, dtype=None, ndim=None, order=None, writable=False, "
     "allow=())\n--\n\n"
     "Takes any array over whichever protocol it offers, without a copy.\n\n"
     "Parameters\n----------\n"
     "obj : object\n    An array of any library, or anything that offers an exchange protocol.\n"
     "policy : None, str, list of str, or Policy\n    The order of tries: a preset's name, names of protocols, or a "
     "Policy.\n"
     "device : None, str, tuple, or Device\n    Required device; \"cuda\" without a number means any of that kind.\n"
     "dtype : None, DType, str, or a dtype of NumPy, torch, JAX or ml_dtypes\n    Required element type; nothing is "
     "converted.\n"
     "ndim : None or int\n    Required number of dimensions.\n"
     "order : None, 'C', 'F' or 'A'\n    Required memory order.\n"
     "writable : bool\n    Whether the memory must be writable.\n"
     "allow : str or iterable of str\n    Guards to waive: 'mask', 'grad', 'conj', 'neg'.\n\n"
     "Returns\n-------\n"
     "Array\n    Keeps obj's memory alive until its release() or its end.\n\n"
     "Raises\n------\n"
     "NotAnArrayError\n    obj offers no protocol.\n"
     "ExchangeError\n    Nothing that obj offers could be taken, or it isn't what was asked for; .attempts says why.\n"
     "ValueError, TypeError\n    A keyword is wrong.\n"},
    {"explain", as_cfunction(explain), METH_FASTCALL | METH_KEYWORDS,
     "explain($module, obj, /, *, policy=None, device=None, dtype=None, ndim=None, order=None, writable=False, "
     "allow=())\n--\n\n"
     "What view() does with obj, protocol by protocol. Takes the same keywords; holds nothing afterwards.\n\n"
     "Returns\n-------\n"
     "Explanation\n    Its str() is a table.\n"},
    {"from_pointer", as_cfunction(from_pointer), METH_VARARGS | METH_KEYWORDS,
     "from_pointer($module, ptr, shape, dtype, *, strides=None, device='cpu', readonly=False, owner)\n--\n\n"
     "An Array over memory that the caller owns, given by its address. A wrong address is a crash, as with ctypes.\n\n"
     "Parameters\n----------\n"
     "ptr : int\n    Address of element [0, ..., 0] on the device; aligned for the dtype. 0 only without elements.\n"
     "shape : tuple of int, or int\n    Extents in elements.\n"
     "dtype : DType, str, or a dtype of NumPy, torch, JAX or ml_dtypes\n    What the elements are.\n"
     "strides : None or tuple of int\n    Steps in bytes; None: C order.\n"
     "device : str, tuple, or Device\n    Where the memory lies.\n"
     "readonly : bool\n    Whether the memory must not be written.\n"
     "owner : object\n    Kept as long as the array or anything made of it; it must keep the memory. None: the memory "
     "is there for good.\n\n"
     "Returns\n-------\nArray\n\n"
     "Raises\n------\n"
     "ValueError\n    An address, extent or stride that can't be valid: NULL with elements, not aligned, sizes that "
     "overflow.\n"
     "TypeError\n    An argument of the wrong kind, or no owner.\n\n"
     "Raises the audit event anyarray.from_pointer with ptr, shape, dtype.\n"},
    {"convert", as_cfunction(convert), METH_FASTCALL | METH_KEYWORDS,
     "convert($module, obj, to, /, *, copy=None, allow=None)\n--\n\n"
     "Gives an array of any library to another one, without a copy where both can mean the same by the memory.\n\n"
     "Parameters\n----------\n"
     "obj : object\n    An array of any library, or anything that offers an exchange protocol.\n"
     "to : str, module, type, or an array\n    The library: its name (\"numpy\", \"torch\", ...), its module, its "
     "array type, or one of its arrays.\n"
     "copy : None, True or False\n    None: only where the library can't hold the memory as it is. True: always. "
     "False: never; what would need one is refused.\n"
     "allow : None, str or iterable of str\n    Guards to waive: 'mask', 'grad', 'conj', 'neg'.\n\n"
     "Returns\n-------\n"
     "object\n    An array of that library; obj itself where it is one. explain_convert() says which way it went.\n\n"
     "Raises\n------\n"
     "ExchangeError\n    obj can't be taken, the library has no such dtype, or a copy is needed and copy=False.\n"
     "ImportError\n    The library isn't installed.\n"
     "ValueError, TypeError\n    `to` stands for no library that is known, or a keyword is wrong.\n"},
    {"asarray", as_cfunction(asarray), METH_FASTCALL | METH_KEYWORDS,
     "asarray($module, obj, /, *, dtype=None, device=None, copy=None, order=None, policy=None, casting='same_kind', "
     "out=None, allow=())\n--\n\n"
     "Makes an Array of any array, over whichever protocol it offers, or of Python's numbers and nested sequences.\n\n"
     "As asarray of the array API standard 2025.12, and like NumPy's: what can be shown as it lies is, the rest is "
     "converted.\n\n"
     "Parameters\n----------\n"
     "obj : object\n    An array of any library, a number, or a nested sequence of numbers and arrays.\n"
     "dtype : None, DType, str, or a dtype of NumPy, torch, JAX or ml_dtypes\n    What the elements are to be; None: "
     "as they are, and of Python objects the least that holds all.\n"
     "device : None, str, tuple, or Device\n    Where the result is to lie; memory isn't moved between devices.\n"
     "copy : None, True or False\n    None: only where it is needed. True: always. False: never.\n"
     "order : None, 'C', 'F' or 'A'\n    Memory order of the result. None, 'A': as it is; new memory is row-major, "
     "but column-major\n    where obj is.\n"
     "policy : None, str, list of str, or Policy\n    The order of tries, as of view().\n"
     "casting : str\n    Which changes of dtype may be made: 'no', 'equiv', 'safe', 'same_kind', 'same_value', or "
     "'unsafe', which is\n    what NumPy's asarray allows unasked.\n"
     "out : None or an array of any library\n    Writable memory of the host, of the same shape, that is filled and "
     "returned. dtype, order and device are\n    then what it must be already; copy=False contradicts it.\n"
     "allow : str or iterable of str\n    Guards to waive: 'mask', 'grad', 'conj', 'neg'.\n\n"
     "Returns\n-------\n"
     "Array\n    obj itself where it is an Array that needs no change; `out` where that was given. New memory belongs "
     "to "
     "it\n    alone; otherwise it keeps obj's memory alive until its release() or its end.\n\n"
     "Raises\n------\n"
     "CopyError\n    A copy is needed, and copy=False. A ValueError.\n"
     "CastError\n    casting forbids the change, or a value doesn't fit. A TypeError; CastOverflowError for a Python "
     "int out of range.\n"
     "SequenceError\n    A ragged sequence, one too deep, or an element that is no number. A ValueError.\n"
     "NotAnArrayError\n    obj is no array, number or sequence.\n"
     "ExchangeError\n    The base of these, and what view() raises.\n"
     "ValueError, TypeError\n    A keyword is wrong, or contradicts another; `out` has another shape.\n"},
    {"explain_asarray", as_cfunction(explain_asarray), METH_FASTCALL | METH_KEYWORDS,
     "explain_asarray($module, obj, /, *, dtype=None, device=None, copy=None, order=None, policy=None, "
     "casting='same_kind', out=None, allow=())\n--\n\n"
     "What asarray() does with obj: over which protocol it is taken, and whether and why it is copied. Takes the same "
     "keywords;\nconverts, and drops the result (out is filled).\n\n"
     "Returns\n-------\n"
     "Conversion\n    Its str() is for people. An ExchangeError that asarray() raises is in it.\n\n"
     "Raises\n------\n"
     "ValueError, TypeError\n    As asarray(), for wrong keywords and shapes.\n"},
    {"copyto", as_cfunction(copyto), METH_FASTCALL | METH_KEYWORDS,
     "copyto($module, dst, src, /, *, casting='same_kind', policy=None, allow=())\n--\n\n"
     "Writes the elements of src to dst, repeated along dimensions of extent 1. The two may overlap.\n\n"
     "Both are held for the call alone. Large copies give up the GIL.\n\n"
     "Parameters\n----------\n"
     "dst : object\n    An array of any library, in writable memory of the host.\n"
     "src : object\n    What asarray() takes.\n"
     "casting : str\n    Which changes of dtype may be made: 'no', 'equiv', 'safe', 'same_kind', 'same_value', "
     "'unsafe'.\n"
     "policy : None, str, list of str, or Policy\n    The order of tries for both.\n"
     "allow : str or iterable of str\n    Guards that are waived for both, as in view().\n\n"
     "Raises\n------\n"
     "CastError\n    casting forbids the change of dtype, or a value doesn't fit.\n"
     "ExchangeError\n    As asarray(); or dst is read-only, no array, or not in memory of the host, or its elements "
     "share memory.\n"
     "ValueError, TypeError\n    The shapes don't fit, or a keyword is wrong.\n\n"
     "On every error nothing was written.\n"},
    {"empty", as_cfunction(empty), METH_VARARGS | METH_KEYWORDS,
     "empty($module, shape, /, dtype='float64', *, order='C')\n--\n\n"
     "New memory on the host, not initialised, writable, aligned to 64 bytes.\n\n"
     "Parameters\n----------\n"
     "shape : int or sequence of int\n    Extents in elements.\n"
     "dtype : None, DType, str, or a dtype of NumPy, torch, JAX or ml_dtypes\n    None: float64.\n"
     "order : None, 'C', 'F' or 'A'\n    Memory order; None and 'A' are 'C'.\n\n"
     "Returns\n-------\nArray\n    The memory is freed with it, and what was made of it.\n\n"
     "Raises\n------\n"
     "ValueError\n    An extent below 0, more than 64 dimensions, an unknown dtype, or elements packed below a byte in "
     "F "
     "order.\n"
     "MemoryError\n    So much memory isn't there.\n"},
    {"empty_like", as_cfunction(empty_like), METH_VARARGS | METH_KEYWORDS,
     "empty_like($module, x, /, *, dtype=None, order=None)\n--\n\n"
     "New memory as empty() makes it, of the shape, dtype and order of an array of any library.\n\n"
     "Parameters\n----------\n"
     "x : object\n    An array, as view() takes it, in memory that the host can read; no sequence.\n"
     "dtype : None, DType, str, or a dtype of NumPy, torch, JAX or ml_dtypes\n    None: that of x.\n"
     "order : None, 'C', 'F' or 'A'\n    None, 'A': column-major where x is so and not row-major, else row-major.\n\n"
     "Returns\n-------\nArray\n\n"
     "Raises\n------\n"
     "ExchangeError\n    What view() raises for x.\n"
     "ValueError, MemoryError\n    As empty().\n"},
    {"can_cast", as_cfunction(can_cast_objects), METH_VARARGS | METH_KEYWORDS,
     "can_cast($module, from_, to, /, casting='safe')\n--\n\n"
     "Whether copies turn one dtype into another under a rule, as NumPy's can_cast.\n\n"
     "Parameters\n----------\n"
     "from_, to : dtype or Array\n    Anything that view() takes as dtype.\n"
     "casting : str\n    'no', 'equiv', 'safe', 'same_kind', 'same_value' (which looks at values later) or "
     "'unsafe'.\n\n"
     "Returns\n-------\nbool\n\n"
     "Raises\n------\nValueError, TypeError\n    No dtype, or no such rule.\n"},
    {"promote_types", promote_types, METH_VARARGS,
     "promote_types($module, a, b, /)\n--\n\n"
     "The smallest dtype that both can be cast to, as the array API standard and NumPy have it.\n\n"
     "Parameters\n----------\n"
     "a, b : dtype or Array\n    Anything that view() takes as dtype.\n\n"
     "Returns\n-------\nDType\n    In the machine's byte order.\n\n"
     "Raises\n------\nTypeError\n    There is none, or an argument is no dtype.\n"
     "ValueError\n    A name that is no dtype's.\n"},
    {"get_num_threads", get_num_threads, METH_NOARGS,
     "get_num_threads($module, /)\n--\n\nOn how many threads copies of a megabyte and more may run.\n\n"
     "Returns\n-------\nint\n"},
    {"set_num_threads", set_num_threads_object, METH_O,
     "set_num_threads($module, n, /)\n--\n\n"
     "Sets on how many threads copies of a megabyte and more may run, in this process.\n\n"
     "Parameters\n----------\n"
     "n : int or None\n    At least 1; more than 1024 are 1024. None: what it was at first, the CPUs that the process "
     "may use, or what "
     "ANYARRAY_NUM_THREADS or\n    OMP_NUM_THREADS says.\n\n"
     "Returns\n-------\nint\n    What it was before.\n\n"
     "Raises\n------\nValueError, TypeError\n    A number below 1, or none.\n"},
    {"protocols", protocols, METH_NOARGS,
     "protocols($module, /)\n--\n\nThe registry: tuples (name, attribute, may be a host mirror, looked up on the type "
     "alone, text)."},
    {"presets", preset_table, METH_NOARGS,
     "presets($module, /)\n--\n\nThe named policies: a dict {name: (policy, text)}.\n\n"
     "name : str\n    What policy= takes.\n"
     "policy : Policy\n    Its fields are order, lookup, on_failure, device_first, device_method and final.\n"
     "text : str\n    The preset in one sentence.\n"},
    {"consumers", consumer_table, METH_NOARGS,
     "consumers($module, /)\n--\n\nThe presets that imitate a consumer: a dict {name: dict}, whose values are\n\n"
     "policy : Policy\n    Its order, and what ends it.\n"
     "text : str\n    In one sentence.\n"
     "consumer : str\n    The function or type that is imitated.\n"
     "steps : str\n    All that it looks for, in order: protocols, and \"=words\" for what isn't one of anyarray's.\n"
     "handshake : str\n    Keywords of each call of __dlpack__; what follows a \"/\" is tried after a TypeError. "
     "\"?stream\" is given\n    for memory of a device alone; after \"max_version!\" a legacy capsule is refused.\n"
     "nothing : str\n    What it does with an object that offers nothing.\n"
     "versions, source : str\n    The versions in which this was seen, and where.\n"
     "runs : bool\n    Whether it is checked against the installed library; otherwise it was read from source.\n"},
    {"quirks_table", quirks_table, METH_NOARGS,
     "quirks_table($module, /)\n--\n\nWhat is known of single libraries: a list of dicts whose values are str.\n\n"
     "id\n    Name of the quirk.\n"
     "library, type\n    The module and the type that it is about.\n"
     "versions\n    Versions of the library that have it, as in \">=0.10,<0.11\"; \"\" for all.\n"
     "effect\n    'guard' may refuse the array, 'readonly' marks it so, 'drop' passes over a protocol, 'hook' reads it "
     "another way.\n"
     "text\n    What the library does.\n"
     "reference\n    With which version it was measured, and its issue.\n"},
    {"get_default_policy", get_default_policy, METH_NOARGS,
     "get_default_policy($module, /)\n--\n\nThe policy that holds here and now where none is named.\n\n"
     "Returns\n-------\nPolicy\n"},
    {"set_default_policy", set_default_policy, METH_O,
     "set_default_policy($module, policy, /)\n--\n\n"
     "Makes a policy the one that holds in this interpreter where none is named, for C callers too.\n\n"
     "Parameters\n----------\n"
     "policy : None, str, list of str, or Policy\n    None: the library's own again.\n\n"
     "Returns\n-------\nPolicy\n    The one that held before.\n"},
    {"_scope_policy", scope_policy, METH_O, nullptr},
    {"_unscope_policy", unscope_policy, METH_O, nullptr},
    {"_live", live, METH_NOARGS, "_live($module, /)\n--\n\nBorrows that are held now in this interpreter."},
    {"_parse_device", parse_device_text, METH_O, nullptr},
    {"_device_text", device_text, METH_O, nullptr},
    {"_raw_interface", raw_interface, METH_O, nullptr},
    {"_types_of_device", types_of_device, METH_O, nullptr},
    {"_from_bytes", as_cfunction(array_from_bytes), METH_FASTCALL, nullptr},
    {"_has_buffer_slot", has_buffer_slot, METH_O, nullptr},
    {"_register_target", register_target, METH_VARARGS, nullptr},
    {"_to_exchange", to_exchange, METH_VARARGS, nullptr},
    {"_to_ndarray", to_ndarray, METH_VARARGS, nullptr},
    {"_to_legacy_capsule", to_legacy_capsule, METH_O, nullptr},
    {"_copy_of", copy_of, METH_O, nullptr},
    {"_overlaps", overlap_of, METH_O, nullptr},
    {"_struct_dtype", dtype_struct, METH_VARARGS, nullptr},
    {"_subarray_dtype", dtype_subarray, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace anyarray
