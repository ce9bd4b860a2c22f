# SPDX-License-Identifier: Apache-2.0
"""What a producer module hands to the matrix: cases, each of which builds one array and says what is right.

Uses the standard library alone, so that a producer module may be written outside this package too.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Expect = Literal["take", "refuse", "either"]


@dataclass(frozen=True)
class Sample:
    """One array, and what its own library says of it.

    Parameters
    ----------
    array
        The object that is taken.
    read
        Gives the library's own values as nested lists (a scalar for 0-d). Called again after a write.
    shape, dtype
        As `anyarray.Array` must report them; `dtype` is the name.
    readonly
        None where the library doesn't say.
    pointer
        Address of the first element; None where the library doesn't tell.
    raw
        The elements' bytes in row-major order; None where the library can't give them.
    copies
        True where the library is known to copy whenever it is asked, without a way to say so.
    """

    array: object
    read: Callable[[], object]
    shape: tuple[int, ...]
    dtype: str
    readonly: bool | None = None
    pointer: int | None = None
    raw: bytes | None = None
    device: str = "cpu"
    copies: bool = False


@dataclass(frozen=True)
class Case:
    """One row of the matrix: its labels, how to build the array, and what must come of it.

    `expect` is "take" (a refusal is an error), "refuse" (taking it is an error; `reason` says why), or "either"
    (depends on the library's version; when it is taken, it must be right).
    """

    kind: str
    dtype: str
    layout: str
    build: Callable[[], Sample]
    expect: Expect = "take"
    reason: str = ""


def load(name: str) -> Any:
    """The module of this name, untyped: producers must type-check where the library isn't installed."""
    return importlib.import_module(name)


def refused(kind: str, dtype: str, reason: str, make: Callable[[], object], layout: str = "C") -> Case:
    """A case that must be refused, so nothing but the object is needed."""
    return Case(kind, dtype, layout, lambda: Sample(make(), lambda: None, (), dtype), "refuse", reason)


class BufferView(ctypes.Structure):
    """CPython's Py_buffer."""

    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]  # fmt: skip


def buffer_address(x: object) -> int | None:
    """The address that the buffer protocol tells for `x` at this moment; the buffer is released at once."""
    view = BufferView()
    py_buf_full_ro = 0x11C
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(x), ctypes.byref(view), py_buf_full_ro)
    try:
        address: int | None = view.buf
        return address
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


#: Layouts that can be had from a row-major array of shape (3, 4) by indexing.
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": lambda x: x,
    "transposed": lambda x: x.T,
    "sliced": lambda x: x[1:, ::2],
    "negative stride": lambda x: x[::-1, ::-2],
    "0-d": lambda x: x[1, 2, ...],
    "size 0": lambda x: x[:, :0],
    "1 element": lambda x: x[1:2, 2:3],
}

SHAPE = (3, 4)

_FLOATS = (1.5, -2.25, float("nan"), float("inf"), -0.0, 0.0, float("-inf"), 0.0625, 6.0, -448.0, 0.5, 3.0)


def floats() -> list[float]:
    """Twelve floats of few bits, the special values among them; the first is plain, so that a write to it shows."""
    return list(_FLOATS)


def complexes() -> list[complex]:
    return [complex(a, b) for a, b in zip(_FLOATS, reversed(_FLOATS), strict=True)]


def integers(bits: int, signed: bool) -> list[int]:
    """Twelve integers, both limits of the type among them."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    small = [5, 1, 2, 3, 0, 6, 7, 4, 7, 2]
    return [small[0], low, high, *small[1:]]


def booleans() -> list[bool]:
    return [True, False, False, True, True, True, False, False, True, False, True, False]


#: Integer dtypes by name: bits, and whether signed.
INTEGERS = {f"{sign}int{bits}": (bits, not sign) for bits in (8, 16, 32, 64) for sign in ("", "u")}


def numbers(name: str) -> list[Any]:
    """Twelve values for a plain dtype of this name: bool, int*, uint*, complex*, and floats of any kind."""
    if name in INTEGERS:
        return list(integers(*INTEGERS[name]))
    return list(booleans() if name == "bool" else complexes() if name.startswith("complex") else floats())


def nested(flat: Sequence[object], shape: tuple[int, ...] = SHAPE) -> Any:
    """`flat` as nested lists of this shape."""
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return list(flat)
    step = len(flat) // shape[0] if shape[0] else 0
    return [nested(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


Cases = Iterator[Case]
