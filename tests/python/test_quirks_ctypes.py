# SPDX-License-Identifier: Apache-2.0
"""Rows of the quirks table about ctypes: what its class says, and what another exporter says of it."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .quirk_marks import quirk, refusal


@quirk("ctypes_format")
def test_ctypes_class_says_the_type() -> None:
    class Packed(ctypes.Structure):
        _pack_ = 1
        _layout_ = "ms"
        _fields_ = [("flag", ctypes.c_uint8), ("value", ctypes.c_double)]

    x = (Packed * 2)((1, 2.5), (3, 4.5))
    v = aa.view(x)
    assert (v.shape, v.itemsize, v.ptr) == ((2,), 9, ctypes.addressof(x))
    assert [tuple(row) for row in v.tolist()] == [(1, 2.5), (3, 4.5)]


# ------------------------------------------------------------------ behind another exporter


class Padded(ctypes.Structure):
    _fields_ = [("flag", ctypes.c_uint8), ("value", ctypes.c_double)]


class Packed(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("flag", ctypes.c_uint8), ("value", ctypes.c_double)]


class Derived(Padded):
    _fields_ = [("last", ctypes.c_int16)]


class Grid(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char), ("grid", (ctypes.c_int32 * 3) * 2)]


class Foreign(ctypes.BigEndianStructure):
    _fields_ = [("x", ctypes.c_int32), ("y", ctypes.c_uint16)]


class Overlaid(ctypes.Union):
    _fields_ = [("i", ctypes.c_int32), ("f", ctypes.c_float)]


class OneByte(ctypes.Structure):
    _fields_ = [("flag", ctypes.c_uint8)]


class SmallUnion(ctypes.Union):
    _fields_ = [("a", ctypes.c_uint8), ("b", ctypes.c_int8)]


class Bits(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint32, 4), ("high", ctypes.c_uint32, 28)]


class Pointing(ctypes.Structure):
    _fields_ = [("where", ctypes.c_void_p), ("n", ctypes.c_int32)]


WRAPPERS = {"memoryview": memoryview, "PickleBuffer": pickle.PickleBuffer}


@quirk("ctypes_memoryview", "ctypes_pickle")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("kind", [Padded, Packed, Derived, Grid, Foreign, Overlaid, OneByte, SmallUnion])
def test_ctypes_class_says_the_type_behind_another_exporter(kind: Any, wrapper: str) -> None:
    for x in (kind(), (kind * 3)(), (kind * 2 * 2)()):
        ctypes.memset(ctypes.addressof(x), 1, ctypes.sizeof(x))
        want = aa.view(x)
        got = aa.view(WRAPPERS[wrapper](x))
        assert (got.dtype, got.shape, got.strides, got.ptr) == (want.dtype, want.shape, want.strides, want.ptr)
        assert got.itemsize == ctypes.sizeof(kind)
        assert got.tolist() == want.tolist()


@quirk("ctypes_memoryview", "ctypes_pickle")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(("kind", "word"), [(Bits, "bit field"), (Pointing, "c_void_p")])
def test_ctypes_fields_that_are_no_values(kind: Any, word: str, wrapper: str) -> None:
    for x in (kind(), (kind * 3)()):
        for policy in (None, ["buffer"], ["builtin", "buffer"]):
            refusal(WRAPPERS[wrapper](x), word, policy=policy)


@quirk("ctypes_memoryview")
def test_memoryview_of_ctypes_that_was_changed() -> None:
    x = (Padded * 4)()
    for i, item in enumerate(x):
        item.flag, item.value = i, i / 2
    m = memoryview(x)
    v = aa.view(m[1::2])
    assert (v.ptr, v.strides) == (ctypes.addressof(x) + 16, (32,))
    assert [tuple(row) for row in v.tolist()] == [(1, 0.5), (3, 1.5)]
    with pytest.raises(BufferError):
        v.owner.release()
    v.release()
    plain = m.cast("B")
    assert aa.view(plain).dtype == "uint8" and aa.view(plain).shape == (64,)
    assert aa.view(memoryview(m)).dtype == aa.view(x).dtype
    assert aa.view(m.toreadonly()).readonly is True
    m.release()
    refusal(m, "released")


@quirk("ctypes_memoryview")
def test_memoryviews_of_others_are_read_as_they_say() -> None:
    np = needs("numpy")
    record = np.zeros(2, [("a", "i4"), ("b", "f8")])
    assert aa.view(memoryview(record)).dtype == aa.view(record).dtype
    assert aa.view(memoryview(b"abc")).tolist() == [97, 98, 99]

    class Own(bytearray):
        pass

    assert aa.view(memoryview(Own(b"abc"))).tolist() == [97, 98, 99]
    assert aa.view(pickle.PickleBuffer(record)).dtype == aa.view(record).dtype
    assert aa.view(pickle.PickleBuffer(b"abc")).tolist() == [97, 98, 99]
