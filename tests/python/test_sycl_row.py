# SPDX-License-Identifier: Apache-2.0
"""Row `sycl_usm_array_interface`: forged dicts everywhere, and dpnp's arrays where SYCL has a device for them."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anyarray as aa

from .conftest import needs
from .interface_forge import MEMORY, NoInt, Offers, asked, interrupted, refused

np = needs("numpy")

ROW = "sycl_usm_array_interface"
START = MEMORY.ctypes.data


class Queue:
    """What dpctl's queues and contexts have, as far as a consumer can ask."""

    def _get_capsule(self) -> Any:
        raise AssertionError("nothing is asked of the queue")


WHOLE = {"shape": (24,), "typestr": "|f4", "data": (START, False), "version": 1, "syclobj": "cpu", "offset": 0}


def changed(**entries: Any) -> dict[str, Any]:
    return {k: v for k, v in {**WHOLE, **entries}.items() if v is not ...}


def usm(**entries: Any) -> Offers:
    return Offers(sycl_usm_array_interface=changed(**entries))


# ------------------------------------------------------------------ what is read


def test_a_plain_dict() -> None:
    view = aa.view(usm())
    assert view.protocol == ROW
    assert (view.shape, view.strides, view.dtype, view.ptr) == ((24,), (4,), "float32", START)
    assert view.device == "oneapi:0" and view.device_verified is False
    assert view.readonly is False and view.copied is False
    assert aa.view(usm(data=(START, True))).readonly is True


@pytest.mark.parametrize(
    ("entries", "shape", "strides", "first"),
    [
        ({"strides": None}, (24,), (4,), 0),
        ({"strides": ..., "shape": (2, 3, 4)}, (2, 3, 4), (48, 16, 4), 0),
        ({"shape": (4, 6), "strides": (6, 1)}, (4, 6), (24, 4), 0),
        ({"shape": (3, 2), "strides": (8, 2), "offset": 5}, (3, 2), (32, 8), 5),
        ({"shape": (24,), "strides": (-1,), "offset": 23}, (24,), (-4,), 23),
        ({"shape": (4, 3), "strides": (-6, 2), "offset": 18}, (4, 3), (-24, 8), 18),
        ({"shape": (5, 2), "strides": (0, 1)}, (5, 2), (0, 4), 0),
        ({"shape": (), "strides": ()}, (), (), 0),
        ({"shape": (), "offset": 7}, (), (), 7),
        ({"offset": None}, (24,), (4,), 0),
        ({"offset": ...}, (24,), (4,), 0),
        ({"shape": (1, 2), "strides": (2**62, 1)}, (1, 2), (4, 4), 0),
        ({"shape": (np.int64(2),), "strides": (np.int32(3),), "offset": np.uint8(2)}, (2,), (12,), 2),
        ({"shape": (1,) * 40}, (1,) * 40, (4,) * 40, 0),
    ],
)
def test_strides_and_offset_count_elements(entries: Any, shape: Any, strides: Any, first: int) -> None:
    view = aa.view(usm(**entries))
    assert (view.shape, view.strides, view.ptr) == (shape, strides, START + 4 * first)


@pytest.mark.parametrize("typestr", ["|b1", "|i1", "<i2", "|i4", "<i8", "|u1", "|u8", "<f2", "|f8", "<c8", "|c16"])
def test_the_unit_is_the_itemsize(typestr: str) -> None:
    size = np.dtype(typestr.replace("|", "<")).itemsize
    view = aa.view(usm(shape=(2, 2), typestr=typestr, strides=(2, -1), offset=1))
    assert (view.dtype, view.strides) == (np.dtype(typestr.replace("|", "<")).name, (2 * size, -size))
    assert view.ptr == START + size


@pytest.mark.parametrize("data", [(0, False), (None, True), None, ..., (START, False)])
@pytest.mark.parametrize("entries", [{"offset": 0}, {"offset": 3}, {"strides": (2**62, 2**62)}])
def test_no_elements_need_no_address(data: Any, entries: Any) -> None:
    view = aa.view(usm(shape=(0, 4), data=data, **entries))
    there = isinstance(data, tuple) and bool(data[0])
    assert (view.shape, view.size) == ((0, 4), 0)
    assert view.ptr == (START + 4 * entries.get("offset", 0) if there else 0)


