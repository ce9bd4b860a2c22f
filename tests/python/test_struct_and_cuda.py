# SPDX-License-Identifier: Apache-2.0
"""__array_struct__ and __cuda_array_interface__ as Arrays give them."""

from __future__ import annotations

import copy
import ctypes
import gc
import sys
import weakref
from typing import Any

import pytest

import anyarray as aa

from .capsules import Capsule, pointer_in
from .conftest import needs
from .test_produce import LAYOUTS, NUMBERS, alike, sample
from .test_serving import CudaDict

np = needs("numpy")


class Facts(ctypes.Structure):
    _fields_ = [
        ("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char), ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int), ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)), ("data", ctypes.c_void_p), ("descr", ctypes.c_void_p),
    ]  # fmt: skip


def facts(capsule: Any) -> Facts:
    return Facts.from_address(pointer_in(capsule, None))


def address_of(b: bytearray) -> int:
    return ctypes.addressof((ctypes.c_char * len(b)).from_buffer(b))


class Struct:
    """Shows nothing but another object's struct."""

    def __init__(self, array: Any) -> None:
        self.__array_struct__ = array.__array_struct__


# NumPy clears all flags of a structured array's struct, so these are left to their own test.
SIMPLE = [*NUMBERS, "g", ">i4", ">f8", ">c16", "S3", "V5"]


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("layout", list(LAYOUTS))
@pytest.mark.parametrize("dtype", SIMPLE)
def test_says_what_numpy_says(dtype: str, layout: str, readonly: bool) -> None:
    a = sample("i8" if dtype[0] in "SV" else dtype, layout)
    a = a.astype("S5").view("V5") if dtype == "V5" else a.astype(dtype)
    if readonly:
        a.flags.writeable = False
    mine, theirs = aa.view(a).__array_struct__, a.__array_struct__
    m, t = facts(mine), facts(theirs)
    for name in ("two", "nd", "typekind", "itemsize", "data"):
        assert getattr(m, name) == getattr(t, name), name
    assert hex(m.flags) == hex(t.flags)
    assert m.shape[: a.ndim] == t.shape[: a.ndim] and m.strides[: a.ndim] == t.strides[: a.ndim]
    b = np.asarray(Struct(aa.view(a)))
    alike(b, a)
    assert b.flags.writeable == a.flags.writeable


def test_unaligned_numbers() -> None:
    a = np.frombuffer(bytearray(33), "u1")[1:].view("f8")
    for capsule in (aa.view(a).__array_struct__, a.__array_struct__):
        assert not facts(capsule).flags & 0x100


def test_structs_carry_their_descr() -> None:
    t = np.dtype([("a", "i4"), ("b", "f8", (2, 3)), ("c", [("d", "S2"), ("e", ">u2")]), ("t", "M8[s]")], align=True)
    a = np.zeros(3, t)
    a["a"] = [1, 2, 3]
    for array in (a, np.zeros(2, "i4,f8")):
        v = aa.view(array)
        capsule = v.__array_struct__
        f = facts(capsule)
        assert f.typekind == b"V" and f.flags & 0x800 and f.descr
        b = np.asarray(Struct(v))
        assert b.ctypes.data == array.ctypes.data and b.tobytes() == array.tobytes()
        w = aa.view(Struct(v))
        assert w.dtype == v.dtype and w.protocol == "array_struct" and w.ptr == v.ptr


def test_every_capsule_has_a_struct_of_its_own() -> None:
    v = aa.view(np.zeros((2, 3)))
    first, second = v.__array_struct__, v.__array_struct__
    facts(first).flags = 0
    facts(first).shape[0] = 77
    facts(first).descr = 1
    assert facts(second).flags & 0x200 and facts(second).shape[0] == 2 and v.shape == (2, 3)
    del first
    gc.collect()


@pytest.mark.parametrize("dtype", ["f8", [("a", "i4"), ("b", "f8")]])
def test_whatever_a_consumer_makes_of_the_capsule(dtype: Any) -> None:
    api, name = ctypes.pythonapi, ctypes.create_string_buffer(b"used")
    renamed = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetName", api))
    marked = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(("PyCapsule_SetContext", api))
    b = bytearray(64)
    v = aa.view(np.frombuffer(b, dtype, count=2))
    capsules = [v.__array_struct__ for _ in range(3)]
    renamed(capsules[0], ctypes.addressof(name))
    marked(capsules[1], 8)  # a mark of its own, no object
    marked(capsules[2], None)
    v.release()
    del v, capsules
    gc.collect()
    b.append(1)


def test_capsule_keeps_the_memory() -> None:
    b = bytearray(8)
    v = aa.view(b)
    capsule = v.__array_struct__
    v.release()
    del v
    with pytest.raises(BufferError):
        b.append(1)
    assert facts(capsule).shape[0] == 8
    del capsule
    b.append(1)


def test_object_alone_keeps_the_memory() -> None:
    b = bytearray(8)
    v = aa.view(b)
    capsule = v.__array_struct__
    data = facts(capsule).data
    del capsule
    v.release()
    with pytest.raises(BufferError):
        b.append(1)
    assert data == address_of(b)
    del v
    b.append(1)


def test_structs_leak_nothing() -> None:
    a = np.zeros(3)
    before = sys.getrefcount(a)
    for _ in range(1000):
        v = aa.view(a)
        np.asarray(Struct(v))
    w = weakref.ref(v)
    del v
    assert w() is None and sys.getrefcount(a) == before
    v = aa.view(np.zeros(2, "i4,f8"))
    count = sys.getrefcount(v)
    for _ in range(100):
        v.__array_struct__
    assert sys.getrefcount(v) == count


def test_released_arrays_give_neither(liar: Any) -> None:
    v = aa.view(np.zeros(2))
    v.release()
    with pytest.raises(ValueError, match="released"):
        v.__array_struct__
    w = aa.view(CudaDict())
    w.release()
    with pytest.raises(ValueError, match="released"):
        w.__cuda_array_interface__


# ------------------------------------------------------------------ the CUDA interface


def test_cuda_dict(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(device=(2, 0), shape=(2, 3))))
    assert v.__cuda_array_interface__ == {
        "shape": (2, 3), "typestr": "<f4", "descr": [("", "<f4")], "data": (v.ptr, False), "strides": None,
        "version": 3, "stream": 1,
    }  # fmt: skip
    v = aa.view(Capsule(liar.dlpack(device=(2, 0), shape=(2, 3), strides=(1, 2), flags=1)))
    d = v.__cuda_array_interface__
    assert d["strides"] == (4, 8) and d["data"] == (v.ptr, True)


