# SPDX-License-Identifier: Apache-2.0
"""Classes that get their protocols from __anyarray__: consumers take them, what can't be served is hidden, and
subclasses, slots, dataclasses, copies and pickles stay what they were."""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import inspect
import pickle
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import anyarray as aa
from anyarray._exchange import _ATTRIBUTES

from .conftest import needs


@aa.exchange
class Tensor:
    """float64 numbers, or others, on a device that is said."""

    def __init__(self, values: Any, dtype: str = "float64", device: str = "cpu", readonly: bool = False) -> None:
        kind = {"float64": ctypes.c_double, "int32": ctypes.c_int32}.get(dtype, ctypes.c_int64)
        self.memory = (kind * len(values))(*values)
        self.calls = 0
        self.array = aa.from_pointer(
            ctypes.addressof(self.memory), len(values), dtype, device=device, readonly=readonly, owner=self.memory
        )

    def __anyarray__(self) -> aa.Array:
        self.calls += 1
        return self.array


class Bare:
    """What a class declared for one device is made from: nothing is inherited."""

    device = "cpu"

    def __init__(self) -> None:
        self.memory = (ctypes.c_float * 4)(1, 2, 3, 4)

    def __anyarray__(self) -> aa.Array:
        return aa.from_pointer(ctypes.addressof(self.memory), 4, "float32", device=type(self).device, owner=self.memory)


@aa.exchange(device="cpu")
class OnHost(Bare):
    pass


@aa.exchange(device="cuda")
class OnCuda(Bare):
    device = "cuda:1"


@aa.exchange(device="ext_dev")
class OnOther(Bare):
    device = "ext_dev"


def served(x: Any) -> set[str]:
    return {name for name in _ATTRIBUTES if hasattr(x, name)}


# --- what is served, and what is hidden ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"dtype": "int32"},
        {"dtype": "M8[s]"},
        {"dtype": "bfloat16"},
        {"readonly": True},
        {"device": "cuda"},
        {"device": "ext_dev"},
        {"device": "cuda_host"},
        {"device": "rocm:2"},
    ],
    ids=str,
)
def test_an_instance_has_what_its_array_has(given: dict[str, Any]) -> None:
    t = Tensor(range(4), **given)
    # The exchange table is the type's, as it is for every consumer; it says itself what it can't serve.
    table = {"__dlpack_c_exchange_api__"}
    assert served(t) - table == served(t.array) - table
    assert {name for name in dir(t) if name in _ATTRIBUTES} - table == served(t.array) - table
    for name in set(_ATTRIBUTES) - served(t.array) - table:
        assert getattr(t, name, None) is None
        with pytest.raises(AttributeError):
            getattr(t, name)


def test_the_message_says_why() -> None:
    with pytest.raises(AttributeError, match=r"this Tensor has no __array_interface__: float64 on cuda:0 isn't served"):
        _ = Tensor([1], device="cuda").__array_interface__
    with pytest.raises(BufferError):  # the same error answers a request for the buffer
        _ = Tensor([1], device="cuda").__array_interface__


def test_the_rest_of_dir_is_as_before() -> None:
    assert {"memory", "array", "__init__", "__anyarray__"} <= set(dir(Tensor([1])))
    assert set(dir(Tensor([1]))) - set(_ATTRIBUTES) == set(object.__dir__(Tensor([1]))) - set(_ATTRIBUTES)


def test_dir_of_an_object_of_another_class() -> None:
    assert Tensor.__dir__(7) == object.__dir__(7)


def test_a_class_for_one_device_has_no_more_than_it_serves() -> None:
    assert "__array_interface__" in served(OnHost())
    assert "__cuda_array_interface__" not in served(OnHost)
    for kind in (OnCuda, OnOther):
        for name in ("__array_interface__", "__array_struct__", "__buffer__", "__arrow_c_array__"):
            with pytest.raises(AttributeError):
                inspect.getattr_static(kind(), name)  # so isinstance of a runtime Protocol says the truth
        assert kind().__dlpack_device__() == tuple(aa.Device(kind.device))
        with pytest.raises(TypeError, match="bytes-like"):
            memoryview(kind())  # type: ignore[arg-type]
        assert aa.view(kind()).device == kind.device
    assert "__cuda_array_interface__" not in served(OnOther)


def test_an_array_on_another_device_than_declared_is_an_error() -> None:
    with pytest.raises(
        TypeError, match=r"OnStray is declared for cuda, but its __anyarray__\(\) returned an array on cpu"
    ):
        _ = aa.exchange(device="cuda")(type("OnStray", (Bare,), {}))().__dlpack__
    with pytest.raises(TypeError, match="declared for cuda:0"):
        _ = aa.exchange(device="cuda:0")(type("OnFirst", (Bare,), {"device": "cuda:1"}))().__dlpack__


