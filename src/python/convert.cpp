// SPDX-License-Identifier: Apache-2.0
// convert(): the short way for what needs nothing but to be handed over, to NumPy by its own C functions and to
// libraries that have a DLPack exchange table by that. What a library can hold is told by python/anyarray/_convert,
// which registers its targets here, and which does everything that the short way can't finish.
#include <utility>

#include "src/engine/fast.h"
#include "src/python/handover.h"
#include "src/python/state.h"
#include "src/support/exchange.h"
#include "src/support/numpy_make.h"

namespace anyarray {
namespace {

/// What the Python side calls a limit, as bits of FastTarget::limits.
enum Limit : unsigned {
  limit_readonly = 1,  ///< the library would let read-only memory be written
  limit_negative = 2,  ///< no negative strides
  limit_overlap = 4,   ///< elements that share memory look as if they didn't
  limit_elements = 8,  ///< strides are counted in elements
};

/// Whether the layout is one that every library can hold, or at least this one.
bool layout_fits(const Descriptor& d, unsigned limits) noexcept {
  if (d.strides == nullptr) return false;
  bool fits = true;
  bool plain = true;
  const std::int64_t itemsize = d.dtype.itemsize();
  // Nearly all sizes are powers of two, where no division is needed.
  const std::int64_t odd = (itemsize & (itemsize - 1)) == 0 ? itemsize - 1 : 0;
  std::int64_t least = itemsize;
  for (int i = d.ndim - 1; i >= 0; --i) {
    // The analyzer doesn't see that reading an ndarray's layout fills as many as there are dimensions.
    const std::int64_t extent = d.shape[i];  // NOLINT(clang-analyzer-core.uninitialized.Assign)
    const std::int64_t stride = d.strides[i];
    if (extent <= 1) continue;
    fits &= stride >= 0 || (limits & limit_negative) == 0;
    fits &=
        (odd != 0 || itemsize == 1 ? (stride & odd) == 0 : stride % itemsize == 0) || (limits & limit_elements) == 0;
    // As long as each stride steps over all that the dimensions behind it reach, nothing overlaps.
    plain = plain && stride >= least;
    if (plain) plain = !__builtin_mul_overflow(extent, stride, &least);
  }
  if (!plain && (limits & limit_overlap) != 0) {
    fits &= self_overlap(d.ndim, d.shape, d.strides, d.dtype.itemsize()) == Overlap::none;
  }
  return fits;
}

bool dtype_fits(DType d, const FastTarget& t) noexcept {
  return is_tabled(d) && (t.sizes[static_cast<unsigned>(d.code)] >> (d.bits / 8) & 1) != 0;
}

const FastTarget* find_key(const State& s, const void* key) noexcept {
  for (int i = 0; i < s.n_fast_targets; ++i) {
    if (s.fast_targets[i].key == key) return &s.fast_targets[i];
  }
  return nullptr;
}

const FastTarget* find_target(const State& s, PyObject* to) noexcept {
  const FastTarget* t = find_key(s, to);
  // An instance stands for its type, as the type itself does.
  return t != nullptr ? t : find_key(s, Py_TYPE(to));
}

/// The rest of the work, in Python. `array`: what was taken already; null where nothing was.
PyObject* convert_slowly(State& s, PyObject* x, PyObject* to, PyObject* copy, PyObject* allow,
                         PyObject* array) noexcept {
  Ref function(package_function(s, "_convert", "convert_slowly"));
  if (!function) return nullptr;
  PyObject* stack[] = {x, to, copy, allow, array != nullptr ? array : Py_None};
  return PyObject_Vectorcall(function.get(), stack, 5, nullptr);
}

PyObject* make_ndarray(State& s, ArrayObject* a, PyObject* dtype, bool writable) noexcept {
  a->exposed = true;  // the ndarray keeps this object, and nothing else
  return numpy_make(s.cx, a->borrow.desc, dtype, writable, reinterpret_cast<PyObject*>(a));
}

/// What nothing is against, for memory of the host.
bool fits(const Descriptor& d, const FastTarget& t) noexcept {
  return d.device.type == DeviceType::cpu && !(d.readonly() && (t.limits & limit_readonly) != 0) &&
         dtype_fits(d.dtype, t) && layout_fits(d, t.limits);
}

/// An ndarray: read in place, and kept itself. Null without an exception: it isn't one, or the slow way goes on.
PyObject* give_ndarray(State& s, PyObject* x, const FastTarget& t) noexcept {
  Borrow b;
  begin(b);
  if (t.api == nullptr || !numpy_decode_known(s.cx, x, b) || !fits(b.desc, t)) return nullptr;
  return hand_over(s, b.desc, x, *t.api);
}

/// NumPy's dtype for elements that only Python code could tell, once it has.
PyObject* known_dtype(const State& s, DType d) noexcept {
  const KnownNumpyDType& known = s.known_numpy_dtypes[slot_of(d, known_numpy_dtypes_max)];
  return known.object != nullptr && known.dtype == d ? Py_NewRef(known.object) : nullptr;
}

/// Struct dtypes can be changed in place, so they are asked for each time.
void remember_dtype(State& s, DType d, PyObject* object) noexcept {
  if (interned_type(d) != nullptr) return;
  KnownNumpyDType& known = s.known_numpy_dtypes[slot_of(d, known_numpy_dtypes_max)];
  known.dtype = d;
  Py_XDECREF(std::exchange(known.object, Py_NewRef(object)));
}

/// Takes the object and hands it over if nothing is against it. Null without an exception, with the array in `*taken`
/// if it was taken: the slow way goes on.
PyObject* convert_quickly(State& s, PyObject* x, const FastTarget& t, Ref* taken) noexcept {
  ArrayObject* a = array_reserve(s);
  if (__builtin_expect(a == nullptr, 0)) return nullptr;
  if (__builtin_expect(take_quick(s.cx, x, a->borrow, quiet_call) != Status::ok, 0)) {
    array_discard(s, a);
    return nullptr;
  }
  *taken = Ref(array_adopt(s, a));
  const Descriptor& d = a->borrow.desc;
  if (t.api != nullptr) return fits(d, t) ? hand_over(a, *t.api) : nullptr;
  if (d.device.type != DeviceType::cpu || !layout_fits(d, t.limits)) return nullptr;
  PyObject* dtype = numpy_plain_dtype(s.cx, d.dtype);
  if (dtype == nullptr) dtype = known_dtype(s, d.dtype);
  if (dtype == nullptr) return nullptr;
  return make_ndarray(s, as_array(taken->release()), dtype, !d.readonly());
}

/// convert() to a target that was looked up already; null where the extension doesn't know it.
PyObject* convert_with(State& s, PyObject* x, PyObject* to, const FastTarget* t, PyObject* copy,
                       PyObject* allow) noexcept {
  if (__builtin_expect(t == nullptr || copy == Py_True || allow != Py_None || s.cx.current_policy != nullptr, 0)) {
    return convert_slowly(s, x, to, copy, allow, nullptr);
  }
  if (Py_TYPE(x) == t->type) return Py_NewRef(x);
  Ref taken;
  PyObject* made = Py_TYPE(x) == s.cx.ndarray ? give_ndarray(s, x, *t) : convert_quickly(s, x, *t, &taken);
  if (__builtin_expect(made != nullptr, 1)) return made;
  if (PyErr_Occurred() != nullptr) return nullptr;
  return convert_slowly(s, x, to, copy, allow, taken.get());
}

/// An Array of anything: itself where it is one.
PyObject* whole_array(State& s, PyObject* x) noexcept {
  if (is_array(s, x)) return Py_NewRef(x);
  ArrayObject* a = array_reserve(s);
  if (a == nullptr) return nullptr;
  const Status status = s.cx.current_policy == nullptr ? take_quick(s.cx, x, a->borrow, raising_call)
                                                       : take_as_asked(s.cx, x, nullptr, a->borrow, raise_trace);
  if (status == Status::ok) return array_adopt(s, a);
  array_discard(s, a);
  return nullptr;
}

bool read_copy(PyObject* copy) noexcept {
  if (copy == Py_None || PyBool_Check(copy)) return true;
  PyErr_Format(PyExc_TypeError, "copy is None, True or False, not %.200s", Py_TYPE(copy)->tp_name);
  return false;
}

bool read_arguments(PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames, PyObject** copy,
                    PyObject** allow) noexcept {
  if (nargs != 2) {
    PyErr_Format(PyExc_TypeError,
                 "convert() takes two positional arguments, the object and what to convert it to; %zd were given",
                 nargs);
    return false;
  }
  const Py_ssize_t n = kwnames != nullptr ? PyTuple_GET_SIZE(kwnames) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    if (PyUnicode_CompareWithASCIIString(name, "copy") == 0) {
      *copy = args[nargs + i];
    } else if (PyUnicode_CompareWithASCIIString(name, "allow") == 0) {
      *allow = args[nargs + i];
    } else {
      PyErr_Format(PyExc_TypeError, "convert() has no keyword %R; there are: copy, allow", name);
      return false;
    }
  }
  return read_copy(*copy);
}

/// A named target's limits and dtypes, from what the Python side gives.
bool read_target(PyObject* dtypes, FastTarget* t) noexcept {
  Ref list(PySequence_Fast(dtypes, "dtypes is a sequence of names"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    const char* name = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(list.get(), i));
    if (name == nullptr) return false;
    DType d;
    if (!parse_dtype(name, &d)) {
      PyErr_Format(PyExc_ValueError, "%s isn't a dtype", name);
      return false;
    }
    if (is_tabled(d)) t->sizes[static_cast<unsigned>(d.code)] |= std::uint32_t{1} << (d.bits / 8);
  }
  return true;
}

/// The table of a type, or null: without an exception where it has none that can be used.
const dlpack::ExchangeApi* table_of(Context& cx, PyTypeObject* type, Failure& why) noexcept {
  const dlpack::ExchangeApi* api = nullptr;
  if (exchange_of(cx, type, &api, why) != Status::ok) return nullptr;
  if (api->managed_tensor_to_py_object_no_sync == nullptr) {
    because(Status::unsupported, &why.reason, "the exchange table has no function that makes an array");
    return nullptr;
  }
  return api;
}

ArrayObject* array_argument(State& s, PyObject* o) noexcept {
  if (!is_array(s, o)) {
    PyErr_Format(PyExc_TypeError, "an Array is needed, not %.200s", Py_TYPE(o)->tp_name);
    return nullptr;
  }
  return array_descriptor(as_array(o)) != nullptr ? as_array(o) : nullptr;
}

}  // namespace

