# SPDX-License-Identifier: Apache-2.0
"""The Array object: its facts, its life, and what isn't served isn't on its type."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest

import anyarray as aa

from .capsules import Capsule
from .conftest import environment, needs

np = needs("numpy")


def test_facts_of_a_strided_array() -> None:
    a = np.arange(24, dtype="i4").reshape(2, 3, 4)[:, ::2, 1:]
    v = aa.view(a)
    assert v.shape == a.shape and v.strides == a.strides
    assert (v.ndim, v.size, v.nbytes, v.itemsize) == (a.ndim, a.size, a.nbytes, a.itemsize)
    assert v.ptr == a.ctypes.data and v.owner is a and v.protocol == "numpy"
    assert v.readonly is False and v.copied is False and v.device_verified is True
    assert v.c_contiguous is False and v.f_contiguous is False and v.released is False
    assert len(v) == 2 and v.tolist() == a.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_contiguity(order: str) -> None:
    v = aa.view(np.zeros((3, 4), order=order))
    assert (v.c_contiguous, v.f_contiguous) == (order == "C", order == "F")


def test_zero_dimensions() -> None:
    v = aa.view(np.array(2.5))
    assert v.shape == () and v.strides == () and v.size == 1 and v.item() == 2.5 and v.tolist() == 2.5
    with pytest.raises(TypeError, match="no dimensions"):
        len(v)


def test_many_dimensions() -> None:
    a = np.zeros((1,) * 40 + (3,))
    v = aa.view(a)
    assert v.shape == a.shape and v.strides == a.strides
    assert np.from_dlpack(v).shape == a.shape and memoryview(v).shape == a.shape
    v.release()


def test_repr_tells_facts_and_no_elements() -> None:
    a = np.full(3, 123456789, "i4")
    a.flags.writeable = False
    text = repr(aa.view(a))
    for part in ("HostArray", "(3,)", "int32", "cpu", "numpy", "readonly"):
        assert part in text
    assert "123456789" not in text


def test_release_and_context_manager() -> None:
    b = bytearray(4)
    with aa.view(b) as v, pytest.raises(BufferError):
        b.append(1)
    b.append(1)
    assert v.released
    v.release()
    v.release()
    for name in dir(v):
        if name.startswith("_") or name in ("release", "released"):
            continue
        with pytest.raises(ValueError, match="released"):
            value = getattr(v, name)
            value()  # methods raise when called
    with pytest.raises(ValueError, match="released"):
        len(v)
    with pytest.raises(ValueError, match="released"):
        v.__enter__()
    with pytest.raises(ValueError, match="released"):
        v.__array__()
    with pytest.raises(BufferError, match="released"):
        memoryview(v)
    assert "released" in repr(v)


def test_release_waits_for_buffers() -> None:
    v = aa.view(bytearray(4))
    m = memoryview(v)
    with pytest.raises(BufferError, match="1 buffer"):
        v.release()
    assert v.tolist() == [0] * 4
    m.release()
    v.release()


def test_memory_given_by_address_outlives_release() -> None:
    b = bytearray(b"abcd")
    v = aa.view(b)

    class Carrier:
        def __init__(self, array: Any) -> None:
            self.keep = array

        __array_interface__ = property(lambda self: self.keep.__array_interface__)

    n = np.asarray(Carrier(v))
    v.release()
    with pytest.raises(BufferError):
        b.append(1)
    assert bytes(n) == b"abcd"
    del n, v
    b.append(1)


def test_dlpack_export_outlives_release_and_array() -> None:
    a = np.arange(5.0)
    before = sys.getrefcount(a)
    v = aa.view(a)
    other = np.from_dlpack(v)
    again = np.from_dlpack(v)
    v.release()
    assert other.tolist() == again.tolist() == a.tolist()
    del v, other
    assert sys.getrefcount(a) == before + 1
    del again
    assert sys.getrefcount(a) == before


def test_no_reference_drifts() -> None:
    a = np.arange(4.0)
    aa.view(a)
    types = {t: sys.getrefcount(t) for t in (type(aa.view(a)), aa.Array)}
    before = sys.getrefcount(a)
    held = [aa.view(a) for _ in range(1000)]
    assert sys.getrefcount(a) == before + 1000
    del held
    for _ in range(1000):
        v = aa.view(a)
        memoryview(v), v.__dlpack__(), v.__array_interface__, v.dtype, v.device, repr(v), np.asarray(v)
    del v
    gc.collect()
    assert sys.getrefcount(a) == before
    for t, n in types.items():
        assert sys.getrefcount(t) <= n


def test_weak_references() -> None:
    v = aa.view(b"abc")
    gone: list[int] = []
    w = weakref.ref(v, lambda _: gone.append(1))
    assert w() is v
    del v
    assert w() is None and gone == [1]


def test_collector_breaks_cycles() -> None:
    class Producer:
        def __init__(self) -> None:
            self.memory = np.arange(3.0)
            self.view: Any = None

        @property
        def __array_interface__(self) -> Any:
            return self.memory.__array_interface__

    p = Producer()
    p.view = aa.view(p)
    w = weakref.ref(p)
    del p
    gc.collect()
    assert w() is None


@pytest.mark.parametrize("policy", [["numpy"], ["buffer"], ["array_interface"], ["array_method"]])
def test_collector_breaks_cycles_through_the_token(policy: list[str]) -> None:
    class Sub(np.ndarray):
        pass

    a = np.zeros(3).view(Sub)
    a.view_of_it = aa.view(a, policy=policy)
    w = weakref.ref(a)
    del a
    gc.collect()
    assert w() is None


def test_chain_of_views_dies_without_recursion() -> None:
    code = """
