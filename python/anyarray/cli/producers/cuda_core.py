# SPDX-License-Identifier: Apache-2.0
"""cuda.core: StridedMemoryView over host memory."""

from __future__ import annotations

from functools import partial

from ..cases import LAYOUTS, SHAPE, Case, Cases, Sample, load
from ._mirror import witness

np = load("numpy")
_utils = load("cuda.core.utils")


def _sample(name: str, layout: str) -> Sample:
    x = LAYOUTS[layout](np.arange(12).reshape(SHAPE).astype(name))
    return witness(x, _utils.StridedMemoryView.from_dlpack(x, stream_ptr=-1), readonly=False)


def cases() -> Cases:
    for name in ("int8", "int32", "int64", "float32", "float64"):
        for layout in ("C", "transposed", "sliced", "1 element"):
            yield Case("StridedMemoryView", name, layout, partial(_sample, name, layout))
