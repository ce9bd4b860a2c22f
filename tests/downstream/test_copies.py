# SPDX-License-Identifier: Apache-2.0
"""What an extension gives away: copies with other dtypes and orders, and arrays for other libraries.

Values are held to NumPy's astype, bit by bit; those of bfloat16 to ml_dtypes.
"""

from __future__ import annotations

import importlib
import platform
import sys
import types
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from projects import Way

NUMBERS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128"),
)
#: Elsewhere C++ makes other integers of floats that are out of range, and NumPy with it.
ON_X86 = platform.machine() in ("x86_64", "AMD64")


@pytest.fixture
def copies(way: Way) -> Any:
    return way.extension("copies")


def dtype_of(name: str) -> Any:
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def values(name: str) -> Any:
    """All that there are of at most 16 bits; otherwise those at the edges, ties of narrower floats, and random bits."""
    dtype = dtype_of(name)
    random = np.random.default_rng(1)
    if name == "bool":
        return np.array([False, True] * 3)
    if dtype.itemsize <= 2:
        return np.arange(1 << 8 * dtype.itemsize, dtype="u4").astype(f"u{dtype.itemsize}").view(dtype)
    if dtype.kind in "iu":
        bits = random.integers(0, 2**64, 5000, "u8") >> random.integers(0, 64, 5000).astype("u8")
        edges = np.array([2**e + d for e in range(64) for d in (-1, 0, 1)], "u8")
        ties = np.array([2**62 + 2**38, 2**62 + 2**38 + 1, 2**53 + 1, 2**24 + 1, 0x1010000000000001], "u8")
        whole = np.concatenate([bits, edges, ties])
        return np.concatenate([whole, ~whole]).astype(f"u{dtype.itemsize}").view(dtype)
    part = np.dtype(f"f{dtype.itemsize // 2 if dtype.kind == 'c' else dtype.itemsize}")
    bits = random.integers(0, 2**64, 5000, "u8").astype(f"u{part.itemsize}").view(part)
    halves = np.arange(0, 2**16, 5, "u2").view("f2").astype(part)
    with np.errstate(all="ignore"):
        brains = (random.integers(0, 2**16, 5000).astype("u4") << 16 | 0x8000).view("f4").astype(part)
        ties = np.concatenate([(halves[:-1] + halves[1:]) / 2, brains])
        near = np.concatenate([np.nextafter(ties, part.type(end)) for end in (np.inf, -np.inf)])
    powers = np.array([sign * m * 2.0**e for sign in (1, -1) for m in (1, 1 - 2**-24, 1.5) for e in range(70)], part)
    real = np.concatenate([bits, halves, ties, near, powers])
    if dtype.kind != "c":
        return real
    both = np.empty(real.size, dtype)
    both.real, both.imag = real, real[::-1]
    return both


