// SPDX-License-Identifier: Apache-2.0
// What aa.exchange puts on a class of a library's author: descriptors that give a protocol's attribute from the Array
// that the instance's __anyarray__() returns, and hide what that Array doesn't serve. The decorator itself is
// python/anyarray/_exchange.py.
#include <cstddef>

#include "anyarray/protocols/dlpack.h"
#include "src/python/state.h"

#include <structmember.h>  // after Python.h; CPython 3.10 and 3.11 have T_OBJECT there

namespace anyarray {
namespace {

struct ServedObject {
  PyObject ob_base;
  PyObject* name;  ///< of the attribute, interned
  Device device;   ///< that the class is declared for; type `any`: not declared, id -1: any of that kind
};
ServedObject* as_served(PyObject* o) noexcept { return reinterpret_cast<ServedObject*>(o); }

/// An AttributeError in the author's method would hide the protocol, and with it the mistake.
void unhide_mistake(PyObject* obj) noexcept {
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return;
  Ref cause(take_raised());
  PyErr_Format(PyExc_RuntimeError, "%.200s.__anyarray__() raised AttributeError: %S", Py_TYPE(obj)->tp_name,
               cause.get());
  Ref error(take_raised());
  if (!error) return;
  PyException_SetCause(error.get(), cause.release());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

PyObject* not_served(State& s, ServedObject* self, PyObject* obj, ArrayObject* a) noexcept {
  Ref kind(package_function(s, "errors", "NotServedError"));
  if (!kind) return nullptr;
  Ref text;
  const Descriptor* d = a != nullptr ? array_descriptor(a) : nullptr;
  if (a != nullptr && d == nullptr) return nullptr;
  if (d != nullptr) {
    char dtype[256];
    char device[32];
    format_dtype(d->dtype, dtype, sizeof dtype);
    format_device(d->device, device, sizeof device);
    text = Ref(PyUnicode_FromFormat("this %.200s has no %U: %s on %s isn't served over it", Py_TYPE(obj)->tp_name,
                                    self->name, dtype, device));
  } else {
    text = Ref(PyUnicode_FromFormat("this %.200s has no %U: its __anyarray__() returned None", Py_TYPE(obj)->tp_name,
                                    self->name));
  }
  if (text) PyErr_SetObject(kind.get(), text.get());
  return nullptr;
}

void raise_no_array(PyObject* obj, PyObject* given) noexcept {
  PyErr_Format(PyExc_TypeError,
               "%.200s.__anyarray__() returned %.200s: it must give an anyarray.Array (of aa.from_pointer or aa.view), "
               "or None where the object has no memory to offer",
               Py_TYPE(obj)->tp_name, Py_TYPE(given)->tp_name);
}

/// The Array that stands for the instance. Null with an error set.
PyObject* array_of(State& s, ServedObject* self, PyObject* obj) noexcept {
  Ref array(PyObject_CallMethodNoArgs(obj, s.declared_method));
  if (!array) {
    unhide_mistake(obj);
    return nullptr;
  }
  if (array.get() == Py_None) return not_served(s, self, obj, nullptr);
  if (!is_array(s, array.get())) {
    raise_no_array(obj, array.get());
    return nullptr;
  }
  if (self->device.type == DeviceType::any) return array.release();
  const Descriptor* d = array_descriptor(as_array(array.get()));
  if (d == nullptr) return nullptr;
  if (d->device.type == self->device.type && (self->device.id < 0 || self->device.id == d->device.id)) {
    return array.release();
  }
  char declared[32];
  char given[32];
  format_device(self->device, declared, sizeof declared);
  format_device(d->device, given, sizeof given);
  return PyErr_Format(PyExc_TypeError, "%.200s is declared for %s, but its __anyarray__() returned an array on %s",
                      Py_TYPE(obj)->tp_name, declared, given);
}

/// Of the Array that the object gives, of whichever interpreter.
int export_object(void* object, dlpack::ManagedTensorVersioned** out) {
  *out = nullptr;
  auto* o = static_cast<PyObject*>(object);
  if (o == nullptr) {
    PyErr_SetString(PyExc_TypeError, "this exchange table was given a null pointer");
    return -1;
  }
  Ref name(PyUnicode_InternFromString("__anyarray__"));
  if (!name) return -1;
  PyObject* method = lookup_on_type(Py_TYPE(o), name.get());
  if (method == nullptr) {
    PyErr_Format(PyExc_TypeError, "this exchange table is that of classes with __anyarray__, which %.200s hasn't",
                 Py_TYPE(o)->tp_name);
    return -1;
  }
  Ref array(PyObject_CallMethodNoArgs(o, name.get()));
  if (!array) {
    unhide_mistake(o);
    return -1;
  }
  if (array.get() == Py_None) {
    PyErr_Format(PyExc_BufferError, "this %.200s has no memory to offer: its __anyarray__() returned None",
                 Py_TYPE(o)->tp_name);
    return -1;
  }
  if (!is_any_array(array.get())) {
    raise_no_array(o, array.get());
    return -1;
  }
  return exchange_table().managed_tensor_from_py_object_no_sync(array.get(), out);
}

/// A capsule of the table for classes, which lives as long as the process: that of Arrays, with what a class can serve.
/// It can't lend a tensor: shape and strides would have to outlive the Array that was made for the call.
PyObject* table_of_classes() noexcept {
  // Made once for all interpreters, which may come here at the same time.
  static dlpack::ExchangeApi table = [] {
    dlpack::ExchangeApi made = exchange_table();
    made.managed_tensor_from_py_object_no_sync = export_object;
    made.dltensor_from_py_object_no_sync = nullptr;
    return made;
  }();
  return PyCapsule_New(&table, dlpack::exchange_name, nullptr);
}

PyObject* get(PyObject* self, PyObject* obj, PyObject*) {
  State* s = state_of_type(Py_TYPE(self));
  if (s == nullptr) return nullptr;
  if (as_served(self)->name == s->cx.names.row_attribute[static_cast<int>(Protocol::dlpack_exchange)]) {
    return table_of_classes();  // the type's, whatever the instance
  }
  if (obj == nullptr || obj == Py_None) return Py_NewRef(self);
  ServedObject* served = as_served(self);
  Ref array(array_of(*s, served, obj));
  if (!array) return nullptr;
  if (lookup_on_type(Py_TYPE(array.get()), served->name) == nullptr) {
    return not_served(*s, served, obj, as_array(array.get()));
  }
  return PyObject_GetAttr(array.get(), served->name);
}

/// Cls.__dlpack__(instance, …), as with a plain method.
PyObject* call(PyObject* self, PyObject* args, PyObject* keywords) {
  if (PyTuple_GET_SIZE(args) == 0) {
    return PyErr_Format(PyExc_TypeError, "%U() of a class needs the instance", as_served(self)->name);
  }
  Ref bound(get(self, PyTuple_GET_ITEM(args, 0), nullptr));
  if (!bound) return nullptr;
  Ref rest(PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args)));
  return rest ? PyObject_Call(bound.get(), rest.get(), keywords) : nullptr;
}

PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* const names[] = {"name", "device", nullptr};
  PyObject* name = nullptr;
  PyObject* device = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "U|O:_Served", const_cast<char**>(names), &name, &device) == 0) {
    return nullptr;
  }
  Device declared{DeviceType::any, -1};
  if (device != Py_None && !device_from_object(device, &declared)) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  as_served(self)->name = Py_NewRef(name);
  PyUnicode_InternInPlace(&as_served(self)->name);
  as_served(self)->device = declared;
  return self;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(as_served(self)->name);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) { return PyUnicode_FromFormat("<%U from __anyarray__()>", as_served(self)->name); }

