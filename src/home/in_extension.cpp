// SPDX-License-Identifier: Apache-2.0
// The engine built into an extension. Each interpreter that the extension is imported into has an engine of its own,
// with its state and cache, to the interpreter's end: what the extension made outlives the extension's module. Nothing
// of it has a name that another engine in the same process could have.
#include "src/home/built_in.h"
#include "src/python/home.h"

namespace anyarray {

/// Declared in anyarray/python.h, for import_anyarray().
const CApi* built_in_table(const char* extension) noexcept;

namespace {

/// What belongs to this interpreter and to this engine: borrowed; null without an exception where it isn't made yet.
PyObject* kept_engine(PyObject* dict, PyObject* key) noexcept {
  return dict != nullptr && key != nullptr ? PyDict_GetItemWithError(dict, key) : nullptr;
}

/// Of the interpreter: lives as long as it, and longer than all modules. Borrowed.
PyObject* interpreter_dict() noexcept { return PyInterpreterState_GetDict(PyInterpreterState_Get()); }
/// No other engine has this address.
PyObject* key_of_engine() noexcept { return PyLong_FromVoidPtr(&engine_definition()); }

PyObject* texts() noexcept {
  Ref all(PyDict_New());
  for (const BuiltInModule* m = built_in_modules; all && m->name != nullptr; ++m) {
    Ref text(PyUnicode_FromString(m->text));
    if (!text || PyDict_SetItemString(all.get(), m->name, text.get()) != 0) return nullptr;
  }
  return all.release();
}

/// What in_extension.py defines: a new dict.
PyObject* run_importer() noexcept {
  Ref names(PyDict_New());
  if (!names || PyDict_SetItemString(names.get(), "__builtins__", PyEval_GetBuiltins()) != 0) return nullptr;
  Ref code(Py_CompileString(built_in_importer, "anyarray/in_extension.py", Py_file_input));
  Ref done(code ? PyEval_EvalCode(code.get(), names.get(), names.get()) : nullptr);
  return done ? names.release() : nullptr;
}

/// Makes the engine's module and its package, which the module then has as `_package`. New reference.
PyObject* make_engine(const char* extension) noexcept {
  Ref importer(run_importer());
  if (!importer) return nullptr;
  const auto function = [&importer](const char* name) { return PyDict_GetItemString(importer.get(), name); };
  Ref spec(PyObject_CallFunction(function("spec_of_engine"), "s", extension));
  Ref engine(spec ? PyModule_FromDefAndSpec(&engine_definition(), spec.get()) : nullptr);
  if (!engine || PyModule_ExecDef(engine.get(), &engine_definition()) != 0) return nullptr;
  Ref modules(texts());
  Ref package(modules ? PyObject_CallFunction(function("package_around"), "OO", engine.get(), modules.get()) : nullptr);
  return package && PyModule_AddObjectRef(engine.get(), "_package", package.get()) == 0 ? engine.release() : nullptr;
}

/// Puts both where imports find them; again, should somebody have taken them out.
bool show(PyObject* engine) noexcept {
  PyObject* modules = PyImport_GetModuleDict();
  Ref name(PyModule_GetNameObject(engine));
  Ref package(PyObject_GetAttrString(engine, "_package"));
  return name && package && PyDict_SetDefault(modules, name.get(), engine) != nullptr &&
         PyDict_SetDefault(modules, state_of_module(engine).package, package.get()) != nullptr;
}

}  // namespace

PyObject* engine_module() noexcept {
  Ref key(key_of_engine());
  PyObject* engine = kept_engine(interpreter_dict(), key.get());
  if (engine == nullptr && PyErr_Occurred() == nullptr) {
    PyErr_SetString(PyExc_ImportError,
                    "the extension that this engine is built into wasn't imported into this interpreter");
  }
  return Py_XNewRef(engine);
}

bool settle(State&, PyObject*) noexcept { return true; }

const CApi* built_in_table(const char* extension) noexcept {
  PyObject* dict = interpreter_dict();
  Ref key(key_of_engine());
  if (dict == nullptr || !key) {
    if (PyErr_Occurred() == nullptr) PyErr_NoMemory();
    return nullptr;
  }
  PyObject* engine = kept_engine(dict, key.get());
  if (engine == nullptr) {
    if (PyErr_Occurred() != nullptr) return nullptr;
    Ref made(make_engine(extension));
    // Another thread may have been here meanwhile: the first one's stays.
    engine = made ? PyDict_SetDefault(dict, key.get(), made.get()) : nullptr;
  }
  return engine != nullptr && show(engine) ? &state_of_module(engine).table : nullptr;
}

}  // namespace anyarray