def test_called_once_for_each_exchange() -> None:
    t = Tensor(range(3))
    t.__dlpack__(max_version=(1, 0))
    assert t.calls == 1
    t.__dlpack_device__()
    assert t.calls == 2


# --- consumers -------------------------------------------------------------------------------------------------------


def test_view_takes_it_without_a_copy() -> None:
    for given in ({}, {"dtype": "M8[s]"}, {"device": "cuda"}, {"readonly": True}, {"dtype": "bfloat16"}):
        t = Tensor(range(4), **given)
        a = aa.view(t)
        assert (a.ptr, a.shape, a.dtype, a.device) == (t.array.ptr, (4,), t.array.dtype, t.array.device)
        assert (a.readonly, a.owner is t) == (t.array.readonly, True)


def test_numpy() -> None:
    np = needs("numpy")
    t = Tensor(range(4))
    for taken in (np.asarray(t), np.from_dlpack(t), np.array(t, copy=False)):
        assert taken.dtype == np.float64
        assert taken.ctypes.data == t.array.ptr
    taken[0] = 7.0
    assert t.memory[0] == 7.0
    assert not np.asarray(Tensor(range(4), readonly=True)).flags.writeable
    assert np.asarray(Tensor(range(4), dtype="M8[s]")).dtype == np.dtype("M8[s]")
    with pytest.raises(TypeError, match="copy it to the host"):
        np.asarray(Tensor(range(4), device="cuda"))
    assert np.asarray(t, dtype="f4").tolist() == [7, 1, 2, 3]


def test_torch() -> None:
    torch = needs("torch")
    t = Tensor(range(4))
    assert torch.from_dlpack(t).data_ptr() == t.array.ptr
    assert torch.as_tensor(t).data_ptr() == t.array.ptr
    assert torch.from_dlpack(Tensor(range(4), dtype="bfloat16")).dtype == torch.bfloat16


def test_jax() -> None:
    jax = needs("jax")
    t = Tensor(range(4), dtype="int32")
    assert jax.dlpack.from_dlpack(t).tolist() == [0, 1, 2, 3]
    assert jax.numpy.asarray(t).tolist() == [0, 1, 2, 3]


def test_pyarrow() -> None:
    pa = needs("pyarrow")
    t = Tensor(range(4), dtype="int32")
    if hasattr(t.array, "__arrow_c_array__"):
        assert pa.array(t).to_pylist() == [0, 1, 2, 3]
    else:
        assert pa.array(needs("numpy").asarray(t)).to_pylist() == [0, 1, 2, 3]


def test_tvm_ffi() -> None:
    tvm_ffi = needs("tvm_ffi")
    taken = tvm_ffi.from_dlpack(Tensor(range(4)))
    assert tuple(taken.shape) == (4,)
    assert needs("numpy").from_dlpack(taken).tolist() == [0, 1, 2, 3]


def test_exchange_table() -> None:
    assert type(Tensor.__dlpack_c_exchange_api__).__name__ == "PyCapsule"
    t = Tensor(range(4), readonly=True)
    a = aa.view(t, policy=["dlpack_exchange"])
    assert (a.protocol, a.ptr, a.readonly, a.owner is t) == ("dlpack_exchange", t.array.ptr, True, True)
    with pytest.raises(aa.ExchangeError, match="DLPack has no code for datetime64"):
        aa.view(Tensor(range(4), dtype="M8[s]"), policy=["dlpack_exchange"])
    broken = Tensor([1])
    broken.__class__ = type("Broken", (Tensor,), {"__anyarray__": lambda self: b"bytes"})
    with pytest.raises(aa.ExchangeError, match=r"must give an anyarray\.Array"):
        aa.view(broken, policy=["dlpack_exchange"])


def test_tvm_ffi_gives_back_what_it_was_given() -> None:
    tvm_ffi = needs("tvm_ffi")
    t = Tensor(range(4))
    back = tvm_ffi.get_global_func("testing.echo")(t)
    assert isinstance(back, aa.Array)  # by the table of the argument's class
    assert back.ptr == t.array.ptr


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes of Python have the buffer protocol since 3.12")
def test_buffer() -> None:
    t = Tensor(range(4))
    m = memoryview(t)  # type: ignore[arg-type]
    assert (m.format, m.shape, m.tolist()) == ("d", (4,), [0, 1, 2, 3])
    m[0] = 5.0
    assert t.memory[0] == 5.0
    with pytest.raises(BufferError):
        t.array.release()
    m.release()
    t.array.release()
    for given in ({"device": "cuda"}, {"dtype": "bfloat16"}):
        with pytest.raises(BufferError, match="isn't served"):
            memoryview(Tensor(range(4), **given))  # type: ignore[arg-type]
    assert memoryview(Tensor(range(4), readonly=True)).readonly  # type: ignore[arg-type]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the gap of older versions")
