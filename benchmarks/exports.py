# SPDX-License-Identifier: Apache-2.0
"""What giving an array on costs: each way of an aa.Array beside the same way of the ndarray that it was taken from.

    python benchmarks/exports.py --modules BUILD/modules [--only TEXT] [--json FILE] [--processes N] [--smoke]

Exit status: 0 all criteria are met (with --smoke: everything ran), 1 one isn't, 2 something of ours failed. How it is
measured and how to read it: README.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from harness import Cell, Column, connect, console, figures, load, measure_as_asked, parse, parser, tell
from rich.console import Console
from rich.table import Table

DLPACK_ALLOWED = 1.3  # of NumPy's time
BORROW_ALLOWED = 20.0  # ns over the no-op
NEWEST = ("max_version",)


@dataclass
class Row:
    """One way of one array: ours, and what stands beside it."""

    array: str
    way: str
    ours: Cell
    beside: Cell | None
    noop: Cell

    @property
    def cells(self) -> list[Cell]:
        return [cell for cell in (self.noop, self.ours, self.beside) if cell is not None]

    @property
    def ns(self) -> float:
        """Ours, less the no-op."""
        return self.ours.best - self.noop.best

    @property
    def ratio(self) -> float | None:
        """Ours over the other, calls included."""
        return None if self.beside is None or self.beside.error else self.ours.best / self.beside.best

    def verdict(self) -> dict[str, Any] | None:
        """What was measured, what is allowed, whether it is met; None where nothing is asked."""
        if self.way == "table: borrow":
            return {"ns": self.ns, "allowed": BORROW_ALLOWED, "met": self.ns <= BORROW_ALLOWED}
        if self.way.startswith("__dlpack__(") and self.ratio is not None:
            return {"ratio": self.ratio, "allowed": DLPACK_ALLOWED, "met": self.ratio <= DLPACK_ALLOWED}
        return None


def arrays() -> Iterator[tuple[str, Any]]:
    """The ndarrays that are given on."""
    import numpy as np

    f32: Any = np.arange(12, dtype="f4").reshape(3, 4)
    readonly = f32.copy()
    readonly.flags.writeable = False
    yield "float32 (3, 4)", f32
    yield "float32 transposed", f32.T
    yield "float32 read-only", readonly
    yield "float64 5-D", np.zeros((2, 3, 2, 3, 2))


def torch_beside(array: Any) -> Any:
    """A tensor of the same data, for the exchange table, which NumPy hasn't; None without torch."""
    try:
        import torch
    except ImportError:
        return None
    return torch.from_numpy(array) if array.flags.writeable else None


def getter(obj: Any, name: str) -> Callable[..., Any]:
    """What reads the attribute: the descriptor on the type."""
    read: Callable[..., Any] = getattr(type(obj), name).__get__
    return read


def rows_of(bench: Any, aa: Any, name: str, array: Any) -> Iterator[Row]:
    """All ways of one array."""
    import numpy as np

    mine = aa.view(array)
    noop = Cell(Column("no-op", "no-op", bench.noop), mine)

    def row(way: str, ours: Column, beside: Column | None, other: Any = array) -> Row:
        return Row(name, way, Cell(ours, mine), None if beside is None else Cell(beside, other), noop)

    def pair(way: str, function: Callable[[Any], Callable[..., Any]], *args: Any, **words: Any) -> Row:
        return row(
            way, *(Column(who, way, function(x), args, **words) for who, x in (("ours", mine), ("NumPy", array)))
        )

    if array.flags.writeable:
        yield pair("__dlpack__()", lambda x: type(x).__dlpack__)
    yield pair("__dlpack__(max_version)", lambda x: type(x).__dlpack__, (1, 3), keywords=NEWEST)
    yield pair("np.from_dlpack(a)", lambda _: np.from_dlpack)
    yield pair("memoryview(a)", lambda _: memoryview)
    yield row("np.asarray(a)", Column("ours", "np.asarray(a)", np.asarray), None)
    yield pair("__array_interface__", lambda x: getter(x, "__array_interface__"))
    yield pair("__array_struct__", lambda x: getter(x, "__array_struct__"))
    tensor = torch_beside(array)
    tables = [("table: take", bench.floor_exchange_take)]
    if array.flags.writeable:
        tables.insert(0, ("table: borrow", bench.floor_exchange))
    for way, function in tables:
        beside = None if tensor is None else Column("torch", way, function)
        yield row(way, Column("ours", way, function), beside, tensor)


def show(rows: list[Row], judged: bool, console: Console) -> None:
    """Prints the table."""
    table = Table(title="ns per export, less the no-op; the result dropped, and with it what was exported")
    for heading in ("array", "way", "anyarray", "beside it", "", "ratio of whole calls", "verdict" if judged else ""):
        table.add_column(heading, justify="left" if heading in ("array", "way", "") else "right", no_wrap=True)
    for row in rows:
        verdict, ratio = row.verdict(), row.ratio
        other = "–" if row.beside is None or row.beside.error else f"{row.beside.best - row.noop.best:.1f}"
        who = "" if other == "–" or row.beside is None else row.beside.column.name
        word = "" if verdict is None or not judged else "[green]met[/]" if verdict["met"] else "[red]missed[/]"
        shown = "–" if ratio is None else f"{ratio:.2f}"
        table.add_row(row.array, row.way, "–" if row.ours.error else f"{row.ns:.1f}", other, who, shown, word)
    console.print(table)


def report(row: Row) -> dict[str, Any]:
    """A row as data."""
    return {"array": row.array, "way": row.way, **figures(row.cells), "verdict": row.verdict()}


def main() -> int:
    """Runs it; see the module's docstring."""
    options = parse(parser("What giving an array on costs, beside NumPy.", "arrays", windows=100, processes=3))
    bench = load(options.modules)
    aa = connect(bench)
    chosen = [(name, array) for name, array in arrays() if options.only is None or options.only in name]
    rows = [row for name, array in chosen for row in rows_of(bench, aa, name, array)]
    measure_as_asked(bench, options, [row.cells for row in rows])
    out = console(160)
    show(rows, not options.smoke, out)
    failures = [f"{row.array}: {row.way}: {row.ours.error}" for row in rows if row.ours.error]
    tell(out, options, [report(row) for row in rows], {}, failures)
    if failures:
        return 2
    verdicts = [verdict for verdict in (row.verdict() for row in rows) if verdict is not None]
    return 0 if options.smoke or all(verdict["met"] for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
