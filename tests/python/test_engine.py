# SPDX-License-Identifier: Apache-2.0
"""Probe, type cache, policies: which row is tried, in which order, and what happens after a failure.

The producers are plain Python classes whose every protocol leads to memory of its own, so that the pointer
tells which row served.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any
from unittest import mock

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")

ROWS = ["buffer", "dlpack", "array_struct", "array_interface", "cuda_array_interface", "sycl_usm_array_interface"]
ROWS += ["array_method"]


class Memory:
    """One array per protocol, each with other data."""

    def __init__(self) -> None:
        self.arrays = {row: np.full(3, i, "f4") for i, row in enumerate(ROWS)}
        self.log: list[str] = []

    def served(self, view: Any) -> str:
        return {a.ctypes.data: row for row, a in self.arrays.items()}[view.ptr]


def offering(*rows: str, fails: dict[str, BaseException] | None = None, base: type = object) -> Any:
    """A fresh class that offers these rows on the type; those in `fails` raise instead."""
    fails = fails or {}
    memory = Memory()

    def give(row: str) -> Any:
        memory.log.append(row)
        if row in fails:
            raise fails[row]
        return memory.arrays[row]

    body: dict[str, Any] = {"memory": memory}
    if "dlpack" in rows:
        body["__dlpack__"] = lambda self, **kw: give("dlpack").__dlpack__(**kw)
        body["__dlpack_device__"] = lambda self: (1, 0)
    if "array_struct" in rows:
        body["__array_struct__"] = property(lambda self: give("array_struct").__array_struct__)
    if "array_interface" in rows:
        body["__array_interface__"] = property(lambda self: give("array_interface").__array_interface__)
    if "cuda_array_interface" in rows:
        body["__cuda_array_interface__"] = property(
            lambda self: dict(give("cuda_array_interface").__array_interface__, version=3)
        )
    if "sycl_usm_array_interface" in rows:
        body["__sycl_usm_array_interface__"] = property(
            lambda self: dict(give("sycl_usm_array_interface").__array_interface__, version=1, syclobj="cpu")
        )
    if "array_method" in rows:
        body["__array__"] = lambda self, dtype=None, copy=None: give("array_method")
    return type("Producer", (base,), body)


# ------------------------------------------------------------------------------------------- order

ORDER = ROWS[1:]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_default_order_is_the_registry(first: int) -> None:
    rows = ORDER[first:]
    obj = offering(*rows)()
    view = aa.view(obj)
    assert obj.memory.served(view) == view.protocol == rows[0]


@pytest.mark.parametrize("first", ORDER)
def test_a_list_of_rows_is_just_that_order(first: str) -> None:
    obj = offering(*ORDER)()
    view = aa.view(obj, policy=[first, *[r for r in ORDER if r != first]])
    assert view.protocol == first
    assert obj.memory.log == [first]
    with pytest.raises(aa.ExchangeError):
        aa.view(offering(*[r for r in ORDER if r != first])(), policy=[first])


@pytest.mark.parametrize("error", [BufferError, RuntimeError, TypeError, ValueError, KeyError])
@pytest.mark.parametrize("failing", range(1, len(ORDER)))
def test_every_offered_failure_goes_on(failing: int, error: type[Exception]) -> None:
    bad = ORDER[:failing]
    anywhere = aa.Policy("default", device_first=False)
    obj = offering(*ORDER, fails=dict.fromkeys(bad, error("x")))()
    assert aa.view(obj, policy=anywhere).protocol == ORDER[failing]
    # With the device first, rows of device memory can't serve this object, whose DLPack says cpu.
    on_host = [row for row in ORDER[failing:] if row not in ("cuda_array_interface", "sycl_usm_array_interface")]
    assert aa.view(obj).protocol == on_host[0]


def test_raise_stops_at_the_first_offered_failure() -> None:
    policy = aa.Policy(order=ORDER, on_failure="raise")
    obj = offering("array_interface", "array_method", fails={"array_interface": RuntimeError("pear")})()
    with pytest.raises(aa.ExchangeError, match="pear") as caught:
        aa.view(obj, policy=policy)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert obj.memory.log == ["array_interface"]
    assert aa.view(offering("array_method")(), policy=policy).protocol == "array_method"


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit(), MemoryError(), RecursionError()]
)
@pytest.mark.parametrize("row", ORDER)
def test_some_exceptions_are_never_passed_over(row: str, error: BaseException) -> None:
    obj = offering(*ORDER, fails={row: error})()
    order = [row, *[r for r in ORDER if r != row]]
    with pytest.raises(type(error)) as caught:
        aa.view(obj, policy=order)
    assert caught.value is error
    with pytest.raises(type(error)):
        aa.explain(obj, policy=order)


# ------------------------------------------------------------------------------- type and instance


@pytest.mark.parametrize("row", ["array_interface", "array_struct", "cuda_array_interface", "sycl_usm_array_interface"])
def test_attribute_in_the_instance_dict(row: str) -> None:
    class Plain:
        pass

    a, b, c = Plain(), Plain(), Plain()
    memory = Memory()
    source = offering(row)()
    setattr(a, f"__{row}__", getattr(source, f"__{row}__"))
    b.__array_interface__ = memory.arrays["array_method"].__array_interface__
    for _ in range(3):
        assert aa.view(a).protocol == row
        assert aa.view(b).ptr == memory.arrays["array_method"].ctypes.data
        with pytest.raises(aa.NotAnArrayError):
            aa.view(c)


def test_type_rows_come_before_instance_rows_unless_asked() -> None:
    obj = offering("array_method")()
    memory = Memory()
    obj.__array_interface__ = memory.arrays["array_interface"].__array_interface__
    assert aa.view(obj).protocol == "array_method"
    order = ["array_interface", "array_method"]
    assert aa.view(obj, policy=aa.Policy(order=order, lookup="instance")).protocol == "array_interface"
    assert aa.view(obj, policy=aa.Policy(order=order, lookup="type_first")).protocol == "array_method"
    failing = offering("array_method", fails={"array_method": ValueError("x")})()
    failing.__array_interface__ = memory.arrays["array_interface"].__array_interface__
    assert aa.view(failing).protocol == "array_interface"


def test_missing_none_and_attribute_error_are_not_offered() -> None:
    class Hidden:
        __dlpack__ = None
        __array_struct__ = None

        @property
        def __array_interface__(self) -> Any:
            raise AttributeError("hidden on this instance")

    with pytest.raises(aa.NotAnArrayError) as caught:
        aa.view(Hidden())
    assert all(a.status == "not offered" for a in caught.value.attempts)


def test_getattr_is_asked() -> None:
    memory = Memory()

    class Proxy:
        def __getattr__(self, name: str) -> Any:
            if name == "__array_interface__":
                return memory.arrays["array_interface"].__array_interface__
            raise AttributeError(name)

    assert aa.view(Proxy()).protocol == "array_interface"


def test_slots_and_metaclass() -> None:
    memory = Memory()

    class Slotted:
        __slots__ = ("__array_interface__",)

    empty, full = Slotted(), Slotted()
    full.__array_interface__ = memory.arrays["array_interface"].__array_interface__
    for _ in range(2):
        assert aa.view(full).ptr == memory.arrays["array_interface"].ctypes.data
        with pytest.raises(aa.NotAnArrayError):
            aa.view(empty)

    class Meta(type):
        @property
        def __array_interface__(cls) -> Any:
            return memory.arrays["dlpack"].__array_interface__

    class Cls(metaclass=Meta):
        pass

    assert aa.view(Cls).ptr == memory.arrays["dlpack"].ctypes.data  # the class is an instance of Meta
    with pytest.raises(aa.NotAnArrayError):
        aa.view(Cls())


@pytest.mark.parametrize("cls", [np.ndarray, bytes, int, offering(*ORDER), np.float32])
def test_classes_are_not_their_instances(cls: type) -> None:
    with pytest.raises(aa.NotAnArrayError):
        aa.view(cls)


def test_objects_that_answer_everything() -> None:
    class Yes:
        def __getattr__(self, name: str) -> Any:
            return lambda *a, **k: self

    class Itself:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self

    class Deep:
        def __getattr__(self, name: str) -> Any:
            return Deep()

        def __call__(self, *a: Any, **k: Any) -> Any:
            return Deep()

    for obj in (mock.Mock(), mock.MagicMock(), Yes(), Itself(), Deep()):
        with pytest.raises(aa.ExchangeError):
            aa.view(obj)
        assert not aa.explain(obj).ok


# ------------------------------------------------------------------------------------------- cache


def test_attributes_added_and_removed_later_are_seen() -> None:
    memory = Memory()

    class Late:
        pass

    class Child(Late):
        pass

    for cls in (Late, Child):
        with pytest.raises(aa.NotAnArrayError):
            aa.view(cls())
    Late.__array__ = lambda self, dtype=None, copy=None: memory.arrays["array_method"]  # type: ignore[attr-defined]
    for cls in (Late, Child):
        assert aa.view(cls()).protocol == "array_method"
    Late.__array_interface__ = property(  # type: ignore[attr-defined]
        lambda self: memory.arrays["array_interface"].__array_interface__
    )
    for cls in (Late, Child):
        assert aa.view(cls()).protocol == "array_interface"
    del Late.__array_interface__  # type: ignore[attr-defined]
    for cls in (Late, Child):
        assert aa.view(cls()).protocol == "array_method"
    Late.__getattr__ = lambda self, name: (_ for _ in ()).throw(AttributeError(name))  # type: ignore[attr-defined]
    del Late.__array__  # type: ignore[attr-defined]
    for cls in (Late, Child):
        with pytest.raises(aa.NotAnArrayError):
            aa.view(cls())


def test_types_that_die_and_whose_address_is_used_again() -> None:
    addresses = set()
    reused = 0
    for i in range(200):
        row = ORDER[i % len(ORDER)]
        cls = offering(row)
        reused += id(cls) in addresses
        addresses.add(id(cls))
        assert aa.view(cls()).protocol == row
        del cls
        gc.collect() if i % 10 == 9 else None
    if "ANYARRAY_SANITIZED" not in os.environ:  # AddressSanitizer keeps freed memory apart
        assert reused, "no address was used again: the test shows nothing"


def test_a_type_that_changes_a_thousand_times() -> None:
    """CPython gives such a type no version tag any more: it must not be served from the cache."""
    memory = Memory()
    cls = offering("array_method")
    obj = cls()
    for i in range(2500):
        cls.extra = i
        if i % 50 == 0:
            aa.view(obj)
    assert aa.view(obj).protocol == "array_method"
    cls.__array_interface__ = property(lambda self: memory.arrays["array_interface"].__array_interface__)
    assert aa.view(obj).protocol == "array_interface"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_clearing_the_type_cache_of_python() -> None:
    memory = Memory()
    cls = offering("array_method")
    obj = cls()
    for _ in range(50):
        assert aa.view(obj).protocol == "array_method"
        sys._clear_type_cache()
        cls.__array_interface__ = property(lambda self: memory.arrays["array_interface"].__array_interface__)
        assert aa.view(obj).protocol == "array_interface"
        sys._clear_type_cache()
        del cls.__array_interface__


def test_many_types_share_slots() -> None:
    classes = [(row, offering(row)) for row in ORDER * 300]
    for row, cls in [*classes, *reversed(classes)]:
        assert aa.view(cls()).protocol == row


def test_instances_that_offer_other_rows_than_the_last_one() -> None:
    """What served the last object of a type is tried first, and is never believed."""

    class Some:
        pass

    def some(**offers: Any) -> Any:
        obj = Some()
        vars(obj).update(offers)
        return obj

    a = np.arange(3, dtype="i4")
    kinds = {
        "array_struct": some(__array_struct__=a.__array_struct__),
        "array_interface": some(__array_interface__=a.__array_interface__),
        "dlpack": some(__dlpack__=a.__dlpack__, __array_struct__=a.__array_struct__),
        "array_method": some(__array__=lambda *_, **__: a),
    }
    nothing = some(other=1)
    for first in kinds:
        for second in kinds:
            for name in (first, first, second, second, first):
                with aa.view(kinds[name]) as v:
                    assert (v.protocol, v.ptr, v.tolist()) == (name, a.ctypes.data, [0, 1, 2])
            for _ in range(2):
                with pytest.raises(aa.NotAnArrayError):
                    aa.view(nothing)
    bad = some(__array_struct__=7, __array_interface__=a.__array_interface__)
    for obj in (kinds["array_struct"], kinds["array_struct"], bad, kinds["array_struct"]):
        assert aa.view(obj).protocol == ("array_interface" if obj is bad else "array_struct")


def test_a_producer_may_change_its_class_and_its_type_while_asked() -> None:
    memory = Memory()

    class Other:
        pass

    class Shifty:
        def __dlpack__(self, **kw: Any) -> Any:
            self.__class__ = Other
            raise BufferError("moved")

        @property
        def __array_interface__(self) -> Any:
            return memory.arrays["array_interface"].__array_interface__

    for _ in range(3):
        obj = Shifty()
        with pytest.raises(aa.ExchangeError):
            aa.view(obj)

    class Editing:
        def __dlpack__(self, **kw: Any) -> Any:
            del Editing.__dlpack__
            gc.collect()
            for row, cls in [(r, offering(r)) for r in ORDER * 200]:
                assert aa.view(cls()).protocol == row  # evicts slots while this call is under way
            return memory.arrays["dlpack"].__dlpack__(**kw)

    assert aa.view(Editing()).protocol == "dlpack"


def test_view_within_view() -> None:
    memory = Memory()

    class Nested:
        depth = 40

        def __dlpack__(self, **kw: Any) -> Any:
            self.depth -= 1
            if self.depth:
                return aa.view(self).__dlpack__(**kw)
            return memory.arrays["dlpack"].__dlpack__(**kw)

    assert aa.view(Nested()).ptr == memory.arrays["dlpack"].ctypes.data


def test_endless_recursion_is_a_recursion_error() -> None:
    class Endless:
        def __dlpack__(self, **kw: Any) -> Any:
            return aa.view(self).__dlpack__(**kw)

    with pytest.raises(RecursionError):
        aa.view(Endless())


# ------------------------------------------------------------------------------------ device first


def device_object(device: Any, **more: Any) -> Any:
    memory = Memory()

    class OnDevice:
        asked = 0
        host = 0

        def __dlpack__(self, **kw: Any) -> Any:
            raise BufferError("no export today")

        def __dlpack_device__(self) -> Any:
            self.asked += 1
            if isinstance(device, Exception):
                raise device
            return device

        @property
        def __array_interface__(self) -> Any:
            self.host += 1
            return memory.arrays["array_interface"].__array_interface__

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            self.host += 1
            return memory.arrays["array_method"]

    return OnDevice()


@pytest.mark.parametrize("device", [(2, 0), (10, 1), (14, 0), (8, 0)])
def test_a_host_mirror_of_device_memory_is_skipped(device: tuple[int, int]) -> None:
    obj = device_object(device)
    with pytest.raises(aa.ExchangeError, match="__dlpack_device__ says") as caught:
        aa.view(obj)
    assert obj.asked == 1
    assert obj.host == 0
    statuses = {a.protocol: a.status for a in caught.value.attempts}
    assert statuses["array_interface"] == statuses["array_method"] == "skipped"
    assert statuses["dlpack"] == "failed"
    assert aa.view(device_object(device), policy=["array_interface"]).protocol == "array_interface"


@pytest.mark.parametrize(
    "device",
    [(1, 0), (3, 0), (13, 0), (99, 0), None, (1,), ("cpu", 0), RuntimeError("x"), (1, None), 2**70, (2**70, 0)],
)
def test_host_memory_and_odd_answers_let_mirrors_serve(device: Any) -> None:
    obj = device_object(device)
    assert aa.view(obj).protocol == "array_interface"


def test_device_is_asked_only_before_a_mirror() -> None:
    class Asked:
        a = np.arange(3.0)

        def __dlpack__(self, **kw: Any) -> Any:
            return self.a.__dlpack__(**kw)

        def __dlpack_device__(self) -> Any:
            raise AssertionError("asked for nothing")

    assert aa.view(Asked()).protocol == "dlpack"


# ---------------------------------------------------------------------------------------- requests


def test_conditions_are_required_and_end_the_search() -> None:
    obj = offering("dlpack", "array_interface")()
    for request, word in (
        ({"dtype": "float64"}, "float64"),
        ({"ndim": 2}, "ndim"),
    ):
        with pytest.raises(aa.ExchangeError, match=word):
            aa.view(obj, **request)
    assert obj.memory.log == ["dlpack", "dlpack"], "another protocol of the same object was asked"
    assert aa.view(obj, dtype="float32", ndim=1, order="C", writable=True, device="cpu").protocol == "dlpack"


def test_a_device_that_does_not_fit_goes_on() -> None:
    obj = offering("cuda_array_interface", "array_method")()
    assert aa.view(obj).device == "cuda:0"
    assert aa.view(obj, device="cpu").protocol == "array_method"
    with pytest.raises(aa.ExchangeError, match="rocm"):
        aa.view(obj, device="rocm")


def test_order_and_writable() -> None:
    a = np.zeros((3, 4), order="F")
    assert aa.view(a, order="F").strides == (8, 24)
    with pytest.raises(aa.ExchangeError, match="order"):
        aa.view(a, order="C")
    a.flags.writeable = False
    with pytest.raises(aa.ExchangeError, match="read-only"):
        aa.view(a, writable=True)
    with pytest.raises(aa.ExchangeError, match="read-only"):
        aa.view(b"abc", writable=True)


def test_lists_and_numbers_say_what_they_are() -> None:
    for obj, word in (
        ([1.0, 2.0], "list"),
        ((1, 2), "tuple"),
        (3, "int"),
        (2.5, "float"),
        ("abc", "str"),
        (None, "None"),
    ):
        with pytest.raises(aa.NotAnArrayError, match=word) as caught:
            aa.view(obj)
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, BufferError)
        assert isinstance(caught.value, aa.ExchangeError)


def test_failed_tries_own_nothing() -> None:
    import weakref

    class Fails:
        def __init__(self) -> None:
            self.memory = bytearray(16)

        def __dlpack__(self, **kw: Any) -> Any:
            return object()

        @property
        def __array_interface__(self) -> Any:
            return {"shape": (400,), "typestr": "<f4", "data": self.memory, "offset": 8, "version": 3}

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise ValueError("no")

    obj = Fails()
    gone = weakref.ref(obj)
    with pytest.raises(aa.ExchangeError):
        aa.view(obj)
    obj.memory.extend(b"not locked any more")
    count = sys.getrefcount(obj)
    for _ in range(20):
        with pytest.raises(aa.ExchangeError):
            aa.view(obj)
    gc.collect()
    assert sys.getrefcount(obj) == count
    del obj
    gc.collect()
    assert gone() is None


def test_nobody_is_asked_twice() -> None:
    """A quick try that fails goes on in the full way, which doesn't ask again for what wasn't there."""
    memory = Memory()

    class Asked:
        def __init__(self) -> None:
            self.names: list[str] = []

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__array_interface") or name == "__array__" or name.startswith("__dlpack__"):
                self.names.append(name)
            if name == "__array_interface__":
                return {"broken": True}
            if name == "__array__":
                return lambda dtype=None, copy=None: memory.arrays["array_method"]
            raise AttributeError(name)

    for _ in range(3):
        obj = Asked()
        assert aa.view(obj).protocol == "array_method"
        assert sorted(obj.names) == ["__array__", "__array_interface__", "__dlpack__"]
