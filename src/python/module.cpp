// SPDX-License-Identifier: Apache-2.0
// The engine's module, _core: made in two phases, with its state per interpreter.
#include <new>

#include "src/python/home.h"
#include "src/python/state.h"
#include "src/quirks/quirks.h"
#include "src/support/numpy_struct.h"

namespace anyarray {

namespace {

struct ModuleState {
  State* state;
};

bool keywords_init(State& s) noexcept {
  static constexpr const char* names[keyword_count] = {"policy",   "device", "dtype", "ndim",    "order",
                                                       "writable", "allow",  "copy",  "casting", "out"};
  for (int i = 0; i < keyword_count; ++i) {
    s.keywords[i] = PyUnicode_InternFromString(names[i]);
    if (s.keywords[i] == nullptr) return false;
  }
  return true;
}

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
  for (KnownSpelling& known : s.known_spellings) f(known.object);
  for (PyObject*& name : s.keywords) f(name);
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
  for (KnownSpelling& known : s->known_spellings) Py_CLEAR(known.object);
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
  if (!package_init(*s, module) || !names_init(s->cx.names) || !keywords_init(*s) || !dtype_type_init(*s, module) ||
      !policy_type_init(*s, module) || !array_types_init(*s, module) || !bytes_type_init(*s, module) ||
      !served_type_init(*s, module) || !engine_init(s->cx)) {
    return -1;
  }
  // Added here, not by the definition: a module that was made but not executed has none that could be called.
  return PyModule_AddFunctions(module, module_functions) == 0 && settle(*s, module) ? 0 : -1;
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
