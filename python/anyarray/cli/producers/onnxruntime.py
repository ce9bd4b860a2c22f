# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: OrtValue on the CPU, of DLPack's old signature."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, load, numbers
from ._mirror import witness

np = load("numpy")
ort = load("onnxruntime")


def _sample(name: str) -> Sample:
    data: Any = numbers(name)
    x = np.array(data, name).reshape(SHAPE)
    value = ort.OrtValue.ortvalue_from_numpy(x)
    return witness(value.numpy(), value, readonly=False, pointer=False)


def cases() -> Cases:
    for name in ("bool", *INTEGERS, "float16", "float32", "float64"):
        yield Case("OrtValue", name, "C", partial(_sample, name))
