# SPDX-License-Identifier: Apache-2.0
"""The account of one conversion: which way it went, and why."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Literal

from ..explanation import Explanation

if TYPE_CHECKING:
    from .._core import DType
    from ..device import Device

Way = Literal["itself", "shared", "copied", "refused"]


@dataclasses.dataclass(frozen=True)
class Conversion:
    """What `convert` does with an object. Holds neither the object nor its memory.

    Attributes
    ----------
    object_type, target : str
        Full name of the object's type; the library it was to go to.
    way : str
        "itself": the object is of that library already. "shared": the result shows the same memory. "copied".
        "refused".
    protocol : str or None
        The row of the registry over which the object was taken.
    entry : str
        How the library was given the memory, in words.
    reasons : tuple of str
        Why it was copied or refused; what to mind of a shared result.
    shape, dtype, device, readonly : tuple of int, DType, Device, bool
        What was taken; None where nothing was.
    error : str
        The text of the error that `convert` raises; "" where it raises none.
    explanation : Explanation or None
        How the object was taken, protocol by protocol; None for "itself".
    """

    object_type: str
    target: str
    way: Way
    protocol: str | None = None
    entry: str = ""
    reasons: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    dtype: DType | None = None
    device: Device | None = None
    readonly: bool | None = None
    error: str = ""
    explanation: Explanation | None = None

    @property
    def ok(self) -> bool:
        """Whether `convert` succeeds."""
        return self.way != "refused"

    @property
    def copied(self) -> bool | None:
        """Whether the result has memory of its own; None where there is no result."""
        return None if self.way == "refused" else self.way == "copied"

    def __str__(self) -> str:
        head = f"{self.object_type} to {self.target}: {self.way}"
        if self.protocol is not None:
            head += f"; taken over {self.protocol}"
        if self.entry and self.way in ("shared", "copied"):
            head += f", given as {self.entry}"
        if self.shape is not None:
            kind = "read-only" if self.readonly else "writable"
            head += f"\n  shape {self.shape}, {self.dtype}, on {self.device}, {kind}"
        why = list(self.reasons)
        if self.error and not why:
            why = self.error.splitlines()
        return "\n".join([head, *(f"  {line}" for line in why)])
