# SPDX-License-Identifier: Apache-2.0
"""array-api-strict: the standard's own array."""

from __future__ import annotations

from functools import partial

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, load, numbers
from ._mirror import witness

xp = load("array_api_strict")
np = load("numpy")


def _sample(name: str, layout: str) -> Sample:
    data: object = numbers(name)
    x = xp.reshape(xp.asarray(data, dtype=getattr(xp, name)), SHAPE)
    pick = {
        "C": lambda: x,
        "transposed": lambda: x.T,
        "sliced": lambda: x[1:, ::2],
        "0-d": lambda: x[1, 2],
        "negative stride": lambda: x[::-1, :],
        "size 0": lambda: x[:, :0],
        "1 element": lambda: x[1:2, 2:3],
    }
    array = pick[layout]()
    return witness(np.from_dlpack(array), array, readonly=False)


def cases() -> Cases:
    for name in ("bool", *INTEGERS, "float32", "float64", "complex64", "complex128"):
        for layout in ("C", "transposed", "sliced", "negative stride", "0-d", "size 0", "1 element"):
            yield Case("Array", name, layout, partial(_sample, name, layout))
