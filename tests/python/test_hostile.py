# SPDX-License-Identifier: Apache-2.0
"""Producers and callers that mean harm: code that runs in the middle of a question and changes what is being looked at,
names that are stolen from libraries, structures that explode, exceptions from where none may come. The answer is an
array or one error. What could end the process, or meddles with modules, runs in a process of its own.
"""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import anyarray as aa

from .conftest import in_a_process, needs

np = needs("numpy")


Bag = types.SimpleNamespace


def interface(**changes: Any) -> dict[str, Any]:
    return {"shape": (4,), "typestr": "|u1", "data": bytearray(64), "version": 3, **changes}


def refused(what: Any, **keywords: Any) -> str:
    with pytest.raises(aa.ExchangeError) as caught:
        aa.view(what, **keywords)
    return str(caught.value)


def one_answer(what: Any) -> Any:
    """The Array, or None after the one error; the account can be had either way."""
    with contextlib.suppress(aa.ExchangeError):
        assert str(aa.explain(what))
        return aa.view(what)
    return None


# ------------------------------------------------------------------ code that runs in the middle


@pytest.mark.parametrize("shared", [False, True])
def test_release_while_dlpack_reads_its_device(shared: bool) -> None:
    a = aa.view(bytearray(8))
    if shared:
        a.__dlpack__()

    class Index:
        def __index__(self) -> int:
            a.release()
            return 0

    with pytest.raises((BufferError, ValueError)):
        a.__dlpack__(dl_device=(1, Index()))


READS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda a: a.shape,
    "strides": lambda a: a.strides,
    "repr": repr,
    "interface": lambda a: a.__array_interface__,
    "tolist": lambda a: a.tolist(),
    "buffer": memoryview,
    "device": lambda a: a.device,
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("ndim", [1, 20])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("read", READS)
def test_release_by_the_collector_while_it_is_read(read: str, shared: bool, ndim: int) -> None:
    target: list[Any] = []

    class Trash:
        def __del__(self) -> None:
            for a in target:
                a.release()

    before = gc.get_threshold()
    try:
        for trial in range(20):
            gc.disable()
            a = aa.view(np.zeros((2,) + (1,) * (ndim - 1)))
            if shared:
                a.__dlpack__()
            target[:] = [a]
            trash = Trash()
            trash.__dict__["me"] = trash
            del trash
            gc.set_threshold(1 + trial % 5)
            gc.enable()
            with contextlib.suppress(ValueError, BufferError, AttributeError):
                READS[read](a)
            target.clear()
    finally:
        gc.set_threshold(*before)
        gc.enable()


def test_a_key_that_changes_the_bases_while_the_mro_is_walked() -> None:
    class Other:
        pass

    base: type = object
    for i in range(30):  # longer than what the allocator keeps of tuples
        base = type(f"Level{i}", (base,), {})
    armed = False

    class Key:
        def __hash__(self) -> int:
            return hash("__module__")

        def __eq__(self, other: object) -> bool:
            nonlocal armed
            if armed:
                armed = False
                tensor.__bases__ = (Other,)
            return False

    tensor = type("Tensor", (base,), {Key(): 1, "__module__": "elsewhere", "__qualname__": "Tensor"})  # type: ignore[dict-item]
    x = tensor()
    armed = True
    refused(x)


def test_a_module_that_kills_the_type_while_it_is_probed() -> None:
    code = """
import gc, sys, anyarray as aa
class B: pass
class Trap:
    @property
    def __spec__(self):
        global A
        x.__class__, A = B, None
        gc.collect()
    def __getattr__(self, name): raise AttributeError(name)
A = type("A", (), {})
x = A()
for name in ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath"): sys.modules[name] = Trap()
try: aa.view(x)
except aa.NotAnArrayError: print("refused")
"""
    assert in_a_process(code) == "refused"


# ------------------------------------------------------------------ everything at once


ATTRIBUTES = ["__dlpack__", "__dlpack_device__", "__array_interface__", "__array_struct__", "__array__"]


