# SPDX-License-Identifier: Apache-2.0
"""dpnp: oneAPI arrays, on whatever device SYCL finds (none at all without a driver)."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import INTEGERS, LAYOUTS, SHAPE, Case, Cases, Sample, load, numbers

np = load("numpy")
dpnp = load("dpnp")


def _sample(name: str, layout: str) -> Sample:
    data: Any = numbers(name)
    x = LAYOUTS[layout](dpnp.asarray(np.array(data, name).reshape(SHAPE)))
    usm = x.__sycl_usm_array_interface__
    pointer = usm["data"][0] + usm["offset"] * x.itemsize if x.size else None
    # dpnp 0.20 contradicts itself on 0-d arrays: read-only in DLPack, writable in its own interface.
    readonly = usm["data"][1] if x.ndim else None
    # Device memory: its values are not for the host to read.
    return Sample(x, lambda: None, tuple(x.shape), name, readonly, pointer, None, f"oneapi:{x.__dlpack_device__()[1]}")


def cases() -> Cases:
    dpnp.empty(1)  # raises where there is no device
    for name in (*INTEGERS, "float32"):
        for layout in LAYOUTS:
            yield Case("ndarray", name, layout, partial(_sample, name, layout))
