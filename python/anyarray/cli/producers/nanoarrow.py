# SPDX-License-Identifier: Apache-2.0
"""nanoarrow: its buffers, and its arrays, which offer Arrow's protocols alone."""

from __future__ import annotations

from functools import partial

from ..cases import INTEGERS, Case, Cases, Sample, buffer_address, load, numbers, refused

na = load("nanoarrow")


def _buffer(name: str) -> Sample:
    x = na.c_buffer(numbers(name), getattr(na, name)())
    return Sample(x, lambda: list(x.elements()), (12,), name, True, buffer_address(x), bytes(x))


def _array(name: str, first: int) -> Sample:
    whole = na.Array(na.c_array(numbers(name), getattr(na, name)()))
    x = na.Array(na.c_array(whole)[first:]) if first else whole
    buffer = whole.buffers[1]
    pointer = buffer_address(buffer) or 0
    return Sample(
        x,
        x.to_pylist,
        (12 - first,),
        name,
        True,
        pointer + first * buffer.itemsize,
        bytes(buffer)[first * buffer.itemsize :],
    )


def cases() -> Cases:
    for name in (*INTEGERS, "float32", "float64"):
        yield Case("c_buffer", name, "C", partial(_buffer, name))
        yield Case("Array", name, "C", partial(_array, name, 0))
        yield Case("Array", name, "sliced", partial(_array, name, 3))
    yield refused("Array with nulls", "int32", "the nulls would be lost", lambda: na.Array([1, None], na.int32()))