class Chaos:
    """A class whose answers are random, and change it, its instances and what was taken before."""

    def __init__(self, seed: int, liar: Any) -> None:
        self.random = random.Random(seed)
        self.liar = liar
        self.memory = np.arange(32.0)
        self.pool: list[Any] = []
        self.depth = 0
        self.now: Any = None

    def answer(self, name: str) -> Any:
        self.stir()
        pick = self.random.choice
        if self.random.random() < 0.15:
            return pick([None, 3, "x", {}, (), object()])
        if name == "__array_interface__":
            out = dict(self.memory.__array_interface__)
            out |= pick([{}, {"shape": (self.index(),)}, {"strides": (8,)}, {"typestr": "\ud800"}, {"data": self.now}])
            return out
        if name == "__array_struct__":
            return pick([self.memory.__array_struct__, self.liar.array_struct(name="x"), self.liar.array_struct()])
        return lambda *a, **k: self.called(name, k)

    def called(self, name: str, keywords: dict[str, Any]) -> Any:
        self.stir()
        pick = self.random.choice
        if name == "__array__":
            return pick([self.memory, self.now, np.array([object()]), np.ma.array([1.0], mask=[1])])
        if name == "__dlpack_device__":
            return pick([(1, 0), (2, 0), (2**70, 0), (self.index(), 0), [1, 0]])
        made = pick([{}, {"versioned": 0}, {"shape": [-1]}, {"name": "x"}, {"version": (9, 0)}, {"shape": [1] * 20}])
        return pick([lambda: self.liar.dlpack(**made), lambda: aa.view(self.memory).__dlpack__(**keywords)])()

    def number(self) -> int:
        self.stir()
        return self.random.choice([0, 1, 4, -1, 2**63])

    def index(self) -> Any:
        return type("Index", (), {"__index__": lambda _: self.number()})()

    def make(self) -> Any:
        inside: dict[str, Any] = {
            name: property(lambda self, name=name: chaos.answer(name))
            for name in self.random.sample(ATTRIBUTES, self.random.randrange(1, len(ATTRIBUTES)))
        }
        chaos = self
        if self.random.random() < 0.2:
            inside["__getattr__"] = lambda self, name: chaos.answer(name)
        base: Any = self.random.choice([(), (), (bytearray,), (np.ndarray,)])
        kind = type("Producer", base, inside)
        return np.zeros(3).view(kind) if base == (np.ndarray,) else kind()

    def stir(self) -> None:
        if self.depth > 3:
            return
        self.depth += 1
        try:
            self.random.choice(
                [gc.collect, self.reenter, self.spoil, self.turn, self.forget, self.fail, *[lambda: None] * 6]
            )()
        finally:
            self.depth -= 1

    def reenter(self) -> None:
        with contextlib.suppress(Exception):
            self.pool.append(aa.view(self.now))

    def spoil(self) -> None:
        with contextlib.suppress(AttributeError, TypeError):
            delattr(type(self.now), self.random.choice(ATTRIBUTES))

    def turn(self) -> None:
        with contextlib.suppress(TypeError):
            self.now.__class__ = type("Other", (), {})

    def forget(self) -> None:
        for a in self.pool:
            a.release()
        self.pool.clear()

    def fail(self) -> None:
        raise self.random.choice([ValueError("é" * 500), TypeError("\0"), AttributeError(), KeyError("\ud800")])


@pytest.mark.parametrize("seed", range(8))
def test_chaos(liar: Any, seed: int) -> None:
    chaos = Chaos(seed, liar)
    for _ in range(60):
        chaos.now = chaos.make()
        for _ in range(2):
            if (taken := one_answer(chaos.now)) is not None:
                chaos.pool.append(taken)
        taken = None
    chaos.pool.clear()
    chaos.now = None
    gc.collect()


# ------------------------------------------------------------------ names stolen from libraries


