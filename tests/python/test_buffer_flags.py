# SPDX-License-Identifier: Apache-2.0
"""The buffer slot: every combination of request flags, against the rules of PEP 3118 and against NumPy's answers."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .test_produce import LAYOUTS, sample

np = needs("numpy")


class Buffer(ctypes.Structure):
    _fields_ = [
        ("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int), ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)), ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)), ("internal", ctypes.c_void_p),
    ]  # fmt: skip


get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(Buffer), ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
release_buffer = ctypes.PYFUNCTYPE(None, ctypes.POINTER(Buffer))(("PyBuffer_Release", ctypes.pythonapi))
WRITABLE, FORMAT, ND, STRIDES = 1, 4, 8, 0x18
C, F, ANY, INDIRECT = 0x38, 0x58, 0x98, 0x118


def request(obj: Any, flags: int) -> dict[str, Any] | None:
    """Give all that is answered, or None where it is refused; the buffer is released."""
    b = Buffer()
    try:
        get_buffer(obj, ctypes.byref(b), flags)
    except (BufferError, ValueError):  # NumPy raises both
        return None
    n = b.ndim
    answer = {
        "buf": b.buf, "len": b.len, "itemsize": b.itemsize, "readonly": b.readonly, "ndim": n, "format": b.format,
        "shape": tuple(b.shape[:n]) if b.shape else None, "strides": tuple(b.strides[:n]) if b.strides else None,
        "suboffsets": bool(b.suboffsets),
    }  # fmt: skip
    release_buffer(ctypes.byref(b))
    return answer


ALL_FLAGS = [w | f | s | x for w in (0, WRITABLE) for f in (0, FORMAT) for s in (0, ND, STRIDES, C, F, ANY, C | F,
             INDIRECT) for x in (0, 0x20, 0x40, 0x80, 0x100)]  # fmt: skip


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", ["f4", "?", ">i2", "c16", "S3", "i4,f8"])
def test_answers_as_numpy_does(dtype: str, layout: str, readonly: bool) -> None:
    a = sample("i8" if dtype[0] in "Si" else dtype, layout).astype(dtype)
    a = LAYOUTS[layout](a) if layout in ("f", "spread") else a
    a.flags.writeable = a.flags.writeable and not readonly
    v = aa.view(a)
    for flags in sorted(set(ALL_FLAGS) - {0x100}):  # that one alone is PyBUF_READ, no request
        mine, theirs = request(v, flags), request(a, flags)
        if flags & (ND | FORMAT) == FORMAT:
            assert mine is None  # NumPy grants a format without a shape, which CPython's documentation forbids
            continue
        assert (mine is None) == (theirs is None), hex(flags)
        if mine is None or theirs is None:
            continue
        if not flags & ND:  # NumPy says 0 dimensions; CPython's own PyBuffer_FillInfo says 1
            assert mine.pop("ndim") == 1 and theirs.pop("ndim") == 0
        if a.size == 0:
            assert mine.pop("buf") is not None and theirs.pop("buf") is not None
            assert (mine.pop("strides") is None) == (theirs.pop("strides") is None)  # they place nothing
        if mine["ndim" if "ndim" in mine else "len"] == 0 or flags & ND == 0:
            for what in ("shape", "strides"):  # () and NULL are the same there
                assert not mine.pop(what, None) and not theirs.pop(what, None)
        if dtype == "i4,f8":
            assert (mine.pop("format") is None) == (theirs.pop("format") is None)
        assert mine == theirs, hex(flags)


def test_contiguous_arrays_have_plain_strides() -> None:
    odd = np.lib.stride_tricks.as_strided(np.ones((1, 10, 10)), strides=(-1, 80, 8))
    v = aa.view(odd)
    assert v.strides == (-1, 80, 8) and memoryview(v).strides == (800, 80, 8)
    both = aa.view(np.ones((10, 1)))
    for flags, strides in ((C, (8, 8)), (F, (8, 80)), (STRIDES, (8, 8)), (ANY, (8, 8))):
        answer = request(both, flags)
        assert answer is not None and answer["strides"] == strides
    for _ in range(1000):
        request(v, F | FORMAT)
        request(v, STRIDES)
    v.release()


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_every_combination_of_flags(layout: str, readonly: bool) -> None:
    a = sample("f4", layout)
    readonly = readonly or not a.flags.writeable
    a.flags.writeable = not readonly
    v = aa.view(a)
    c, f = a.flags.c_contiguous, a.flags.f_contiguous
    for wanted in itertools.product((0, WRITABLE), (0, FORMAT), (0, ND, STRIDES, C, F, ANY, INDIRECT)):
        flags = sum(wanted)
        shaped, strided = flags & ND == ND, flags & STRIDES == STRIDES
        fits = not (wanted[0] and readonly) and not (wanted[1] and not shaped)
        fits = fits and (strided or c) and {C: c, F: f, ANY: c or f}.get(wanted[2], True)
        b = Buffer()
        if not fits:
            with pytest.raises(BufferError):
                get_buffer(v, ctypes.byref(b), flags)
            with pytest.raises(ValueError, match="NULL"):
                b.obj
            continue
        get_buffer(v, ctypes.byref(b), flags)
        assert b.obj is v and b.len == a.nbytes and b.itemsize == 4 and b.readonly == readonly
        assert b.buf == a.ctypes.data or a.size == 0
        assert bool(b.format) == bool(wanted[1]) and (b.format or b"f") == b"f"
        assert b.ndim == (a.ndim if shaped else 1)
        assert bool(b.shape) == (shaped and a.ndim > 0) and bool(b.strides) == (strided and a.ndim > 0)
        if b.shape:
            assert tuple(b.shape[: a.ndim]) == a.shape
        assert not b.suboffsets
        with pytest.raises(BufferError, match="in use"):
            v.release()
        release_buffer(ctypes.byref(b))
    v.release()
