// SPDX-License-Identifier: Apache-2.0
// The engine's module, _core: made in two phases, with its state per interpreter; view() and the small functions.
#include <new>

#include "src/engine/fast.h"
#include "src/python/home.h"
#include "src/python/state.h"
#include "src/quirks/quirks.h"
#include "src/support/numpy_struct.h"

namespace anyarray {

namespace {

struct ModuleState {
  State* state;
};

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
  if (take_as_asked(s.cx, args[0], &parsed.request, a->borrow, true) == Status::ok) return array_adopt(s, a);
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

PyMethodDef functions[] = {
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

bool names_init(Names& n) noexcept {
  bool ok = true;
  const auto intern = [&ok](const char* text) {
    PyObject* name = PyUnicode_InternFromString(text);
    ok &= name != nullptr;
    return name;
  };
  for (int i = 0; i < protocol_count; ++i) {
    n.row_attribute[i] = *protocol_rows[i].attribute != '\0' ? intern(protocol_rows[i].attribute) : nullptr;
  }
  n.dlpack_device = intern("__dlpack_device__");
  n.max_version = intern("max_version");
  n.dl_device = intern("dl_device");
  n.stream = intern("stream");
  n.copy = intern("copy");
  n.shape = intern("shape");
  n.typestr = intern("typestr");
  n.data = intern("data");
  n.strides = intern("strides");
  n.descr = intern("descr");
  n.offset = intern("offset");
  n.mask = intern("mask");
  n.version = intern("version");
  n.syclobj = intern("syclobj");
  if (!ok) return false;
  n.kw_max_version = PyTuple_Pack(1, n.max_version);
  n.kw_copy = PyTuple_Pack(1, n.copy);
  n.our_version = Py_BuildValue("(II)", dlpack::our_version.major, dlpack::our_version.minor);
  return n.kw_max_version != nullptr && n.kw_copy != nullptr && n.our_version != nullptr;
}

/// Calls `f` with every reference that the state holds.
template <class F>
void each_reference(State& s, F&& f) noexcept {
  f(s.package);
  f(s.array_base);
  for (auto& row : s.array_types) {
    for (PyTypeObject*& t : row) f(t);
  }
  f(s.bytes_type);
  f(s.dtype_type);
  f(s.policy_type);
  f(s.served_type);
  f(s.declared_method);
  f(s.scoped_policy);
  f(s.dtypes);
  for (auto& row : s.scalar_dtypes) {
    for (PyObject*& d : row) f(d);
  }
  f(s.device_class);
  f(s.cpu);
  for (FastTarget& t : s.fast_targets) {
    f(t.key);
    f(t.type);
  }
  for (KnownNumpyDType& known : s.known_numpy_dtypes) f(known.object);
}

void names_clear(Names& n) noexcept {
  for (PyObject*& name : n.row_attribute) Py_CLEAR(name);
  for (PyObject** p :
       {&n.dlpack_device, &n.max_version, &n.dl_device, &n.stream, &n.copy, &n.shape, &n.typestr, &n.data, &n.strides,
        &n.descr, &n.offset, &n.mask, &n.version, &n.syclobj, &n.kw_max_version, &n.kw_copy, &n.our_version}) {
    Py_CLEAR(*p);
  }
}

State* state_or_null(PyObject* module) noexcept {
  auto* m = static_cast<ModuleState*>(PyModule_GetState(module));
  return m != nullptr ? m->state : nullptr;
}

int module_traverse(PyObject* module, visitproc visit, void* arg) {
  State* s = state_or_null(module);
  if (s == nullptr) return 0;
  int result = 0;
  each_reference(*s, [&](auto*& p) {
    if (result == 0 && p != nullptr) result = visit(reinterpret_cast<PyObject*>(p), arg);
  });
  return result;
}

// The types stay until module_free: arrays that outlive the module's dict still need them to be freed.
int module_clear(PyObject* module) {
  State* s = state_or_null(module);
  if (s == nullptr) return 0;
  Py_CLEAR(s->dtypes);
  Py_CLEAR(s->device_class);
  Py_CLEAR(s->cpu);
  s->cx.current_policy = nullptr;
  Py_CLEAR(s->scoped_policy);
  s->n_fast_targets = 0;
  for (FastTarget& t : s->fast_targets) {
    Py_CLEAR(t.key);
    Py_CLEAR(t.type);
  }
  for (KnownNumpyDType& known : s->known_numpy_dtypes) Py_CLEAR(known.object);
  return 0;
}

void module_free(void* module) {
  State* s = state_or_null(static_cast<PyObject*>(module));
  if (s == nullptr) return;
  static_cast<ModuleState*>(PyModule_GetState(static_cast<PyObject*>(module)))->state = nullptr;
  array_free_all(*s);
  s->closed = true;
  state_collect(s);
}

int module_exec(PyObject* module) {
  auto* m = static_cast<ModuleState*>(PyModule_GetState(module));
  auto* s = new (std::nothrow) State();
  if (s == nullptr) {
    PyErr_NoMemory();
    return -1;
  }
  m->state = s;
  s->cx.python = s;
  s->interpreter = PyInterpreterState_Get();
  s->interpreter_id = PyInterpreterState_GetID(s->interpreter);
  s->main_interpreter = s->interpreter == PyInterpreterState_Main();
  c_api_fill(*s);
  if (!package_init(*s, module) || !names_init(s->cx.names) || !dtype_type_init(*s, module) ||
      !policy_type_init(*s, module) || !array_types_init(*s, module) || !bytes_type_init(*s, module) ||
      !served_type_init(*s, module) || !engine_init(s->cx)) {
    return -1;
  }
  // Added here, not by the definition: a module that was made but not executed has none that could be called.
  return PyModule_AddFunctions(module, functions) == 0 && settle(*s, module) ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(module_exec)},
#if PY_VERSION_HEX >= 0x030C0000
                            {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
                            {0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "anyarray._core", "The engine of anyarray.",
                          sizeof(ModuleState),   nullptr,          slots,
                          module_traverse,       module_clear,     module_free};

}  // namespace

State& state_of_module(PyObject* module) noexcept {
  return *static_cast<ModuleState*>(PyModule_GetState(module))->state;
}

State* state_here() noexcept {
  const Ref module(engine_module());
  if (!module) return nullptr;
  if (PyModule_Check(module.get()) && PyModule_GetDef(module.get()) == &definition) {
    if (State* s = state_or_null(module.get()); s != nullptr) return s;
  }
  PyErr_SetString(PyExc_ImportError, "anyarray._core in sys.modules isn't the module that it was");
  return nullptr;
}

PyModuleDef& engine_definition() noexcept { return definition; }

State* state_of_type(PyTypeObject* type) noexcept {
  PyObject* module = PyType_GetModule(type);
  return module != nullptr ? &state_of_module(module) : nullptr;
}

void state_collect(State* s) noexcept {
  if (s->cx.live != 0 || s->arrays != 0 || s->handed != 0 || s->tables != 0) return;
  each_reference(*s, [](auto*& p) { Py_XDECREF(reinterpret_cast<PyObject*>(std::exchange(p, nullptr))); });
  engine_clear(s->cx);
  quirks::clear(s->cx);
  numpy_clear(s->cx);
  names_clear(s->cx.names);
  delete s;
}

}  // namespace anyarray