PyObject* convert(PyObject* module, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  State& s = state_of_module(module);
  PyObject *copy = Py_None, *allow = Py_None;
  if (__builtin_expect(nargs != 2 || kwnames != nullptr, 0) && !read_arguments(args, nargs, kwnames, &copy, &allow)) {
    return nullptr;
  }
  return convert_with(s, args[0], args[1], find_target(s, args[1]), copy, allow);
}

PyObject* convert_object(State& s, PyObject* x, PyObject* to) noexcept {
  return convert_with(s, x, to, find_target(s, to), Py_None, Py_None);
}

PyObject* convert_as_example(State& s, PyObject* x, PyObject* example) noexcept {
  const FastTarget* t = find_key(s, Py_TYPE(example));
  if (t != nullptr) return convert_with(s, x, example, t, Py_None, Py_None);
  if (is_array(s, example) || PyBytes_CheckExact(example) || PyByteArray_CheckExact(example) ||
      PyMemoryView_Check(example)) {
    return whole_array(s, x);
  }
  Ref function(package_function(s, "_convert", "convert_like"));
  if (!function) return nullptr;
  PyObject* stack[] = {x, example};
  return PyObject_Vectorcall(function.get(), stack, 2, nullptr);
}

PyObject* register_target(PyObject* module, PyObject* args) {
  State& s = state_of_module(module);
  PyObject *key = nullptr, *type = nullptr, *dtypes = nullptr;
  unsigned limits = 0;
  if (!PyArg_ParseTuple(args, "OO!OI", &key, &PyType_Type, &type, &dtypes, &limits)) return nullptr;
  if (s.n_fast_targets == fast_targets_max) Py_RETURN_FALSE;
  FastTarget t;
  t.type = reinterpret_cast<PyTypeObject*>(type);
  t.limits = limits;
  if (!read_target(dtypes, &t)) return nullptr;
  const bool is_numpy = numpy_can_make(s.cx) && t.type == s.cx.ndarray;
  Failure why;
  t.api = is_numpy ? nullptr : table_of(s.cx, t.type, why);
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (!is_numpy && t.api == nullptr) Py_RETURN_FALSE;
  t.key = Py_NewRef(key);
  Py_INCREF(type);
  s.fast_targets[s.n_fast_targets++] = t;
  Py_RETURN_TRUE;
}