def test_no_buffer_on_older_pythons() -> None:
    with pytest.raises(TypeError):
        memoryview(Tensor(range(4)))  # type: ignore[arg-type]
    assert memoryview(aa.view(Tensor(range(4)))).tolist() == [0, 1, 2, 3]


def test_memory_lives_as_long_as_a_consumer_of_a_capsule() -> None:
    np = needs("numpy")
    b = OnHost()
    gone = weakref.ref(b.memory)
    taken = np.from_dlpack(b)  # of an Array that was made for this call
    del b
    assert gone() is not None
    assert taken.tolist() == [1, 2, 3, 4]
    del taken
    assert gone() is None


# --- what the class has itself ---------------------------------------------------------------------------------------


def test_what_the_class_defines_stays() -> None:
    @aa.exchange
    class Own(Bare):
        __array_interface__ = None

        def __dlpack_device__(self) -> str:
            return "own"

        def __dir__(self) -> list[str]:
            return ["mine"]

    assert Own().__dlpack_device__() == "own"
    assert Own.__array_interface__ is None
    assert dir(Own()) == ["mine"]
    assert hasattr(Own(), "__dlpack__")


def test_what_a_base_defines_stays() -> None:
    class Base(Bare):
        def __array__(self, dtype: Any = None, copy: Any = None) -> str:
            return "base"

        def __dir__(self) -> Iterator[str]:
            yield from ["mine", "__dlpack__", "__cuda_array_interface__"]

    derived = aa.exchange(type("Derived", (Base,), {}))()
    assert derived.__array__() == "base"
    assert dir(derived) == sorted({"mine", *{"__dlpack__", "__cuda_array_interface__"} & set(dir(derived))})
    assert "mine" in dir(derived) and "__dlpack__" in dir(derived)


def test_getattr_of_the_class_is_asked_for_what_is_hidden() -> None:
    @aa.exchange
    class Delegating(Bare):
        device = "ext_dev"

        def __getattr__(self, name: str) -> str:
            return f"delegated {name}"

    assert Delegating().__array_interface__ == "delegated __array_interface__"
    assert Delegating().__dlpack_device__() == (12, 0)


def test_unbound_calls() -> None:
    assert OnHost.__dlpack_device__(OnHost()) == (1, 0)
    assert type(OnHost.__dlpack__(OnHost(), max_version=(1, 0))).__name__ == "PyCapsule"
    assert OnHost.__dlpack__.__name__ == "__dlpack__"
    assert repr(OnHost.__dlpack__) == "<__dlpack__ from __anyarray__()>"
    with pytest.raises(TypeError, match="needs the instance"):
        OnHost.__dlpack__()


# --- kinds of classes ------------------------------------------------------------------------------------------------


def test_subclasses_override_the_method() -> None:
    class Other(OnHost):
        def __anyarray__(self) -> aa.Array:
            return aa.view(b"abc")

    assert aa.view(Other()).tolist() == list(b"abc")
    assert dir(Other()).count("__dlpack__") == 1
    decorated_again = aa.exchange(Other)
    assert decorated_again is Other
    assert aa.view(Other()).tolist() == list(b"abc")
    assert "__dlpack__" in dir(Other())


def test_slots() -> None:
    @aa.exchange
    class Slim:
        __slots__ = ("data",)

        def __init__(self) -> None:
            self.data = bytearray(b"1234")

        def __anyarray__(self) -> aa.Array:
            return aa.view(self.data)

    slim = Slim()
    assert not hasattr(slim, "__dict__")
    assert aa.view(slim).tolist() == list(b"1234")
    assert "__dlpack__" in dir(slim)


@pytest.mark.parametrize("slots", [False, True])
@pytest.mark.parametrize("outermost", ["exchange", "dataclass"])
def test_dataclasses(slots: bool, outermost: str) -> None:
    class Record:
        __annotations__ = {"data": bytearray, "name": str}

        def __anyarray__(self) -> aa.Array:
            return aa.view(self.data)  # type: ignore[attr-defined]

    make = dataclasses.dataclass(slots=slots)
    kind: Any = make(aa.exchange(Record)) if outermost == "dataclass" else aa.exchange(make(Record))
    record = kind(bytearray(b"xy"), "n")
    assert dataclasses.asdict(record) == {"data": bytearray(b"xy"), "name": "n"}
    assert record == kind(bytearray(b"xy"), "n")
    assert aa.view(record).tolist() == list(b"xy")
    assert "__dlpack__" in dir(record) and "__cuda_array_interface__" not in dir(record)
    assert aa.view(copy.deepcopy(record)).tolist() == list(b"xy")


