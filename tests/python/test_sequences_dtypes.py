# SPDX-License-Identifier: Apache-2.0
"""asarray() of Python's numbers and sequences where something is asked of the result: memory that is there, a dtype, a
casting rule, text, times."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .test_sequences import agree, bits

np = needs("numpy")


# --- out --------------------------------------------------------------------------------------------------------


def test_out_is_filled_or_left_as_it_was() -> None:
    out = np.full((2, 2), 9.0, "f4").T
    assert aa.asarray([[1, 2.5], [True, np.int8(4)]], out=out) is out
    assert out.tolist() == [[1, 2.5], [1, 4]]
    for bad in ([[1, 2], [3, "4"]], [[1, 2], [3]], [[1, 2, 3]], [[1, 2], [3, 1j]]):
        with pytest.raises((aa.ExchangeError, ValueError)):
            aa.asarray(bad, out=out)
        assert out.tolist() == [[1, 2.5], [1, 4]]
    with pytest.raises(aa.SequenceError, match=r"its shape is \(1, 3\), that of out \(2, 2\)"):
        aa.asarray([[1, 2, 3]], out=out)
    small = np.zeros(3, "u1")
    with pytest.raises(OverflowError, match=r"element \[2\] is 256, which uint8 can't hold"):
        aa.asarray([1, 2, 256], out=small)
    assert small.tolist() == [0, 0, 0]
    empty = np.zeros((2, 0))
    assert aa.asarray([[], []], out=empty) is empty


# --- the casting rules ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "dtype", "value", "rules"),
    [
        (True, "int8", 1, "same_kind unsafe safe same_value"),
        (True, "bool", True, "same_kind unsafe safe same_value no equiv"),
        (1, "bool", True, "unsafe same_value"),
        (2, "bool", True, "unsafe same_value"),  # as NumPy has it
        (3, "int64", 3, "same_kind unsafe safe same_value no equiv"),
        (3, "int8", 3, "same_kind unsafe same_value"),
        (3, "uint64", 3, "same_kind unsafe same_value"),
        (2**63, "uint64", 2**63, "same_kind unsafe safe same_value no equiv"),
        (300, "uint8", 44, "unsafe"),
        (-1, "uint64", 2**64 - 1, "unsafe"),
        (2**64 + 5, "int16", 5, "unsafe"),
        (3, "float64", 3.0, "same_kind unsafe safe same_value"),
        (3, "float32", 3.0, "same_kind unsafe same_value"),
        (2**53 + 1, "float64", 2.0**53, "same_kind unsafe safe"),
        (10**30, "float64", 1e30, "same_kind unsafe"),
        (2**70, "float64", 2.0**70, "same_kind unsafe same_value"),
        (1.5, "float64", 1.5, "same_kind unsafe safe same_value no equiv"),
        (1.5, ">f8", 1.5, "same_kind unsafe safe same_value equiv"),
        (1.5, "float32", 1.5, "same_kind unsafe same_value"),
        (0.1, "float16", 0.0999755859375, "same_kind unsafe"),
        (2.0, "int32", 2, "unsafe same_value"),
        (2.5, "int32", 2, "unsafe"),
        (2.0, "complex64", 2 + 0j, "same_kind unsafe same_value"),
        (1j, "complex128", 1j, "same_kind unsafe safe same_value no equiv"),
        (2 + 0j, "float64", 2.0, "unsafe same_value"),
        (2 + 1j, "float64", 2.0, "unsafe"),
    ],
)
def test_casting(x: Any, dtype: str, value: Any, rules: str) -> None:
    allowed = rules.split()
    for casting in ("same_kind", "unsafe", "safe", "same_value", "no", "equiv"):
        for objects, path in ((x, "the object"), ([x], r"element \[0\]"), ([[x]], r"element \[0\]\[0\]")):
            if casting in allowed:
                made = aa.asarray(objects, dtype=dtype, casting=casting)
                assert np.asarray(made).reshape(-1).tolist() == [value]
            else:
                with pytest.raises((aa.ExchangeError, OverflowError), match=path):
                    aa.asarray(objects, dtype=dtype, casting=casting)


NARROW = ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz"]


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_floats(dtype: str) -> None:
    ml_dtypes = needs("ml_dtypes")
    x = [[0.0, -0.0, 1.5], [True, 3, -0.1]]
    made = aa.asarray(x, dtype=dtype)
    expected = np.array(x, "f8").astype(getattr(ml_dtypes, dtype)).astype("f8")
    assert bits(made.tolist()) == bits(expected.tolist())
    with pytest.raises(aa.ExchangeError, match=rf"element \[1\]\[0\] is 0.1, which {dtype} can't hold"):
        aa.asarray([[1.0], [0.1]], dtype=dtype, casting="same_value")


@pytest.mark.parametrize(
    ("value", "dtype"), [(0.1, "f4"), (1.5, "u1"), (2**24 + 1, "f4"), (2**70 + 1, "f8"), (1j, "f8")]
)
def test_same_value_refuses_rounding_as_no_overflow(value: complex, dtype: str) -> None:
    with pytest.raises(aa.CastError, match=r"element \[1\] is .*, which .* can't hold") as caught:
        aa.asarray([1, value], dtype=dtype, casting="same_value")
    assert not isinstance(caught.value, OverflowError)


def test_integers_below_a_byte() -> None:
    for dtype in ("int4", "int4_padded"):
        made = aa.asarray([[-8, 7, True], [1, 2, 3]], dtype=dtype)
        assert str(made.dtype) == "int4"
        assert made.tolist() == [[-8, 7, 1], [1, 2, 3]]
        with pytest.raises(OverflowError, match=r"element \[1\]\[2\] is 8, which int4 can't hold"):
            aa.asarray([[1, 2, 3], [4, 5, 8]], dtype=dtype)
    assert aa.asarray([15, 0], dtype="uint4").tolist() == [15, 0]
    with pytest.raises(OverflowError, match=r"is 16, which uint4 can't hold"):
        aa.asarray([15, 16], dtype="uint4")
    packed = aa.asarray([1, 2, 3], dtype="int4")
    stacked = aa.asarray([packed, packed])
    assert str(stacked.dtype) == "int4"
    assert stacked.tolist() == [[1, 2, 3], [1, 2, 3]]


def test_half_complex() -> None:
    assert aa.asarray([1, 2.5, 1 + 0.5j], dtype="complex32").tolist() == [1, 2.5, 1 + 0.5j]


def test_arrays_go_by_the_rule_as_well() -> None:
    with pytest.raises(
        aa.ExchangeError,
        match=r"element \[1\] has dtype float64, which the casting rule same_kind doesn't let become int32",
    ):
        aa.asarray([np.arange(2), np.arange(2.0)], dtype="int32")
    assert aa.asarray([np.arange(2), np.arange(2.0)], dtype="int32", casting="unsafe").tolist() == [[0, 1], [0, 1]]
    with pytest.raises(aa.ExchangeError, match=r"element \[1\]"):
        aa.asarray([np.arange(2.0), np.arange(2) + 0.5], dtype="int32", casting="same_value")


# --- text and times ---------------------------------------------------------------------------------------------


def test_text_where_it_is_asked_for() -> None:
    x = [["a", "bcd"], ["", "ef"]]
    agree(x, dtype="U3")
    agree(x, dtype="S5")
    agree(["ä", "€𝄞"], dtype="U2")
    agree([b"a", b"b\0c"], dtype="S3")
    agree("abc", dtype="U3")
    agree([np.str_("ab"), "c"], dtype="U2")
    assert aa.asarray([b"a", "b"], dtype="U1").tolist() == ["a", "b"]
    assert aa.asarray(["a", "b"], dtype=">U1").tolist() == ["a", "b"]
    growing = ["x" * n for n in range(40)]
    assert aa.asarray(growing, dtype="U0").tolist() == growing
    assert str(aa.asarray(growing, dtype="U0").dtype) == "U39"
    assert str(aa.asarray(["", ""], dtype="S0").dtype) == "S1"


@pytest.mark.parametrize(
    ("x", "dtype", "words"),
    [
        (["a", "bcd"], "U2", r"element \[1\] is the str 'bcd' of length 3, which U2 can't hold"),
        (["ä"], "S2", r"element \[0\] is the str 'ä': only ASCII goes into bytes"),
        ([b"\xff"], "U2", r"element \[0\] is the bytes .*: only ASCII bytes go into text"),
        (["a\0"], "U4", r"element \[0\] is the str 'a\\x00': it ends in NUL"),
        (["a", 1], "U4", r"element \[1\] is the int 1.*text: str\(\) makes it so"),
        (["a"], None, r"element \[0\] is a str: text is taken where it is asked for"),
        ([1.5, "a"], "float64", r"element \[1\] is a str"),
    ],
)
def test_text_that_is_refused(x: Any, dtype: Any, words: str) -> None:
    rules: tuple[Any, ...] = ("no", "equiv", "safe", "same_kind", "same_value", "unsafe")
    for casting in rules:
        with pytest.raises(aa.ExchangeError, match=words) as caught:
            aa.asarray(x, dtype=dtype, casting=casting)
        assert "casting='unsafe'" not in str(caught.value)  # which wouldn't help


def test_bytes_are_arrays() -> None:
    made = aa.asarray([b"ab", bytearray(b"cd")])
    assert str(made.dtype) == "uint8"
    assert made.tolist() == [[97, 98], [99, 100]]


TIMES = [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(2400, 2, 29, 1, 2, 3, 4)]
DAYS = [datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(2024, 2, 29)]


@pytest.mark.parametrize("unit", ["us", "ns", "10us"])
def test_times(unit: str) -> None:
    times = [TIMES[0] - datetime.timedelta(microseconds=9), datetime.datetime(2024, 2, 29, 1, 2, 3, 40)]
    agree([*times, None], dtype=f"datetime64[{unit}]")
    agree([datetime.timedelta(-1, 5, 20), datetime.timedelta(100)], dtype=f"timedelta64[{unit}]")
    agree(TIMES, dtype="datetime64[us]")


@pytest.mark.parametrize("unit", ["D", "h", "s", "ms", "us"])
def test_days(unit: str) -> None:
    agree(DAYS, dtype=f"datetime64[{unit}]")


def test_months_and_years() -> None:
    first = [datetime.date(1969, 1, 1), datetime.datetime(2001, 1, 1)]
    for unit in ("M", "Y", "12M"):
        agree(first, dtype=f"datetime64[{unit}]")
    agree([datetime.date(1971, 3, 1)], dtype="datetime64[M]")


@pytest.mark.parametrize(
    ("x", "dtype", "words"),
    [
        (
            TIMES,
            "datetime64[s]",
            r"element \[0\] is a datetime.datetime, which isn't a whole number of datetime64\[s\]",
        ),
        (DAYS[2:], "datetime64[M]", r"isn't a whole number of"),
        (TIMES, "timedelta64[us]", r"isn't what stands in timedelta64"),
        (TIMES, "datetime64[fs]", r"can't be counted in datetime64\[fs\]"),
        ([TIMES[0].replace(tzinfo=datetime.timezone.utc)], "datetime64[us]", "time zone"),
        ([datetime.timedelta(1)], "timedelta64[M]", "can't be counted in"),
        (TIMES, None, r"element \[0\] is a datetime.datetime: ask for a dtype"),
        ([datetime.timedelta(1)], None, r"element \[0\] is a datetime.timedelta: ask for a dtype"),
        ([5], "datetime64[s]", r"element \[0\] is the int 5, which the casting rule same_kind"),
        ([1.5], "timedelta64[s]", r"element \[0\] is the float 1.5"),
    ],
)
def test_times_that_are_refused(x: Any, dtype: Any, words: str) -> None:
    with pytest.raises(aa.ExchangeError, match=words):
        aa.asarray(x, dtype=dtype)


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        ([-1, 2**63], None),
        ([1, np.datetime64(1, "D")], None),
        ([np.zeros((), "i4,f8"), 1], None),
        ([1.5], "datetime64[s]"),
        ([1], np.dtype("i4,f8")),
        ([1], "float32x2"),
        ([TIMES[0].replace(tzinfo=datetime.timezone.utc)], "datetime64[us]"),
        ([datetime.date(9999, 1, 1)], "datetime64[ns]"),
        ([TIMES[0]], "datetime64[D]"),
        ([5], "datetime64[s]"),
        ([1.5], "int32"),
        ([1j], "float64"),
        ([np.float32(1)], "int8"),
    ],
)
def test_unsafe_is_advised_where_it_helps(x: Any, dtype: Any) -> None:
    with pytest.raises(aa.CastError) as caught:
        aa.asarray(x, dtype=dtype)
    helps = True
    with contextlib.suppress(aa.CastError):
        helps = False
        aa.asarray(x, dtype=dtype, casting="unsafe")
        helps = True
    assert ("casting='unsafe'" in str(caught.value)) == helps


def test_ticks() -> None:
    assert (
        np.asarray(aa.asarray([5, -3], dtype="timedelta64[s]", casting="unsafe")).tolist()
        == np.array([5, -3], "m8[s]").tolist()
    )
    assert (
        aa.asarray(TIMES, dtype="datetime64[s]", casting="unsafe").tolist()
        == np.array(TIMES, "M8[us]").astype("M8[s]").tolist()
    )
    agree([np.datetime64("2020-01-01"), np.datetime64("2021-01-01")])


def test_a_policy_holds_for_the_arrays_inside() -> None:
    class OnlyStruct:
        __array_struct__ = property(lambda self: np.arange(2.0).__array_struct__)

        def __len__(self) -> int:
            return 2

        def __getitem__(self, i: int) -> float:
            return float(i)

    assert aa.asarray([OnlyStruct()]).tolist() == [[0, 1]]
    with (
        aa.default_policy(["dlpack"]),
        pytest.raises(
            aa.ExchangeError,
            match=r"element \[0\] is an .*OnlyStruct, an array over protocols that the policy doesn't name",
        ),
    ):
        aa.asarray([OnlyStruct()])
