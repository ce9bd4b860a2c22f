// SPDX-License-Identifier: Apache-2.0
// Every function of the C table, called as an extension that links nothing calls it.
#include <anyarray/python.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

static const anyarray::CApi* api;

namespace {

PyObject* tuple_of(int n, const std::int64_t* values) {
  PyObject* tuple = PyTuple_New(n);
  for (int i = 0; tuple != nullptr && i < n; ++i) PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(values[i]));
  return tuple;
}

/// What a descriptor says, and what it derives without any function of the library.
PyObject* facts_of(const anyarray::Descriptor& d) {
  PyObject* strides = d.strides != nullptr ? tuple_of(d.ndim, d.strides) : Py_NewRef(Py_None);
  return Py_BuildValue("{s:K,s:N,s:N,s:i,s:L,s:L,s:L,s:O,s:O,s:O,s:i}", "ptr",
                       static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(d.data)), "shape",
                       tuple_of(d.ndim, d.shape), "strides", strides, "code", static_cast<int>(d.dtype.code),
                       "itemsize", static_cast<long long>(d.dtype.itemsize()), "size", static_cast<long long>(d.size()),
                       "nbytes", static_cast<long long>(d.nbytes()), "readonly", d.readonly() ? Py_True : Py_False,
                       "c_contiguous", d.c_contiguous() ? Py_True : Py_False, "f_contiguous",
                       d.f_contiguous() ? Py_True : Py_False, "device", static_cast<int>(d.device.type));
}

/// facts(x, allow=0): the facts, or the word of the status without an exception.
PyObject* facts(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  anyarray::Request request;
  if (!PyArg_ParseTuple(args, "O|I", &x, &request.allow)) return nullptr;
  anyarray::Borrow b;
  const anyarray::Status s = api->borrow(api->context, x, request.allow != 0 ? &request : nullptr, &b);
  if (s == anyarray::Status::interrupted) return nullptr;
  PyObject* result =
      s == anyarray::Status::ok ? facts_of(b.desc) : PyUnicode_FromString(api->status_text(api->context, s));
  api->release(api->context, &b);  // of one that holds nothing too
  api->release(api->context, &b);
  api->release(api->context, nullptr);
  return result;
}

/// array(x, preset): borrows under a preset, then hands the borrow over to an aa.Array.
PyObject* array(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(args, "Os", &x, &name)) return nullptr;
  anyarray::Request request;
  request.policy = api->preset(api->context, name);
  if (request.policy == nullptr) return PyErr_Format(PyExc_ValueError, "no preset %s", name);
  anyarray::Borrow b;
  if (api->borrow_or_raise(api->context, x, &request, &b) != anyarray::Status::ok) return nullptr;
  PyObject* result = api->to_array(api->context, &b);
  api->release(api->context, &b);
  return result;
}

PyObject* explain(PyObject*, PyObject* x) { return api->explain(api->context, x, nullptr); }

/// What the tests see of memory that was made here: how often it was given back, and on which thread.
int released = 0;
std::thread::id released_on;

void give_back(void* memory) {
  std::free(memory);
  ++released;
  released_on = std::this_thread::get_id();
}

/// made(n, device_type=1, offset=0): an aa.Array over n new float32, 0, 1, …; offset breaks the alignment.
PyObject* made(PyObject*, PyObject* args) {
  long long n = 0;
  int device = 1;
  int offset = 0;
  if (!PyArg_ParseTuple(args, "L|ii", &n, &device, &offset)) return nullptr;
  const std::size_t bytes = n > 0 ? static_cast<std::size_t>(n) * sizeof(float) + 1 : 1;
  auto* memory = static_cast<char*>(std::malloc(bytes));
  const std::int64_t shape[] = {n};
  const anyarray::Descriptor parts{memory + offset,
                                   shape,
                                   nullptr,
                                   anyarray::make_dtype(anyarray::TypeCode::float_, 32),
                                   {static_cast<anyarray::DeviceType>(device), 0},
                                   1,
                                   0};
  for (long long i = 0; i < n; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(memory + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
  }
  PyObject* array = anyarray::produce(api, parts, give_back, memory);
  if (array == nullptr) std::free(memory);
  return array;
}

/// lent(owner): an aa.Array over bytes that are there for good, which keeps `owner`.
PyObject* lent(PyObject*, PyObject* owner) {
  static char memory[4] = {1, 2, 3, 4};
  const std::int64_t shape[] = {2, 2};
  const std::int64_t strides[] = {1, 2};
  return anyarray::produce(api,
                           {memory, shape, strides, anyarray::make_dtype(anyarray::TypeCode::uint, 8),
                            anyarray::cpu_device, 2, anyarray::flag_readonly},
                           owner);
}

PyObject* release_count(PyObject*, PyObject*) {
  return Py_BuildValue("(iO)", released, released_on == std::this_thread::get_id() ? Py_True : Py_False);
}

anyarray::Held kept;

/// keep(x): takes x until let_go(); keep() shows what is kept as an aa.Array.
PyObject* keep(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  if (!PyArg_ParseTuple(args, "|O", &x)) return nullptr;
  if (x == nullptr) return kept.to_array();
  anyarray::Held taken(api, x);
  if (!taken.ok()) return nullptr;
  kept = taken;
  return facts_of(*kept);
}

/// let_go(): on a thread that Python has never seen, while this one holds the GIL until it waits for that one.
PyObject* let_go(PyObject*, PyObject*) {
  Py_BEGIN_ALLOW_THREADS;
  std::thread([mine = std::exchange(kept, anyarray::Held())]() mutable { mine = anyarray::Held(); }).join();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"made", made, METH_VARARGS, nullptr},
                         {"lent", lent, METH_O, nullptr},
                         {"release_count", release_count, METH_NOARGS, nullptr},
                         {"keep", keep, METH_VARARGS, nullptr},
                         {"let_go", let_go, METH_NOARGS, nullptr},
                         {"facts", facts, METH_VARARGS, nullptr},
                         {"array", array, METH_VARARGS, nullptr},
                         {"explain", explain, METH_O, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "table", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_table() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
