# SPDX-License-Identifier: Apache-2.0
"""MLX on the CPU: unified memory, computed on demand."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, booleans, buffer_address, floats, integers, load

mx = load("mlx.core")


def _data(name: str) -> Any:
    if name == "bool":
        return mx.array(booleans())
    if name == "uint64":
        return mx.array(integers(64, True), mx.int64).view(mx.uint64)  # ints over 2**63 aren't understood
    if name in INTEGERS:
        return mx.array(integers(*INTEGERS[name]), getattr(mx, name))
    return mx.array(floats()).astype(getattr(mx, name))


def _sample(name: str, layout: str) -> Sample:
    x = _data(name)
    x = mx.reshape(x, SHAPE)
    pick = {
        "C": lambda: x,
        "transposed": lambda: x.T,
        "sliced": lambda: x[1:, ::2],
        "0-d": lambda: x[1, 2],
        "size 0": lambda: x[:, :0],
        "1 element": lambda: x[1:2, 2:3],
        "lazy": lambda: x + mx.zeros(SHAPE),
    }
    y = pick[layout]()
    # The buffer of bfloat16 has a format that nobody reads; its address isn't told either then.
    pointer = buffer_address(y) if y.size and name != "bfloat16" else None
    return Sample(y, y.tolist, tuple(y.shape), name, None, pointer)


def cases() -> Cases:
    for name in ("bool", *INTEGERS, "float16", "bfloat16", "float32", "complex64"):
        for layout in ("C", "transposed", "sliced", "0-d", "size 0", "1 element"):
            yield Case("array", name, layout, partial(_sample, name, layout))
    yield Case("array, not yet computed", "float32", "C", partial(_sample, "float32", "lazy"))
