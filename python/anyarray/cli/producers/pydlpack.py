# SPDX-License-Identifier: Apache-2.0
"""pydlpack: objects whose DLPack structs are made in Python, over NumPy memory."""

from __future__ import annotations

from functools import partial

from ..cases import LAYOUTS, SHAPE, Case, Cases, Sample, load
from ._mirror import witness

np = load("numpy")
dlpack = load("dlpack")


def _sample(name: str, layout: str) -> Sample:
    x = LAYOUTS[layout](np.arange(12).reshape(SHAPE).astype(name))
    return witness(x, dlpack.asdlpack(x))


def cases() -> Cases:
    for name in ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex128"):
        for layout in ("C", "transposed", "sliced", "1 element"):
            yield Case("DLPackObject", name, layout, partial(_sample, name, layout))
