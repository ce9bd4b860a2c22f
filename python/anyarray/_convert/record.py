# SPDX-License-Identifier: Apache-2.0
"""The account of one conversion, to another library or by `asarray`: which way it went, and why."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from ..errors import ExchangeError
from ..explanation import Explanation, in_words, make_explanation

if TYPE_CHECKING:
    from .._core import DType
    from ..device import Device

Way = Literal["itself", "shared", "copied", "refused"]


@dataclasses.dataclass(frozen=True)
class Conversion:
    """What `convert`, or `asarray`, does with an object. Holds neither the object nor its memory.

    Attributes
    ----------
    object_type, target : str
        Full name of the object's type; the library it was to go to, which is "anyarray" for `asarray`.
    way : str
        "itself": the object is of that library already, and needs no change. "shared": the result shows the same
        memory. "copied". "refused".
    protocol : str or None
        The row of the registry over which the object was taken; "scalar" or "sequence" where it was read itself.
    entry : str
        How the library was given the memory, in words; "" where `out` was filled.
    reasons : tuple of str
        Why it was copied or refused; what to mind of a shared result.
    shape, dtype, device, readonly : tuple of int, DType, Device, bool
        What was taken; None where nothing was.
    error : str
        The text of the error that is raised; "" where there is none.
    explanation : Explanation or None
        How the object was taken, protocol by protocol; None where none was needed, as for "itself".
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
        """Whether it succeeds."""
        return self.way != "refused"

    @property
    def copied(self) -> bool | None:
        """Whether the result has memory of its own; None where there is no result."""
        return None if self.way == "refused" else self.way == "copied"

    def __str__(self) -> str:
        head = f"{self.object_type} to {self.target}: {self.way}"
        if self.protocol in ("scalar", "sequence"):
            head += f"; read as a {self.protocol}"
        elif self.protocol is not None:
            head += f"; taken over {self.protocol}"
        if self.entry and self.way in ("shared", "copied"):
            head += f", given as {self.entry}"
        if self.shape is not None:
            head += f"\n  {in_words(self.shape, self.dtype, self.device, self.readonly)}"
        why = list(self.reasons)
        if self.error and not why:
            why = self.error.splitlines()
        return "\n".join([head, *(f"  {line}" for line in why)])


def make_record(
    obj: object,
    way: Way,
    policy: str,
    request: str,
    preset: str,
    facts: tuple[str | None, tuple[int, ...], DType, Device, bool] | None,
    reasons: list[str] | None,
    error: ExchangeError | None,
    rows: tuple[tuple[Any, ...], ...],
    into_out: bool,
) -> Conversion:
    """Make the account of `asarray`; called by the extension with what it noted.

    Parameters
    ----------
    obj : object
        What was given.
    way : str
        As in `Conversion`.
    policy, request, preset : str
        The policy, as its repr; what was asked for, in words; the preset that the policy is, or "".
    facts : tuple or None
        Of what was taken: protocol, shape, dtype, device, readonly.
    reasons : list of str or None
        Why a copy was needed.
    error : ExchangeError or None
        What `asarray` raises.
    rows : tuple of tuple
        The fields of each Attempt.
    into_out : bool
        Whether the elements went to memory that was given.
    """
    served = any(row[2] == "ok" for row in rows)
    status = "ok" if served else rows[-1][2] if rows else "not offered"
    explanation = make_explanation(obj, policy, preset, request, status, facts, error, rows, "asarray")
    return Conversion(
        object_type=explanation.object_type,
        target="anyarray",
        way=way,
        protocol=explanation.protocol,
        entry="" if into_out else "an Array",
        reasons=tuple(reasons or ()),
        shape=explanation.shape,
        dtype=explanation.dtype,
        device=explanation.device,
        readonly=explanation.readonly,
        error=explanation.error,
        explanation=explanation if rows else None,
    )
