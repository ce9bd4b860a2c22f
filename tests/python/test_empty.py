# SPDX-License-Identifier: Apache-2.0
"""empty(), empty_like(); the rules about dtypes, and the number of threads."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import pytest

import anyarray as aa

from .conftest import environment, needs

np = needs("numpy")


@pytest.mark.parametrize("shape", [(), 0, 5, (2, 3), [4, 0], (1,) * 9, (3, 1, 2), (1 << 20,)])
@pytest.mark.parametrize("dtype", ["float64", "uint8", "complex128", "bfloat16", "U3", "datetime64[us]", ">i2"])
def test_empty(shape: Any, dtype: str) -> None:
    for order in ("C", "F"):
        a = aa.empty(shape, dtype, order=order)
        expected = np.empty(shape, "V2" if dtype == "bfloat16" else aa.DType(dtype).name, order=order)
        assert a.shape == expected.shape and a.dtype == dtype and a.device == "cpu"
        assert a.ptr % 64 == 0 and not a.readonly and a.copied is False and a.owner is None and a.protocol is None
        assert a.c_contiguous == expected.flags.c_contiguous and a.f_contiguous == expected.flags.f_contiguous


def test_empty_is_writable_memory() -> None:
    a = aa.empty((2, 3), "int32")
    np.asarray(a)[...] = 7
    assert a.tolist() == [[7, 7, 7]] * 2
    assert (
        aa.empty(3).dtype == "float64"
        and aa.empty(3, None).dtype == "float64"
        and aa.empty(3, dtype=int).dtype == "int64"
    )
    b = aa.empty((3, 3), "uint4")
    assert b.strides is None and b.nbytes == 5


@pytest.mark.parametrize(
    ("args", "words", "kind"),
    [
        ((), {}, TypeError), (("x",), {}, TypeError), ((-1,), {}, ValueError), (((2, -3),), {}, ValueError),
        (((1,) * 65,), {}, ValueError), ((True,), {}, TypeError), ((1.5,), {}, TypeError), ((2, "f99"), {}, ValueError),
        ((2,), {"order": "K"}, ValueError), ((2, "f4", "C"), {}, TypeError), ((2,), {"shape": 2}, TypeError),
        ((2**62,), {}, MemoryError), ((2**55, "u1"), {}, MemoryError), ((2**70,), {}, ValueError),
        (((3, 3), "uint4"), {"order": "F"}, ValueError), ((2,), {"dtype": "f4", "like": 1}, TypeError),
        ((2, "f4"), {"dtype": "f4"}, TypeError),
    ],
)  # fmt: skip
def test_empty_refuses(args: tuple[Any, ...], words: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        aa.empty(*args, **words)


def test_how_much_memory_is_missing_is_said() -> None:
    for shape, words in (
        ((2**40, 2**40), "the shape has more elements than 64 bits can count"),
        ((2**31, 2**31), f"{2**62} elements of 8 bytes are more bytes than 64 bits can count"),
        (2**55, f"the array needs {2**58} bytes"),
    ):
        with pytest.raises(MemoryError, match=words):
            aa.empty(shape)


def test_empty_like() -> None:
    for x in (np.zeros((2, 3), "f4"), np.zeros((2, 3), ">i2").T, np.zeros((4, 6))[::2, ::2]):
        for given in (x, aa.view(x)):
            a = aa.empty_like(given)
            assert a.shape == x.shape and a.dtype == x.dtype and a.f_contiguous == x.flags.f_contiguous
            assert a.ptr != x.ctypes.data and not a.readonly
            assert aa.empty_like(given, order="C").c_contiguous and aa.empty_like(given, order="F").f_contiguous
            assert aa.empty_like(given, dtype="int8").dtype == "int8"
    assert aa.empty_like(b"abc").readonly is False
    with pytest.raises(aa.NotAnArrayError):
        aa.empty_like([1, 2])
    with pytest.raises(TypeError):
        aa.empty_like(np.zeros(3), shape=3)  # type: ignore[call-arg]  # that it is refused is the test

    class OnCuda:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3}  # noqa: RUF012

    with pytest.raises(aa.ExchangeError, match="cuda:0"):
        aa.empty_like(OnCuda())
    with pytest.raises((TypeError, aa.ExchangeError), match="cuda:0"):
        aa.empty_like(aa.view(OnCuda()))


NUMBERS = ["bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "complex64"]


def test_can_cast_as_numpy_s() -> None:
    for a, b in itertools.product(NUMBERS, NUMBERS):
        for rule in ("no", "equiv", "safe", "same_kind", "unsafe"):
            assert aa.can_cast(a, b, rule) == np.can_cast(a, b, rule), (a, b, rule)
        assert aa.can_cast(a, b) == np.can_cast(a, b)
        assert aa.can_cast(np.dtype(a), aa.empty(1, b), casting="safe") == np.can_cast(a, b)
    assert aa.can_cast(">f4", "<f4", "equiv") and not aa.can_cast(">f4", "<f4", "no")
    for args, kind in ((("f4",), TypeError), (("f4", "f99"), ValueError), (("f4", "f8", "any"), ValueError)):
        with pytest.raises(kind):
            aa.can_cast(*args)


def test_promote_types_as_numpy_s() -> None:
    for a, b in itertools.product(NUMBERS, NUMBERS):
        assert aa.promote_types(a, b) == np.promote_types(a, b), (a, b)
    assert aa.promote_types(aa.empty(1, "int8"), np.float32) == "float32"
    with pytest.raises(TypeError, match="there is no dtype"):
        aa.promote_types("datetime64[s]", "float32")
    with pytest.raises(TypeError):
        aa.promote_types("f4")  # type: ignore[call-arg]  # that it is refused is the test


def test_threads() -> None:
    first = aa.get_num_threads()
    assert first >= 1
    try:
        assert aa.set_num_threads(3) == first and aa.get_num_threads() == 3
        assert aa.set_num_threads(1) == 3 and aa.get_num_threads() == 1
        assert aa.set_num_threads(None) == 1 and aa.get_num_threads() == first
        for number in (0, -1, 2**40, 2**70, -(2**70)):
            with pytest.raises(ValueError, match="number of threads"):
                aa.set_num_threads(number)
        for wrong in ("2", True, 1.5, (2, 3)):
            with pytest.raises(TypeError, match="number of threads"):
                aa.set_num_threads(wrong)  # type: ignore[arg-type]  # that it is refused is the test
        assert aa.get_num_threads() == first
    finally:
        aa.set_num_threads(None)


@pytest.mark.parametrize(("name", "value"), [("ANYARRAY_NUM_THREADS", "3"), ("OMP_NUM_THREADS", "2")])
def test_the_environment_says_how_many(name: str, value: str) -> None:
    code = "import anyarray; print(anyarray.get_num_threads())"
    env = {k: v for k, v in environment().items() if not k.endswith("_NUM_THREADS")}
    out = subprocess.run([sys.executable, "-c", code], check=True, env={**env, name: value}, capture_output=True)
    assert out.stdout.decode().strip() == value