PyObject* to_exchange(PyObject* module, PyObject* args) {
  State& s = state_of_module(module);
  PyObject *array = nullptr, *type = nullptr;
  if (!PyArg_ParseTuple(args, "OO!", &array, &PyType_Type, &type)) return nullptr;
  ArrayObject* a = array_argument(s, array);
  if (a == nullptr) return nullptr;
  Failure why;
  const dlpack::ExchangeApi* api = table_of(s.cx, reinterpret_cast<PyTypeObject*>(type), why);
  if (api == nullptr) {
    return PyErr_Occurred() != nullptr ? nullptr : (PyErr_SetString(PyExc_BufferError, why.reason.text), nullptr);
  }
  return hand_over(a, *api);
}

PyObject* to_ndarray(PyObject* module, PyObject* args) {
  State& s = state_of_module(module);
  PyObject *array = nullptr, *dtype = nullptr;
  int writable = 0;
  if (!PyArg_ParseTuple(args, "OOp", &array, &dtype, &writable)) return nullptr;
  ArrayObject* a = array_argument(s, array);
  if (a == nullptr) return nullptr;
  const Descriptor& d = a->borrow.desc;
  if (!numpy_can_make(s.cx) || d.strides == nullptr || !host_readable(d.device.type)) {
    PyErr_SetString(PyExc_BufferError,
                    "NumPy can't show this memory: its C functions aren't known, or the elements "
                    "are packed, or the host can't read them");
    return nullptr;
  }
  if (!numpy_is_dtype(s.cx, dtype, d.dtype.itemsize())) {
    return PyErr_Format(PyExc_TypeError, "%R isn't a numpy.dtype of the elements' size", dtype);
  }
  remember_dtype(s, d.dtype, dtype);
  Py_INCREF(array);
  return make_ndarray(s, a, Py_NewRef(dtype), writable != 0 && !d.readonly());
}

PyObject* to_legacy_capsule(PyObject* module, PyObject* array) {
  ArrayObject* a = array_argument(state_of_module(module), array);
  return a != nullptr ? legacy_capsule(a) : nullptr;
}

PyObject* copy_of(PyObject* module, PyObject* array) {
  ArrayObject* a = array_argument(state_of_module(module), array);
  if (a == nullptr) return nullptr;
  if (!host_readable(a->borrow.desc.device.type)) {
    PyErr_SetString(PyExc_BufferError, "memory that the host can't read isn't copied here");
    return nullptr;
  }
  return fresh_copy(a);
}

PyObject* overlap_of(PyObject* module, PyObject* array) {
  ArrayObject* a = array_argument(state_of_module(module), array);
  if (a == nullptr) return nullptr;
  const Descriptor& d = a->borrow.desc;
  return PyBool_FromLong(d.strides != nullptr && d.size() > 1 &&
                         self_overlap(d.ndim, d.shape, d.strides, d.dtype.itemsize()) != Overlap::none);
}

}  // namespace anyarray