/// For picklers that take classes by value.
PyObject* reduce(PyObject* self, PyObject*) {
  const Device d = as_served(self)->device;
  Ref device = Ref::borrow(Py_None);
  if (d.type != DeviceType::any) {
    char text[32];
    format_device(d, text, sizeof text);
    device = Ref(PyUnicode_FromString(text));
  }
  return device ? Py_BuildValue("(O(OO))", Py_TYPE(self), as_served(self)->name, device.get()) : nullptr;
}

PyMemberDef members[] = {{"__name__", T_OBJECT, offsetof(ServedObject, name), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool served_type_init(State& s, PyObject* module) noexcept {
  s.declared_method = PyUnicode_InternFromString("__anyarray__");
  PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("An exchange attribute that an instance's Array serves.")},
                         {Py_tp_new, reinterpret_cast<void*>(construct)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(get)},
                         {Py_tp_call, reinterpret_cast<void*>(call)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_members, members},
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec = {"anyarray._core._Served", sizeof(ServedObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                      slots};
  s.served_type = new_type(s, module, spec, nullptr);
  return s.declared_method != nullptr && s.served_type != nullptr &&
         PyModule_AddObjectRef(module, "_Served", reinterpret_cast<PyObject*>(s.served_type)) == 0;
}

PyObject* types_of_device(PyObject* module, PyObject* device) {
  State& s = state_of_module(module);
  int first = 0;
  int last = device_families;
  Device d;
  if (device != Py_None) {
    if (!device_from_object(device, &d)) return nullptr;
    first = static_cast<int>(device_family(d.type));
    last = first + 1;
  }
  Ref types(PyList_New(0));
  for (int family = first; types && family < last; ++family) {
    for (PyTypeObject* type : s.array_types[family]) {
      if (type != nullptr && PyList_Append(types.get(), reinterpret_cast<PyObject*>(type)) < 0) return nullptr;
    }
  }
  return types ? PyList_AsTuple(types.get()) : nullptr;
}

}  // namespace anyarray