@aa.exchange
class Kept:
    """At the module's level, where pickles find it."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __anyarray__(self) -> aa.Array:
        return aa.view(self.data)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_and_copies(protocol: int) -> None:
    for twin in (
        pickle.loads(pickle.dumps(Kept(b"abc"), protocol)),
        copy.copy(Kept(b"abc")),
        copy.deepcopy(Kept(b"abc")),
    ):
        assert type(twin) is Kept
        assert aa.view(twin).tolist() == list(b"abc")


def test_picklers_that_take_classes_by_value() -> None:
    for declared in (Kept, OnCuda):
        for name in _ATTRIBUTES:
            if name in declared.__dict__:
                again = pickle.loads(pickle.dumps(declared.__dict__[name]))
                assert again.__name__ == name
                kind = type("Again", (Bare,), {name: again, "device": getattr(declared, "device", "cpu")})
                assert hasattr(kind(), name) == hasattr(kind().__anyarray__(), name)


def test_several_decorated_bases() -> None:
    class Between:
        def __dir__(self) -> list[str]:
            return [*super().__dir__(), "between"]

    @aa.exchange
    class Right:
        def __anyarray__(self) -> aa.Array:
            return aa.view(b"right")

    class Both(OnHost, Between, Right):
        pass

    assert {"between", "memory", "__dlpack__"} <= set(dir(Both()))
    assert "__cuda_array_interface__" not in dir(Both())


def test_weak_references_and_hash_are_untouched() -> None:
    b = OnHost()
    assert weakref.ref(b)() is b
    assert hash(b) == object.__hash__(b)


# --- bad input -------------------------------------------------------------------------------------------------------


def test_refused_at_decoration() -> None:
    with pytest.raises(TypeError, match="Nothing needs a method __anyarray__"):
        aa.exchange(type("Nothing", (), {}))
    with pytest.raises(TypeError, match="decorates a class, not function"):
        aa.exchange(lambda: None)
    with pytest.raises(ValueError, match="'gpu' isn't a device"):
        aa.exchange(device="gpu")(type("Gpu", (Bare,), {}))
    with pytest.raises(TypeError, match="needs a method __anyarray__"):
        aa.exchange(aa.Array)


class Giving:
    answer: Any = None

    def __anyarray__(self) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


aa.exchange(Giving)


def test_nothing_to_offer() -> None:
    g = Giving()
    assert served(g) - {"__dlpack_c_exchange_api__"} == set()
    with pytest.raises(AttributeError, match=r"has no __dlpack__: its __anyarray__\(\) returned None"):
        _ = g.__dlpack__
    with pytest.raises(aa.ExchangeError, match=r"no memory to offer: its __anyarray__\(\) returned None"):
        aa.view(g, policy=["dlpack_exchange"])
    with pytest.raises((aa.NotAnArrayError, aa.ExchangeError)):
        aa.view(g)


def test_something_else_than_an_array() -> None:
    g = Giving()
    g.answer = b"bytes"
    with pytest.raises(TypeError, match=r"Giving.__anyarray__\(\) returned bytes: it must give an anyarray.Array"):
        _ = g.__dlpack__
    assert "__dlpack__" in dir(g)  # dir() is not where to say so
    for policy in (None, ["dlpack_exchange"]):
        with pytest.raises(aa.ExchangeError, match=r"must give an anyarray\.Array"):
            aa.view(g, policy=policy)


def test_mistakes_in_the_method_are_not_hidden() -> None:
    g = Giving()
    g.answer = AttributeError("no such thing")
    with pytest.raises(RuntimeError, match=r"Giving.__anyarray__\(\) raised AttributeError: no such thing") as wrong:
        hasattr(g, "__dlpack__")
    assert wrong.value.__cause__ is g.answer
    g.answer = OSError("disk")
    with pytest.raises(OSError, match="disk"):
        _ = g.__dlpack__
    with pytest.raises(aa.ExchangeError, match="disk"):
        aa.view(g)
    g.answer = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        _ = g.__dlpack__
    with pytest.raises(KeyboardInterrupt):
        aa.view(g)


def test_a_released_array_serves_nothing() -> None:
    t = Tensor(range(3))
    t.array.release()
    for use in (lambda: t.__dlpack__(max_version=(1, 0)), lambda: t.__array_interface__):
        with pytest.raises((ValueError, BufferError), match="released"):
            use()


def test_nothing_leaks() -> None:
    t = Tensor(range(3))
    count = sys.getrefcount(t.array)
    for _ in range(50):
        t.__dlpack__(max_version=(1, 0))
        hasattr(t, "__cuda_array_interface__")
        _ = t.__array_interface__
        aa.view(t)
        dir(t)
    after = sys.getrefcount(t.array)
    assert after == count
