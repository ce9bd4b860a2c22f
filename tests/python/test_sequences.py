# SPDX-License-Identifier: Apache-2.0
"""asarray() of Python's numbers and nested sequences: the same array as NumPy makes, or a refusal that names the
element."""

from __future__ import annotations

import decimal
import enum
import re
import struct
from array import array
from collections import deque, namedtuple
from fractions import Fraction
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")
given = needs("hypothesis").given
settings = needs("hypothesis").settings
st = needs("hypothesis.strategies")


def bits(value: Any) -> Any:
    """Numbers by type and bits, so that -0.0 and NaN tell themselves; lists of them as lists."""
    if isinstance(value, list):
        return [bits(v) for v in value]
    if isinstance(value, float):
        return "f", struct.pack("d", value)
    if isinstance(value, complex):
        return "c", struct.pack("dd", value.real, value.imag)
    return type(value), value


def same(made: Any, expected: Any) -> bool:
    """An Array against NumPy's: dtype, shape, and every bit."""
    assert made.dtype == aa.view(expected).dtype
    assert tuple(made.shape) == expected.shape
    return bool(bits(made.tolist()) == bits(expected.tolist()))


def agree(x: Any, **keywords: Any) -> None:
    assert same(aa.asarray(x, **keywords), np.array(x, **keywords))


# --- scalars ----------------------------------------------------------------------------------------------------


class Small(enum.IntEnum):
    FIVE = 5


class MyFloat(float):
    pass


class MyInt(int):
    def __index__(self) -> int:
        raise AssertionError("an int has its value already")


class MyComplex(complex):
    pass


class Index:
    def __index__(self) -> int:
        return 7


class Real:
    def __float__(self) -> float:
        return 1.5


class Whole(Real):
    """Both: an int it is, exactly."""

    def __index__(self) -> int:
        return 3


class Imaginary:
    def __complex__(self) -> complex:
        return 2j


@pytest.mark.parametrize(
    "x", [True, False, 0, -1, 3, 1.5, -0.0, float("nan"), float("inf"), 1 + 2j, 2**63 - 1, -(2**63), 2**63, 2**64 - 1]
)
def test_scalars(x: Any) -> None:
    agree(x)
    agree([x])
    agree((x, x))


@pytest.mark.parametrize(
    ("x", "dtype", "value"),
    [
        (Small.FIVE, "int64", 5),
        (MyFloat(2.5), "float64", 2.5),
        (MyInt(4), "int64", 4),
        (MyComplex(1j), "complex128", 1j),
        (Index(), "int64", 7),
        (Real(), "float64", 1.5),
        (Whole(), "int64", 3),
        (Imaginary(), "complex128", 2j),
        (Fraction(1, 4), "float64", 0.25),
        (decimal.Decimal("0.1"), "float64", 0.1),
        (np.float64(1.5), "float64", 1.5),
        (np.float32(1.5), "float32", 1.5),
        (np.int8(-3), "int8", -3),
        (np.bool_(True), "bool", True),
        (np.array(2.5, "f2"), "float16", 2.5),
        (aa.asarray(3), "int64", 3),
    ],
)
def test_what_counts_as_a_number(x: Any, dtype: str, value: Any) -> None:
    for made, shape in ((aa.asarray(x), ()), (aa.asarray([x]), (1,)), (aa.asarray([[x, x]]), (1, 2))):
        assert str(made.dtype) == dtype
        assert tuple(made.shape) == shape
        flat = np.asarray(made).reshape(-1)
        assert flat.tolist() == [value] * flat.size


@pytest.mark.parametrize(
    ("x", "end"),
    [(2**64, "uint64"), (-(2**63) - 1, "int64"), (10**30, "uint64"), (1 << 20000, "uint64")],
    ids=["2**64", "-2**63-1", "10**30", "1<<20000"],
)
def test_ints_beyond_64_bits_are_refused(x: int, end: str) -> None:
    for objects in (x, [x], [0.5, x], [[1], [x]]):
        with pytest.raises(OverflowError, match=f"which is beyond {end}") as caught:
            aa.asarray(objects)
        if x.bit_length() > 10000:  # Python doesn't write out such ints
            assert "is the int 2**20001 or so, which" in str(caught.value)


def test_ints_of_all_lengths() -> None:
    values = [s * (2**n + d) for n in range(63) for d in (-1, 0, 1) for s in (-1, 1)]
    agree(values)
    agree([v for v in values if v >= 0] + [2**63 - 1])
    assert aa.asarray([2**64 - 1, *range(10)]).tolist() == [2**64 - 1, *range(10)]
    assert np.asarray(aa.asarray(values, dtype="float64")).tolist() == [float(v) for v in values]


