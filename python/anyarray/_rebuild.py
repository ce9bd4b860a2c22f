# SPDX-License-Identifier: Apache-2.0
"""What pickle calls to make the objects of the package again."""

from __future__ import annotations

from typing import Any, Literal

from . import _core


def dtype(what: _core.DType | tuple[tuple[str, _core.DType, int], ...], size: Any) -> _core.DType:
    """Make a sub-array (element type, shape) or a struct (fields, bytes) again."""
    if isinstance(what, _core.DType):
        return _core._subarray_dtype(what, size)
    return _core._struct_dtype(what, size)


def policy(
    order: tuple[str, ...],
    lookup: Literal["type_first", "instance", "type", "method"],
    on_failure: Literal["continue", "raise"],
    device_first: bool,
    device_method: Literal["ignored", "present", "called", "checked"],
    final: dict[str, tuple[str, ...]],
) -> _core.Policy:
    """Make a Policy from all that it says."""
    return _core.Policy(
        order, lookup=lookup, on_failure=on_failure, device_first=device_first, device_method=device_method, final=final
    )


def array(buffer: Any, dtype: _core.DType, shape: tuple[int, ...], order: str, readonly: bool) -> _core.Array:
    """Make an Array over what carried its elements: bytes, a bytearray, or any buffer that came out of band."""
    return _core._from_bytes(buffer, dtype, shape, order, readonly)
