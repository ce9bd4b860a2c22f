// SPDX-License-Identifier: Apache-2.0
// Row `array_method`, the last resort: __array__, asked not to copy. A method too old to know that word is called
// without it, and whether it copied is then unknown. It is called directly, so NumPy warns nobody. The ndarray
// that comes back is read in place and held besides the object.
#include "src/protocols/adapters.h"
#include "src/support/numpy_struct.h"

namespace anyarray::adapters {
namespace {

/// __array__(copy=False), or __array__() for one that refuses the word, or may copy. Null with an exception set.
PyObject* call(Context& cx, PyObject* method, bool may_copy, bool* old) noexcept {
  if (may_copy) {
    *old = true;
    return PyObject_CallNoArgs(method);
  }
  PyObject* arguments[2] = {nullptr, Py_False};
  PyObject* result = PyObject_Vectorcall(method, arguments + 1, PY_VECTORCALL_ARGUMENTS_OFFSET, cx.names.kw_copy);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return result;
  // Not every TypeError is about the word; the second call raises the others again.
  PyErr_Clear();
  *old = true;
  return PyObject_CallNoArgs(method);
}

bool is_a(PyObject* o, PyTypeObject* type) noexcept { return type != nullptr && PyObject_TypeCheck(o, type); }

}  // namespace

Status array_method(Context& cx, PyObject* obj, const Route&, const Request& request, Borrow& out,
                    Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::array_method, &attribute, why);
  if (found != Status::ok) return found;
  Ref method(attribute);
  bool old = false;
  Ref array(call(cx, method.get(), (request.allow & allow_copy) != 0, &old));
  if (!array) return producer_raised(why);
  if (Py_TYPE(array.get()) != cx.ndarray) {
    numpy_seen(cx);  // the call may have been what imported NumPy, or numpy.ma
    if (!is_a(array.get(), cx.ndarray)) {
      return because(Status::invalid, &why.reason, "__array__ must return a numpy.ndarray, not %.100s",
                     Py_TYPE(array.get())->tp_name);
    }
    if (is_a(array.get(), cx.masked_array) && (request.allow & waive_mask) == 0) {
      return because(Status::guarded, &why.reason,
                     "__array__ returned a masked array, and a view would drop its mask: use .filled(), or take the "
                     "data as it lies with allow=(\"mask\",)");
    }
  }
  const Status s = numpy_decode(cx, array.get(), out, why);
  if (s != Status::ok) return s;
  if (numpy_made_for_us(cx, array.get())) {
    out.desc.flags |= flag_copied;
  } else if (old) {
    out.desc.flags |= flag_copied_unknown;
  }
  out.token[0] = array.release();
  hold(cx, obj, out, let_go_of_both);
  return Status::ok;
}

}  // namespace anyarray::adapters
