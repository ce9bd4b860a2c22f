// SPDX-License-Identifier: Apache-2.0
// The keywords of view() and explain(): read into a Request, and written back into words for errors. Also
// devices, between Device objects and ours.
#include "anyarray/request.h"

#include <cstring>

#include "src/python/state.h"

namespace anyarray {
namespace {

constexpr const char* waiver_names[] = {"mask", "grad", "conj", "neg"};

bool add_waiver(PyObject* name, Request* r) noexcept {
  const char* text = PyUnicode_Check(name) ? c_text(name) : nullptr;
  const std::uint32_t bit = text != nullptr ? parse_waiver(text) : 0;
  if (bit == 0) {
    PyErr_Format(PyUnicode_Check(name) ? PyExc_ValueError : PyExc_TypeError,
                 "allow names guards to waive: 'mask', 'grad', 'conj', 'neg'; %R isn't one", name);
    return false;
  }
  r->allow |= bit;
  return true;
}

bool read_allow(PyObject* o, Request* r) noexcept {
  if (o == Py_None) return true;
  if (PyUnicode_Check(o)) return add_waiver(o, r);
  Ref iterator(PyObject_GetIter(o));
  if (!iterator) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Format(PyExc_TypeError, "allow is a name or an iterable of names ('mask', 'grad', 'conj', 'neg'), not %.200s",
                 Py_TYPE(o)->tp_name);
    return false;
  }
  while (PyObject* item = PyIter_Next(iterator.get())) {
    Ref name(item);
    if (!add_waiver(item, r)) return false;
  }
  return PyErr_Occurred() == nullptr;
}

}  // namespace

bool read_order(PyObject* o, Order* out) noexcept {
  if (o == Py_None) return true;
  if (PyUnicode_Check(o) && PyUnicode_READY(o) == 0 && PyUnicode_GET_LENGTH(o) == 1) {
    const Py_UCS4 letter = PyUnicode_READ_CHAR(o, 0);
    if (letter == 'A') return true;
    if (letter == 'C') return *out = Order::c, true;
    if (letter == 'F') return *out = Order::f, true;
  }
  PyErr_Format(PyUnicode_Check(o) ? PyExc_ValueError : PyExc_TypeError,
               "order is 'C', 'F', or None or 'A' for no condition; not %R", o);
  return false;
}

namespace {

bool read_ndim(PyObject* o, Request* r) noexcept {
  if (o == Py_None) return true;
  if (!PyIndex_Check(o) || PyBool_Check(o)) {
    PyErr_Format(PyExc_TypeError, "ndim is None or an int, not %.200s", Py_TYPE(o)->tp_name);
    return false;
  }
  const Py_ssize_t n = PyNumber_AsSsize_t(o, nullptr);
  if (n == -1 && PyErr_Occurred() != nullptr) return false;
  if (n < 0 || n > max_ndim) {
    PyErr_Format(PyExc_ValueError, "ndim is from 0 to %d, not %zd", max_ndim, n);
    return false;
  }
  r->ndim = static_cast<std::int8_t>(n);
  return true;
}

bool read_device(PyObject* o, Request* r) noexcept {
  if (o == Py_None) return true;
  if (!device_from_object(o, &r->device)) return false;
  return true;
}

bool read_writable(PyObject* o, Request* r) noexcept {
  if (!PyBool_Check(o)) {
    PyErr_Format(PyExc_TypeError, "writable is True or False, not %.200s", Py_TYPE(o)->tp_name);
    return false;
  }
  r->writable = o == Py_True;
  return true;
}

}  // namespace

bool read_keyword(State& s, Keyword keyword, PyObject* value, ParsedRequest& out) noexcept {
  Request& r = out.request;
  switch (keyword) {
    case Keyword::policy:
      return (r.policy = policy_from_object(s, value, &out.policy)) != nullptr;
    case Keyword::device:
      return read_device(value, &r);
    case Keyword::ndim:
      return read_ndim(value, &r);
    case Keyword::order:
      return read_order(value, &r.order);
    case Keyword::writable:
      return read_writable(value, &r);
    case Keyword::allow:
      return read_allow(value, &r);
    default:
      if (value == Py_None) return true;
      r.has_dtype = true;
      return dtype_from_object(s, value, &r.dtype);
  }
}

bool policy_serves(const Request& r) noexcept {
  if (r.policy == nullptr || r.device.type == DeviceType::any) return true;
  for (int i = 0; i < r.policy->n; ++i) {
    if (can_meet(r.policy->at(i), r.device)) return true;
  }
  char device[48];
  format_device(r.device, device, sizeof device);
  Ref names(PyList_New(0));
  for (int i = 0; names && i < protocol_count; ++i) {
    if (!can_meet(static_cast<Protocol>(i), r.device)) continue;
    Ref name(PyUnicode_FromString(protocol_rows[i].name));
    if (!name || PyList_Append(names.get(), name.get()) < 0) return false;
  }
  Ref comma(PyUnicode_FromString(", "));
  Ref all(names && comma ? PyUnicode_Join(comma.get(), names.get()) : nullptr);
  if (all) {
    PyErr_Format(PyExc_ValueError, "no row of this policy can give memory on %s; the rows that can: %U", device,
                 all.get());
  }
  return false;
}