@pytest.mark.parametrize("syclobj", ["opencl:cpu:0", Queue()])
def test_forms_of_the_syclobj(syclobj: Any) -> None:
    assert aa.view(usm(syclobj=syclobj)).device == "oneapi:0"


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("entries", "status", "word"),
    [
        ({"version": ...}, "invalid", "must be 1"),
        ({"version": None}, "invalid", "must be 1"),
        ({"version": 0}, "invalid", "begin at 1"),
        ({"version": -1}, "invalid", "negative"),
        ({"version": 2}, "unsupported", "version 2"),
        ({"version": "1"}, "invalid", "version"),
        ({"version": True}, "invalid", "version"),
        ({"version": 2**80}, "invalid", "version"),
        ({"syclobj": ...}, "invalid", "syclobj"),
        ({"syclobj": None}, "invalid", "syclobj"),
        ({"syclobj": 3}, "invalid", "not int"),
        ({"syclobj": b"cpu"}, "invalid", "not bytes"),
        ({"syclobj": MEMORY.__dlpack__()}, "invalid", "dltensor"),
        ({"offset": -1}, "invalid", "offset"),
        ({"offset": 1.0}, "invalid", "float"),
        ({"offset": True}, "invalid", "bool"),
        ({"offset": 2**61}, "invalid", "address space"),
        ({"offset": 2**62}, "invalid", "address space"),
        ({"offset": 2**64}, "invalid", "64 bits"),
        ({"offset": NoInt()}, "failed", "no int today"),
        ({"strides": (2**61,)}, "invalid", "overflow"),
        ({"strides": (-(2**63),)}, "invalid", "overflow"),
        ({"strides": (2**60,)}, "invalid", ""),
        ({"strides": (1, 1)}, "invalid", "strides"),
        ({"strides": [1]}, "invalid", "strides"),
        ({"strides": (1.0,)}, "invalid", "float"),
        ({"shape": ...}, "invalid", "shape"),
        ({"shape": [24]}, "invalid", "list"),
        ({"shape": (-1,)}, "invalid", ""),
        ({"shape": (2**62, 2**62)}, "invalid", "64 bits"),
        ({"shape": (1,) * 65}, "invalid", "64"),
        ({"typestr": ...}, "invalid", "typestr"),
        ({"typestr": "|O"}, "unsupported", ""),
        ({"typestr": 4}, "invalid", "int"),
        ({"data": ...}, "invalid", "data"),
        ({"data": (None, False)}, "invalid", "NoneType"),
        ({"data": (0, False)}, "invalid", ""),
        ({"data": (-8, False)}, "invalid", "negative"),
        ({"data": (START,)}, "invalid", "data"),
        ({"data": bytes(96)}, "invalid", "bytes"),
        ({"mask": np.zeros(24, "?")}, "guarded", "mask"),
    ],
)
def test_bad_entries(entries: Any, status: str, word: str) -> None:
    refused(usm(**entries), status, word)


def test_no_dict() -> None:
    for value in (3, [], "|f4", object()):
        refused(Offers(sycl_usm_array_interface=value), "invalid", ROW, type(value).__name__)
    with pytest.raises(aa.NotAnArrayError):
        aa.view(Offers(sycl_usm_array_interface=None))


def test_a_syclobj_that_raises() -> None:
    class Raises:
        error: BaseException = ValueError("no queue today")

        def __getattr__(self, name: str) -> Any:
            raise self.error

    assert refused(usm(syclobj=Raises()), "failed", "no queue today").exception is Raises.error
    before = aa._core._live()
    for error in (KeyboardInterrupt(), MemoryError(), RecursionError()):
        Raises.error = error
        with pytest.raises(type(error)):
            aa.view(usm(syclobj=Raises()))
    assert aa._core._live() == before


