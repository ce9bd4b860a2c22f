# SPDX-License-Identifier: Apache-2.0
"""Casts hold the bits that NumPy gives, and ml_dtypes for its types: all values of types of at most 16 bits to every
type that there is, and of wider ones those at the edges, ties of narrower floats, and random bits."""

from __future__ import annotations

import ctypes
import platform
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import anyarray as aa

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SMALL = ("int1", "int2", "int4", "uint1", "uint2", "uint4")
NARROW = (
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
    *("float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)
FLOATS = ("float16", "float32", "float64", "bfloat16", "longdouble")
COMPLEX = ("complex64", "complex128", "clongdouble")
ALL = ("bool", *INTEGERS, *SMALL, *FLOATS, *NARROW, *COMPLEX)

#: Elsewhere C++ makes other integers of floats that are out of range, and NumPy with it; long double is another format.
pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="NumPy's own casts differ on other machines"
)


def dtype_of(name: str) -> Any:
    return np.dtype(getattr(ml_dtypes, name, name))


def bits_of(name: str) -> int:
    """Of an element, which may be narrower than the byte that holds it."""
    if name in SMALL:
        return int(name[-1])
    bits: int = {"float6_": 6, "float4_": 4}.get(name[:7], 8 * dtype_of(name).itemsize)
    return bits


def below_16(name: str) -> Any:
    bits = bits_of(name)
    dtype = dtype_of(name)
    return np.arange(1 << bits, dtype="u4").astype(f"u{dtype.itemsize}").view(dtype)


def whole(dtype: Any) -> Any:
    random = np.random.default_rng(1)
    bits = random.integers(0, 2**64, 5000, "u8") >> random.integers(0, 64, 5000).astype("u8")
    edges = np.array([2**e + d for e in range(64) for d in (-1, 0, 1)], "u8")
    ties = np.array([2**62 + 2**38, 2**62 + 2**38 + 1, 2**53 + 1, 2**24 + 1, 0x1010000000000001], "u8")
    both = np.concatenate([bits, edges, ties])
    return np.concatenate([both, ~both]).astype(f"u{dtype.itemsize}").view(dtype)


def real(dtype: Any) -> Any:
    """What floats can differ in: all that narrower ones can say, what lies between two of these, and its neighbours."""
    random = np.random.default_rng(1)
    parts = []
    for name in ("float16", "bfloat16", *NARROW):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            codes = below_16(name).astype("f8")
        known = np.unique(codes[np.isfinite(codes)])
        for values in (known, (known[1:] + known[:-1]) / 2):
            v = values.astype(dtype)
            parts += [v, np.nextafter(v, dtype.type(np.inf)), np.nextafter(v, dtype.type(-np.inf))]
    powers = [sign * m * 2.0**e for sign in (1, -1) for m in (1, 1.5, 1 - 2**-24, 1 - 2**-53) for e in range(130)]
    with np.errstate(over="ignore"):
        parts.append(np.array([*powers, 0, -0.0, np.inf, -np.inf, 5e-324, 1e-40, 1e300]).astype(dtype))
    if dtype.itemsize > 8:
        parts.append(np.array([2**53 + 1, 2**63 - 1, 2**64 - 1], "u8").astype(dtype) + dtype.type(1))
        parts.append(np.array([np.nan, -np.nan], dtype))
    else:
        bits = random.integers(0, 2**64, 20000, "u8").astype(f"u{dtype.itemsize}")
        infinity = int(np.array(np.inf, dtype).view(bits.dtype)[()])
        parts += [bits.view(dtype), (bits | bits.dtype.type(infinity)).view(dtype)]
    return np.concatenate(parts)


def values_of(name: str) -> Any:
    dtype = dtype_of(name)
    if name == "bool":
        return np.array([False, True, True])
    if bits_of(name) <= 16:
        return below_16(name)
    if name in INTEGERS:
        return whole(dtype)
    if name not in COMPLEX:
        return real(dtype)
    part = real(np.empty(0, dtype).real.dtype)
    made = np.empty(part.size, dtype)
    made.real, made.imag = part, part[::-1]
    return made


def cast_by_others(x: Any, to: Any) -> Any:
    """As astype, one by one: NumPy's long runs make other uint32 of floats that are out of range. What ml_dtypes has no
    cast for goes through what holds it."""
    x = np.repeat(x, 2)[::2]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return x.astype(to)
        except TypeError:
            return x.astype("f4" if "float" in str(x.dtype) else "i1").astype(to)


def memory_of(array: Any) -> Any:
    return np.frombuffer(ctypes.string_at(array.ptr, array.nbytes), "u1")


def codes(array: Any, bits: int, n: int) -> Any:
    """The first `n` items of packed memory, a byte each."""
    all_bits = np.unpackbits(memory_of(array), bitorder="little")[: n * bits].reshape(n, bits)
    return np.packbits(all_bits, axis=1, bitorder="little")[:, 0]


def in_doubt(x: Any, other: str) -> Any:
    """Between the largest int32 and 2**31 ml_dtypes makes 0 of floats, and not the low bits of what they are cut to."""
    part = x.real if x.dtype.kind == "c" else x
    if other not in SMALL or part.dtype.kind != "f" or part.dtype.itemsize < 8:
        return np.zeros(x.size, bool)
    return (part > 2**31 - 1) & (part < 2**31)


def comparable(raw: Any, name: str, n: int) -> Any:
    """Bytes of `n` elements, without those that mean nothing."""
    rows = raw.reshape(n, -1)
    if name in ("longdouble", "clongdouble"):
        rows = rows.reshape(n, -1, dtype_of("longdouble").itemsize)[:, :, :10].reshape(n, -1)
    return rows


def check(x: Any, name: str, other: str, got: Any, want: Any) -> None:
    n = x.size
    have = comparable(got, other, n)
    expected = comparable(np.ascontiguousarray(want).view("u1"), other, n)
    where = np.flatnonzero((have != expected).any(axis=1) & ~in_doubt(x, other))
    assert not where.size, (
        f"{where.size} of {n} {name} to {other}: {x[where[0]]} became {have[where[0]]}, not {expected[where[0]]}"
    )


@pytest.mark.parametrize("name", ALL)
def test_every_value(name: str) -> None:
    x = values_of(name)
    for other in ALL:
        if other == name:
            continue
        want = cast_by_others(x, dtype_of(other))
        if bits_of(other) < 8:
            padded = aa.asarray(x, dtype=f"{other}_padded", casting="unsafe")
            check(x, name, other, memory_of(padded), want)
            packed = aa.asarray(x, dtype=other, casting="unsafe")
            check(x, name, other, codes(packed, bits_of(other), x.size), want)
        else:
            made = aa.asarray(x, dtype=other, casting="unsafe")
            check(x, name, other, memory_of(made), want)


@pytest.mark.parametrize("name", ["complex64", "float32", "float16", "int32", "bool", "float8_e4m3fn"])
def test_half_complex(name: str) -> None:
    """NumPy has no complex of two halves: each is what float16 makes of the part."""
    x = values_of(name)
    pair = memory_of(aa.asarray(x, dtype="complex32", casting="unsafe")).view("f2").reshape(x.size, 2)
    parts = (x.real, x.imag) if name == "complex64" else (x, np.zeros(x.size, "f4"))
    for k, part in enumerate(parts):
        check(part, name, "float16", np.ascontiguousarray(pair[:, k]).view("u1"), cast_by_others(part, np.dtype("f2")))


UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")


def ticks() -> Any:
    random = np.random.default_rng(3)
    bits = random.integers(-(2**63), 2**63, 500, "i8") >> random.integers(0, 64, 500)
    near = np.arange(-800, 800)
    return np.concatenate([bits, near, near * 365, [2**62, -(2**62), -(2**63), 2**63 - 1]]).astype("i8")


@pytest.mark.parametrize("unit", [*UNITS, "3D", "7s", "2Y", "5M", "25h"])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_times(kind: str, unit: str) -> None:
    for other in (*UNITS, "2D", "3M", "2Y", "60s"):
        if kind == "timedelta64" and {unit, other} & {"ns"} and {unit, other} & {"2Y", "5M", "3M"}:
            continue  # NumPy's factor overflows, and nothing says so
        # What overflows is anything where more than a multiplication is needed.
        calendar = unit[-1] in "YM" or other[-1] in "YM"
        several = unit[0].isdigit() or other[0].isdigit()
        x = (ticks() // (2**40 if calendar or several else 1)).view(f"{kind}[{unit}]")
        try:
            want = x.astype(f"{kind}[{other}]")
        except OverflowError:
            continue
        got = memory_of(aa.asarray(x, dtype=f"{kind}[{other}]", casting="unsafe")).view("i8")
        where = np.flatnonzero(got != want.view("i8"))
        assert not where.size, f"{x[where[0]]!r} became {got[where[0]]}, not {want[where[0]]!r}"


@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[ms]"])
@pytest.mark.parametrize("name", ["bool", *INTEGERS, "float16", "float32", "float64", "complex128"])
def test_times_are_integers_to_numbers(kind: str, name: str) -> None:
    x = ticks().view(kind)
    check(x, kind, name, memory_of(aa.asarray(x, dtype=name, casting="unsafe")), cast_by_others(x, dtype_of(name)))
    y = values_of(name)
    check(y, name, kind, memory_of(aa.asarray(y, dtype=kind, casting="unsafe")), cast_by_others(y, np.dtype(kind)))


def test_text_of_another_length() -> None:
    for kind in ("S", "U", ">U"):
        x = np.array([["ab", "", "abcde"], ["x", "yz\0q", "abc"]], f"{kind}5")
        for view in (x, x.T, x[::-1, ::2]):
            for length in (1, 3, 8):
                for to in (f"{kind[-1]}{length}", f"{kind}{length}"):
                    made = aa.asarray(view, dtype=to, casting="unsafe")
                    assert np.asarray(made).tobytes() == view.astype(to).tobytes()
        with pytest.raises(aa.CastError, match=r"element \[0, 2\]"):
            aa.asarray(x, dtype=f"{kind[-1]}3", casting="same_value")
        aa.asarray(x, dtype=f"{kind[-1]}6", casting="same_value")


def laid_out(x: Any, way: str) -> Any:
    """The same values in another layout."""
    if way == "swapped":
        return x.astype(x.dtype.newbyteorder())
    if way == "transposed":
        return np.ascontiguousarray(x.T).T
    if way == "reversed":
        return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]
    wide = np.zeros((x.shape[0], 3 * x.shape[1] + 1), x.dtype)
    wide[:, 1::3] = x
    return wide[:, 1::3]


@pytest.mark.parametrize("way", ["swapped", "transposed", "reversed", "stepped"])
@pytest.mark.parametrize("shape", [(3, 5), (200, 301), (1, 4000), (2500, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_layouts(way: str, shape: tuple[int, int], order: Any) -> None:
    x = np.random.default_rng(5).integers(-8, 8, shape).astype("f4")
    pairs = [("float32", "float16"), ("int16", "float64"), ("complex64", "float32"), ("float32", "complex128")]
    pairs += [("float64", "float8_e4m3fn"), ("float8_e5m2", "float32"), ("int8", "int4"), ("float64", "longdouble")]
    for name, other in [
        *pairs,
        ("float32", ">f8"),
        ("complex64", ">c16"),
        ("uint8", "bool"),
        ("float32", "int4_padded"),
    ]:
        source = x.astype(dtype_of(name))
        view = source if way == "swapped" and source.dtype.kind == "V" else laid_out(source, way)
        want = cast_by_others(source.reshape(-1), dtype_of(other.removesuffix("_padded"))).reshape(shape)
        packed = other in SMALL
        made = aa.asarray(view, dtype=other, casting="unsafe", order="C" if packed else order)
        if packed:
            got = codes(made, bits_of(other), x.size)
        else:
            want = np.ascontiguousarray(want if order == "C" else want.T)
            got = memory_of(made)
        plain = other.removeprefix(">").removesuffix("_padded")
        check(want.reshape(-1), name, plain if plain in ALL else "bool", got, want)


def test_packed_sources() -> None:
    for name in (*SMALL, "float6_e2m3fn", "float4_e2m1fn"):
        values: Any = np.resize(below_16(name), (7, 301))
        packed = aa.asarray(values, dtype=name, casting="unsafe", copy=True) if name in SMALL else None
        packed = aa.asarray(values.astype("f4"), dtype=name, casting="unsafe") if packed is None else packed
        for other in ("float32", "int8", "float16"):
            want: Any = values.astype(other)
            assert memory_of(aa.asarray(packed, dtype=other, casting="unsafe")).tobytes() == want.tobytes()
            made = aa.asarray(packed, dtype=other, casting="unsafe", order="F")
            assert memory_of(made).tobytes() == want.T.tobytes()
        again = aa.asarray(packed, dtype=f"{name}_padded", casting="unsafe")
        assert memory_of(again).tobytes() == values.tobytes()


def parts_of(x: Any) -> list[tuple[int | float, int | float]]:
    """Real and imaginary parts, as Python's numbers."""
    kind = "i8" if "int" in str(x.dtype) and x.dtype.kind not in "iu" else "f8"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = x if x.dtype.kind in "biuc" else x.astype(kind)
    return list(zip(held.real.tolist(), np.broadcast_to(held.imag, x.shape).tolist(), strict=True))


def changes(x: Any, other: str) -> list[bool]:
    """Which elements a cast changes, by their numbers."""

    def differ(a: float, b: float) -> bool:
        return a != b and not (a != a and b != b)

    made = cast_by_others(x, dtype_of(other))
    both = zip(parts_of(x), parts_of(made), strict=True)
    return [differ(a[0], b[0]) or differ(a[1], b[1]) for a, b in both]


SAME = ("bool", *INTEGERS, "int4", "uint2", "float16", "float32", "float64", "bfloat16", *NARROW, "complex64")


@pytest.mark.parametrize("name", SAME)
def test_same_value(name: str) -> None:
    """The first element that changes, of a few at random and at the edges."""
    whole_range = values_of(name)
    random = np.random.default_rng(9)
    for other in SAME:
        if other in (name, "bool"):
            continue
        picked = np.concatenate([whole_range[random.integers(0, whole_range.size, 60)], whole_range[-8:]])
        changed = np.array(changes(picked, other))
        kept = picked[~changed]
        aa.asarray(kept, dtype=other, casting="same_value")
        if changed.any():
            x = np.concatenate([np.resize(kept, 5000) if kept.size else kept, picked[changed][-1:], picked])
            first = len(x) - len(picked) - 1
            with pytest.raises(aa.CastError, match=rf"element \[{first}\] ") as caught:
                aa.asarray(x, dtype=other, casting="same_value")
            assert other in str(caught.value)
