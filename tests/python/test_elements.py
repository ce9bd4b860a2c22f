# SPDX-License-Identifier: Apache-2.0
"""tolist() and item() against NumPy's and ml_dtypes' own values, bit for bit."""

from __future__ import annotations

import datetime
import decimal
import math
import struct
from fractions import Fraction
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")


def same(a: Any, b: Any) -> bool:
    """Equal with types, signs of zero and NaN, whatever the nesting."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or struct.pack("d", a) == struct.pack("d", b)
    return bool(a == b)


RNG = np.random.default_rng(7)
PLAIN = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", [*PLAIN, *(">" + t for t in PLAIN if t != "?" and t[1:] != "1")])
def test_numbers(dtype: str) -> None:
    t = np.dtype(dtype)
    a = np.frombuffer(RNG.bytes(t.itemsize * 60), t).reshape(3, 4, 5)
    if t.kind == "b":
        a = (a.view("u1") % 2).astype(bool)
    for x in (a, a.T, a[::-1, ::2], a[:, 0], a[0:0], a[1, 2, 3]):
        if isinstance(x, np.generic):
            x = np.asarray(x)
        assert same(aa.view(x).tolist(), x.tolist())
    assert same(aa.view(a[1:2, 2:3, 3:4]).item(), a[1, 2, 3].item())


def test_unaligned() -> None:
    for t in ("i8", "f8", "c16", "g", "M8[s]", "U2", "f2"):
        d = np.dtype(t)
        a = np.frombuffer(bytearray(1 + 5 * d.itemsize), d, 5, 1)
        a[:] = 3 if d.kind != "U" else "é"
        assert aa.view(a).tolist() == a.tolist()


def test_all_half_floats() -> None:
    bits = np.arange(1 << 16, dtype="u2")
    assert same(aa.view(bits.view("f2")).tolist(), bits.view("f2").tolist())
    swapped = bits.byteswap().view(np.dtype("f2").newbyteorder())
    assert same(aa.view(swapped).tolist(), bits.view("f2").tolist())


def test_all_bfloats() -> None:
    ml = needs("ml_dtypes")
    bits = np.arange(1 << 16, dtype="u2")
    with np.errstate(invalid="ignore"):
        want = (bits.astype("u4") << 16).view("f4").astype("f8").tolist()
    assert same(aa.view(bits.view(ml.bfloat16)).tolist(), want)


FLOAT8 = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
          "float8_e5m2fnuz", "float8_e8m0fnu"]  # fmt: skip


@pytest.mark.parametrize("name", FLOAT8)
def test_every_code_of_float8(name: str) -> None:
    ml = needs("ml_dtypes")
    a = np.arange(256, dtype="u1").view(getattr(ml, name))
    assert same(aa.view(a).tolist(), a.astype("f8").tolist())
    assert same(aa.view(a[37:38]).item(), float(a[37]))


@pytest.mark.parametrize("name", ["float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn", "int4", "uint4", "int2", "uint2"])
def test_every_code_of_sub_byte_types_padded(name: str) -> None:
    ml = needs("ml_dtypes")
    bits = aa.DType(name).bits
    a = np.arange(1 << bits, dtype="u1").view(getattr(ml, name))
    want = a.astype("f8").tolist() if "float" in name else a.astype("i8").tolist()
    assert same(aa.view(a).tolist(), want)


# name: (DLPack code, bits)
CODES = {"int4": (0, 4), "uint4": (1, 4), "int2": (0, 2), "float6_e2m3fn": (15, 6), "float6_e3m2fn": (16, 6),
         "float4_e2m1fn": (17, 4)}  # fmt: skip


class Capsule:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule


@pytest.mark.parametrize("name", list(CODES))
def test_packed(liar: Any, name: str) -> None:
    ml = needs("ml_dtypes")
    code, bits = CODES[name]
    memory = RNG.integers(0, 256, 24, dtype="u1")
    count = 24 * 8 // bits // 6 * 6
    stream = int.from_bytes(memory.tobytes(), "little")
    raw = np.array([(stream >> (bits * i)) & ((1 << bits) - 1) for i in range(count)], "u1").view(getattr(ml, name))
    want = raw.astype("f8" if "float" in name else "i8").reshape(6, -1).tolist()
    capsule = liar.dlpack(code=code, bits=bits, shape=(6, count // 6), data=memory.ctypes.data)
    v = aa.view(Capsule(capsule))
    assert v.strides is None and v.dtype == name and not v.dtype.padded
    assert same(v.tolist(), want)


def test_packed_integers_of_any_width_match_their_definition(liar: Any) -> None:
    memory = RNG.integers(0, 256, 8, dtype="u1")
    v = aa.view(Capsule(liar.dlpack(code=0, bits=2, shape=(32,), data=memory.ctypes.data)))
    stream = int.from_bytes(memory.tobytes(), "little")
    fields = [(stream >> (2 * i)) & 3 for i in range(32)]
    assert v.tolist() == [f - 4 if f & 2 else f for f in fields]


def test_lanes(liar: Any) -> None:
    v = aa.view(Capsule(liar.dlpack(code=2, bits=32, lanes=4, shape=(2,))))
    assert v.tolist() == [(0.0, 1.0, 2.0, 3.0), (4.0, 5.0, 6.0, 7.0)] and v.dtype.lanes == 4


def test_complex32() -> None:
    torch = needs("torch")
    t = torch.tensor([1.5 + 2j, -0.25 - 8j], dtype=torch.complex32)
    assert aa.view(t).tolist() == [1.5 + 2j, -0.25 - 8j]


def test_long_double() -> None:
    if np.dtype("g").itemsize == 8:
        pytest.skip("long double is double here")
    third = np.longdouble(1) / 3
    a = np.array(
        [
            1.5,
            -0.0,
            np.inf,
            -np.inf,
            np.nan,
            2.0**1000,
            third,
            -third,
            np.longdouble(2) ** 5000,
            np.longdouble(2) ** -5000,
        ],
        "g",
    )
    got = aa.view(a).tolist()
    assert same(got[:6], [1.5, -0.0, math.inf, -math.inf, math.nan, 2.0**1000])
    for g, x in zip(got[6:], a[6:]):
        assert isinstance(g, decimal.Decimal)
        assert Fraction(g) == Fraction(*x.as_integer_ratio())
    with decimal.localcontext() as context:
        context.prec = 3
        assert aa.view(a[6:7]).item() == got[6] and Fraction(aa.view(a[7:8]).item()) == -Fraction(got[6])
    c = np.array([1 + 2j], "G")
    assert same(aa.view(c).tolist(), [1 + 2j])
    assert aa.view(np.array([third + 1j], "G")).item() == (got[6], 1.0)
    swapped = a[:4].astype(np.dtype("g").newbyteorder())
    assert same(aa.view(swapped).tolist(), got[:4])


UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]


@pytest.mark.parametrize("unit", [*UNITS, "generic", "3M", "7D", "10us", "25s", "2W", "4Y"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_times(kind: str, unit: str) -> None:
    t = np.dtype(kind if unit == "generic" else f"{kind}[{unit}]")
    edges = [
            0, 1, -1, 2, 12, -13, 59, 60, 365, -365, 719162, -719162, -719163, 2932896, 2932897, 8029,
            8030, -1969, -1970, 10**6, -(10**6), 86399999999, -86400000001, 10**12, -(10**13),
            253402300799, 253402300800, -62135596800, -62135596801, 253402300799999999, 253402300800000000,
            -62135596800000000, -62135596800000001, 999999999, 1000000000, -999999999, -1000000000, 2**62,
            2**63 - 1, -(2**63)
    ]  # fmt: skip
    values = np.array([*edges, *RNG.integers(-(2**40), 2**40, 200), *RNG.integers(-(2**62), 2**62, 200)], "i8")
    # Where ticks times the unit's multiplier overflow, NumPy is wrong or raises; the ticks are the honest answer.
    factor = np.datetime_data(t)[1]
    fits = (values >= -(2**63 - 1) // factor) & (values <= (2**63 - 1) // factor) | (values == -(2**63))
    a = values[fits].view(t)
    for ticks, got, want in zip(a.view("i8").tolist(), aa.view(a).tolist(), a.tolist()):
        assert same(got, want), (ticks, got, want)
    assert same(aa.view(a.byteswap().view(t.newbyteorder())).tolist(), aa.view(a).tolist())
    if unit in ("10us", "25s", "7D", "2W"):
        assert not fits.all() and aa.view(values[~fits].view(t)).tolist() == values[~fits].tolist()


def test_text() -> None:
    s = np.array([b"abc", b"a\0b", b"\0", b"", b"abcde"], "S5")
    assert same(aa.view(s).tolist(), s.tolist())
    u = np.array(["abc", "é\0x", "", "\U0001f600", "\ud800"], "U4")
    assert same(aa.view(u).tolist(), u.tolist())
    assert same(aa.view(u.astype(np.dtype("U4").newbyteorder())).tolist(), u.tolist())
    v = np.array([b"abc", b"\0\0x"], "V4")
    assert same(aa.view(v).tolist(), v.tolist())


def test_structs() -> None:
    t = np.dtype([("a", "i4"), ("b", "f8", (2, 3)), ("c", [("d", "S2"), ("e", ">u2")]), ("t", "M8[s]")], align=True)
    a = np.zeros(4, t)
    a["a"] = range(4)
    a["b"] = RNG.random((4, 2, 3))
    a["c"]["d"] = b"xy"
    a["c"]["e"] = 258
    got = aa.view(a).tolist()
    for row, want in zip(got, a):
        assert isinstance(row, tuple) and row[0] == int(want["a"]) and row[1] == want["b"].tolist()
        assert row[2] == (b"xy", 258) and row[3] == want["t"].item()
    assert aa.view(a[1:2]).item() == got[1]


def test_item_needs_one_element() -> None:
    assert aa.view(np.full((1, 1, 1), 7)).item() == 7
    for a in (np.zeros(2), np.zeros(0), np.zeros((2, 2))):
        with pytest.raises(ValueError, match="one element"):
            aa.view(a).item()


def test_empty_ones() -> None:
    for shape in ((0,), (2, 0), (0, 3), (2, 0, 4)):
        assert aa.view(np.zeros(shape)).tolist() == np.zeros(shape).tolist()


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "25s", "ms", "us", "7us", "ns", "as"])
@pytest.mark.parametrize("kind", ["m", "M"])
def test_times_at_the_ends_of_64_bits(kind: str, unit: str) -> None:
    """Far out of what Python's own classes hold, every tick count comes as it is; UBSan watches the arithmetic."""
    for ticks in (2**63 - 1, -(2**63) + 1, 2**62, -(2**62), 2**63 // 25, -(2**63) // 25):
        a = np.array([ticks], "i8").view(f"{kind}8[{unit}]")
        (got,) = aa.view(a).tolist()
        if isinstance(got, datetime.timedelta):  # which holds what is in microseconds
            got = got // datetime.timedelta(microseconds=7 if unit == "7us" else 1)
        assert got == ticks
