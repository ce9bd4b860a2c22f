# SPDX-License-Identifier: Apache-2.0
"""What the probes need of C, through ctypes alone: memory, capsules, the structs of DLPack, Arrow and NumPy, and a
buffer slot for a class that is written in Python.

Before Python 3.12 no class written in Python can be asked for a buffer, and since then its method is an attribute
like any other, which a probe without that attribute must not have. So the slot is filled by hand: what stands there is
`PySequence_DelSlice`, which has the slot's signature, calls `__delitem__(slice(view, flags))` and hands on what that
raises. The exchange table's function is `PySequence_DelItem` for the same reason.

Everything that a consumer may still point to after its probe has gone lives until the process ends: it is the same few
bytes for all probes.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from ..cases import BufferView

#: Elements of each probe, all float32.
COUNT = 4

READ_ONLY = 1

_c = ctypes
#: A handle of our own: others set argument types on the functions of `ctypes.pythonapi`, for everybody.
_api = ctypes.PyDLL(None)


class Device(ctypes.Structure):
    """DLPack's DLDevice."""

    _fields_ = [("type", _c.c_int32), ("id", _c.c_int32)]


class DataType(ctypes.Structure):
    """DLPack's DLDataType."""

    _fields_ = [("code", _c.c_uint8), ("bits", _c.c_uint8), ("lanes", _c.c_uint16)]


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = [("data", _c.c_void_p), ("device", Device), ("ndim", _c.c_int32), ("dtype", DataType),
                ("shape", _c.c_void_p), ("strides", _c.c_void_p), ("byte_offset", _c.c_uint64)]  # fmt: skip


class Legacy(ctypes.Structure):
    """DLPack's DLManagedTensor."""

    _fields_ = [("tensor", Tensor), ("context", _c.c_void_p), ("deleter", _c.c_void_p)]


