# SPDX-License-Identifier: Apache-2.0
"""Data frames: pandas, polars and xarray, whose columns come over Arrow or by `__array__`, asked not to copy."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import INTEGERS, Case, Cases, Sample, booleans, load, numbers
from ._mirror import witness

np = load("numpy")

_NAMES = (*INTEGERS, "float32", "float64")
_MANY = "several memories, or none of plain elements: it may only be copied"


def _shown(array: Any, x: Any, readonly: bool | None = None) -> Sample:
    return witness(x, array, readonly=readonly)


def _copied(array: Any, values: list[Any], dtype: str) -> Sample:
    shape = (len(values), len(values[0])) if isinstance(values[0], list) else (len(values),)
    return Sample(array, lambda: values, shape, dtype)


def pandas_cases() -> Cases:
    pd = load("pandas")

    def series(name: str, layout: str) -> Sample:
        s = pd.Series(np.array(numbers(name), name))
        s = {"C": s, "sliced": s[::2], "size 0": s[:0]}[layout]
        return _shown(s, s.to_numpy())

    def of_arrow(name: str) -> Sample:
        s = pd.Series(np.array(numbers(name), name)[:3], dtype=f"{name}[pyarrow]")
        return _shown(s, s.to_numpy(), True)

    for name in (*_NAMES, "float16"):
        for layout in ("C", "sliced", "size 0"):
            yield Case("Series", name, layout, partial(series, name, layout))
    yield Case("Series", "bool", "C", lambda: _shown(s := pd.Series(booleans()), s.to_numpy()))
    yield Case(
        "Series", "datetime64[ns]", "C", lambda: _shown(s := pd.Series(np.array([1, 2, 3], "M8[ns]")), s.to_numpy())
    )
    yield Case("Index", "float64", "C", lambda: _shown(i := pd.Index([1.0, 2.0]), i.to_numpy()))
    yield Case(
        "DataFrame", "float64", "C", lambda: _shown(f := pd.DataFrame(np.arange(12.0).reshape(3, 4)), f.to_numpy())
    )
    mixed = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    yield Case(
        "DataFrame, mixed", "float64", "C", lambda: _copied(mixed, [[1.0, 0.5], [2.0, 1.5]], "float64"), "either", _MANY
    )
    for dtype in ("int32", "int64"):
        yield Case("Series of Arrow", dtype, "C", partial(of_arrow, dtype))
    nullable = pd.array([1, 2, 3], dtype="Int64")
    yield Case("nullable array", "int64", "C", lambda: _copied(nullable, [1, 2, 3], "int64"), "either", _MANY)
    yield Case(
        "Series of strings",
        "object",
        "C",
        lambda: Sample(pd.Series(["a", "b"]), lambda: None, (2,), "object"),
        "refuse",
        "elements of no fixed size",
    )
    yield Case(
        "Series, missing values",
        "object",
        "C",
        lambda: Sample(pd.Series([1, None, 3], dtype="Int64"), lambda: None, (3,), "object"),
        "refuse",
        "the missing would be lost",
    )


def polars_cases() -> Cases:
    pl = load("polars")

    def series(name: str, layout: str) -> Sample:
        s = pl.Series(
            numbers(name),
            dtype=getattr(
                pl, name.replace("uint", "UInt").replace("int", "Int", name[0] == "i").replace("float", "Float")
            ),
        )
        s = {"C": s, "sliced": s[3:9]}[layout]
        return _shown(s, s.to_numpy(allow_copy=False), True)

    for name in _NAMES:
        for layout in ("C", "sliced"):
            yield Case("Series", name, layout, partial(series, name, layout))
    chunked = pl.concat([pl.Series([1.0]), pl.Series([2.0])], rechunk=False)
    yield Case("Series, chunked", "float64", "C", lambda: _copied(chunked, [1.0, 2.0], "float64"), "either", _MANY)
    yield Case("Series", "bool", "C", lambda: _copied(pl.Series([True, False]), [True, False], "bool"), "either", _MANY)
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    yield Case(
        "DataFrame", "float64", "F", lambda: _copied(frame, [[1.0, 3.0], [2.0, 4.0]], "float64"), "either", _MANY
    )
    yield Case(
        "Series with nulls",
        "int64",
        "C",
        lambda: Sample(pl.Series([1, None]), lambda: None, (2,), "int64"),
        "refuse",
        "the nulls would be lost",
    )
    yield Case(
        "Series of strings",
        "string",
        "C",
        lambda: Sample(pl.Series(["a"]), lambda: None, (1,), "string"),
        "refuse",
        "elements of no fixed size",
    )


def xarray_cases() -> Cases:
    xr = load("xarray")

    def shown(x: Any) -> Sample:
        return _shown(xr.DataArray(x), x, not x.flags.writeable)

    base = np.arange(12.0).reshape(3, 4)
    for layout, x in {"C": base, "transposed": base.T, "sliced": base[1:, ::2]}.items():
        yield Case("DataArray", "float64", layout, partial(shown, x))
    yield Case("DataArray", "int32", "C", lambda: shown(np.arange(4, dtype="i4")))