def test_a_dict_that_changes_while_it_is_read() -> None:
    entries: dict[str, Any] = {}

    class Saboteur:
        def __getattr__(self, name: str) -> Any:
            entries.clear()
            gc.collect()
            return self

    entries.update(changed(syclobj=Saboteur(), typestr="".join(["|", "f", "4"]), shape=(int("3"), int("5")), offset=1))
    entries["data"] = (int(str(START)), False)
    view = aa.view(Offers(sycl_usm_array_interface=entries))
    assert (view.shape, view.strides, view.ptr) == ((3, 5), (20, 4), START + 4)


scalars: Any = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=4))
values = st.one_of(scalars, st.lists(scalars, max_size=3), st.tuples(scalars), st.tuples(scalars, scalars))
few = st.lists(st.integers(-9, 9), max_size=4).map(tuple)
wide = st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4).map(tuple)
hostile = st.fixed_dictionaries(
    {},
    optional={
        "shape": st.one_of(st.lists(st.integers(-2, 5), max_size=4).map(tuple), values),
        "typestr": st.one_of(st.sampled_from(["|f4", "|V8", "|c16"]), values),
        "strides": st.one_of(few, wide, values),
        "data": st.one_of(st.just((4096, False)), values),
        "offset": values,
        "version": st.one_of(st.just(1), values),
        "syclobj": st.one_of(st.just("gpu"), values),
        "mask": values,
    },
)


@settings(deadline=None, max_examples=500)
@given(entries=hostile)
def test_anything_in_the_dict(entries: dict[str, Any]) -> None:
    """A view whose layout is the dict's, or the one error; nothing stays held."""
    before = aa._core._live()
    try:
        view = aa.view(Offers(sycl_usm_array_interface=entries))
    except aa.ExchangeError:
        pass
    else:
        assert len(view.shape) == len(entries["shape"])
        if view.size and entries.get("strides") is not None:
            for extent, have, said in zip(view.shape, view.strides, entries["strides"], strict=True):
                assert extent == 1 or have == said * view.itemsize
        view.release()
    assert aa._core._live() == before


# ------------------------------------------------------------------ device, owner


@pytest.mark.parametrize(
    ("answer", "number", "verified"),
    [
        ((14, 0), 0, True),
        ((14, 3), 3, True),
        ((1, 0), 0, False),
        ((2, 1), 0, False),
        ((14, -1), 0, False),
        ((14, None), 0, False),
        ((14.0, 1), 0, False),
        ((14, 2**40), 0, False),
        ((14,), 0, False),
        ([14, 1], 0, False),
        (ValueError, 0, False),
    ],
)
def test_the_device_is_asked_of_dlpack(answer: Any, number: int, verified: bool) -> None:
    view = aa.view(asked(ROW, WHOLE, answer))
    assert view.protocol == ROW and view.device == (14, number)
    assert view.device_verified is verified


def test_an_interrupt_while_the_device_is_asked() -> None:
    interrupted(asked(ROW, WHOLE, KeyboardInterrupt))


def test_object_dict_and_syclobj_are_held() -> None:
    class Made:
        def __init__(self, *queues: Any) -> None:
            self.queues = list(queues)

        @property
        def __sycl_usm_array_interface__(self) -> Any:
            return changed(syclobj=self.queues.pop())

    obj = Made(Queue())
    there = [weakref.ref(obj), weakref.ref(obj.queues[0])]
    view = aa.view(obj)
    assert obj.queues == []
    del obj
    gc.collect()
    assert None not in [held() for held in there]
    view.release()
    gc.collect()
    assert [held() for held in there] == [None, None]


def test_a_cycle_through_the_dict_is_collected() -> None:
    queue = Queue()
    queue.view = aa.view(usm(syclobj=queue))  # type: ignore[attr-defined]
    gone = weakref.ref(queue)
    before = aa._core._live()
    del queue
    gc.collect()
    assert gone() is None and aa._core._live() == before - 1


def test_no_reference_drifts() -> None:
    objects = [usm(), usm(syclobj=Queue()), usm(shape=(0,), data=None), usm(offset=-1), usm(syclobj=3)]
    watched = [*objects, *(vars(o)["__sycl_usm_array_interface__"] for o in objects)]

    def run() -> None:
        for obj in objects:
            for _ in range(50):
                with contextlib.suppress(aa.ExchangeError):
                    aa.view(obj)

    run()
    counts = [sys.getrefcount(o) for o in watched]
    run()
    assert [sys.getrefcount(o) for o in watched] == counts