class Versioned(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned."""

    _fields_ = [("major", _c.c_uint32), ("minor", _c.c_uint32), ("context", _c.c_void_p), ("deleter", _c.c_void_p),
                ("flags", _c.c_uint64), ("tensor", Tensor)]  # fmt: skip


class ExchangeTable(ctypes.Structure):
    """DLPack's DLPackExchangeAPI."""

    _fields_ = [("major", _c.c_uint32), ("minor", _c.c_uint32), ("previous", _c.c_void_p), ("allocate", _c.c_void_p),
                ("from_object", _c.c_void_p), ("to_object", _c.c_void_p), ("lend", _c.c_void_p),
                ("stream", _c.c_void_p)]  # fmt: skip


class ArrayStruct(ctypes.Structure):
    """NumPy's PyArrayInterface."""

    _fields_ = [("two", _c.c_int), ("nd", _c.c_int), ("kind", _c.c_char), ("itemsize", _c.c_int),
                ("flags", _c.c_int), ("shape", _c.c_void_p), ("strides", _c.c_void_p), ("data", _c.c_void_p),
                ("descr", _c.c_void_p)]  # fmt: skip


class ArrowSchema(ctypes.Structure):
    """Arrow's ArrowSchema."""

    _fields_ = [("format", _c.c_char_p), ("name", _c.c_char_p), ("metadata", _c.c_void_p), ("flags", _c.c_int64),
                ("n_children", _c.c_int64), ("children", _c.c_void_p), ("dictionary", _c.c_void_p),
                ("release", _c.c_void_p), ("private", _c.c_void_p)]  # fmt: skip


class ArrowArray(ctypes.Structure):
    """Arrow's ArrowArray."""

    _fields_ = [("length", _c.c_int64), ("null_count", _c.c_int64), ("offset", _c.c_int64), ("n_buffers", _c.c_int64),
                ("n_children", _c.c_int64), ("buffers", _c.c_void_p), ("children", _c.c_void_p),
                ("dictionary", _c.c_void_p), ("release", _c.c_void_p), ("private", _c.c_void_p)]  # fmt: skip


SHAPE = (_c.c_int64 * 1)(COUNT)
ELEMENT_STRIDES = (_c.c_int64 * 1)(1)
BYTE_STRIDES = (_c.c_int64 * 1)(4)

# Their bytes must stay where they are: a capsule and a view keep the pointer alone.
_NAMES = {name: name.encode() for name in ("dltensor", "dltensor_versioned", "dlpack_exchange_api", "arrow_schema",
                                           "arrow_array", "something_else", "f", "something else")}  # fmt: skip

_capsule = _api.PyCapsule_New
_capsule.restype = _c.py_object
_capsule.argtypes = [_c.c_void_p, _c.c_char_p, _c.c_void_p]


def function(name: str) -> int:
    """The address of a function of the CPython API."""
    return _c.cast(getattr(_api, name), _c.c_void_p).value or 0


#: A function of C's library that takes one word and does nothing: there is nothing to delete.
_DELETER = _c.cast(_c.CDLL(None).abs, _c.c_void_p).value


def capsule(pointer: int, name: str | None) -> Any:
    """A capsule without a destructor. `name` is one of a few that are kept for ever, or None for NULL."""
    return _capsule(pointer, None if name is None else _NAMES[name], None)


def clear_error() -> None:
    """Drops an exception that was set when C called back: some ask for a buffer again without clearing the first error.

    An exporter in C doesn't mind; a function of Python can't return while one is set.
    """
    _api.PyErr_Clear()


@cache
def memory(value: float) -> int:
    """The address of the elements whose every value is this one, on a boundary of 64 bytes."""
    room = _c.create_string_buffer(4 * COUNT + 64)
    _kept.append(room)
    address = (_c.addressof(room) + 63) & ~63
    (_c.c_float * COUNT).from_address(address)[:] = [value] * COUNT
    return address


_kept: list[Any] = []


def _tensor(value: float, code: int) -> Tensor:
    return Tensor(memory(value), Device(1, 0), 1, DataType(code, 32, 1), _c.addressof(SHAPE),
                  _c.addressof(ELEMENT_STRIDES), 0)  # fmt: skip


@cache
def versioned(value: float, flags: int = 0, code: int = 2) -> int:
    """The address of a DLManagedTensorVersioned; `code` is DLPack's of the dtype, 2 for floats."""
    made = Versioned(1, 0, None, _DELETER, flags, _tensor(value, code))
    _kept.append(made)
    return _c.addressof(made)


@cache
def legacy(value: float, code: int = 2) -> int:
    """The address of a DLManagedTensor."""
    made = Legacy(_tensor(value, code), None, _DELETER)
    _kept.append(made)
    return _c.addressof(made)


def _no_stream(_type: int, _id: int, out: Any) -> int:
    out[0] = None
    return 0


def _release(struct: Any) -> None:
    struct[0].release = None


_NO_STREAM = _c.PYFUNCTYPE(_c.c_int, _c.c_int32, _c.c_int32, _c.POINTER(_c.c_void_p))(_no_stream)
_RELEASE_SCHEMA = _c.CFUNCTYPE(None, _c.POINTER(ArrowSchema))(_release)
_RELEASE_ARRAY = _c.CFUNCTYPE(None, _c.POINTER(ArrowArray))(_release)


@cache
def exchange_table() -> int:
    """The address of an exchange table whose function calls `__delitem__(address of the result)`."""
    stream = _c.cast(_NO_STREAM, _c.c_void_p)
    made = ExchangeTable(1, 3, None, None, function("PySequence_DelItem"), None, None, stream)
    _kept.append(made)
    return _c.addressof(made)


def array_struct(value: float, readonly: bool, two: int = 2, kind: bytes = b"f") -> ArrayStruct:
    """A fresh struct, because NumPy writes to it; its owner must outlive what points to it."""
    flags = 0x1 | 0x2 | 0x100 | 0x200 | (0 if readonly else 0x400)
    return ArrayStruct(two, 1, kind, 4, flags, _c.addressof(SHAPE), _c.addressof(BYTE_STRIDES), memory(value), None)


def arrow(value: float, format_: str = "f") -> tuple[ArrowSchema, ArrowArray]:
    """Fresh structs, because who imports them marks them as moved."""
    schema = ArrowSchema(_NAMES[format_], b"", None, 0, 0, None, None, _c.cast(_RELEASE_SCHEMA, _c.c_void_p), None)
    array = ArrowArray(COUNT, 0, 0, 2, 0, _arrow_buffers(value), None, None, _c.cast(_RELEASE_ARRAY, _c.c_void_p), None)
    return schema, array


@cache
def _arrow_buffers(value: float) -> int:
    made = (_c.c_void_p * 2)(None, memory(value))
    _kept.append(made)
    return _c.addressof(made)


def fill_view(owner: object, address: int, flags: int, value: float, readonly: bool, format_: str) -> None:
    """Answers a request for a buffer as an exporter of contiguous elements must."""
    if readonly and flags & 0x1:
        raise BufferError("the probe's buffer is read-only")
    view = BufferView.from_address(address)
    view.buf, view.len, view.itemsize, view.readonly, view.ndim = memory(value), 4 * COUNT, 4, int(readonly), 1
    view.format = _NAMES[format_] if flags & 0x4 else None
    view.shape = _c.addressof(SHAPE) if flags & 0x8 else None
    view.strides = _c.addressof(BYTE_STRIDES) if flags & 0x18 == 0x18 else None
    view.suboffsets = view.internal = None
    _api.Py_IncRef(_c.py_object(owner))
    view.obj = id(owner)


def give_buffer_slot(cls: type) -> None:
    """Makes instances of this class, which has a `__delitem__`, exporters of buffers."""
    word = _c.sizeof(_c.c_void_p)
    head = object.__basicsize__ + word  # with ob_size; tp_as_buffer is the 18th word behind it
    slots = _c.c_void_p.from_address(id(cls) + head + 17 * word).value
    assert slots is not None, "a class made by a class statement has room for the slots"
    _c.c_void_p.from_address(slots).value = function("PySequence_DelSlice")