def test_no_int_is_rounded_without_a_word() -> None:
    """NumPy makes float64 of all of these."""
    for x in ([1, 2**63], [2**63, 1], [True, 2**63], [np.uint64(2**63), 1], [1, np.uint64(2**63)]):
        made = aa.asarray(x)
        assert str(made.dtype) == "uint64"
        assert made.tolist() == [int(v) for v in x]
    for x in ([-1, 2**63], [2**63, 5, -1], [np.uint64(3), -1], [-1, np.uint64(3)]):
        with pytest.raises(
            aa.ExchangeError, match=r"element \[\d\] .*no integer type holds both; dtype=\"float64\" does"
        ):
            aa.asarray(x)
        assert str(aa.asarray(x, dtype="float64").dtype) == "float64" if not isinstance(x[0], np.uint64) else True
    assert aa.asarray([-1, 2**63, 0.5]).tolist() == [-1.0, 2.0**63, 0.5]
    assert aa.asarray([2**63, -1, 7, 1j]).tolist() == [2.0**63, -1, 7, 1j]
    agree([-1, 2**63, np.float32(2)])


# --- nested sequences -------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-10, 10),
    st.floats(width=64),
    st.complex_numbers(),
)
KINDS = st.sampled_from(
    [
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.integers(-300, 300),
        st.floats(),
        st.complex_numbers(),
        NUMBERS,
        st.one_of(st.integers(-5, 5), st.floats()),
        st.one_of(st.booleans(), st.integers(-5, 5)),
    ]
)


