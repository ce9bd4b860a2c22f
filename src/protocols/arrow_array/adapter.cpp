// SPDX-License-Identifier: Apache-2.0
// Row `arrow_array`: __arrow_c_array__(), a capsule with a schema and one with an array. Everything is looked at
// before the array is moved out of its capsule; one that isn't taken stays there, and the capsule's own destructor
// releases it, as it does the schema.
#include "src/protocols/adapters.h"
#include "src/support/arrow.h"

namespace anyarray::adapters {
namespace {

constexpr const char* method_name = "__arrow_c_array__";

/// No code of others runs in between, so that what was looked at is what is moved.
Status take(Context& cx, PyObject* obj, PyObject* answer, Borrow& out, Failure& why) noexcept {
  if (!PyTuple_Check(answer) || PyTuple_GET_SIZE(answer) != 2) {
    return because(Status::invalid, &why.reason, "%s must give a tuple of two capsules, not %.80s%s", method_name,
                   Py_TYPE(answer)->tp_name, PyTuple_Check(answer) ? " of another length" : "");
  }
  void* schema = nullptr;
  void* place = nullptr;
  Status s = arrow_struct(cx, PyTuple_GET_ITEM(answer, 0), arrow::schema_name, method_name, &schema, why);
  if (s == Status::ok) s = arrow_struct(cx, PyTuple_GET_ITEM(answer, 1), arrow::array_name, method_name, &place, why);
  if (s != Status::ok) return s;
  auto& array = *static_cast<arrow::Array*>(place);
  arrow::Type type;
  s = arrow::decode_type(*static_cast<const arrow::Schema*>(schema), &type, &why.reason);
  if (s == Status::ok) s = arrow::decode(type, array, out, &why.reason);
  if (s == Status::ok) hold_arrow(cx, obj, array, out);
  return s;
}

}  // namespace

Status arrow_array(Context& cx, PyObject* obj, const Route&, const Request&, Borrow& out, Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::arrow_array, &attribute, why);
  if (found != Status::ok) return found;
  Ref method(attribute);
  PyObject* answer = PyObject_CallNoArgs(attribute);
  if (answer == nullptr) return producer_raised(why);
  const Status s = take(cx, obj, answer, out, why);
  apart_from_errors([answer] { Py_DECREF(answer); });  // destructors of capsules are the producer's code
  return s;
}

}  // namespace anyarray::adapters
