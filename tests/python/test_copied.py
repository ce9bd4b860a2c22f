# SPDX-License-Identifier: Apache-2.0
"""What `copied` says, and that views of an object that it holds itself are collected with it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import anyarray as aa
from anyarray._core import _live

from .conftest import needs

DATA = b"abcdefgh"


class Dict:
    """`__array_interface__` as a property or as a dict that is kept."""

    def __init__(self, data: Callable[[], Any], keep: bool = False) -> None:
        self.data = data
        self.kept = self.make() if keep else None

    def make(self) -> dict[str, Any]:
        return {"shape": (4,), "typestr": "|u1", "data": self.data(), "version": 3}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.make() if self.kept is None else self.kept


FRESH: dict[str, Callable[[], Any]] = {
    "bytes": lambda: DATA[1:5],
    "bytearray": lambda: bytearray(DATA[1:5]),
    "ndarray": lambda: needs("numpy").frombuffer(DATA, "u1")[1:5].copy(),
    "view of a copy": lambda: needs("numpy").frombuffer(DATA, "u1").copy()[:4],
}


@pytest.mark.parametrize("kind", FRESH)
def test_a_dict_with_memory_that_nobody_else_has_is_a_copy(kind: str) -> None:
    make = FRESH[kind]
    assert aa.view(Dict(make)).copied is True
    assert aa.view(Dict(make, keep=True)).copied is False
    shared = make()
    assert aa.view(Dict(lambda: shared)).copied is False
    assert aa.view(Dict(lambda: memoryview(shared)[:4])).copied is False


def test_a_dict_with_descr_is_asked_before_its_values_are_held() -> None:
    def make() -> dict[str, Any]:
        return {"shape": (2,), "typestr": "|V2", "descr": [("a", "u1"), ("b", "u1")], "data": DATA[1:5], "version": 3}

    kind = type("Kind", (), {"__array_interface__": property(lambda self: make())})
    assert aa.view(kind()).copied is True


class Method:
    def __init__(self, array: Callable[[], Any]) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.array()


class OldMethod(Method):
    def __array__(self, dtype: Any = None) -> Any:  # type: ignore[override]
        return self.array()


@pytest.mark.parametrize(("kind", "unsure"), [(Method, False), (OldMethod, None)])
def test_what_array_made_for_the_call_is_a_copy(kind: type[Method], unsure: object) -> None:
    np = needs("numpy")
    own = np.arange(6)
    for fresh in (lambda: np.arange(6), lambda: np.arange(6)[::2], lambda: np.arange(6).reshape(2, 3).T):
        assert aa.view(kind(fresh)).copied is True
    for shared in (lambda: own, lambda: own[::2], lambda: own[:4][::2], lambda: np.frombuffer(DATA, "u1")):
        assert aa.view(kind(shared)).copied is unsure


def test_rules_of_protocols_that_share() -> None:
    np = needs("numpy")
    a = np.arange(3)
    for policy in (["numpy"], ["buffer"], ["dlpack"], ["array_struct"], ["array_interface"], ["array_method"]):
        v = aa.view(a, policy=policy)
        assert (v.copied, v.ptr) == (False, a.ctypes.data)


@pytest.mark.parametrize("kind", ["float64", "int8", "complex64", "str_", "bytes_"])
def test_numpy_scalars_share_their_buffer_alone(kind: str) -> None:
    np = needs("numpy")
    x = getattr(np, kind)("7" if kind != "bytes_" else b"7")
    for policy in (["array_struct"], ["array_interface"], ["array_method"]):
        assert aa.view(x, policy=policy).copied is True
    if kind != "bytes_":
        v = aa.view(x, policy=["buffer"])
        assert v.copied is False
        assert v.ptr == aa.view(x, policy=["buffer"]).ptr


def test_numpy_void_scalars_may_show_an_array() -> None:
    np = needs("numpy")
    array = np.zeros(2, "i4,f8")
    for x in (array[1], np.void(b"abc")):
        assert aa.view(x, policy=["array_interface"]).copied is None


def test_pillow_copies() -> None:
    image = needs("PIL.Image").new("L", (3, 2), 7)
    v = aa.view(image)
    assert (v.copied, v.readonly, v.tolist()) == (True, True, [[7, 7, 7], [7, 7, 7]])


def test_blosc2_copies() -> None:
    needs("numpy")
    x = needs("blosc2").arange(4, dtype="i4")
    v = aa.view(x)
    assert (v.copied, v.tolist()) == (True, [0, 1, 2, 3])


def test_descr_that_is_a_numpy_dtype() -> None:
    np = needs("numpy")
    array = np.array([(1, 2.5)], np.dtype("i4,f8", align=True))

    class Odd:
        def __init__(self, descr: object) -> None:
            self.__array_interface__ = dict(array.__array_interface__, descr=descr)

    v = aa.view(Odd(array.dtype))
    assert (v.dtype, v.ptr) == (aa.view(array).dtype, array.ctypes.data)
    for descr in (3, (), type("D", (), {"descr": 3})()):
        with pytest.raises(aa.ExchangeError, match="it is no list"):
            aa.view(Odd(descr))


# ------------------------------------------------------------------ cycles


class Node:
    """An object that offers one row and may hold views of itself."""


def rows(np: Any) -> dict[str, dict[str, Any]]:
    def dictionary(self: Any) -> dict[str, Any]:
        return dict(self.data.__array_interface__, keep=self)  # the dict holds the object as well

    def own_buffer(self: Any) -> dict[str, Any]:
        return {"shape": (3,), "typestr": "<f8", "data": self.data, "version": 3}

    return {
        "dlpack": {"__dlpack__": lambda self, **kw: self.data.__dlpack__(**kw)},
        "array_struct": {"__array_struct__": property(lambda self: self.data.__array_struct__)},
        "array_interface": {"__array_interface__": property(dictionary)},
        "array_interface, a buffer": {"__array_interface__": property(own_buffer)},
        "array_method": {"__array__": lambda self, **kw: self.data},
    }


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("row", rows(None))
def test_an_object_that_holds_a_view_of_itself_is_collected(row: str, shared: bool) -> None:
    np = needs("numpy")
    before = _live()
    x = type("Kind", (Node,), rows(np)[row])()
    x.data = np.arange(3.0)
    x.view = aa.view(x)
    assert x.view.protocol == row.partition(",")[0]
    if shared:
        np.from_dlpack(x.view)  # a consumer that is gone again
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None
    assert _live() == before


def test_a_buffer_that_leads_back_is_collected() -> None:
    np = needs("numpy")

    class Loop(np.ndarray):  # type: ignore[misc, name-defined]
        pass

    x = np.arange(3.0).view(Loop)
    x.views = [aa.view(x, policy=["buffer"]), aa.view(memoryview(x)), aa.view(x)]
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is None


def test_memory_that_a_consumer_shares_stays() -> None:
    np = needs("numpy")
    x = type("Kind", (Node,), rows(np)["dlpack"])()
    x.data = np.arange(3.0)
    x.view = aa.view(x)
    consumer = np.from_dlpack(x.view)
    del x
    gc.collect()
    assert consumer.tolist() == [0.0, 1.0, 2.0]


def test_what_a_capsule_hides_is_freed_by_release() -> None:
    """A tensor's manager holds the object in C, where the collector can't look: see docs/protocols.md."""
    np = needs("numpy")

    class Hidden(np.ndarray):  # type: ignore[misc, name-defined]
        pass

    for row in ("dlpack", "array_struct"):
        before = _live()
        x = np.arange(3.0).view(Hidden)
        x.view_of_itself = aa.view(x, policy=[row])
        alive = weakref.ref(x)
        del x
        gc.collect()
        survivor = alive()
        assert survivor is not None
        survivor.view_of_itself.release()
        del survivor
        gc.collect()
        assert alive() is None
        assert _live() == before
