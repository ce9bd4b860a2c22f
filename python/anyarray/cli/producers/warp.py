# SPDX-License-Identifier: Apache-2.0
"""Warp on the CPU: arrays of scalars and vectors."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, load, numbers, refused
from ._mirror import witness

np = load("numpy")
wp = load("warp")


def _sample(name: str, layout: str) -> Sample:
    data: Any = numbers(name)
    x = wp.array(np.array(data, name).reshape(SHAPE), dtype=getattr(wp, name), device="cpu")
    x = x.transpose() if layout == "transposed" else x
    return witness(x.numpy(), x, readonly=False)


def _vectors() -> Sample:
    x = wp.array(np.arange(12, dtype="f4").reshape(4, 3), dtype=wp.vec3, device="cpu")
    return witness(x.numpy(), x, readonly=False)


def cases() -> Cases:
    wp.config.quiet = True
    for name in (*INTEGERS, "float16", "float32", "float64"):
        for layout in ("C", "transposed"):
            yield Case("array", name, layout, partial(_sample, name, layout))
    yield Case("array of vec3", "float32", "C", _vectors)
    yield refused(
        "indexedarray",
        "float32",
        "its elements lie behind an index",
        lambda: wp.indexedarray(
            wp.array([1.0, 2.0], dtype=wp.float32, device="cpu"), [wp.array([1], dtype=wp.int32, device="cpu")]
        ),
    )
