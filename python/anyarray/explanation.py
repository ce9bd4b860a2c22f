# SPDX-License-Identifier: Apache-2.0
"""The account that `anyarray.explain` gives."""

from __future__ import annotations

import dataclasses
import io
from typing import TYPE_CHECKING, Any

from ._consumers import describe
from .errors import Attempt, ExchangeError, type_name

if TYPE_CHECKING:
    from ._core import DType
    from .device import Device


@dataclasses.dataclass(frozen=True)
class Explanation:
    """What `view`, or `asarray`, does with an object, protocol by protocol. Holds no memory.

    Attributes
    ----------
    object_type : str
        Full name of the object's type.
    policy : str
        The policy, as its repr.
    consumer : str
        The consumer that the policy imitates, where it was given as a preset's name: what it does, in which versions,
        where that was seen, and whether it is "checked" against the library or "from source"; "" for none.
    request : str
        The conditions in words; "" for none.
    status : str
        How the search ended: "ok", "not offered", "mismatch", ...
    protocol : str or None
        The row that served; "scalar" or "sequence" where `asarray` read the object itself.
    shape, dtype, device, readonly : tuple of int, DType, Device, bool
        What was found; None on failure.
    facts : str
        The same in words; "" on failure.
    error : str
        The text of the error that is raised; "" where there is none.
    attempts : tuple of Attempt
        Every row of the policy, with times in nanoseconds.
    function : str
        "view" or "asarray".
    """

    object_type: str
    policy: str
    consumer: str
    request: str
    status: str
    protocol: str | None
    shape: tuple[int, ...] | None
    dtype: DType | None
    device: Device | None
    readonly: bool | None
    facts: str
    error: str
    attempts: tuple[Attempt, ...]
    function: str = "view"

    @property
    def ok(self) -> bool:
        """Whether the object could be taken."""
        return self.protocol is not None

    def __repr__(self) -> str:
        served = f"served by {self.protocol}" if self.ok else self.status
        return f"<Explanation of {self.object_type}: {served}>"

    def __str__(self) -> str:
        try:
            from rich.console import Console
        except ImportError:  # an engine that is built into an extension comes without other packages
            return self._plain()
        out = io.StringIO()
        console = Console(file=out, width=120, color_system=None, force_terminal=False)
        console.print(self)
        return out.getvalue().rstrip("\n")

    def __rich__(self) -> Any:
        """Give the table for rich's console."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(title_justify="left")
        titles, *rows = self._lines()
        for name in titles:
            table.add_column(name, justify="right" if name == "ns" else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(t) for t in row))
        return Group(Text(self._head()), table, Text(self._tail()))

    def _head(self) -> str:
        asked = f", asked for {self.request}" if self.request else ""
        return f"{self.function} of {self.object_type}{asked}" + (f"\n{self.consumer}" if self.consumer else "")

    def _tail(self) -> str:
        return f"served by {self.protocol}: {self.facts}" if self.ok else self.error

    def _lines(self) -> list[tuple[str, ...]]:
        """Give the table's titles and rows."""
        rows = [(a.protocol, a.attribute, a.status, str(a.ns) if a.ns else "", a.reason) for a in self.attempts]
        return [("protocol", "attribute", "status", "ns", "reason"), *rows]

    def _plain(self) -> str:
        """Give the table in columns, without rich."""
        lines = self._lines()
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        columns = (
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )
        return "\n".join((self._head(), *columns, self._tail()))


def in_words(shape: Any, dtype: Any, device: Any, readonly: Any) -> str:
    """Give what was found as one phrase."""
    return f"shape {shape}, {dtype}, on {device}, {'read-only' if readonly else 'writable'}"


def make_explanation(
    obj: object,
    policy: str,
    preset: str,
    request: str,
    status: str,
    facts: tuple[Any, ...] | None,
    error: ExchangeError | None,
    rows: tuple[tuple[Any, ...], ...],
    function: str = "view",
) -> Explanation:
    """Make the account; called by the extension with what the engine noted."""
    protocol, shape, dtype, device, readonly = facts or (None, None, None, None, None)
    return Explanation(
        object_type=type_name(obj),
        policy=policy,
        consumer=describe(preset),
        request=request,
        status=status,
        protocol=protocol,
        shape=shape,
        dtype=dtype,
        device=device,
        readonly=readonly,
        facts="" if facts is None else in_words(shape, dtype, device, readonly),
        error="" if error is None else str(error),
        attempts=tuple(Attempt(*row) for row in rows),
        function=function,
    )