STOLEN = [
    ("torch", "Tensor"),
    ("torch", "FakeTensor"),
    ("jaxlib._jax", "ArrayImpl"),
    ("tensorflow", "EagerTensor"),
    ("numpy", "ndarray"),
    ("numpy", "generic"),
    ("numpy.ma", "MaskedArray"),
    ("tvm_ffi", "Tensor"),
    ("_ctypes", "_CData"),
]


@pytest.mark.parametrize(("module", "name"), STOLEN)
def test_a_stranger_under_a_librarys_name(module: str, name: str) -> None:
    code = f"""
import anyarray as aa
for base in (object, bytearray, int):
    for typestr in ("|u1", "<f4", "<c8"):
        facts = dict(shape=(4,), typestr=typestr, data=bytearray(64), version=3)
        inside = dict(__module__="{module}", __qualname__="{name}", __array_interface__=facts)
        try: str(aa.explain(type("{name}", (base,), inside)())), aa.view(type("{name}", (base,), inside)())
        except aa.ExchangeError as error: str(error)
print("right")
"""
    assert in_a_process(code) == "right"


STRANGERS = {
    "torch": """
t = torch.arange(4.0)
t.untyped_storage().resize_(0)
try: print(aa.view(t).tolist())
except aa.ExchangeError: print("right")""",
    "tvm_ffi": """
x = tvm_ffi.from_dlpack(np.arange(3.0))
print("right" if aa.view(x, policy=["dlpack"]).tolist() == [0, 1, 2] else "wrong")""",
    "jax": """
x = jax.numpy.asarray([1.0, 2.0], dtype="bfloat16")
print("right" if aa.view(x).tolist() == [1, 2] else "wrong")""",
}


@pytest.mark.parametrize("library", STRANGERS)
def test_a_stranger_does_not_answer_for_the_library(library: str) -> None:
    needs(library)
    before = f"""
import numpy as np, {library}, anyarray as aa
other = jax.numpy.asarray([666.0], dtype="bfloat16") if "{library}" == "jax" else np.array([666.0])
def export(self, **keywords): return other.__dlpack__(**keywords)
inside = dict(aval=property(lambda self: self), _sharding=property(lambda self: other._sharding), __dlpack__=export,
              _fully_replicated_shard=lambda self: other, __module__="{"jaxlib._jax" if library == "jax" else library}",
              _to_dlpack_versioned=lambda self: other.__dlpack__(max_version=(1, 0)), __array_interface__={{}})
try: aa.view(type("{"ArrayImpl" if library == "jax" else "Tensor"}", (), inside)())
except aa.ExchangeError: pass
"""
    assert in_a_process(before + STRANGERS[library], 180) == "right"


# ------------------------------------------------------------------ structures that explode


def test_descr_lists_that_share_their_parts_end() -> None:
    level: Any = [("a", "S0")]
    for _ in range(15):
        level = [(f"f{i}", level) for i in range(8)]
    refused(Bag(__array_interface__=interface(typestr="|V0", descr=level)))


def test_numpy_structs_that_share_their_parts_end() -> None:
    dtype = np.dtype({"names": ["a"], "formats": ["V0"], "itemsize": 0})
    names = ["f0", "f1", "f2"]  # more, and NumPy itself takes for ever to write the format
    for _ in range(14):
        dtype = np.dtype({"names": names, "formats": [dtype] * 3, "offsets": [0] * 3, "itemsize": 1})
    refused(np.zeros(3, dtype), policy=["numpy"])


def test_ctypes_unions_that_share_their_parts_end() -> None:
    code = """
import ctypes, anyarray as aa
kind = ctypes.c_char
for k in range(15): kind = type(f"U{k}", (ctypes.Union,), {"_fields_": [(f"f{i}", kind) for i in range(8)]})
try: aa.view(kind())
except aa.ExchangeError: print("refused")
"""
    assert in_a_process(code) == "refused"


