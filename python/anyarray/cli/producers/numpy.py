# SPDX-License-Identifier: Apache-2.0
"""NumPy: every dtype in every layout, read-only too; its subclasses, scalars, and what has no fixed-size elements."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..cases import (
    INTEGERS,
    LAYOUTS,
    SHAPE,
    Case,
    Cases,
    Sample,
    buffer_address,
    complexes,
    integers,
    load,
    numbers,
    refused,
)
from ._mirror import dtype_name, witness

np = load("numpy")

_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    **LAYOUTS,
    "F": np.asfortranarray,
    "broadcast": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "read-only": lambda x: _frozen(x.copy()),
    "read-only sliced": lambda x: _frozen(x[1:, ::2]),
}


def _frozen(x: Any) -> Any:
    x = x.view()
    x.flags.writeable = False
    return x


def _numbers() -> dict[str, Any]:
    """Twelve elements of each plain dtype."""
    names = ("bool", *INTEGERS, "float16", "float32", "float64", "longdouble", "complex64", "complex128")
    return {**{name: np.array(numbers(name), name) for name in names}, "clongdouble": np.array(complexes(), "G")}


def _others() -> dict[str, Any]:
    out = {
        "S5": np.array([b"ab", b"", b"a\0c", b"\xff\xfe", b"12345", *[b"x"] * 7], "S5"),
        "U3": np.array(["añ", "", "\U0001f600z", "abc", *["y"] * 8], "U3"),
        "V7": np.frombuffer(bytes(range(1, 85)), "V7"),
    }
    out["V7"] = out["V7"].copy()
    ticks = np.array([1, *integers(64, True)[1:]], "i8")  # the least int64 is NaT
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"):
        out[f"datetime64[{unit}]"] = ticks.view(f"M8[{unit}]")
    for unit in ("D", "s", "us", "ns"):
        out[f"timedelta64[{unit}]"] = ticks.view(f"m8[{unit}]")
    # NumPy's own tolist() raises since 2.5 where the seconds don't fit 64 bits.
    fitting = np.clip(ticks, -(2**63) // 25 + 1, (2**63 - 1) // 25)
    out["datetime64[25s]"], out["timedelta64[25s]"] = fitting.view("M8[25s]"), fitting.view("m8[25s]")
    return out


def _structs() -> dict[str, Any]:
    dtypes = {
        "struct": [("a", "<i4"), ("b", "<f8")],
        "aligned struct": np.dtype([("a", "i1"), ("b", "f8"), ("c", "i2")], align=True),
        "nested struct": [("id", "<u2"), ("at", [("x", "<f4"), ("y", "<f4")])],
        "struct with a sub-array": [("m", "<f4", (2, 3)), ("n", "<i8")],
        "struct with strings": [("s", "S3"), ("u", "<U2"), ("t", "<M8[us]"), ("ok", "?")],
        "big-endian struct": [("a", ">i4"), ("b", ">c16")],
    }
    out = {}
    for label, spec in dtypes.items():
        x = np.zeros(12, spec)
        _fill(x)
        out[label] = x
    return out


def _fill(x: Any) -> None:
    """Different values in every field, without touching the padding."""
    if x.dtype.names is not None:
        for name in x.dtype.names:
            _fill(x[name])
        return
    count = np.arange(1, x.size + 1).reshape(x.shape)
    x[...] = count % 2 if x.dtype.kind == "b" else count.astype(x.dtype)


def _swapped(arrays: dict[str, Any]) -> dict[str, Any]:
    names = ("int16", "uint32", "int64", "float16", "float32", "float64", "complex64", "complex128", "longdouble")
    swapped = [arrays[n] for n in (*names, "U3", "datetime64[us]", "timedelta64[ns]")]
    return {dtype_name(x.dtype.newbyteorder(">")): x.astype(x.dtype.newbyteorder(">")) for x in swapped}


def _case(kind: str, label: str, layout: str, x: Any) -> Case:
    return Case(kind, label, layout, lambda: witness(_LAYOUTS[layout](x.reshape(SHAPE).copy())))


def _memmap() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data"
        np.arange(12.0).tofile(path)
        return np.memmap(path, "f8", "r", shape=SHAPE)


def _scalar(value: Any) -> Case:
    return Case(
        "scalar",
        dtype_name(value.dtype),
        "0-d",
        lambda: Sample(value, value.item, (), dtype_name(value.dtype), True, buffer_address(value), value.tobytes()),
    )


def cases() -> Cases:
    numbers, others, structs = _numbers(), _others(), _structs()
    for kind, arrays in (
        ("ndarray", numbers | others),
        ("ndarray, big-endian", _swapped(numbers | others)),
        ("ndarray of structs", structs),
    ):
        for label, x in arrays.items():
            for layout in _LAYOUTS:
                yield _case(kind, label, layout, x)
    fields = structs["struct"]
    yield Case("field of a struct", "float64", "unaligned", lambda: witness(fields["b"]))
    sub_arrays = structs["struct with a sub-array"]["m"]
    yield Case("field of a struct", "float32", "strided", lambda: witness(sub_arrays))
    yield Case("recarray", "struct", "C", lambda: witness(fields.copy().view(np.recarray)))
    deep = np.arange(4, dtype="i1").reshape((1,) * 31 + (4,))
    yield Case("ndarray, 32 dimensions", "int8", "C", lambda: witness(deep))
    yield Case("memmap", "float64", "read-only", lambda: witness(_memmap()))
    yield Case("memmap", "float64", "sliced", lambda: witness(_memmap()[1:, ::2]))
    yield Case("matrix", "float64", "C", lambda: witness(np.arange(12.0).reshape(SHAPE).view(np.matrix)))
    for value in (np.float64(1.5), np.float32(2.5), np.int16(-3), np.complex64(1 + 2j)):
        yield _scalar(value)

    def masked() -> Any:
        return np.ma.masked_array(np.arange(3.0), mask=[False, True, False])

    yield refused("masked array", "float64", "the mask would be lost", masked)
    yield refused("ndarray", "object", "pointers to Python objects", lambda: np.array([1, "a", None], object))
    yield refused(
        "ndarray", "struct with an object", "pointers to Python objects", lambda: np.zeros(2, [("a", "i4"), ("o", "O")])
    )
    if hasattr(np.dtypes, "StringDType"):
        yield refused(
            "ndarray",
            "StringDType",
            "elements of no fixed size",
            lambda: np.array(["a", "bcd"], np.dtypes.StringDType()),
        )
