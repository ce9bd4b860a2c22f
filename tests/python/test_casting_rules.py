# SPDX-License-Identifier: Apache-2.0
"""The casting rules and the promotion of dtypes, pair by pair, against NumPy's own answers and against the values that
the types have."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")

RULES = ("no", "equiv", "safe", "same_kind", "unsafe")
NUMBERS = [np.dtype(c) for c in "?bhilBHILefdgFDG"]
SWAPPED = [d.newbyteorder() for d in NUMBERS if d.itemsize > 1]
UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]
TICKS = [*UNITS, "2s", "3s", "4s", "10ms", "7D", "24h", "12M", "6M", "5Y", "500as"]
TIMES = [np.dtype(f"{kind}8[{ticks}]") for kind in "mM" for ticks in TICKS] + [np.dtype("m8"), np.dtype("M8")]
TEXT = [np.dtype(f"{kind}{n}") for kind in "SU" for n in (1, 3, 5)]


def rule_of(can_cast: Any, a: Any, b: Any) -> str:
    """The first rule that lets elements of `a` become elements of `b`."""
    return next((rule for rule in RULES if can_cast(a, b, casting=rule)), "never")


@pytest.mark.parametrize("a", [*NUMBERS, *SWAPPED], ids=str)
def test_numbers_are_cast_as_numpy_casts_them(a: Any) -> None:
    for b in [*NUMBERS, *SWAPPED]:
        if rule_of(aa.can_cast, a, b) != "never":
            assert rule_of(aa.can_cast, a, b) == rule_of(np.can_cast, a, b), (a, b)
    everything = [d for d in NUMBERS if d.char not in "gG"]
    if a in everything:
        assert [d for d in everything if rule_of(aa.can_cast, a, d) == "never"] == []


def _crosses(a: Any, b: Any) -> bool:
    """Of two dates, whether one counts months or years and the other weeks, which no month begins with."""
    units = {np.datetime_data(d) for d in (a, b)}
    return any(unit in "YM" for unit, _ in units) and any(unit == "W" or (unit, n) == ("D", 7) for unit, n in units)


def test_months_and_weeks_are_days() -> None:
    """NumPy promotes them to weeks, in which a month changes its value."""
    month, day = np.dtype("M8[M]"), np.dtype("M8[D]")
    for weeks in ("M8[W]", "M8[7D]"):
        assert aa.promote_types(month, np.dtype(weeks)) == day == aa.promote_types(np.dtype(weeks), month)


@pytest.mark.parametrize("a", [*NUMBERS, *SWAPPED, *TIMES, *TEXT], ids=str)
def test_promotion_is_numpys(a: Any) -> None:
    for b in [*NUMBERS, *SWAPPED, *TIMES, *TEXT]:
        if (
            {a.kind, b.kind} == {"m", "M"}
            or ((a.kind in "mMSU") != (b.kind in "mMSU"))
            or (a.kind in "SU") != (b.kind in "SU")
        ):
            continue  # see below
        if a.kind == "M" and _crosses(a, b):
            continue
        try:
            expected = np.promote_types(a, b)
        except (TypeError, OverflowError):
            with pytest.raises(TypeError):
                aa.promote_types(a, b)
            continue
        assert aa.promote_types(a, b) == expected, (a, b)


@pytest.mark.parametrize(
    ("a", "b"), [("m8[s]", "M8[s]"), ("i8", "m8[s]"), ("f8", "S5"), ("U3", "M8[s]"), ("?", "U5"), ("V3", "V5")]
)
def test_what_numpy_joins_and_we_dont(a: str, b: str) -> None:
    """Spans, dates, numbers and text aren't each other's values."""
    for pair in ((a, b), (b, a)):
        with pytest.raises(TypeError):
            aa.promote_types(*map(np.dtype, pair))


def test_structs_are_promoted_to_themselves_alone() -> None:
    a, b = np.dtype("i4,f8"), np.dtype("i8,f8")
    assert aa.promote_types(a, a) == a
    with pytest.raises(TypeError):
        aa.promote_types(a, b)


@pytest.mark.parametrize(("a", "b"), list(itertools.product(TIMES, TIMES)) + list(itertools.product(TEXT, TEXT)))
def test_times_and_text(a: Any, b: Any) -> None:
    """Where there is such a conversion, NumPy's rule: but text that is cut is never the same kind."""
    ours = rule_of(aa.can_cast, a, b)
    theirs = rule_of(np.can_cast, a, b)
    if a.kind in "SU" and theirs == "same_kind":
        theirs = "unsafe"
    assert ours in (theirs, "never"), (a, b)


@pytest.mark.parametrize("kind", ["m", "M"])
def test_times_become_numpys(kind: str) -> None:
    """Every unit to every other, before 1970 too; NaT stays."""
    random = np.random.default_rng(5)
    for a, b in itertools.product(TIMES, TIMES):
        if a.kind != kind or b.kind != kind or not aa.can_cast(a, b, casting="unsafe"):
            continue
        units = {np.datetime_data(a), np.datetime_data(b)}
        if kind == "m" and ("ns", 1) in units and any(unit in "YM" and n > 1 for unit, n in units):
            continue  # NumPy's factor overflows, and nothing says so
        ticks = np.concatenate([np.arange(-50, 50), random.integers(-3000, 3000, 100), [np.iinfo("i8").min]])
        given = ticks.astype("i8").view(a)
        try:
            expected, unchanged = given.astype(b), bool((given.astype(b).astype(a).view("i8") == ticks).all())
        except OverflowError:  # in its factors, which needn't be so large
            continue
        made = np.asarray(aa.asarray(given, dtype=b, casting="unsafe"))
        assert made.dtype == b
        assert np.array_equal(made.view("i8"), expected.view("i8")), (a, b)
        swapped = np.asarray(aa.asarray(given.astype(a.newbyteorder())[::-3], dtype=b, casting="unsafe"))
        assert np.array_equal(swapped.view("i8"), expected.view("i8")[::-3])
        try:
            aa.asarray(given, dtype=b, casting="same_value")
            kept = True
        except Exception:
            kept = False
        assert kept == unchanged, (a, b)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["S", "U"])