def test_refused_descr_lists_leave_room_for_others() -> None:
    code = """
import anyarray as aa
class X: pass
x = X()
for i in range(66000):
    x.__array_interface__ = {"shape": (1,), "typestr": "|V4", "data": (4096, True), "version": 3,
                             "descr": [(f"x{i}", "<f8")]}
    try: aa.view(x)
    except aa.ExchangeError: pass
x.__array_interface__ = {"shape": (1,), "typestr": "|V8", "data": (4096, True), "version": 3, "descr": [("y", "<f8")]}
print(aa.view(x).dtype)
"""
    assert in_a_process(code) == "{'y': float64; 8}"


# ------------------------------------------------------------------ types and answers that raise


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("attribute", ["__array_struct__", "__array_interface__", "__array__"])
def test_an_answer_whose_destructor_raises(liar: Any, attribute: str) -> None:
    """A capsule that isn't taken is destroyed in the middle of the search."""

    class Producer:
        pass

    def give(self: Any, *args: Any, **keywords: Any) -> Any:
        return liar.dlpack(on_delete="raises")

    setattr(Producer, attribute, give if attribute == "__array__" else property(give))
    one_answer(Producer())
    refused(Producer())


@pytest.mark.parametrize("which", ["object", "number", "class"])
def test_a_metaclass_that_answers_nothing(which: str) -> None:
    class Stubborn(type):
        def __getattribute__(cls, name: str) -> Any:
            raise ZeroDivisionError(name)

    kind = Stubborn("Unasked", (int,) if which == "number" else (), {})
    what = kind if which == "class" else type.__call__(kind)
    with pytest.raises(aa.NotAnArrayError):
        aa.view(what)
    assert not aa.explain(what).ok


# ------------------------------------------------------------------ words and numbers


def test_a_guards_sentence_cut_inside_a_character() -> None:
    dtype = Bag(name="strings" + "é" * 60)
    tensor = type("EagerTensor", (), {"__module__": "tensorflow", "dtype": dtype, "__dlpack__": lambda self: None})
    assert "strings" in refused(tensor())
    assert not aa.explain(tensor()).ok


