# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: OrtValue on the CPU, of DLPack's old signature."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import SHAPE, Case, Cases, Sample, booleans, floats, integers, load
from ._mirror import witness

np = load("numpy")
ort = load("onnxruntime")

_INTEGERS = {f"{sign}int{bits}": (bits, not sign) for bits in (8, 16, 32, 64) for sign in ("", "u")}


def _sample(name: str) -> Sample:
    data: Any = integers(*_INTEGERS[name]) if name in _INTEGERS else booleans() if name == "bool" else floats()
    x = np.array(data, name).reshape(SHAPE)
    value = ort.OrtValue.ortvalue_from_numpy(x)
    return witness(value.numpy(), value, readonly=False, pointer=False)


def cases() -> Cases:
    for name in ("bool", *_INTEGERS, "float16", "float32", "float64"):
        yield Case("OrtValue", name, "C", partial(_sample, name))