int find_keyword(const State& s, PyObject* name) noexcept {
  for (int i = 0; i < keyword_count; ++i) {
    if (s.keywords[i] == name) return i;
  }
  for (int i = 0; i < keyword_count; ++i) {
    if (PyUnicode_Compare(s.keywords[i], name) == 0) return i;
  }
  return -1;
}

bool is_one_object(const char* function, Py_ssize_t nargs) noexcept {
  if (nargs == 1) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes exactly one positional argument, the object; %zd were given", function,
               nargs);
  return false;
}

bool parse_request(State& s, const char* function, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames,
                   ParsedRequest& out) noexcept {
  if (!is_one_object(function, nargs)) return false;
  const Py_ssize_t n = kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    const int known = find_keyword(s, name);
    if (known < 0 || known >= view_keywords) {
      PyErr_Format(PyExc_TypeError,
                   "%s() has no keyword %R; there are: policy, device, dtype, ndim, order, writable, allow", function,
                   name);
      return false;
    }
    if (!read_keyword(s, static_cast<Keyword>(known), args[nargs + i], out)) return false;
  }
  return policy_serves(out.request);
}

PyObject* request_words(State& s, const Request* r) noexcept {
  Ref words(PyList_New(0));
  const auto add = [&words](PyObject* text) {
    Ref owned(text);
    return owned && words && PyList_Append(words.get(), text) == 0;
  };
  if (r != nullptr) {
    char text[256];
    if (r->device.type != DeviceType::any) {
      const char* kind = device_type_name(r->device.type);
      if (r->device.id >= 0) format_device(r->device, text, sizeof text);
      if (!add(PyUnicode_FromFormat("device=%s", r->device.id >= 0 ? text : kind != nullptr ? kind : "?")))
        return nullptr;
    }
    if (r->has_dtype) {
      Ref dtype(dtype_object(s, r->dtype));
      if (!dtype || !add(PyUnicode_FromFormat("dtype=%S", dtype.get()))) return nullptr;
    }
    if (r->ndim >= 0 && !add(PyUnicode_FromFormat("ndim=%d", r->ndim))) return nullptr;
    if (r->order != Order::any && !add(PyUnicode_FromFormat("order=%c", r->order == Order::c ? 'C' : 'F')))
      return nullptr;
    if (r->writable && !add(PyUnicode_FromString("writable=True"))) return nullptr;
    for (const char* name : waiver_names) {
      if ((r->allow & parse_waiver(name)) != 0 && !add(PyUnicode_FromFormat("allow=%s", name))) return nullptr;
    }
  }
  Ref comma(PyUnicode_FromString(", "));
  return words && comma ? PyUnicode_Join(comma.get(), words.get()) : nullptr;
}

bool device_from_object(PyObject* o, Device* out) noexcept {
  if (PyUnicode_Check(o)) {
    const char* text = c_text(o);
    if (text != nullptr && parse_device(text, out)) return true;
    PyErr_Format(PyExc_ValueError,
                 "%R isn't a device; devices are like 'cpu', 'cuda:0', 'rocm:1', 'cuda_host', 'cuda_managed', "
                 "'oneapi:0', or tuples (type, id) with the numbers of DLPack",
                 o);
    return false;
  }
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) != 2) {
    PyErr_Format(PyExc_TypeError, "a device is a Device, a text such as 'cuda:0', or a tuple (type, id), not %.200s",
                 Py_TYPE(o)->tp_name);
    return false;
  }
  PyObject* kind = PyTuple_GET_ITEM(o, 0);
  Device named{DeviceType::any, 0};
  if (PyUnicode_Check(kind)) {  // ("cuda", 0)
    const char* text = c_text(kind);
    if (text == nullptr || std::strchr(text, ':') != nullptr || !parse_device(text, &named)) {
      PyErr_Format(PyExc_ValueError, "%R isn't a kind of device; kinds are like 'cpu', 'cuda', 'rocm', 'oneapi'", kind);
      return false;
    }
  }
  const Py_ssize_t type =
      named.type != DeviceType::any ? static_cast<Py_ssize_t>(named.type) : PyNumber_AsSsize_t(kind, PyExc_ValueError);
  if (type == -1 && PyErr_Occurred() != nullptr) return false;
  const Py_ssize_t id = PyNumber_AsSsize_t(PyTuple_GET_ITEM(o, 1), PyExc_ValueError);
  if (id == -1 && PyErr_Occurred() != nullptr) return false;
  if (type < 0 || type > INT32_MAX || id < 0 || id > INT32_MAX || !is_known(static_cast<DeviceType>(type))) {
    PyErr_Format(PyExc_ValueError,
                 "(%zd, %zd) isn't a device: DLPack has the types 1 to 4 and 7 to 18, and numbers from 0 on", type, id);
    return false;
  }
  *out = {static_cast<DeviceType>(type), static_cast<std::int32_t>(id)};
  return true;
}

PyObject* device_object(State& s, Device d) noexcept {
  if (d == cpu_device && s.cpu != nullptr) return Py_NewRef(s.cpu);
  if (s.device_class == nullptr) s.device_class = package_function(s, "device", "Device");
  if (s.device_class == nullptr) return nullptr;
  PyObject* o = PyObject_CallFunction(s.device_class, "ii", static_cast<int>(d.type), static_cast<int>(d.id));
  if (d == cpu_device) s.cpu = Py_XNewRef(o);
  return o;
}

}  // namespace anyarray
