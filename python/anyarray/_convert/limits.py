# SPDX-License-Identifier: Apache-2.0
"""What libraries can't hold: predicates by name. Each gives the reason in words, or "" where nothing is in the way.

All that stand here are helped by a copy, but for those in :data:`FINAL`, which nothing helps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from .targets import Target

Limit = Callable[[_core.Array, "Target"], str]


def _used(array: _core.Array) -> list[tuple[int, int]]:
    """Give (extent, stride) of the dimensions whose stride matters."""
    if array.strides is None or array.size == 0:
        return []
    return [(n, s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]


def readonly(array: _core.Array, target: Target) -> str:
    """Read-only memory that the library would let be written."""
    return f"it is read-only, and {target.name} would let it be written" if array.readonly else ""


def negative(array: _core.Array, target: Target) -> str:
    """Negative strides."""
    return f"it has negative strides, which {target.name} can't hold" if any(s < 0 for _, s in _used(array)) else ""


def overlap(array: _core.Array, target: Target) -> str:
    """Elements that share memory."""
    return f"elements share memory, which {target.name} can't hold" if _core._overlaps(array) else ""


def element_strides(array: _core.Array, target: Target) -> str:
    """Strides between elements."""
    odd = [s for _, s in _used(array) if s % array.itemsize]
    return f"a stride of {odd[0]} bytes isn't a whole number of elements, which {target.name} needs" if odd else ""


def contiguous(array: _core.Array, target: Target) -> str:
    """Anything but row-major."""
    return "" if array.c_contiguous else f"it isn't row-major without gaps, which {target.name} needs"


def compact(array: _core.Array, target: Target) -> str:
    """Gaps: the strides must be those of a row-major array whose dimensions were permuted."""
    step = array.itemsize
    for extent, stride in sorted(_used(array), key=lambda pair: pair[1]):
        if stride != step:
            return f"its strides {array.strides} have gaps or steps that {target.name} can't hold"
        step *= extent
    return ""


def aligned_64(array: _core.Array, target: Target) -> str:
    """Memory that doesn't begin at a multiple of 64 bytes."""
    off = array.ptr % 64 if array.size else 0
    return f"its address isn't a multiple of 64, where alone {target.name} shares memory" if off else ""


def arrow_layout(array: _core.Array, target: Target) -> str:
    """A column that isn't one stretch of memory, booleans, which Arrow packs; tensors have strides."""
    if array.dtype.kind == "bool":
        return "Arrow packs booleans into bits"
    if array.ndim == 1 and not array.c_contiguous:
        return "an Arrow array has no strides"
    if array.ndim != 1 and any(s < 0 or s % array.itemsize for s in array.strides or ()):
        return f"{target.name}'s tensors have no strides as {array.strides}"  # not even where they don't matter
    return ""


def numpy_dtype(array: _core.Array, target: Target) -> str:  # noqa: ARG001
    """Elements that NumPy, with the help of ml_dtypes, knows only unpacked."""
    return f"packed {array.dtype} must be unpacked for NumPy" if array.strides is None else ""


def jax_narrows(array: _core.Array, target: Target) -> str:  # noqa: ARG001
    """64-bit types without jax_enable_x64: JAX would make 32 bits of them."""
    if array.dtype.name not in ("int64", "uint64", "float64", "complex128"):
        return ""
    jax = sys.modules.get("jax")
    if jax is not None and bool(jax.config.jax_enable_x64):
        return ""
    return (
        f"jax would make half as many bits of {array.dtype}: set jax.config.update('jax_enable_x64', True), "
        "or convert the dtype first"
    )


def warp_dims(array: _core.Array, target: Target) -> str:
    """Other than 1 to 4 dimensions."""
    return "" if 1 <= array.ndim <= 4 else f"{target.name} has arrays of 1 to 4 dimensions, not {array.ndim}"


LIMITS: dict[str, Limit] = {
    f.__name__: f
    for f in (
        readonly, negative, overlap, element_strides, contiguous, compact, aligned_64, arrow_layout, numpy_dtype,
        jax_narrows, warp_dims,
    )
}  # fmt: skip

#: Limits that a copy doesn't help.
FINAL = frozenset({"jax_narrows", "warp_dims"})
