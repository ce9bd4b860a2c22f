# SPDX-License-Identifier: Apache-2.0
"""nanoarrow: its buffers; arrays offer Arrow's protocols alone."""

from __future__ import annotations

from functools import partial

from ..cases import Case, Cases, Sample, buffer_address, floats, integers, load

na = load("nanoarrow")

_TYPES = {**{f"{sign}int{bits}": (bits, not sign) for bits in (8, 16, 32, 64) for sign in ("", "u")},
          "float32": None, "float64": None}  # fmt: skip


def _buffer(name: str) -> Sample:
    limits = _TYPES[name]
    data = integers(*limits) if limits is not None else floats()
    x = na.c_buffer(data, getattr(na, name)())
    return Sample(x, lambda: list(x.elements()), (12,), name, True, buffer_address(x), bytes(x))


def cases() -> Cases:
    for name in _TYPES:
        yield Case("c_buffer", name, "C", partial(_buffer, name))
