// SPDX-License-Identifier: Apache-2.0
// Through lists and tuples, depth first: what shape they make, and where it isn't one.
#include "src/python/sequences_parts.h"

namespace anyarray::sequences {
namespace {

const char* plural(std::int64_t n) noexcept { return n == 1 ? "" : "s"; }

/// "element [0][0]": what was met first at this depth, which all others are measured by.
struct FirstPath {
  explicit FirstPath(int depth) noexcept {
    std::size_t at = static_cast<std::size_t>(std::snprintf(text, sizeof text, depth > 0 ? "element " : "the object"));
    for (int i = 0; i < depth && at < sizeof text; ++i) {
      at += static_cast<std::size_t>(std::snprintf(text + at, sizeof text - at, "[0]"));
    }
  }
  char text[112];
};

Status other_length(Gather& g, int depth, std::int64_t n) noexcept {
  const std::int64_t first = g.shape[depth];
  return because(Status::invalid, &g.why.reason, "ragged: %s has %lld element%s, %s has %lld", Path(g, depth).text,
                 static_cast<long long>(n), plural(n), FirstPath(depth).text, static_cast<long long>(first));
}

Status other_depth(Gather& g, int depth, const char* what) noexcept {
  if (depth < g.known) {
    return because(Status::invalid, &g.why.reason, "ragged: %s is %s, %s has %lld element%s", Path(g, depth).text, what,
                   FirstPath(depth).text, static_cast<long long>(g.shape[depth]), plural(g.shape[depth]));
  }
  return because(Status::invalid, &g.why.reason, "ragged: %s is %s, %s is one element", Path(g, depth).text, what,
                 FirstPath(depth).text);
}

Status changed(Gather& g, int depth) noexcept {
  return because(Status::invalid, &g.why.reason, "%s changed its length while it was read", Path(g, depth).text);
}

}  // namespace

Status meet_element(Gather& g, int depth) noexcept {
  if (g.ndim < 0) g.ndim = depth;
  return g.ndim == depth ? Status::ok : other_depth(g, depth, "one element");
}

Status enter(Gather& g, int depth, std::int64_t n, bool trusted) noexcept {
  if (depth >= max_ndim) {
    return because(Status::invalid, &g.why.reason,
                   "sequences lie more than %d deep in each other, or one contains itself", max_ndim);
  }
  if (depth < g.known) {
    if (g.shape[depth] != n) return other_length(g, depth, n);
  } else if (g.ndim >= 0) {
    return other_depth(g, depth, "a sequence");
  } else {
    g.shape[depth] = n;
    g.trusted[depth] = trusted;
    g.known = depth + 1;
  }
  if (n > 0) return look_for_signals(g, 1);
  if (g.ndim < 0) g.ndim = depth + 1;
  // Of an array without elements the other extents are known all the same.
  return g.ndim == depth + 1 ? look_for_signals(g, 1) : other_depth(g, depth, "an empty sequence");
}

Status meet_array(Gather& g, const Descriptor& d, int depth) noexcept {
  if (depth + d.ndim > max_ndim) {
    return because(Status::invalid, &g.why.reason, "%s has %d dimensions: more than %d in all", Path(g, depth).text,
                   static_cast<int>(d.ndim), max_ndim);
  }
  const bool first = g.ndim < 0;
  for (int i = 0; i < d.ndim; ++i) {
    const int at = depth + i;
    g.index[at] = 0;
    if (first) {
      g.shape[at] = d.shape[i];
      g.trusted[at] = true;
    } else if (at >= g.known) {
      return other_depth(g, at, "a sequence");
    } else if (g.shape[at] != d.shape[i]) {
      return other_length(g, at, d.shape[i]);
    }
  }
  if (first) g.known = depth + d.ndim;
  return meet_element(g, depth + d.ndim);
}

namespace {

/// `left`: how many more are looked at; a list that holds others many times over can stand for more than there is time.
Status check_lengths(Gather& g, PyObject* o, int depth, int& left) noexcept {
  if (depth >= g.ndim || !(PyList_CheckExact(o) || PyTuple_CheckExact(o)) || --left < 0) return Status::ok;
  const Py_ssize_t n = Py_SIZE(o);
  if (n != g.shape[depth]) return other_length(g, depth, n);
  for (Py_ssize_t i = 0; depth + 1 < g.ndim && i < n && left > 0; ++i) {
    g.index[depth] = i;
    if (const Status s = check_lengths(g, PySequence_Fast_ITEMS(o)[i], depth + 1, left); s != Status::ok) return s;
  }
  return Status::ok;
}

}  // namespace

Status check_lengths(Gather& g) noexcept {
  int left = 1 << 24;
  return check_lengths(g, g.outermost, 0, left);
}

/// A list or tuple, by its struct. Whatever is called holds on to the item: code of others may change the sequence.
Status read_items(Gather& g, PyObject* sequence, int depth) noexcept {
  const Py_ssize_t n = Py_SIZE(sequence);
  if (const Status s = enter(g, depth, n, true); s != Status::ok) return s;
  if (Py_SIZE(sequence) != n) return changed(g, depth);
  for (Py_ssize_t i = 0; i < n;) {
    PyObject* const* const items = PySequence_Fast_ITEMS(sequence);
    if (g.ndim == depth + 1 && g.in_runs) {
      const Py_ssize_t until = n - i > elements_between_signals ? i + elements_between_signals : n;
      if (const Status s = make_room(g, until - i); s != Status::ok) return s;
      const Py_ssize_t from = i;
      i = take_run(g, items, i, until);
      if (i == n) return look_for_signals(g, i - from);
      if (i > from) {
        if (const Status s = look_for_signals(g, i - from); s != Status::ok) return s;
        if (Py_SIZE(sequence) != n) return changed(g, depth);
        continue;
      }
    }
    g.index[depth] = i;
    const Ref item = Ref::borrow(items[i]);
    ObjectKind kind;
    if (const Status s = walk(g, item.get(), depth + 1, &kind); s != Status::ok) return s;
    if (const Status s = look_for_signals(g, 1); s != Status::ok) return s;
    if (Py_SIZE(sequence) != n) return changed(g, depth);
    ++i;
  }
  return Status::ok;
}

Status walk(Gather& g, PyObject* o, int depth, ObjectKind* kind) noexcept {
  PyTypeObject* const type = Py_TYPE(o);
  if (type == &PyList_Type || type == &PyTuple_Type) {
    *kind = ObjectKind::sequence;
    return read_items(g, o, depth);
  }
  if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type || type == &PyComplex_Type) {
    *kind = ObjectKind::scalar;
    Number v;
    if (!read_number(o, v)) return Status::interrupted;
    return add_number(g, v, depth);
  }
  return walk_other(g, o, depth, kind);
}

}  // namespace anyarray::sequences