def cast_by_numpy(x: Any, to: Any) -> Any:
    """As astype, but one by one: its long runs make other uint32 of floats that are out of range."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.repeat(x, 2)[::2].astype(to)


def in_range(x: Any, to: Any) -> Any:
    """Which elements an integer of that type holds, once they are truncated."""
    real = x.real if x.dtype.kind == "c" else x
    with np.errstate(all="ignore"):
        whole = np.trunc(real.astype("f8"))
        return (whole >= float(np.iinfo(to).min)) & (whole < 2.0 ** (8 * to.itemsize - (to.kind == "i")))


@pytest.mark.parametrize("name", NUMBERS)
def test_values_are_numpys(copies: Any, name: str) -> None:
    x = values(name)
    for other in NUMBERS:
        to = dtype_of(other)
        got = np.frombuffer(copies.convert(copies.copied(x, (other,), unsafe=True), "numpy").tobytes(), "u1")
        want = np.frombuffer(cast_by_numpy(x, to).tobytes(), "u1")
        differ = (got != want).reshape(x.size, -1).any(axis=1)
        if to.kind in "iu" and dtype_of(name).kind not in "biu" and not ON_X86:
            differ &= in_range(x, to)
        where = np.flatnonzero(differ)
        assert not where.size, f"{where.size} to {other}: {x[where[0]]} became {got.reshape(x.size, -1)[where[0]]}"


def test_rule_is_numpys(copies: Any) -> None:
    names = [name for name in NUMBERS if name != "bfloat16"]
    for name in names:
        for other in names:
            x = np.ones(2, name)
            got = copies.copied(x, (other,))
            if np.can_cast(x.dtype, other, "same_kind"):
                assert np.asarray(got).dtype == other
            else:
                assert got == f"mismatch: elements of dtype {name} can't be cast to {other} (by the rule same_kind)"


LAYOUTS = st.tuples(
    st.lists(st.integers(0, 4), max_size=4),
    st.sampled_from([name for name in NUMBERS if name != "bfloat16"]),
    st.sampled_from(NUMBERS),
    st.sampled_from("ACF"),
    st.randoms(use_true_random=False),
    st.booleans(),
)


def layout_of(shape: list[int], name: str, random: Any, swapped: bool) -> Any:
    """An array of that shape with any strides: steps, mirrored, transposed, broadcast, and not aligned."""
    steps = [random.choice((1, 2, -1, -3)) for _ in shape]
    outer = [max(n * abs(step), 1) for n, step in zip(shape, steps, strict=True)]
    dtype = np.dtype(name).newbyteorder() if swapped else np.dtype(name)
    raw = bytearray(int(np.prod(outer)) * dtype.itemsize + 1)
    whole = np.frombuffer(raw, dtype, offset=random.choice((0, 1)), count=int(np.prod(outer))).reshape(outer)
    whole[...] = np.arange(whole.size).reshape(outer) % 120
    x = whole[
        tuple(slice(None, n * abs(s), s) if s > 0 else slice(None, None, s) for n, s in zip(shape, steps, strict=True))
    ]
    x = x[tuple(slice(0, n) for n in shape)].transpose(random.sample(range(len(shape)), len(shape)))
    return np.broadcast_to(x, (3, *x.shape)) if random.random() < 0.25 else x


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(layout=LAYOUTS)
def test_any_layout(copies: Any, layout: Any) -> None:
    shape, name, other, order, random, swapped = layout
    x = layout_of(shape, name, random, swapped)
    got = copies.copied(x, (other,), order, unsafe=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = x.astype(dtype_of(other), order="C")
    assert (got.shape, got.readonly, got.copied, got.owner, got.ptr % 64) == (x.shape, False, True, None, 0)
    assert got.f_contiguous if order == "F" else got.c_contiguous
    assert copies.convert(got, "numpy").tobytes() == want.tobytes()
    same = copies.copied(x, (), order)
    assert same.dtype.byteorder != ">"
    assert np.asarray(same).tobytes() == x.astype(name).tobytes()


OTHERS = ["S5", "U3", ">U3", "V7", "M8[ms]", ">m8[3s]", "g", "G", [("a", ">i4"), ("b", "f8", (2, 3)), ("c", "S1")]]


@pytest.mark.parametrize("dtype", OTHERS, ids=str)
def test_others_are_moved_as_bytes(copies: Any, dtype: Any) -> None:
    raw = np.random.default_rng(2).integers(65, 90, 24 * np.dtype(dtype).itemsize, "u1")
    if np.dtype(dtype).char == "U":
        raw = np.frombuffer(
            "".join(map(chr, range(300, 372))).encode(f"utf-32-{'be' if dtype[0] == '>' else 'le'}"), "u1"
        )
    x = raw.view(dtype).reshape(4, 6)
    for view in (x, x.T, x[::-2, 1::3], x[:0]):
        native = view.dtype if view.dtype.kind == "V" else view.dtype.newbyteorder("=")
        for order in "CF":
            got = np.asarray(copies.copied(view, (), order))
            assert got.dtype == native
            assert got.flags[f"{order}_CONTIGUOUS"]
            assert got.tobytes() == view.astype(native).tobytes()
        if np.dtype(dtype).kind in "SUV":
            assert copies.copied(view, ("float64",)).startswith("unsupported: elements of dtype ")


def test_choice_of_dtype(copies: Any) -> None:
    x = np.arange(3, dtype="i4")
    assert copies.copied(x, ("uint8", "float32", "float64")).dtype.name == "float32"
    assert copies.copied(x, ("float32", "int32")).dtype.name == "int32"
    assert copies.copied(x, ("bool", "uint64")) == (
        "mismatch: elements of dtype int32 can't be cast to bool or uint64 (by the rule same_kind)"
    )
    assert copies.copied(x, ("bool", "S5")).startswith("unsupported: ")
    assert copies.copied(x.astype("f4"), ("bfloat16",)).dtype.name == "bfloat16"
    assert copies.copied(x, (">f8",)).tolist() == [0.0, 1.0, 2.0]


def test_what_cannot_be_met(copies: Any) -> None:
    x = np.zeros((2, 3), "f4")
    assert copies.copied(x, ndim=3) == "mismatch: the array has ndim 2, 3 was asked for"
    assert copies.copied(x, device="cuda:0") == "other device: a copy is made on the host, cuda:0 was asked for"
    assert copies.copied(x, device="cpu").device == "cpu"
    assert copies.copied(np.broadcast_to(np.int8(1), (2**31, 2**31)), ("float64",)).startswith("no memory: ")


def test_copies_belong_to_nobody(way: Way, copies: Any) -> None:
    live = way.live("copies")
    x = np.arange(1000.0).reshape(10, 100).T
    count = sys.getrefcount(x)
    assert copies.dropped(x, 1000) == 1000
    kept = copies.copied(x)
    assert sys.getrefcount(x) == count
    np.asarray(kept)[0, 0] = 7
    assert x[0, 0] == 0
    del kept
    assert way.live("copies") == live


class Unknown:
    """An array of no library: it exports memory, and says nothing of a namespace."""

    def __init__(self) -> None:
        self.__array_interface__ = {"shape": (2,), "typestr": "|u1", "data": (memory.ctypes.data, False), "version": 3}


class WithNamespace(Unknown):
    """The same of a library that isn't in the table, and takes arrays over DLPack."""

    namespace = types.ModuleType("another_library")

    def __array_namespace__(self, *, api_version: object = None) -> types.ModuleType:
        return self.namespace


