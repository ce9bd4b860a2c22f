# SPDX-License-Identifier: Apache-2.0
"""ml_dtypes: bfloat16, fp8, fp6, fp4 and the small integers, as dtypes of NumPy arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import LAYOUTS, SHAPE, Case, Cases, Sample, floats, load, nested
from ._mirror import witness

np = load("numpy")
ml = load("ml_dtypes")

_FLOATS = (
    "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip
_INTEGERS = ("int2", "int4", "uint2", "uint4")


def _values(x: Any) -> Any:
    """Each element by the scalar's own float() or int()."""
    number = int if "int" in x.dtype.name else float
    return nested([number(v) for v in x.reshape(-1)], x.shape)


def _sample(name: str, layout: str) -> Sample:
    dtype = np.dtype(getattr(ml, name))
    if name in _INTEGERS:
        low = int(ml.iinfo(dtype).min)
        data = np.array([1, low, int(ml.iinfo(dtype).max), 0, 1, 1, 0, low, 1, 0, 1, 0], "i1").astype(dtype)
    elif name == "float8_e8m0fnu":
        data = np.array([1, 2, 4, 8, 0.5, 0.25, float("nan"), 16, 32, 64, 1, 2], "f4").astype(dtype)
    else:
        finite = [v if abs(v) < 5 or "6" not in name[:7] else 1.0 for v in floats()]
        data = np.array(finite, "f4").astype(dtype)
    x = LAYOUTS[layout](data.reshape(SHAPE).copy())
    return witness(x, read=lambda: _values(x))


def cases() -> Cases:
    for name in (*_FLOATS, *_INTEGERS):
        if not hasattr(ml, name):
            continue
        for layout in LAYOUTS:
            # Sub-byte types lie a byte an element in NumPy.
            yield Case("ndarray", name, layout, partial(_sample, name, layout))
