# SPDX-License-Identifier: Apache-2.0
"""apache-tvm-ffi: tensors made from NumPy memory by DLPack."""

from __future__ import annotations

from functools import partial

from ..cases import INTEGERS, LAYOUTS, SHAPE, Case, Cases, Sample, load, numbers
from ._mirror import witness

ffi = load("tvm_ffi")
np = load("numpy")


def _sample(name: str, layout: str) -> Sample:
    x = LAYOUTS[layout](np.array(numbers(name), name).reshape(SHAPE))
    return witness(x, ffi.from_dlpack(x), readonly=False)


def cases() -> Cases:
    for name in ("bool", *INTEGERS, "float16", "float32", "float64", "complex64", "complex128"):
        for layout in ("C", "transposed", "sliced", "0-d", "size 0", "1 element"):
            if layout in ("transposed", "sliced") and name not in ("int32", "float32"):
                continue  # the layout's path is the same for every dtype
            yield Case("Tensor", name, layout, partial(_sample, name, layout))
