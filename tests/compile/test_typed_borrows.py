# SPDX-License-Identifier: Apache-2.0
"""Typed views of Python objects: what an extension's functions accept, refuse and say, and that nothing stays held."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toolchain

import anyarray as aa


@pytest.fixture(scope="module")
def ext(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """typed_borrows.cpp, built with the first compiler."""
    library = tmp_path_factory.mktemp("typed") / "typed_borrows.so"
    flags = [
        "-O1",
        "-fPIC",
        "-shared",
        "-std=c++17",
        "-Wall",
        "-Wextra",
        toolchain.python_include(),
        "-o",
        str(library),
    ]
    done = toolchain.compilers()[0].run(Path(__file__).with_name("typed_borrows.cpp"), *flags)
    assert done.returncode == 0, done.stdout
    spec = importlib.util.spec_from_file_location("typed_borrows", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def array(*shape: int, dtype: str = "float32") -> Any:
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


class Offers:
    """An object with one protocol of an array."""

    def __init__(self, x: Any, name: str) -> None:
        self.x, self.name = x, name

    def __getattr__(self, name: str) -> Any:
        if name != self.name:
            raise AttributeError(name)
        return getattr(self.x, name)


def same(facts: dict[str, Any], x: Any, source: Any = None) -> None:
    assert facts["shape"] == x.shape
    assert facts["ptr"] == x.ctypes.data
    for extent, given, own in zip(x.shape, facts["strides"], x.strides, strict=True):
        assert given == own or extent == 1 or x.size == 0
    assert facts["source"] is (x if source is None else source)


def test_what_fits_is_taken_whatever_it_comes_from(ext: Any) -> None:
    x = array(3, 4)
    for view in (x, x.T, x[::-1, ::2], x[:1], x[:0], np.broadcast_to(x[0], (5, 4))):
        same(ext.matrix(view), view)
        same(ext.any_rank(view), view)
        same(ext.held(view), view)
        same(ext.moved(view), view)
    for other in (Offers(x, "__array_interface__"), Offers(x, "__array_struct__"), memoryview(x), aa.view(x)):
        same(ext.matrix(other), x, other)
    deep = array(1, 1, 1, 1, 1, 1, 1, 2, 3)
    same(ext.deep(deep), deep)
    same(ext.any_rank(deep), deep)
    scalar = np.array(1.5, "f4")
    same(ext.any_rank(scalar), scalar)
    same(ext.rows(x), x)
    turned, one_row = x.T, x[:1]
    same(ext.columns(turned), turned)
    same(ext.rows(one_row), one_row)
    same(ext.columns(one_row), one_row)


def test_a_refusal_says_which_condition_and_what_was_given(ext: Any) -> None:
    cube = array(2, 2, 2, dtype="float64")
    with pytest.raises(aa.ExchangeError, match=r"ndim 3, 2 was.*float64, float32 was"):
        ext.matrix(cube)
    with pytest.raises(aa.ExchangeError, match=r"ndim 3, 2 was.*float64, float32 was"):
        ext.held(cube)
    with pytest.raises(aa.ExchangeError, match="read-only"):
        ext.writable(memoryview(bytes(8)).cast("f"))
    for take, x in ((ext.rows, array(3, 4).T), (ext.columns, array(3, 4))):
        with pytest.raises(aa.ExchangeError, match="contiguous"):
            take(x)
    with pytest.raises(aa.ExchangeError, match="whole number of elements"):
        ext.matrix(np.zeros(3, np.dtype("f4, u2"))["f0"].reshape(3, 1))
    off = np.frombuffer(bytearray(9), np.uint8)[1:].view("f4")
    with pytest.raises(aa.ExchangeError, match="aligned"):
        ext.any_rank(off)
    with pytest.raises(aa.NotAnArrayError):
        ext.matrix([[1.0]])
    with pytest.raises(aa.ExchangeError, match="float32, float64 or int64"):
        ext.total(array(3, dtype="int16"))
    with pytest.raises(aa.ExchangeError, match="cuda"):
        ext.on_cuda(array(3))


def test_a_type_may_be_aligned_more_than_its_dtype(ext: Any) -> None:
    memory = np.zeros(20, np.uint8)
    start = -memory.ctypes.data % 4
    good = memory[start : start + 8].view("V4")
    bad = memory[start + 1 : start + 9].view("V4")
    same(ext.pixels(good), good)
    same(ext.held_pixels(good), good)
    for take in (ext.pixels, ext.held_pixels):
        with pytest.raises(BufferError, match="aligned for the C\\+\\+ type"):
            take(bad)


def test_overloads_ask_without_an_exception(ext: Any) -> None:
    assert ext.tried(array(3)) == ("ok", True)
    assert ext.tried(memoryview(bytes(8)).cast("f")) == ("mismatch", False)
    assert ext.tried(array(3, dtype="float64")) == ("mismatch", False)
    assert ext.tried(array(3, 3)) == ("mismatch", False)
    assert ext.tried(object()) == ("not offered", False)

    class Interrupted:
        @property
        def __array_interface__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ext.tried(Interrupted())


def test_one_takes_again(ext: Any) -> None:
    first, second = bytearray(8), bytearray(4)
    assert ext.both(first, second)["shape"] == (4,)
    first.append(1)  # not locked any more
    second.append(1)
    with pytest.raises(aa.NotAnArrayError):
        ext.both(first, object())
    first.append(1)


def test_waivers_and_dispatch(ext: Any) -> None:
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0])
    with pytest.raises(aa.ExchangeError, match="masked"):
        ext.total(masked)
    assert ext.waived(masked)["shape"] == (3,)
    for dtype in ("float32", "float64", "int64"):
        assert ext.total(array(4, dtype=dtype)[::-2]) == 4.0


def test_nothing_stays_held(ext: Any) -> None:
    x = array(3, 4)
    before = sys.getrefcount(x)
    for take in (ext.matrix, ext.any_rank, ext.held, ext.moved, ext.anything, ext.rows):
        for _ in range(10):
            take(x)
    for take in (ext.writable, ext.columns, ext.deep, ext.tried, ext.pixels, ext.held_pixels):
        for _ in range(10):
            with contextlib.suppress(aa.ExchangeError):
                take(x)
    gc.collect()
    assert sys.getrefcount(x) == before


def test_arrays_made_in_cpp(ext: Any) -> None:
    a = ext.made()
    assert a.strides == (4, 8) and not a.readonly
    x = np.asarray(a)
    dead = weakref.ref(x)
    del a
    assert x.tolist() == [[0, 1, 2], [10, 11, 12]]
    del x
    assert dead() is None
    with pytest.raises(ValueError, match="holds nothing"):
        ext.empty()
