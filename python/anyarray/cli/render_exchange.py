# SPDX-License-Identifier: Apache-2.0
"""The tables of `anyarray matrix --to` and `--hazards`."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from ._exchange_worker import ANYARRAY
from .exchange import OUTCOMES, Pair, problems
from .hazards import Found
from .render import console

_SHOWN = OUTCOMES[:7]


def show_exchange(pairs: Sequence[Pair]) -> None:
    """Prints the counts of every pair and way, what went wrong, and the line that sums up."""
    out = console()
    table = Table(title="Arrays given, natively and through anyarray", title_justify="left")
    for name in ("from", "to", "by", *_SHOWN, "other"):
        table.add_column(name, justify="left" if name in ("from", "to", "by") else "right")
    for pair in pairs:
        for n, way in enumerate(dict.fromkeys(t.way for t in pair.tries)):
            counts = pair.count(way)
            cells = [str(counts[o] or "") for o in _SHOWN]
            other = sum(counts.values()) - sum(counts[o] for o in _SHOWN)
            table.add_row("" if n else pair.producer, "" if n else pair.consumer, way.replace(":", "."), *cells,
                          str(other or ""))  # fmt: skip
        table.add_section()
    out.print(table)
    wrong = problems(pairs)
    if wrong:
        table = Table(title="What went wrong", title_justify="left")
        for name in ("from", "by", "outcome", "what", "arrays"):
            table.add_column(name)
        for producer, way, outcome, why, n in wrong:
            table.add_row(producer, way.replace(":", "."), outcome, Text(why), str(n))
        out.print(table)
    for pair in pairs:
        if pair.status != "ok":
            out.print(Text(f"{pair.producer} → {pair.consumer}: {pair.status}: {pair.reason}"))
    ours = [t for pair in pairs for t in pair.tries if t.way == ANYARRAY]
    theirs = [t for pair in pairs for t in pair.tries if t.way != ANYARRAY]
    out.print(
        f"{len(pairs)} pairs. Natively: {_sum(theirs)}. Through anyarray: {_sum(ours)}."
        " unjudged: taken natively though anyarray.view refuses it."
    )


def _sum(tries: Sequence[object]) -> str:
    counts = {o: sum(getattr(t, "outcome", "") == o for t in tries) for o in OUTCOMES}
    return ", ".join(f"{n} {o}" for o, n in counts.items() if n)


def show_hazards(found: Sequence[Found]) -> None:
    """Prints what happens natively beside what happens through anyarray."""
    table = Table(title="What corrupts or crashes natively", title_justify="left")
    for name in ("hazard", "natively", "through anyarray"):
        table.add_column(name)
    for f in found:
        if f.missing:
            table.add_row(Text(f.hazard.title), Text(f"not run: {f.missing}"), "")
        else:
            table.add_row(Text(f.hazard.title), Text(f.native), Text(f.ours))
    console().print(table)
