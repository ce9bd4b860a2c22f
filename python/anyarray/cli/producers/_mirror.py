# SPDX-License-Identifier: Apache-2.0
"""A NumPy array as the witness: what it says of memory that it owns itself or shares with another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..cases import Sample, load

np = load("numpy")


#: The C compiler's long double; NumPy names it after its size with the padding, which says little.
_LONG = {np.longdouble: "longdouble", np.clongdouble: "clongdouble"} if np.dtype("g").itemsize > 8 else {}


def dtype_name(dtype: Any) -> str:
    """anyarray's name of a NumPy dtype, worked out from the dtype's own parts."""
    if dtype.names is not None:
        return _struct_name(dtype)
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"({', '.join(map(str, shape))}){dtype_name(base)}"
    if dtype.kind in "SUV" and dtype.type.__module__ == "numpy":
        length = dtype.itemsize // (4 if dtype.kind == "U" else 1)
        return f"{'>' if dtype.byteorder == '>' else ''}{dtype.kind}{length}"
    if dtype.kind in "mM":
        swapped = ">" if dtype.byteorder == ">" else ""
        unit = dtype.str.partition("[")[2].rstrip("]")
        if swapped:
            return f">{dtype.kind}8[{unit}]" if unit else f">{dtype.kind}8"
        long = "datetime64" if dtype.kind == "M" else "timedelta64"
        return f"{long}[{unit}]" if unit else long
    if dtype.byteorder == ">" and dtype.itemsize > 1:
        return f">{dtype.kind}{dtype.itemsize}"
    return _LONG.get(dtype.type, str(dtype.name))


def _struct_name(dtype: Any) -> str:
    parts, end = [], 0
    for name in dtype.names:
        field, offset = dtype.fields[name][:2]
        parts.append(f"'{name}': {dtype_name(field)}" + (f" @ {offset}" if offset != end else ""))
        end = offset + field.itemsize
    return "{" + ", ".join(parts) + f"; {dtype.itemsize}" + "}"


def has_padding(dtype: Any) -> bool:
    """Whether bytes of an element belong to no field; NumPy's copies don't keep those."""
    if dtype.subdtype is not None:
        return has_padding(dtype.subdtype[0])
    if dtype.names is None:
        return False
    fields = [dtype.fields[name][0] for name in dtype.names]
    return sum(field.itemsize for field in fields) != dtype.itemsize or any(map(has_padding, fields))


def plain(value: Any) -> Any:
    """NumPy's lists with Python's values: long doubles as floats, sub-arrays as lists."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, np.complexfloating):
        return complex(value)
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    return value


def values(x: Any) -> Any:
    """`x` as nested lists of plain Python values."""
    return plain(x.tolist())


def witness(
    x: Any,
    array: object = None,
    *,
    dtype: str | None = None,
    readonly: bool | None = None,
    pointer: bool = True,
    read: Callable[[], object] | None = None,
) -> Sample:
    """The sample for `array` (`x` itself if None), whose memory or values the NumPy array `x` shows."""
    return Sample(
        array=x if array is None else array,
        read=read if read is not None else lambda: values(x),
        shape=tuple(x.shape),
        dtype=dtype if dtype is not None else dtype_name(x.dtype),
        readonly=readonly if readonly is not None or array is not None else not x.flags.writeable,
        pointer=int(x.__array_interface__["data"][0]) if pointer else None,
        raw=None if has_padding(x.dtype) else x.tobytes(),
    )