memory = np.array([1, 2], "u1")


def test_convert_as_the_package_does(copies: Any, way: Way) -> None:
    array = copies.copied(np.arange(6.0).reshape(2, 3))
    for to in ("numpy", np, np.ndarray, np.zeros(1, "i1")):
        for _ in range(2):  # the second time without Python code
            made = copies.convert(array, to)
            assert isinstance(made, np.ndarray)
            assert (made.shape, made.ctypes.data) == ((2, 3), array.ptr)
            assert copies.convert(made, to) is made
    strict = importlib.import_module("array_api_strict")
    assert type(copies.convert(array, strict)) is type(strict.zeros(1))
    with pytest.raises(ValueError, match="no array library"):
        copies.convert(array, "nobody")
    with pytest.raises(TypeError, match="not bytes"):
        copies.convert(array, b"")
    with pytest.raises(way.errors("copies").NotAnArrayError):
        copies.convert([1], np)


def test_convert_like_an_example(copies: Any, way: Way) -> None:
    live = way.live("copies")
    array = copies.copied(np.arange(6.0).reshape(2, 3))
    kind = type(array).__mro__[1]
    for example in (np.zeros(1), np.ma.masked_array([1]), np.float64(1)[None]):
        for _ in range(2):
            assert type(copies.convert_like(array, example)) is np.ndarray
    for example in (array, b"", bytearray(), memoryview(b""), Unknown(), object(), [1], "numpy", np, None):
        assert copies.convert_like(array, example) is array
        got = copies.convert_like(memory, example)
        assert isinstance(got, kind)
        assert (got.tolist(), got.owner is memory) == ([1, 2], True)
    with pytest.raises(way.errors("copies").NotAnArrayError):
        copies.convert_like([1], b"")
    del got
    # A namespace that takes arrays stands for its library, any other for nothing.
    assert isinstance(copies.convert_like(memory, WithNamespace()), kind)
    WithNamespace.namespace.from_dlpack = lambda x, **_: ("taken", x.__dlpack_device__())
    assert copies.convert_like(memory, WithNamespace()) == ("taken", (1, 0))
    del WithNamespace.namespace.from_dlpack, array
    assert way.live("copies") == live
