// SPDX-License-Identifier: Apache-2.0
// What gives arrays away: the rows convert, convert_like and copy of the table, and copy_as() of the core, which is
// linked for it.
#include <anyarray/copy.h>
#include <anyarray/python.h>

namespace {

const anyarray::CApi* api;

constexpr std::uint32_t most = 16;

/// The dtypes that a tuple of names asks for.
bool read_dtypes(PyObject* names, anyarray::DType* dtypes, anyarray::Request* request) {
  const Py_ssize_t n = PyTuple_Size(names);
  if (n < 0 || n > Py_ssize_t{most}) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GetItem(names, i));
    if (name == nullptr) return false;
    if (!anyarray::parse_dtype(name, &dtypes[i])) {
      PyErr_Format(PyExc_LookupError, "%s isn't a dtype", name);
      return false;
    }
  }
  request->dtypes = dtypes;
  request->n_dtypes = static_cast<std::uint32_t>(n);
  if (n == 1) {
    request->has_dtype = true;
    request->dtype = dtypes[0];
    request->n_dtypes = 0;
  }
  return true;
}

/// copied(x, dtypes=(), order="A", unsafe=False, ndim=-1, device="", bytewise=False): an aa.Array of the copy, a string
/// "status: reason" where there is none. By the table, but for what it can't be asked.
PyObject* copied(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"x", "dtypes", "order", "unsafe", "ndim", "device", "bytewise", nullptr};
  PyObject *x = nullptr, *dtype_names = nullptr;
  const char *order = "A", *device = "";
  int unsafe = 0, ndim = -1, bytewise = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O!spisp", const_cast<char**>(names), &x, &PyTuple_Type,
                                   &dtype_names, &order, &unsafe, &ndim, &device, &bytewise)) {
    return nullptr;
  }
  anyarray::DType dtypes[most];
  anyarray::Request request;
  if (dtype_names != nullptr && !read_dtypes(dtype_names, dtypes, &request)) return nullptr;
  request.order = *order == 'C' ? anyarray::Order::c : *order == 'F' ? anyarray::Order::f : anyarray::Order::any;
  request.ndim = static_cast<std::int8_t>(ndim);
  request.writable = true;
  request.layout = bytewise != 0 ? anyarray::layout_bytes : 0u;
  if (*device != '\0' && !anyarray::parse_device(device, &request.device)) return nullptr;
  anyarray::Borrow from;
  if (api->borrow_or_raise(api->context, x, nullptr, &from) != anyarray::Status::ok) return nullptr;
  anyarray::Borrow made;
  anyarray::Reason why;
  anyarray::Status s = anyarray::Status::ok;
  Py_BEGIN_ALLOW_THREADS;
  s = unsafe != 0 ? anyarray::copy_as(from.desc, request, &made, &why, anyarray::Casting::unsafe)
                  : api->copy(api->context, &from.desc, &request, &made, &why);
  Py_END_ALLOW_THREADS;
  anyarray::release(from);
  if (s != anyarray::Status::ok) return PyUnicode_FromFormat("%s: %s", api->status_text(api->context, s), why.text);
  PyObject* array = api->to_array(api->context, &made);
  anyarray::release(made);
  return array;
}

/// dropped(x, n): makes and frees as many copies, without the GIL.
PyObject* dropped(PyObject*, PyObject* args) {
  PyObject* x = nullptr;
  int n = 0;
  if (!PyArg_ParseTuple(args, "Oi", &x, &n)) return nullptr;
  anyarray::Borrow from;
  if (api->borrow_or_raise(api->context, x, nullptr, &from) != anyarray::Status::ok) return nullptr;
  int good = 0;
  Py_BEGIN_ALLOW_THREADS;
  for (int i = 0; i < n; ++i) {
    anyarray::Borrow made;
    good += api->copy(api->context, &from.desc, nullptr, &made, nullptr) == anyarray::Status::ok ? 1 : 0;
    good -= made.owner == nullptr && made.context == nullptr && made.protocol == anyarray::no_protocol ? 0 : 1;
    anyarray::release(made);
  }
  Py_END_ALLOW_THREADS;
  anyarray::release(from);
  return PyLong_FromLong(good);
}

/// convert(x, to)
PyObject* convert(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return n == 2 ? api->convert(api->context, args[0], args[1]) : nullptr;
}

/// convert_like(x, example)
PyObject* convert_like(PyObject*, PyObject* const* args, Py_ssize_t n) {
  return n == 2 ? api->convert_like(api->context, args[0], args[1]) : nullptr;
}

PyMethodDef methods[] = {
    {"copied", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(copied)), METH_VARARGS | METH_KEYWORDS,
     nullptr},
    {"dropped", dropped, METH_VARARGS, nullptr},
    {"convert", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(convert)), METH_FASTCALL, nullptr},
    {"convert_like", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(convert_like)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "copies", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_copies() {
  api = anyarray::import_anyarray();
  return api != nullptr ? PyModule_Create(&module) : nullptr;
}
