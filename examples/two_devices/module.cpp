// SPDX-License-Identifier: Apache-2.0
// The library's Python module. Giving its tensors to others is offer(), taking those of others is take(): the rest is
// what any extension has.
#include <anyarray/python.h>

#include "tensor.h"

#include <cstdlib>

namespace {

using two_devices::Tensor;
namespace driver = two_devices::driver;

const anyarray::CApi* api;
PyTypeObject* host_type;
PyTypeObject* device_type;
constexpr anyarray::DType float64 = anyarray::make_dtype(anyarray::TypeCode::float_, 64);

struct TensorObject {
  PyObject ob_base;
  Tensor tensor;
};
Tensor& tensor_of(PyObject* self) { return reinterpret_cast<TensorObject*>(self)->tensor; }

// --- exchange --------------------------------------------------------------------------------------------------

/// __anyarray__: the tensor's memory, kept by the tensor. aa.exchange makes every protocol of it.
PyObject* offer(PyObject* self, PyObject*) {
  const Tensor& t = tensor_of(self);
  return anyarray::produce(api, {t.data, t.shape, nullptr, float64, t.device, t.rank, 0}, self);
}

/// A new tensor over `device`, its memory not filled. Null with an exception set.
PyObject* make(anyarray::Device device, int rank, const std::int64_t* shape) {
  if (rank > two_devices::max_rank) {
    return PyErr_Format(PyExc_ValueError, "tensors have up to %d dimensions, not %d", two_devices::max_rank, rank);
  }
  PyTypeObject* type = device == two_devices::host ? host_type : device_type;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  Tensor& t = tensor_of(self);
  t.device = device;
  t.rank = rank;
  for (int i = 0; i < rank; ++i) t.shape[i] = shape[i];
  t.data = driver::allocate(t.size());
  if (t.data != nullptr) return self;
  Py_DECREF(self);
  return PyErr_NoMemory();
}

/// take(x): a tensor with the elements of any C-contiguous float64 array, on the device where it is.
PyObject* take(PyObject*, PyObject* x) {
  anyarray::Request request;
  request.has_dtype = true;
  request.dtype = float64;
  request.order = anyarray::Order::c;
  auto a = anyarray::borrow(api, x, &request);
  if (!a.ok()) return nullptr;
  if (a->device != two_devices::host && a->device != two_devices::accelerator) {
    return PyErr_Format(PyExc_ValueError, "the array lies on a device that this library doesn't know");
  }
  PyObject* result = make(a->device, a->ndim, a->shape);
  if (result != nullptr)
    driver::copy(tensor_of(result).data, static_cast<const double*>(a->data), tensor_of(result).size());
  return result;
}

// --- the rest --------------------------------------------------------------------------------------------------

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  std::free(tensor_of(self).data);
  type->tp_free(self);
  Py_DECREF(type);
}

bool is_tensor(PyObject* x) {
  if (Py_IS_TYPE(x, host_type) || Py_IS_TYPE(x, device_type)) return true;
  PyErr_Format(PyExc_TypeError, "a tensor of this library is needed, not %.200s", Py_TYPE(x)->tp_name);
  return false;
}

PyObject* moved(PyObject* x, anyarray::Device device) {
  if (!is_tensor(x)) return nullptr;
  const Tensor& t = tensor_of(x);
  PyObject* result = make(device, t.rank, t.shape);
  if (result != nullptr) driver::copy(tensor_of(result).data, t.data, t.size());
  return result;
}
PyObject* to_host(PyObject*, PyObject* x) { return moved(x, two_devices::host); }
PyObject* to_device(PyObject*, PyObject* x) { return moved(x, two_devices::accelerator); }

/// full(value, n, m): a matrix on the host.
PyObject* full(PyObject*, PyObject* args) {
  double value = 0;
  long long n = 0;
  long long m = 0;
  if (!PyArg_ParseTuple(args, "dLL", &value, &n, &m)) return nullptr;
  if (n < 0 || m < 0) return PyErr_Format(PyExc_ValueError, "extents can't be negative");
  const std::int64_t shape[] = {n, m};
  PyObject* result = make(two_devices::host, 2, shape);
  if (result != nullptr) driver::fill(tensor_of(result).data, tensor_of(result).size(), value);
  return result;
}

PyObject* total(PyObject*, PyObject* x) {
  return is_tensor(x) ? PyFloat_FromDouble(driver::total(tensor_of(x).data, tensor_of(x).size())) : nullptr;
}

PyMethodDef tensor_methods[] = {{"__anyarray__", offer, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
PyMethodDef functions[] = {{"full", full, METH_VARARGS, nullptr}, {"take", take, METH_O, nullptr},
                           {"to_host", to_host, METH_O, nullptr}, {"to_device", to_device, METH_O, nullptr},
                           {"total", total, METH_O, nullptr},     {nullptr, nullptr, 0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_two_devices", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

PyTypeObject* add_type(PyObject* module, const char* name) {
  PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)}, {Py_tp_methods, tensor_methods}, {0, nullptr}};
  PyType_Spec spec = {name, sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr || PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type)) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

}  // namespace

PyMODINIT_FUNC PyInit__two_devices() {
  api = anyarray::import_anyarray();
  PyObject* module = api != nullptr ? PyModule_Create(&definition) : nullptr;
  if (module == nullptr) return nullptr;
  host_type = add_type(module, "two_devices.HostTensor");
  device_type = add_type(module, "two_devices.DeviceTensor");
  if (host_type != nullptr && device_type != nullptr) return module;
  Py_DECREF(module);
  return nullptr;
}
