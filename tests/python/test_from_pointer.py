# SPDX-License-Identifier: Apache-2.0
"""Arrays from an address: what is described, kept and given on, and what is refused with which words."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs


class Memory:
    """Bytes at a fixed address, aligned to 64; what owns them can be watched."""

    def __init__(self, size: int = 256) -> None:
        self._raw = (ctypes.c_ubyte * (size + 64))()
        self.address = (ctypes.addressof(self._raw) + 63) // 64 * 64

    def write(self, kind: Any, *values: Any) -> None:
        (kind * len(values)).from_address(self.address)[:] = values


def test_describes_what_was_said() -> None:
    memory = Memory()
    memory.write(ctypes.c_float, *range(6))
    a = aa.from_pointer(memory.address, (2, 3), "float32", owner=memory)
    assert (a.ptr, a.shape, a.strides, a.dtype) == (memory.address, (2, 3), (12, 4), "float32")
    assert (a.device, a.device_verified, a.readonly, a.copied) == ("cpu", True, False, False)
    assert (a.owner is memory, a.protocol) == (True, None)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert repr(a) == "<anyarray.HostArray shape=(2, 3) dtype=float32 device=cpu protocol=None>"
    t = aa.from_pointer(memory.address, (3, 2), "float32", strides=(4, 12), readonly=True, owner=memory)
    assert (t.tolist(), t.readonly, t.f_contiguous) == ([[0, 3], [1, 4], [2, 5]], True, True)
    back = aa.from_pointer(memory.address + 20, 6, "f4", strides=[-4], owner=memory)
    assert back.tolist() == [5, 4, 3, 2, 1, 0]
    assert aa.from_pointer(memory.address + 4, (), "f4", owner=memory).item() == 1.0
    assert aa.from_pointer(ptr=memory.address, shape=[2], dtype="f4", owner=memory).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("device", "kind"),
    [
        ("cpu", "HostArray"),
        ("cuda", "CudaArray"),
        ("cuda:1", "CudaArray"),
        ((10, 0), "RocmArray"),
        ("oneapi:0", "OneApiArray"),
        ("cuda_host", "PinnedArray"),
        ("ext_dev", "OtherArray"),
        (aa.Device("ext_dev", 3), "OtherArray"),
    ],
)
def test_devices_have_their_types(device: Any, kind: str) -> None:
    a = aa.from_pointer(0x1000, 4, "f8", device=device, owner=None)
    assert type(a).__name__ == kind
    assert a.device == aa.Device(device)
    assert a.__dlpack_device__() == tuple(aa.Device(device))
    assert hasattr(a, "__array_interface__") == (kind in ("HostArray", "PinnedArray"))


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("bfloat16", "HostArrayNoBuffer"), ("M8[ns]", "HostArrayNoDlpack"), ("S5", "HostArrayNoDlpack")],
)
def test_dtypes_have_their_types(dtype: str, kind: str) -> None:
    memory = Memory()
    assert kind.startswith(type(aa.from_pointer(memory.address, 3, "f4", owner=memory)).__name__)
    a = aa.from_pointer(memory.address, 3, dtype, owner=memory)
    assert (a.dtype, a.nbytes) == (dtype, 3 * aa.DType(dtype).itemsize)
    assert hasattr(a, "__dlpack__") == (dtype == "bfloat16")


def test_packed_elements_have_no_strides() -> None:
    memory = Memory()
    a = aa.from_pointer(memory.address + 1, (3, 5), "float4_e2m1fn", owner=memory)
    assert (a.strides, a.nbytes) == (None, 8)
    with pytest.raises(ValueError, match="can't have byte strides"):
        aa.from_pointer(memory.address, (3, 5), "float4_e2m1fn", strides=(3, 1), owner=memory)


def test_owner_lives_as_long_as_anything_made_of_it() -> None:
    memory = Memory()
    memory.write(ctypes.c_float, 1.0, 2.0)
    gone = weakref.ref(memory)
    a = aa.from_pointer(memory.address, 2, "f4", owner=memory)
    m = memoryview(a)
    del memory, a
    assert gone() is not None
    assert m.tolist() == [1.0, 2.0]
    m.release()
    assert gone() is None


def test_released_at_once() -> None:
    memory = Memory()
    gone = weakref.ref(memory)
    with aa.from_pointer(memory.address, 2, "f4", owner=memory) as a:
        del memory
        assert gone() is not None
    assert gone() is None
    with pytest.raises(ValueError, match="released"):
        _ = a.shape


def test_cycle_through_the_owner_is_collected() -> None:
    memory = Memory()
    gone = weakref.ref(memory)
    memory.array = aa.from_pointer(memory.address, 2, "f4", owner=memory)  # type: ignore[attr-defined]
    del memory
    gc.collect()
    assert gone() is None


def test_without_an_owner_nothing_is_kept() -> None:
    none = sys.getrefcount(None)
    arrays = [aa.from_pointer(0x1000, 4, "f4", device="ext_dev", owner=None) for _ in range(100)]
    assert arrays[0].owner is None
    del arrays
    assert abs(sys.getrefcount(None) - none) < 50


def test_numpy_reads_and_writes_through_it() -> None:
    np = needs("numpy")
    memory = Memory()
    memory.write(ctypes.c_double, *range(4))
    a = aa.from_pointer(memory.address, (2, 2), np.float64, owner=memory)
    for taken in (np.asarray(a), np.from_dlpack(a), np.asarray(memoryview(a))):
        assert taken.ctypes.data == memory.address
        taken[0, 0] += 1
    assert a.tolist()[0][0] == 3.0
    fixed = aa.from_pointer(memory.address, 4, np.float64, readonly=True, owner=memory)
    assert not np.asarray(fixed).flags.writeable
    with pytest.raises(BufferError):
        fixed.__dlpack__()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ptr": 0}, r"address is null, but the shape has 6 elements \(given: address .*, shape \(2, 3\)"),
        ({"ptr": 0x1002}, r"0x1002 isn't aligned for float32: a multiple of 4"),
        ({"ptr": -1}, r"ptr=-1 isn't an address"),
        ({"ptr": 2**64}, r"18446744073709551616 isn't an address"),
        ({"ptr": 2**64 - 4}, r"outside the address space"),
        ({"shape": (2, -3)}, r"extent 1 of the shape is negative \(-3\)"),
        ({"shape": -1}, r"extent 0 of the shape is negative"),
        ({"shape": (2**40, 2**40)}, r"more elements than 64 bits .*shape \(1099511627776, 1099511627776\)"),
        ({"shape": (2**62,)}, r"more bytes than 64 bits"),
        ({"shape": (2**64,)}, r"shape: 18446744073709551616 is more than 64 bits"),
        ({"shape": (1,) * 65}, r"shape has 65 dimensions: 0 to 64"),
        ({"strides": (12,)}, r"1 strides for a shape of 2 dimensions"),
        ({"strides": (2**62, 4), "shape": (9, 2)}, r"reach further than 64 bits"),
        ({"strides": (13, 4)}, r"stride 0 \(13 bytes\).*aligned for float32"),
        ({"strides": (4, -(2**63) - 1)}, r"strides: -9223372036854775809"),
        ({"dtype": "float33"}, r"'float33' isn't the name of a dtype"),
        ({"device": "gpu"}, r"'gpu' isn't a device"),
        ({"device": (99, 0)}, r"\(99, 0\) isn't a device"),
    ],
)
def test_refused_values(changed: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"ptr": 0x1000, "shape": (2, 3), "dtype": "float32", "owner": None}
    with pytest.raises(ValueError, match=words):
        aa.from_pointer(**{**given, **changed})


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ptr": 4096.0}, "ptr is an address as an int, not float"),
        ({"ptr": None}, "ptr is an address as an int, not NoneType"),
        ({"ptr": True}, "ptr is an address as an int, not bool"),
        ({"ptr": ctypes.c_void_p(4096)}, "not c_void_p"),
        ({"shape": "23"}, "shape is a tuple of ints, not str"),
        ({"shape": None}, "shape is a tuple of ints, not NoneType"),
        ({"shape": (2, 3.0)}, "shape holds ints, not float"),
        ({"shape": (2, True)}, "shape holds ints, not bool"),
        ({"strides": 4}, "strides is a tuple of ints, not int"),
        ({"strides": ("a", "b")}, "strides holds ints, not str"),
        ({"dtype": 3}, "int isn't a dtype"),
        ({"device": 2}, "a device is"),
        ({"readonly": 1}, "readonly is True or False, not int"),
        ({"order": "C"}, "order"),
    ],
)
def test_refused_types(changed: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"ptr": 0x1000, "shape": (2, 3), "dtype": "float32", "owner": None}
    with pytest.raises(TypeError, match=words):
        aa.from_pointer(**{**given, **changed})


def test_owner_must_be_named() -> None:
    """Calls that type checkers refuse as well."""
    with pytest.raises(TypeError, match="needs owner="):
        aa.from_pointer(0x1000, 2, "f4")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        aa.from_pointer(0x1000, 2)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        aa.from_pointer(0x1000, 2, "f4", None, owner=None)  # type: ignore[call-arg]


@pytest.mark.parametrize("ptr", [0, 1, 0x1003])
def test_without_elements_any_address_will_do(ptr: int) -> None:
    a = aa.from_pointer(ptr, (3, 0), "float64", owner=None)
    assert (a.size, a.tolist()) == (0, [[], [], []])


def test_refusal_keeps_nothing() -> None:
    memory = Memory()
    count = sys.getrefcount(memory)
    for _ in range(20):
        with pytest.raises(ValueError):
            aa.from_pointer(memory.address + 1, 2, "f4", owner=memory)
    assert sys.getrefcount(memory) == count


def test_errors_of_the_arguments_own_code_pass() -> None:
    class Broken:
        def __index__(self) -> int:
            raise KeyboardInterrupt

    for changed in ({"ptr": Broken()}, {"shape": (Broken(),)}, {"strides": (Broken(),)}):
        given: dict[str, Any] = {"ptr": 0x1000, "shape": (2,), "dtype": "float32", "owner": None}
        with pytest.raises(KeyboardInterrupt):
            aa.from_pointer(**{**given, **changed})


_heard: list[tuple[str, tuple[Any, ...]]] | None = None


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "anyarray.from_pointer" and _heard is not None:
        _heard.append((event, arguments))
        if arguments[0] == 0xDEAD00:
            raise PermissionError("no addresses here")


def test_is_audited() -> None:
    global _heard
    sys.addaudithook(_hook)  # stays for the process: silent while nobody listens
    _heard = []
    try:
        aa.from_pointer(0x1000, (2,), "f4", owner=None)
        assert _heard == [("anyarray.from_pointer", (0x1000, (2,), "f4"))]
        with pytest.raises(PermissionError, match="no addresses here"):
            aa.from_pointer(0xDEAD00, (2,), "f4", owner=None)
    finally:
        _heard = None
