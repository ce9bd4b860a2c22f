# SPDX-License-Identifier: Apache-2.0
"""What an Array serves, over devices, dtypes and read-only: what isn't served isn't there, however one looks."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import anyarray as aa
from anyarray import typing as aat

from .capsules import Capsule
from .conftest import needs

np = needs("numpy")

ATTRIBUTES = {
    "interface": ("__array_interface__",),
    "struct": ("__array_struct__",),
    "dlpack": ("__dlpack__", "__dlpack_device__", "__dlpack_c_exchange_api__"),
    "cuda": ("__cuda_array_interface__",),
    "arrow": ("__arrow_c_array__", "__arrow_c_schema__"),
    "sycl": ("__sycl_usm_array_interface__",),
}
PROTOCOLS = {
    "buffer": (aat.SupportsBuffer,),
    "interface": (aat.SupportsArrayInterface,),
    "struct": (aat.SupportsArrayStruct,),
    "dlpack": (aat.SupportsDLPack, aat.SupportsDLPackExchange),
    "arrow": (aat.SupportsArrowArray, aat.SupportsArrowSchema),
    "cuda": (aat.SupportsCudaArrayInterface,),
}
HOST = {"buffer", "interface", "struct", "dlpack", "arrow"}


def check(v: Any, served: set[str]) -> None:
    """Look in every way at all that could be there."""
    for what, names in ATTRIBUTES.items():
        there = what in served
        for name in names:
            assert hasattr(v, name) is there, name
            assert (getattr(v, name, None) is not None) is there, name
            assert (name in dir(v)) is there, name
            assert (inspect.getattr_static(v, name, None) is not None) is there, name
            assert hasattr(type(v), name) is there, name
            assert any(name in vars(t) for t in type(v).__mro__) is there, name
    for what, classes in PROTOCOLS.items():
        for kind in classes:
            assert isinstance(v, kind) is (what in served), kind
    assert isinstance(v, aat.SupportsArray)
    if "buffer" in served:
        memoryview(v).release()
    else:
        with pytest.raises(TypeError, match="bytes-like"):
            memoryview(v)


# ------------------------------------------------------------------ dtypes, on the host

NUMPY = {
    "float32": HOST,
    "float16": HOST,
    "bool": HOST,
    "uint64": HOST,
    "complex128": HOST - {"arrow"},
    ">f8": HOST - {"dlpack", "arrow"},
    "S5": HOST - {"dlpack"},
    "U3": {"buffer", "interface"},  # NumPy reads beyond the memory by such a struct
    "longdouble": HOST - {"dlpack", "arrow"},
    "V7": {"interface", "struct"},
    "M8[us]": {"interface", "arrow"},
    "m8[s]": {"interface", "arrow"},
    "M8[D]": {"interface"},
    "m8[h]": {"interface"},
    "i4,f8": HOST - {"dlpack", "arrow"},
}


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("dtype", list(NUMPY))
def test_dtypes_of_numpy(dtype: str, readonly: bool) -> None:
    a = np.zeros(3, dtype)
    a.flags.writeable = not readonly
    v = aa.view(a)
    assert v.readonly is readonly
    check(v, NUMPY[dtype])


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float8_e4m3fn", "float8_e8m0fnu", "int4", "float4_e2m1fn", "float6_e2m3fn"]
)
def test_dtypes_without_a_format(dtype: str) -> None:
    ml = needs("ml_dtypes")
    v = aa.view(np.zeros(3, getattr(ml, dtype)))
    check(v, {"dlpack"})
    assert type(v).__name__ == "HostArrayNoBuffer"


def test_structs() -> None:
    check(aa.view(np.zeros(2, [("a", "i4"), ("b", "f8", (2, 3))])), HOST - {"dlpack", "arrow"})
    backwards = np.zeros(2, {"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [4, 0]})
    check(aa.view(backwards), set())
    check(aa.view(np.zeros(2, [("t", "M8[s]"), ("n", "i4")])), {"interface", "struct"})


def test_lanes_and_half_complex(liar: Any) -> None:
    check(aa.view(Capsule(liar.dlpack(code=2, bits=32, lanes=4, shape=(2,)))), {"dlpack"})
    check(aa.view(Capsule(liar.dlpack(code=5, bits=32, shape=(2,)))), {"dlpack"})


# ------------------------------------------------------------------ devices

DEVICES = {
    (1, 0): HOST,
    (3, 0): HOST,
    (11, 0): HOST,
    (13, 0): HOST | {"cuda"},
    (2, 0): {"dlpack", "cuda"},
    (2, 3): {"dlpack", "cuda"},
    (10, 1): {"dlpack", "cuda"},
    (14, 0): {"dlpack"},
    (8, 0): {"dlpack"},
    (4, 0): {"dlpack"},
}
#: code, bits -> what is left of what the device allows
TYPES = {
    (2, 32): HOST | {"cuda"},
    (0, 64): HOST | {"cuda"},
    (6, 8): HOST | {"cuda"},
    (5, 64): HOST - {"arrow"} | {"cuda"},
    (4, 16): {"dlpack"},
    (10, 8): {"dlpack"},
    (17, 4): {"dlpack"},
}


@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("kind", list(TYPES))
@pytest.mark.parametrize("device", list(DEVICES))
def test_devices_and_dtypes(liar: Any, device: tuple[int, int], kind: tuple[int, int], readonly: bool) -> None:
    code, bits = kind
    v = aa.view(Capsule(liar.dlpack(device=device, code=code, bits=bits, shape=(2, 4), flags=int(readonly))))
    assert v.device == device and v.readonly is readonly
    check(v, DEVICES[device] & TYPES[kind])
    assert v.__dlpack_device__() == device


class CudaDict:
    """A producer of CUDA memory by its dict alone; nobody reads it."""

    def __init__(self, typestr: str = "<f4", readonly: bool = False, **more: Any) -> None:
        about = {"shape": (4,), "typestr": typestr, "data": (4096, readonly), "version": 3}
        self.__cuda_array_interface__ = {**about, **more}


@pytest.mark.parametrize(
    ("typestr", "served"),
    [("<f4", {"dlpack", "cuda"}), (">f4", {"cuda"}), ("<M8[s]", {"cuda"}), ("|S3", {"cuda"}), ("|V6", {"cuda"})],
)
def test_cuda_memory_by_its_dict(typestr: str, served: set[str]) -> None:
    check(aa.view(CudaDict(typestr)), served)


def test_the_host_cannot_read_device_memory() -> None:
    v = aa.view(CudaDict())
    assert type(v).__name__ == "CudaArray"
    for read in (lambda: np.asarray(v), lambda: np.frombuffer(v), lambda: bytes(v), lambda: b"".join([v])):
        with pytest.raises(TypeError):
            read()


def test_types_have_names_of_their_own(liar: Any) -> None:
    names = {}
    for device in DEVICES:
        for code, bits in TYPES:
            t = type(aa.view(Capsule(liar.dlpack(device=device, code=code, bits=bits, shape=(2, 4)))))
            assert names.setdefault(t.__name__, t) is t
            assert t.__module__ == "anyarray" and t.__base__ is aa.Array


# ------------------------------------------------------------------ read-only


def test_read_only_is_said_or_refused() -> None:
    a = np.arange(4, dtype="f4")
    a.flags.writeable = False
    v = aa.view(a)
    assert v.__array_interface__["data"][1] is True
    assert memoryview(v).readonly
    with pytest.raises((TypeError, BufferError)):
        (np.ctypeslib.ctypes.c_char * 16).from_buffer(v)
    assert not np.asarray(v).flags.writeable
    assert not np.from_dlpack(v).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        v.__dlpack__()
    assert aa.view(v).readonly
    for row in ("array_struct", "array_interface", "buffer", "dlpack", "array_method"):
        assert aa.view(v, policy=[row]).readonly, row


def test_read_only_cuda(liar: Any) -> None:
    for readonly in (False, True):
        v = aa.view(CudaDict(readonly=readonly))
        assert v.__cuda_array_interface__["data"] == (4096, readonly)
        w = aa.view(Capsule(liar.dlpack(device=(13, 0), flags=int(readonly))))
        assert w.__cuda_array_interface__["data"] == (w.ptr, readonly)


# ------------------------------------------------------------------ the classes of anyarray.typing


@pytest.mark.parametrize("kind", [getattr(aat, name) for name in aat.__all__])
def test_protocols_tell_other_objects_apart(kind: Any) -> None:
    assert not isinstance(3, kind) and not isinstance([1], kind) and not isinstance(object(), kind)


def test_protocols_of_other_libraries() -> None:
    a = np.zeros(3)
    for kind in (aat.SupportsBuffer, aat.SupportsArrayInterface, aat.SupportsArrayStruct, aat.SupportsDLPack):
        assert isinstance(a, kind), kind
    assert isinstance(a, aat.SupportsArray) and not isinstance(a, aat.SupportsCudaArrayInterface)
    assert not isinstance(a, aat.SupportsDLPackExchange)
    for x in (b"", bytearray(), memoryview(b"")):
        assert isinstance(x, aat.SupportsBuffer) and not isinstance(x, aat.SupportsDLPack)
    torch = needs("torch")
    t = torch.zeros(3)
    assert isinstance(t, aat.SupportsDLPack) and not isinstance(t, aat.SupportsBuffer)
    assert isinstance(t, aat.SupportsDLPackExchange) is hasattr(torch.Tensor, "__dlpack_c_exchange_api__")


def test_subclasses_of_a_protocol_are_asked_as_usual() -> None:
    class Mine(aat.SupportsBuffer):
        pass

    assert not isinstance(Mine(), aat.SupportsBuffer)  # it has no slot
    assert not isinstance(b"", Mine)
