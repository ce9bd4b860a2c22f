# SPDX-License-Identifier: Apache-2.0
"""Row `array_struct`: what it reads, what it refuses, and how long it keeps the capsule."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

import anyarray as aa

from .capsules import new_capsule
from .conftest import needs
from .interface_forge import FOREIGN, Offers, refused

np = needs("numpy")


class Facts(ctypes.Structure):
    """PyArrayInterface, as the NumPy reference lays it out."""

    _fields_ = [
        ("two", ctypes.c_int),
        ("nd", ctypes.c_int),
        ("typekind", ctypes.c_char),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("data", ctypes.c_void_p),
        ("descr", ctypes.py_object),
    ]


BEHAVED = 0x100 | 0x200 | 0x400


def struct_of(array: Any, **fields: Any) -> Offers:
    """An object whose struct describes `array`, but for the given fields."""
    facts = Facts(
        two=2,
        nd=array.ndim,
        typekind=array.dtype.kind.encode(),
        itemsize=array.itemsize,
        flags=BEHAVED,
        shape=(ctypes.c_ssize_t * 8)(*array.shape),
        strides=(ctypes.c_ssize_t * 8)(*array.strides),
        data=array.ctypes.data,
    )
    for name, value in fields.items():
        setattr(facts, name, value)
    obj = Offers(array_struct=new_capsule(ctypes.addressof(facts), None, None))
    vars(obj)["kept"] = facts, array
    return obj


def test_a_struct_of_ones_own() -> None:
    array = np.arange(6, dtype="i4").reshape(2, 3).T
    view = aa.view(struct_of(array))
    assert (view.protocol, view.shape, view.strides) == ("array_struct", (3, 2), (4, 12))
    assert view.tolist() == array.tolist()
    assert view.readonly is False
    assert aa.view(struct_of(array, flags=BEHAVED & ~0x400)).readonly is True
    assert str(aa.view(struct_of(array, flags=BEHAVED & ~0x200)).dtype) == FOREIGN + "i4"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"two": 3}, "invalid"),
        ({"nd": -1}, "invalid"),
        ({"nd": 65}, "invalid"),
        ({"itemsize": -4}, "invalid"),
        ({"itemsize": 3}, "unsupported"),
        ({"typekind": b"O"}, "unsupported"),
        ({"typekind": b"M", "itemsize": 8}, "unsupported"),
        ({"typekind": b"?"}, "invalid"),
        ({"data": None}, "invalid"),
        ({"shape": None}, "invalid"),
        ({"shape": (ctypes.c_ssize_t * 2)(-1, 2)}, "invalid"),
        ({"typekind": b"V"}, "unsupported"),
        ({"typekind": b"V", "flags": BEHAVED | 0x800}, "invalid"),
        ({"typekind": b"V", "flags": BEHAVED | 0x800, "descr": 3}, "invalid"),
        ({"typekind": b"V", "flags": BEHAVED | 0x800, "descr": [("a", "<i8")]}, "invalid"),
    ],
)
def test_bad_structs(fields: Any, status: str) -> None:
    refused(struct_of(np.zeros(3, "i4"), **fields), status)


def test_a_struct_with_a_descr() -> None:
    view = aa.view(struct_of(np.zeros(3, "V6"), flags=BEHAVED | 0x800, descr=[("a", "<i4"), ("b", "<i2")]))
    assert str(view.dtype) == "{'a': int32, 'b': int16; 6}"


def test_capsules_with_a_name_and_other_things() -> None:
    array = np.zeros(3)
    obj = struct_of(array)
    name = b"dltensor"  # the capsule keeps the pointer
    facts = vars(obj)["kept"][0]
    named = new_capsule(ctypes.addressof(facts), name, None)
    refused(Offers(array_struct=named), "invalid", "name")
    refused(Offers(array_struct=3), "invalid", "int")


def test_times_and_structs_are_left_to_the_dict() -> None:
    for dtype in ("M8[us]", "m8[D]", "i4,f8"):
        array = np.zeros(3, dtype)
        obj = Offers(array_struct=array.__array_struct__, array_interface=array.__array_interface__)
        view = aa.view(obj)
        assert view.protocol == "array_interface"
        assert view.dtype == aa.view(array).dtype
        assert view.readonly is False


def test_the_capsule_is_held() -> None:
    class Temporary:
        @property
        def __array_struct__(self) -> Any:
            return np.full(500, 7, "i4").__array_struct__

    view = aa.view(Temporary())
    [np.full(500, i, "i4") for i in range(20)]
    assert view.tolist() == [7] * 500