@st.composite
def nested(draw: Any, numbers: Any = None) -> Any:
    """Lists and tuples in each other, of one shape."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    leaf = numbers if numbers is not None else draw(KINDS)

    def build(depth: int) -> Any:
        if depth == len(shape):
            return draw(leaf)
        items = [build(depth + 1) for _ in range(shape[depth])]
        kind = draw(st.sampled_from([list, list, tuple]))
        return kind(items)

    return build(0)


@given(nested())
@settings(max_examples=400, deadline=None)
def test_as_numpy_makes_it(x: Any) -> None:
    agree(x)


@given(nested(), st.sampled_from(["C", "F"]))
@settings(max_examples=60, deadline=None)
def test_orders(x: Any, order: Any) -> None:
    made = aa.asarray(x, order=order)
    expected = np.array(x, order=order)
    assert same(made, expected)
    flags = np.asarray(made).flags
    assert flags.c_contiguous if order == "C" else flags.f_contiguous


FLOATS = ["float32", "float64", "complex64", "complex128"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@given(
    nested(st.one_of(st.booleans(), st.integers(-1000, 1000), st.floats(-1e30, 1e30))),
    st.sampled_from([*FLOATS, "float16", ">f8", ">f4", ">c8"]),
)
@settings(max_examples=200, deadline=None)
def test_to_floats(x: Any, dtype: str) -> None:
    made = aa.asarray(x, dtype=dtype)
    with np.errstate(over="ignore"):
        expected = np.array(x, dtype=dtype)
    assert same(made, expected)


@given(
    st.lists(st.one_of(st.booleans(), st.integers(-(2**70), 2**70), st.integers(-300, 300))),
    st.sampled_from([*INTS, ">i4", ">u8"]),
)
@settings(max_examples=300, deadline=None)
def test_to_integers_in_range_or_by_name(x: list[int], dtype: str) -> None:
    info = np.iinfo(dtype)
    bad = [i for i, v in enumerate(x) if not info.min <= v <= info.max]
    if not bad:
        assert same(aa.asarray(x, dtype=dtype), np.array(x, dtype=dtype))
    else:
        with pytest.raises(OverflowError) as caught:
            aa.asarray(x, dtype=dtype)
        assert (
            f"element [{bad[0]}] is {x[bad[0]]}, which {np.dtype(dtype).name if dtype[0] != '>' else dtype} can't hold"
            in str(caught.value)
        )
    wrapped = np.array([v % 2**64 for v in x], dtype="uint64").astype(dtype)
    assert same(aa.asarray(x, dtype=dtype, casting="unsafe"), wrapped)


@given(nested(NUMBERS))
@settings(max_examples=100, deadline=None)
def test_reading_again_what_was_made(x: Any) -> None:
    made = aa.asarray(x)
    again = aa.asarray(made.tolist(), dtype=made.dtype)
    assert bits(again.tolist()) == bits(made.tolist())


Point = namedtuple("Point", "x y")


class Plain(list):  # type: ignore[type-arg]
    """Reads as a list."""


class Backwards(list):  # type: ignore[type-arg]
    """Its iterator counts, as for NumPy."""

    def __iter__(self) -> Any:
        return reversed(list(super().__iter__()))


class Squares:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> int:
        if not 0 <= i < 4:
            raise IndexError(i)
        return i * i


class Endless(Squares):
    def __getitem__(self, i: int) -> int:
        return i * i


@pytest.mark.parametrize(
    "x",
    [
        range(5),
        range(10, -10, -3),
        range(0),
        range(2**62, 2**63 - 1, 2**61),
        range(2**63, 2**63 + 3),
        [range(3), range(3, 6)],
        [range(3), [0.5, 1.5, 2.5]],
        [[0.5, 1.5, 2.5], range(3)],
        [(True, False), range(2)],
        deque([1, 2, 3]),
        [deque([1, 2]), (3, 4.5)],
        Point(1, 2.5),
        Plain([1, 2]),
        Backwards([1, 2, 3]),
        [Backwards([1, 2, 3]), Plain([4, 5, 6])],
        Squares(),
        [Squares(), [1.5] * 4],
        [np.arange(3), [1, 2, 3]],
        [[1, 2, 3], np.arange(3) * 0.5],
        [np.arange(6).reshape(2, 3), [[1, 2, 3], range(3)]],
        [[np.float32(1), np.float32(2)], np.arange(2, dtype="f4")],
        [np.int8(1), np.uint8(2), True],
        [np.float32(1), 2],
        [np.float64(1), 2, True, np.float64(-0.0)],
        [np.complex64(1), 2],
        [array("d", [1, 2]), array("i", [3, 4])],
        [memoryview(array("h", [1, 2])), [3, 4]],
        [np.zeros((0, 3)), np.zeros((0, 3))],
        [np.zeros((2, 0), "f4")],
        [np.arange(4)[::2], np.arange(4)[::-2]],
        [np.arange(3, dtype=">i4"), np.arange(3, dtype=">i4")],
        [],
        [[], []],
        [[[]]],
        ((),),
        [[1.5, 2.5]] * 300,
        [[[i + j * k for i in range(7)] for j in range(5)] for k in range(3)],
        [*range(100), 0.5],
        [*[True] * 100, 2**40, 1j],
        [1.0] * 100 + [2],
    ],
    ids=lambda x: re.sub(r" at 0x[0-9a-f]+", "", repr(x)),  # workers must name them alike
)
def test_sequences(x: Any) -> None:
    agree(x)


def test_a_class_that_never_ends_is_read_to_its_length() -> None:
    assert aa.asarray(Endless()).tolist() == [0, 1, 4, 9]


def test_many_elements() -> None:
    """More than one look for signals, and all loops over their length."""
    n = 2_500_000
    assert np.asarray(aa.asarray([1.5] * n)).sum() == 1.5 * n
    assert np.asarray(aa.asarray(range(n))).sum() == n * (n - 1) // 2
    mixed = [1, 2.5] * (n // 2)
    assert np.asarray(aa.asarray(mixed)).sum() == 3.5 * (n // 2)


def test_arrays_of_other_libraries() -> None:
    torch = needs("torch")
    made = aa.asarray([torch.ones(3), np.arange(3.0), [1, 2, 3]])
    assert str(made.dtype) == "float64"
    assert made.tolist() == [[1, 1, 1], [0, 1, 2], [1, 2, 3]]
    halves = aa.asarray([torch.ones(2, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.bfloat16)])
    assert str(halves.dtype) == "bfloat16"
    assert halves.tolist() == [[1, 1], [0, 0]]
    with pytest.raises(aa.ExchangeError, match=r"element \[1\] can't be taken.*requires grad|element \[1\].*grad"):
        aa.asarray([torch.ones(2), torch.ones(2, requires_grad=True)])


def test_the_result_is_new_aligned_and_writable() -> None:
    a = np.arange(3.0)
    for x in ([a], [a, [1, 2, 3]], [1.5], 2, [[1], [2]], [], [np.float64(1)]):
        made = np.asarray(aa.asarray(x))
        assert made.ctypes.data % 64 == 0
        assert made.flags.writeable
        assert not np.shares_memory(made, a)
