// SPDX-License-Identifier: Apache-2.0
// Row `arrow_stream`: __arrow_c_stream__(), a capsule with a stream of arrays of one type. The type is looked at
// before an array is asked for. One array is taken as it lies; none is an array of length 0; several are several
// memories. The stream's functions may run any code, so it is moved out of its capsule first: it is ours alone then.
#include "src/protocols/adapters.h"
#include "src/support/arrow.h"

namespace anyarray::adapters {
namespace {

constexpr const char* method_name = "__arrow_c_stream__";

// Each chunk has to be made to be counted, and a stream may have no end.
constexpr int counted_max = 100;

/// A struct that is ours, released at the end.
template <class Struct>
struct Ours : Struct {
  Ours() noexcept : Struct() {}
  explicit Ours(const Struct& moved) noexcept : Struct(moved) {}
  ~Ours() { arrow_release(static_cast<Struct&>(*this)); }
  Ours(const Ours&) = delete;
  Ours& operator=(const Ours&) = delete;
};

/// What a function of the stream came to: ok, or why not in the producer's words.
Status answered(arrow::ArrayStream& stream, int code, const char* function, Failure& why) noexcept {
  if (PyErr_Occurred() != nullptr) return producer_raised(why);
  if (code == 0) return Status::ok;
  const char* message = stream.get_last_error != nullptr ? stream.get_last_error(&stream) : nullptr;
  because(Status::failed, &why.reason, "%s of the Arrow stream failed with errno %d%s%.140s", function, code,
          message != nullptr ? ": " : "", message != nullptr ? message : "");
  return PyErr_Occurred() != nullptr ? producer_raised(why) : Status::failed;
}

Status next(arrow::ArrayStream& stream, arrow::Array& out, Failure& why) noexcept {
  const int code = stream.get_next(&stream, &out);
  const Status s = answered(stream, code, "get_next", why);
  if (code != 0) out.release = nullptr;  // nothing was given, whatever lies there
  return s;
}

/// Why several chunks aren't taken, with their number. Two of them were given already.
Status refuse_chunks(arrow::ArrayStream& stream, Failure& why) noexcept {
  int n = 2;
  for (; n <= counted_max; ++n) {
    Ours<arrow::Array> more;
    if (const Status s = next(stream, more, why); s != Status::ok) return s;
    if (more.release == nullptr) break;
  }
  return because(Status::unsupported, &why.reason,
                 "the Arrow stream has %s%d chunks, each in a memory of its own, and a view is of one: combine them "
                 "first (combine_chunks(), rechunk())",
                 n > counted_max ? "more than " : "", n > counted_max ? counted_max : n);
}

Status take(Context& cx, PyObject* obj, arrow::ArrayStream& stream, Borrow& out, Failure& why) noexcept {
  if (stream.get_schema == nullptr || stream.get_next == nullptr) {
    return because(Status::invalid, &why.reason, "the Arrow stream has no %s",
                   stream.get_schema == nullptr ? "get_schema" : "get_next");
  }
  Ours<arrow::Schema> schema;
  const int code = stream.get_schema(&stream, &schema);
  Status s = answered(stream, code, "get_schema", why);
  if (code != 0) schema.release = nullptr;
  if (s != Status::ok) return s;
  arrow::Type type;
  s = arrow::decode_type(schema, &type, &why.reason);
  if (s != Status::ok) return s;
  Ours<arrow::Array> array, second;
  s = next(stream, array, why);
  if (s != Status::ok) return s;
  if (array.release == nullptr) {
    s = arrow::decode_nothing(type, out, &why.reason);
    if (s == Status::ok) hold(cx, obj, out, let_go);
    return s;
  }
  s = next(stream, second, why);
  if (s != Status::ok) return s;
  if (second.release != nullptr) return refuse_chunks(stream, why);
  s = arrow::decode(type, array, out, &why.reason);
  if (s == Status::ok) hold_arrow(cx, obj, array, out);
  return s;
}

Status open(Context& cx, PyObject* obj, PyObject* capsule, Borrow& out, Failure& why) noexcept {
  void* place = nullptr;
  const Status s = arrow_struct(cx, capsule, arrow::stream_name, method_name, &place, why);
  if (s != Status::ok) return s;
  auto& given = *static_cast<arrow::ArrayStream*>(place);
  if (given.release == nullptr) {
    return because(Status::invalid, &why.reason, "the Arrow stream was released or taken before: it holds nothing");
  }
  Ours<arrow::ArrayStream> stream(given);
  given.release = nullptr;
  return take(cx, obj, stream, out, why);
}

}  // namespace

Status arrow_stream(Context& cx, PyObject* obj, const Route& route, const Request&, Borrow& out,
                    Failure& why) noexcept {
  PyObject* attribute = nullptr;
  const Status found = find_attribute(cx, obj, Protocol::arrow_stream, &attribute, why);
  if (found != Status::ok) return found;
  Ref method(attribute);
  if (route.skip_stream != nullptr) {
    if (const Status s = route.skip_stream(cx, obj, why); s != Status::ok) return s;
  }
  PyObject* answer = PyObject_CallNoArgs(attribute);
  if (answer == nullptr) return producer_raised(why);
  const Status s = open(cx, obj, answer, out, why);
  apart_from_errors([answer] { Py_DECREF(answer); });  // a capsule's destructor is the producer's code
  return s;
}

}  // namespace anyarray::adapters
