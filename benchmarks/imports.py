# SPDX-License-Identifier: Apache-2.0
"""What an import costs: producers × (no-op, floor, anyarray's C table, aa.view, peers), judged against the floor.

    python benchmarks/imports.py --modules BUILD/modules [--only TEXT] [--json FILE] [--processes N] [--smoke]
                                 [--peers-only]

Exit status: 0 all criteria are met (with --smoke: everything ran), 1 one isn't, 2 anyarray is missing or an
import failed. How it is measured and how to read it: README.md.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import peers
from harness import Cell, Column, connect, console, figures, load, measure_as_asked, parse, parser, tell
from producers import Producer, available
from rich.console import Console
from rich.table import Table

SHOWN_GROUPS = ("nanobind", "pybind11", "tvm-ffi", "mpi4py")
VIEW_ALLOWED = 35.0


@dataclass
class Row:
    """One producer with its cells."""

    producer: Producer
    cells: list[Cell]

    def best(self, group: str) -> Cell | None:
        """The fastest cell of a group that took the object."""
        taken = [c for c in self.cells if c.column.group == group and not c.error]
        return min(taken, key=lambda c: c.best, default=None)

    def best_other(self) -> Cell | None:
        """The fastest of the peers that have no column of their own."""
        own = (*SHOWN_GROUPS, "no-op", "floor", "borrow", "view")
        taken = [c for c in self.cells if c.column.group not in own and not c.error]
        return min(taken, key=lambda c: c.best, default=None)

    def failed(self) -> list[str]:
        """Why our own columns couldn't take the object."""
        return [
            f"{self.producer.name}: {c.column.name}: {c.error}"
            for c in self.cells
            if c.error and c.column.group in ("no-op", "floor", "borrow", "view")
        ]

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """Per criterion: what was measured, what is allowed, whether it is met (ns). Empty without anyarray."""
        floor, borrow, view = self.best("floor"), self.best("borrow"), self.best("view")
        found: dict[str, dict[str, Any]] = {}
        if borrow is not None and self.producer.cap is not None:
            found["borrow"] = {"ns": borrow.best, "allowed": self.producer.cap}
        elif borrow is not None and floor is not None:
            allowed = max(0.1 * floor.best, 6.0) + self.producer.allowance()
            found["borrow"] = {"ns": borrow.best - floor.best, "allowed": allowed}
        if view is not None and borrow is not None:
            found["view"] = {"ns": view.best - borrow.best, "allowed": VIEW_ALLOWED}
        for verdict in found.values():
            verdict["met"] = verdict["ns"] <= verdict["allowed"]
        return found


def own_columns(bench: Any, peers_only: bool) -> list[Column]:
    """The columns of anyarray itself."""
    if peers_only:
        return []
    return [Column("C borrow", "borrow", bench.borrow), Column("aa.view", "view", connect(bench).view)]


def text(cell: Cell | None, base: float) -> str:
    """A time less the no-op's."""
    return "–" if cell is None else f"{cell.best - base:.1f}"


def show(rows: list[Row], judged: bool, console: Console) -> None:
    """Prints the table."""
    table = Table(title="ns per import, less the no-op of the same producer")
    for heading in ("producer", "no-op", "floor", "C borrow", "over floor", "allowed", "aa.view", "over borrow"):
        table.add_column(heading, justify="left" if heading == "producer" else "right", no_wrap=True)
    for group in SHOWN_GROUPS:
        table.add_column(group, justify="right", no_wrap=True)
    table.add_column("best other", justify="right")
    if judged:
        table.add_column("verdict")
    for row in rows:
        noop, found = row.best("no-op"), row.verdicts()
        base = noop.best if noop is not None else 0.0
        borrow, view, other = found.get("borrow"), found.get("view"), row.best_other()
        line = [row.producer.name, f"{base:.1f}", *(text(row.best(g), base) for g in ("floor", "borrow"))]
        line += ["–", "–"] if borrow is None else [f"{borrow['ns']:.1f}", f"{borrow['allowed']:.1f}"]
        line += [text(row.best("view"), base), "–" if view is None else f"{view['ns']:.1f}"]
        line += [text(row.best(group), base) for group in SHOWN_GROUPS]
        line.append("–" if other is None else f"{other.best - base:.0f} {other.column.name}")
        if judged:
            line.append(verdict_text(found))
        table.add_row(*line)
    console.print(table)
    if any(row.producer.cap is not None for row in rows):
        console.print("Where a limit in all replaces the floor, 'over floor' is the whole time, the call included.")


def verdict_text(found: dict[str, dict[str, Any]]) -> str:
    """One word, or the criteria that are missed."""
    if not found:
        return "–"
    missed = [name for name, verdict in found.items() if not verdict["met"]]
    return "[green]met[/]" if not missed else f"[red]missed: {', '.join(missed)}[/]"


def report(row: Row) -> dict[str, Any]:
    """A row as data."""
    return {"producer": row.producer.name, **figures(row.cells), "verdicts": row.verdicts()}


def main() -> int:
    """Runs it; see the module's docstring."""
    arguments = parser("What an import costs, against the floor and peers.", "producers", windows=100, processes=3)
    arguments.add_argument("--peers-only", action="store_true", help="without anyarray")
    options = parse(arguments)
    missing: dict[str, str] = {}
    bench = load(options.modules)
    columns = own_columns(bench, options.peers_only)
    columns += peers.columns(options.modules, missing)
    rows = []
    for producer, obj in available(options.only, missing):
        mine = [Column("no-op", "no-op", bench.noop)]
        mine += [Column(name, "floor", getattr(bench, name)) for name in producer.floors]
        rows.append(Row(producer, [Cell(column, obj) for column in [*mine, *columns]]))
    measure_as_asked(bench, options, [row.cells for row in rows])
    out = console(220)
    show(rows, not options.smoke, out)
    failures = [failure for row in rows for failure in row.failed()]
    tell(out, options, [report(row) for row in rows], missing, failures)
    if failures or not rows:
        return 2
    judged = [verdict["met"] for row in rows for verdict in row.verdicts().values()]
    return 0 if options.smoke or all(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