def test_text_grows_and_is_never_cut_unasked(kind: str, order: str) -> None:
    given = np.array([["a", "bcd", ""], ["äö" if kind == "U" else "x", "q", "rs"]], dtype=f"{order}{kind}3")
    for n in (3, 5, 40):
        made = np.asarray(aa.asarray(given.T, dtype=f"{kind}{n}", casting="safe"))
        assert made.dtype == np.dtype(f"{kind}{n}") and (made == given.T).all()
    for casting in ("safe", "same_kind", "same_value"):
        with pytest.raises(TypeError):
            aa.asarray(given, dtype=f"{kind}2", casting=casting)
    assert (np.asarray(aa.asarray(given, dtype=f"{kind}2", casting="unsafe")) == given.astype(f"{kind}2")).all()
    assert (np.asarray(aa.asarray(given[:, ::2], dtype=f"{kind}2", casting="same_value")) == given[:, ::2]).all()
    with pytest.raises(TypeError, match=r"element \[0, 1\] is 'bcd', which .2 can't hold \(it would become 'bc'\)"):
        aa.asarray(given, dtype=f"{kind}2", casting="same_value")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here")
def test_values_of_long_doubles_are_written_out() -> None:
    one = np.longdouble(1) + np.finfo(np.longdouble).eps
    for dtype, value in (("longdouble", one), (">g", -one), ("clongdouble", one - 1j)):
        with pytest.raises(
            TypeError, match=r"element \[1\] is -?1\.\d*[1-9](-1j)?, .* \(it would become -?1[+-][01]j\)"
        ):
            aa.asarray(np.array([1, value], dtype), dtype="complex128", casting="same_value")
    with pytest.raises(TypeError, match=r"is 1e\+4000, which float64 can't hold \(it would become inf\)"):
        aa.asarray(np.array([np.longdouble("1e4000")]), dtype="float64", casting="same_value")


# --- the types of ml_dtypes ---------------------------------------------------------------------------------------

SMALL = [
    "bfloat16",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
    "int2",
    "uint2",
    "int4",
    "uint4",
]


def values_of(d: Any, ml: Any) -> set[float] | None:
    """All values of a type of at most 16 bits; None for a wider one."""
    if d.kind == "c" or d.itemsize > 2:
        return None
    if d.kind == "b":
        return {0.0, 1.0}
    name = d.name
    if name.startswith(("int", "uint")):
        info = ml.iinfo(d)
        return set(map(float, range(int(info.min), int(info.max) + 1)))
    codes = np.arange(1 << (8 * d.itemsize), dtype=f"u{d.itemsize}")
    bits = int("".join(filter(str.isdigit, name[:8].split("_")[0])))
    with np.errstate(all="ignore"):
        wide = codes[: 1 << bits].view(d).astype(np.float64)
    wide[np.isnan(wide)] = np.nan  # of many, one
    return set(wide[~np.isnan(wide)].tolist()) | ({np.nan} if np.isnan(wide).any() else set())


def has_values(d: Any, values: set[float]) -> bool:
    """Whether each is one of the type's."""
    with np.errstate(all="ignore"):
        given = np.array(list(values))
        back = given.astype(d).astype(np.complex128 if d.kind == "c" else np.float64)
        return bool(np.array_equal(back, given.astype(back.dtype), equal_nan=True))


def test_small_types_are_safe_where_every_value_is_kept() -> None:
    ml = needs("ml_dtypes")
    types = [np.dtype(getattr(ml, name)) for name in SMALL] + [d for d in NUMBERS if d.char not in "gG"]
    sets = {d: values_of(d, ml) for d in types}
    for a, b in itertools.product(types, types):
        values, others = sets[a], sets[b]
        if values is None or (a.num < 24 and b.num < 24):
            continue
        if {a.kind, b.kind} == {"b"} or (b.kind == "b"):
            kept = a == b
        elif others is not None:
            kept = values <= others
        else:
            kept = has_values(b, values)
        backwards = a.name.lstrip("u").startswith("float") or a.name == "bfloat16"
        if backwards and b.name.startswith(("int", "uint")):
            kept = False  # a kind is lost, whatever the values are
        assert aa.can_cast(a, b, casting="safe") == kept, (a, b)


def test_small_types_are_promoted_to_what_holds_both() -> None:
    ml = needs("ml_dtypes")
    small = [np.dtype(getattr(ml, name)) for name in SMALL]
    types = small + [d for d in NUMBERS if d.char not in "gG"]
    sets = {d: values_of(d, ml) for d in types}
    for a, b in itertools.product(small, types):
        made = np.dtype(aa.promote_types(a, b).name if a != b else a)
        known = [values for values in (sets[a], sets[b]) if values is not None]
        for values in known:
            assert has_values(made, values), (a, b, made)
        assert aa.promote_types(b, a) == aa.promote_types(a, b)
        # ml_dtypes' own answer, where that holds both and isn't wider.
        try:
            theirs = np.promote_types(a, b)
        except TypeError:
            continue
        lossless = len(known) == 2 and all(has_values(theirs, values) for values in known)
        if lossless and theirs.itemsize <= made.itemsize:
            assert theirs == made, (a, b)