import anyarray as aa
x = bytearray(8)
for how in (lambda v: aa.view(v), lambda v: aa.view(memoryview(v)), lambda v: aa.view(v, policy=["dlpack"])):
    v = aa.view(x)
    for _ in range(100_000):
        v = how(v)
    del v
    x.append(1)
assert aa._core._live() == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=environment())


def test_freed_on_another_thread() -> None:
    a = np.arange(3.0)
    before = sys.getrefcount(a)
    box = [aa.view(a) for _ in range(200)]
    t = threading.Thread(target=box.clear)
    t.start()
    t.join()
    assert sys.getrefcount(a) == before


def test_many_threads() -> None:
    a, b = np.arange(3.0), bytearray(8)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(2000):
                v = aa.view(a)
                assert v.tolist() == [0.0, 1.0, 2.0]
                np.from_dlpack(v)
                with aa.view(b) as w:
                    assert len(w) == 8
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_dealloc_keeps_the_exception_that_is_set() -> None:
    class Noisy(np.ndarray):
        def __del__(self) -> None:
            try:
                raise KeyError("inside")
            except KeyError:
                pass

    def f() -> None:
        v = aa.view(np.zeros(2).view(Noisy), policy=["buffer"])
        assert v.size == 2
        raise LookupError("outside")

    with pytest.raises(LookupError, match="outside"):
        f()


def test_base_type_is_closed() -> None:
    with pytest.raises(TypeError):
        aa.Array()
    with pytest.raises(TypeError):
        type(aa.view(b"a"))()
    for base in (aa.Array, type(aa.view(b"a"))):
        with pytest.raises(TypeError, match="acceptable base"):
            type("Mine", (base,), {})
    with pytest.raises(TypeError):
        aa.Array.shape = 1  # type: ignore[assignment]  # that it is refused is the test
    with pytest.raises(AttributeError):
        aa.view(b"a").anything = 1  # type: ignore[attr-defined]  # that it is refused is the test


def test_hash_and_equality_by_identity() -> None:
    a = np.arange(3)
    v, w = aa.view(a), aa.view(a)
    assert v != w and v == v and len({v, w}) == 2


class DeviceArray:
    """A producer of CUDA memory by its dict alone; nobody reads it."""

    def __init__(self, typestr: str = "<f4") -> None:
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": typestr, "data": (4096, False), "version": 3}


def test_device_arrays_show_no_host_protocol() -> None:
    v = aa.view(DeviceArray())
    assert type(v).__name__ == "CudaArray" and v.device == "cuda:0" and v.ptr == 4096
    assert v.device_verified is False
    for name in ("__array_interface__", "__array_struct__"):
        assert not hasattr(v, name)
    assert v.__dlpack_device__() == (2, 0)
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(v)
    for read in (v.tolist, v.__array__, lambda: np.asarray(v)):
        with pytest.raises(TypeError, match=r"cuda:0.*host"):
            read()
    with pytest.raises(TypeError, match=r"cuda:0.*host"):
        v.item()


@pytest.mark.parametrize("device", [(3, 0), (11, 0), (13, 0)])
def test_pinned_memory_is_host_memory(liar: Any, device: tuple[int, int]) -> None:
    v = aa.view(Capsule(liar.dlpack(device=device, shape=(3,))))
    assert (
        type(v).__name__ == ("ManagedArray" if device[0] == 13 else "PinnedArray")
        and v.device == device
        and v.__dlpack_device__() == device
    )
    assert v.tolist() == memoryview(v).tolist() == np.asarray(v).tolist()


@pytest.mark.parametrize(
    ("device", "name"), [((10, 1), "Rocm"), ((14, 0), "OneApi"), ((8, 0), "Other"), ((2, 1), "Cuda")]
)
def test_device_types(liar: Any, device: tuple[int, int], name: str) -> None:
    v = aa.view(Capsule(liar.dlpack(device=device, shape=(3,))))
    assert type(v).__name__ == name + "Array" and v.device == device and v.__dlpack_device__() == device
    with pytest.raises(TypeError, match="host"):
        v.tolist()
    with pytest.raises(BufferError, match="copied"):
        v.__dlpack__(copy=True)