@pytest.mark.parametrize(
    "keywords",
    [
        {"device": "cpu\0x"},
        {"policy": "numpy\0x"},
        {"policy": ["builtin\0x"]},
        {"allow": "mask\0x"},
        {"dtype": "uint8\0x"},
        {"order": "C\0"},
    ],
    ids=str,
)
def test_a_nul_does_not_end_a_name(keywords: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        aa.view(b"x", **keywords)
    assert aa.Device("cpu") != "cpu\0x"


@pytest.mark.parametrize("which", ["hash", "lies", "raises"])
def test_objects_that_are_no_dtype(which: str) -> None:
    def raises(*arguments: Any) -> Any:
        raise ZeroDivisionError

    meta = type("Meta", (type,), {"__hash__": raises})
    lies = {"__class__": np.dtype if which == "lies" else property(raises)}
    what = meta("Unhashable", (), {}) if which == "hash" else type("Liar", (), lies)()
    assert (aa.DType("float32") == what) is False
    with pytest.raises(TypeError):
        aa.view(b"x", dtype=what)


def test_long_doubles_of_any_size() -> None:
    limits = np.finfo(np.longdouble)
    for value in (limits.smallest_subnormal, limits.tiny, limits.max, -limits.max):
        got = aa.view(np.array([value])).item()
        assert np.longdouble(str(got)) == value


@pytest.mark.parametrize("itemsize", [2**61 + 4, 2**62, 2**63 - 1])
def test_an_itemsize_whose_bits_overflow(liar: Any, itemsize: int) -> None:
    refused(liar.buffer(format="f", itemsize=itemsize, shape=[1], length=itemsize))


def test_a_device_with_a_negative_number(liar: Any) -> None:
    taken = one_answer(liar.dlpack(device=(2, -1)))
    assert taken is None or str(taken.device)


# ------------------------------------------------------------------ cycles, threads, one inside of another


@pytest.mark.parametrize("way", ["data", "buffer", "exported and back"])
def test_a_cycle_through_a_view_is_collected(way: str) -> None:
    def make() -> weakref.ref[Any]:
        m: Any = type("Memory", (bytearray,), {})(8)
        m.kept = aa.view(Bag(__array_interface__=interface(data=m)) if way == "data" else m)
        if way == "exported and back":
            m.kept.__dlpack__()
        return weakref.ref(m)

    gone = make()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("way", ["table", "capsule", "legacy capsule", "copy"])
def test_a_cycle_through_what_it_gave_itself_is_collected(way: str) -> None:
    @aa.exchange
    class Tensor:
        def __init__(self) -> None:
            self.array = aa.from_pointer(4096, 2, "float32", owner=self)

        def __anyarray__(self) -> aa.Array:
            return self.array

    def make() -> weakref.ref[Any]:
        t: Any = Tensor()
        versions = {"capsule": (1, 0), "legacy capsule": None}
        capsule = t.__dlpack__(max_version=versions.get(way, (1, 0)))
        t.kept = aa.view(capsule) if way in versions else aa.view(t, policy=["dlpack_exchange"])
        if way == "copy":
            t.kept = (t.kept, aa._core.view(t.kept), t.array)
        return weakref.ref(t)

    before = aa._core._live()
    gone = make()
    gc.collect()
    assert gone() is None and aa._core._live() == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pthread_create by name")
def test_a_deleter_on_a_thread_that_python_does_not_know() -> None:
    code = """
import ctypes, time, anyarray as aa
api, libc = ctypes.pythonapi, ctypes.PyDLL(None)  # neither gives the GIL away
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
libc.pthread_create.argtypes = [ctypes.c_void_p] * 4
libc.pthread_detach.argtypes = [ctypes.c_void_p]
used = b"used_dltensor_versioned"
locked = []
class Source:
    def __init__(self): self.memory = bytearray(8)
    @property
    def __array_interface__(self): return {"shape": (8,), "typestr": "|u1", "data": self.memory, "version": 3}
    def __del__(self): locked.append(api.PyGILState_Check())
for i in range(100):
    a = aa.view(Source())
    c = a.__dlpack__(max_version=(1, 0))
    p = api.PyCapsule_GetPointer(c, b"dltensor_versioned")
    api.PyCapsule_SetName(c, used)
    deleter = (ctypes.c_uint64 * 4).from_address(p)[2]
    del a, c
    thread = ctypes.c_uint64()
    libc.pthread_create(ctypes.addressof(thread), None, deleter, p)
    libc.pthread_detach(thread.value)
    end = time.perf_counter() + 5
    while time.perf_counter() < end and len(locked) <= i: pass  # Python runs here meanwhile
print(len(locked), locked.count(0), aa._core._live())
"""
    assert in_a_process(code) == "100 0 0"


@pytest.mark.parametrize("inner", ["later", "earlier"])
def test_another_object_of_the_type_is_taken_within_the_row_that_served_last(inner: str) -> None:
    memory, asked = np.arange(3), []

    def asarray(*_: Any, **__: Any) -> Any:
        asked.append("__array__")
        return memory

    class Fails:
        def __index__(self) -> int:
            asked.append("shape")
            other = Plain()
            if inner == "later":
                other.__array__ = lambda *_, **__: memory
            else:
                other.__array_struct__ = memory.__array_struct__
            aa.view(other)
            raise TypeError("no extent")

    class Plain:
        __array__: Any
        __array_struct__: Any
        __array_interface__: Any

    usual, falls_back = Plain(), Plain()
    usual.__array_interface__ = memory.__array_interface__
    falls_back.__array_interface__ = {**memory.__array_interface__, "shape": (Fails(),)}
    falls_back.__array__ = asarray
    for _ in range(3):
        for _ in range(2):  # the route knows the row from now on
            assert aa.view(usual).protocol == "array_interface"
        asked.clear()
        assert aa.view(falls_back).protocol == "array_method"
        assert asked == ["shape", "__array__"]