def test_the_host_reads_nothing() -> None:
    view = aa.view(usm())
    for read in (view.tolist, lambda: memoryview(view), lambda: np.asarray(view)):
        with pytest.raises((aa.ExchangeError, BufferError, TypeError, ValueError)):
            read()
    with pytest.raises(aa.ExchangeError, match="oneapi"):
        aa.view(usm(), device="cpu")
    assert aa.view(usm(), device="oneapi").ptr == START


# ------------------------------------------------------------------ dpnp


@pytest.fixture(scope="module")
def dpnp() -> Any:
    # The driver that the wheels bring is found only by name.
    driver = Path(sys.prefix) / "lib" / "libintelocl.so"
    if driver.exists():
        os.environ.setdefault("OCL_ICD_FILENAMES", str(driver))
    module = needs("dpnp")
    if not needs("dpctl").get_devices():
        pytest.skip("SYCL has no device here")
    return module


LAYOUTS = {
    "whole": lambda x: x,
    "offset": lambda x: x[2:],
    "stepped": lambda x: x[::2, 1::2],
    "reversed": lambda x: x[::-1],
    "all reversed": lambda x: x[::-1, ::-1],
    "reversed with steps": lambda x: x[4:0:-2, ::-3],
    "transposed": lambda x: x.T,
    "column": lambda x: x[:, 3],
    "one": lambda x: x[1, 2],
    "empty": lambda x: x[3:3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("dtype", ["i1", "u4", "f4", "f8", "c16"])
def test_dpnp_arrays(dpnp: Any, usm_type: str, layout: str, dtype: str) -> None:
    data = np.arange(42).reshape(6, 7).astype(dtype)
    x = LAYOUTS[layout](dpnp.asarray(data, usm_type=usm_type))
    want = LAYOUTS[layout](data)
    assert x.usm_type == usm_type and (dpnp.asnumpy(x) == want).all()
    view = aa.view(x, policy=[ROW])
    assert (view.protocol, view.device, view.device_verified) == (ROW, x.__dlpack_device__(), True)
    assert (view.shape, view.dtype) == (want.shape, want.dtype.name)
    assert view.readonly is x.__sycl_usm_array_interface__["data"][1]
    if not want.size:
        return
    for have, step, extent in zip(view.strides, want.strides, want.shape, strict=True):
        assert extent == 1 or have == step
    first = x.__sycl_usm_array_interface__
    assert view.ptr == first["data"][0] + first["offset"] * x.itemsize
    assert view.ptr == aa.view(x, policy=["dlpack"]).ptr

    # What the descriptor says, laid over the allocation by dpnp itself: the same values.
    memory = x.get_array().usm_data
    again = dpnp.tensor.usm_ndarray(
        view.shape,
        view.dtype.name,
        buffer=memory,
        strides=tuple(s // view.itemsize for s in view.strides),
        offset=(view.ptr - memory._pointer) // view.itemsize,
    )
    assert (dpnp.tensor.asnumpy(again) == want).all()


def test_dpnp_by_the_default_policy(dpnp: Any) -> None:
    x = dpnp.arange(5, dtype="f4")
    view = aa.view(x)
    assert (view.protocol, view.device, view.shape) == ("dlpack", (14, 0), (5,))
    statuses = {
        a.protocol: a.status for a in aa.explain(x, policy=aa.Policy(["array_method", ROW], device_first=True)).attempts
    }
    assert statuses == {"array_method": "skipped", ROW: "ok"}


def test_dpctl_memory_is_writable(dpnp: Any) -> None:
    memory = needs("dpctl.memory")
    for kind in (memory.MemoryUSMDevice, memory.MemoryUSMShared, memory.MemoryUSMHost):
        block = kind(16)
        assert block.__sycl_usm_array_interface__["data"][1] is True
        view = aa.view(block, policy=[ROW])
        assert (view.shape, view.dtype, view.readonly, view.device) == ((16,), "uint8", False, "oneapi:0")
        assert view.ptr == block._pointer
    assert aa.view(memory.MemoryUSMDevice(8)).protocol == ROW
