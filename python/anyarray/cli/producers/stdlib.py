# SPDX-License-Identifier: Apache-2.0
"""The standard library: bytes, bytearray, memoryview, array, ctypes, mmap, shared memory; and what is no array."""

from __future__ import annotations

import array
import ctypes
import math
import mmap
from functools import partial
from multiprocessing import shared_memory
from typing import Any

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, buffer_address, nested, numbers, refused

_CODES = {"b": "int", "B": "uint", "h": "int", "H": "uint", "i": "int", "I": "uint", "l": "int", "L": "uint",
          "q": "int", "Q": "uint", "f": "float", "d": "float"}  # fmt: skip


def _name(code: str) -> str:
    return f"{_CODES[code]}{8 * array.array(code).itemsize}"


def _data(code: str) -> list[Any]:
    return numbers(_name(code))


def _builtin(x: Any, readonly: bool, pointer: int | None = None) -> Sample:
    return Sample(x, lambda: list(x), (len(x),), "uint8", readonly, pointer, bytes(x))


def _bytes(data: bytes) -> Sample:
    return _builtin(data, True, buffer_address(data))


def _bytearray(data: bytes) -> Sample:
    x = bytearray(data)
    return _builtin(x, False, buffer_address(x) if x else None)


def _array(code: str) -> Sample:
    x = array.array(code, _data(code))
    return Sample(x, x.tolist, (len(x),), _name(code), False, x.buffer_info()[0], x.tobytes())


def _memoryview(code: str, layout: str) -> Sample:
    base = array.array(code, _data(code))
    view: Any = memoryview(base)
    pointer: int | None = base.buffer_info()[0]
    if layout == "2-D":
        view = view.cast("B").cast(code, SHAPE)
    elif layout == "sliced":
        view = view[1::2]
        pointer = base.buffer_info()[0] + base.itemsize
    elif layout == "negative stride":
        view = view[::-1]
        pointer = base.buffer_info()[0] + (len(base) - 1) * base.itemsize
    elif layout == "read-only":
        view = view.toreadonly()
    elif layout == "size 0":
        view, pointer = view[:0], None
    elif layout == "1 element":
        view = view[:1]
    elif layout == "0-d":
        view = view[:1].cast("B").cast(code, [])
    return Sample(view, view.tolist, view.shape or (), _name(code), view.readonly, pointer, view.tobytes())


_VIEWS = ("C", "2-D", "sliced", "negative stride", "read-only", "size 0", "1 element", "0-d")


class _Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_double), ("y", ctypes.c_double)]


class _Padded(ctypes.Structure):
    _fields_ = [("tag", ctypes.c_int8), ("value", ctypes.c_double)]


class _Swapped(ctypes.BigEndianStructure):
    _fields_ = [("n", ctypes.c_int32), ("m", ctypes.c_int32)]


def _lists(x: Any) -> Any:
    """The values of a ctypes array as nested lists, structures as tuples."""
    if isinstance(x, ctypes.Array):
        return [_lists(v) for v in x]
    if isinstance(x, (ctypes.Structure, ctypes.BigEndianStructure)):
        return tuple(_lists(getattr(x, f[0])) for f in x._fields_)
    return x


def _ctypes(x: Any, shape: tuple[int, ...], dtype: str) -> Sample:
    pointer = ctypes.addressof(x) if math.prod(shape) else None
    return Sample(x, lambda: _lists(x), shape, dtype, False, pointer, bytes(x))


def _flat(kind: Any, data: list[Any], name: str) -> Sample:
    return _ctypes((kind * 12)(*data), (12,), name)


def _pair(kind: Any, dtype: str) -> Sample:
    return _ctypes((kind * 2)((1, 2), (-3, 4)), (2,), dtype)


def _rows(kind: Any, data: list[Any], name: str) -> Sample:
    return _ctypes(((kind * 4) * 3)(*[(kind * 4)(*row) for row in nested(data)]), SHAPE, name)


def _ctypes_cases() -> Cases:
    kinds: dict[str, Any] = {name: getattr(ctypes, f"c_{name}") for name in INTEGERS}
    kinds |= {"float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool}
    for name, kind in kinds.items():
        data = numbers(name)
        yield Case("ctypes", name, "C", partial(_flat, kind, data, name))
        yield Case("ctypes", name, "2-D", partial(_rows, kind, data, name))
    yield Case("ctypes", "float64", "size 0", lambda: _ctypes((ctypes.c_double * 0)(), (0,), "float64"))
    structs: dict[str, tuple[Any, str]] = {
        "struct": (_Point, "{'x': float64, 'y': float64; 16}"),
        "padded struct": (_Padded, "{'tag': int8, 'value': float64 @ 8; 16}"),
        "big-endian struct": (_Swapped, "{'n': >i4, 'm': >i4; 8}"),
    }
    for label, (kind, dtype) in structs.items():
        yield Case("ctypes", label, "C", partial(_pair, kind, dtype))


def _mmap() -> Sample:
    x = mmap.mmap(-1, 4096)
    x[:8] = b"anyarray"
    return Sample(x, lambda: list(x[:]), (4096,), "uint8", False, buffer_address(x), x[:])


_KEPT: list[shared_memory.SharedMemory] = []


def _shared() -> Sample:
    block = shared_memory.SharedMemory(create=True, size=64)
    block.unlink()  # the memory stays until the last mapping is closed
    _KEPT.append(block)
    whole: Any = block.buf
    buffer = whole[:16]
    buffer[:8] = b"anyarray"
    return Sample(buffer, buffer.tolist, (16,), "uint8", False, buffer_address(buffer), bytes(buffer))


def cases() -> Cases:
    for kind, build in (("bytes", _bytes), ("bytearray", _bytearray)):
        for layout, data in (("C", b"any\0array"), ("1 element", b"a"), ("size 0", b"")):
            yield Case(kind, "uint8", layout, partial(build, data))
    for code in _CODES:
        yield Case("array.array", _name(code), "C", partial(_array, code))
    yield Case("array.array", "float64", "size 0", lambda: Sample(array.array("d"), lambda: [], (0,), "float64", False))
    for code in _CODES:
        for layout in _VIEWS:
            yield Case("memoryview", _name(code), layout, partial(_memoryview, code, layout))
    yield from _ctypes_cases()
    yield Case("mmap", "uint8", "C", _mmap)
    yield Case("SharedMemory.buf", "uint8", "C", _shared)
    yield refused("list", "float64", "no array: asarray takes it", lambda: [1.0, 2.0])
    yield refused("int", "int", "no array: asarray takes it", lambda: 3, "0-d")
    yield refused("str", "str", "no array", lambda: "abc")
    yield refused("SharedMemory", "uint8", "no array: its .buf is one", lambda: _KEPT[0] if _KEPT else object())

    def released() -> memoryview:
        view = memoryview(b"abc")
        view.release()
        return view

    yield refused("memoryview", "uint8", "it was released", released, "released")