def test_no_elements_have_no_address(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(device=(2, 0), shape=(2, 0))))
    assert v.__cuda_array_interface__["data"] == (0, False)
    v = aa.view(CudaDict(shape=(0, 4)))
    assert v.__cuda_array_interface__["data"] == (0, False) and v.__cuda_array_interface__["shape"] == (0, 4)


@pytest.mark.parametrize(
    ("more", "stream"),
    [({}, None), ({"stream": None}, None), ({"stream": 1}, 1), ({"stream": 2}, 2), ({"stream": 0x7F00}, 0x7F00)],
)
def test_stream_that_was_said_is_passed_on(more: dict[str, Any], stream: int | None) -> None:
    v = aa.view(CudaDict(**more))
    assert v.__cuda_array_interface__["stream"] == stream
    w = copy.copy(v)
    v.release()
    assert w.__cuda_array_interface__["stream"] == stream
    again = aa.view(type("Again", (), {"__cuda_array_interface__": w.__cuda_array_interface__})())
    assert again.__cuda_array_interface__["stream"] == stream and again.ptr == 4096


@pytest.mark.parametrize("device", [(2, 0), (13, 0), (10, 2)])
def test_stream_that_nobody_said_is_the_default_one(liar: Any, device: tuple[int, int]) -> None:
    v = aa.view(Capsule(liar.dlpack(device=device)))
    assert v.__cuda_array_interface__["stream"] == 1 and v.__cuda_array_interface__["version"] == 3


def test_taken_again_from_the_dict(liar: Any) -> None:
    for fields in ({"shape": (2, 3), "strides": (1, 2)}, {"code": 5, "bits": 64}, {"code": 6, "bits": 8}):
        v = aa.view(Capsule(liar.dlpack(device=(2, 0), **fields)))
        again = aa.view(v, policy=["cuda_array_interface"])
        for name in ("ptr", "shape", "strides", "dtype", "device", "readonly"):
            assert getattr(again, name) == getattr(v, name), name
        assert again.device_verified


def test_dict_keeps_the_memory_until_the_end(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(device=(2, 0))))
    assert v.__cuda_array_interface__
    v.release()
    assert liar.counts()["deleted"] == 0
    del v
    assert liar.counts()["deleted"] == 1
