# SPDX-License-Identifier: Apache-2.0
"""What an import costs: producers × (no-op, floor, anyarray's C table, aa.view, peers), judged against the floor.

    python benchmarks/imports.py --modules BUILD/modules [--only TEXT] [--json FILE] [--processes N] [--smoke]
                                 [--peers-only]

Exit status: 0 all criteria are met (with --smoke: everything ran), 1 one isn't, 2 anyarray is missing or an
import failed. How it is measured and how to read it: README.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peers
from harness import Cell, Column, load, measure
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
    try:
        import anyarray as aa

        bench.connect()
    except ImportError as error:
        print(f"anyarray can't be imported ({error}); --peers-only measures the rest", file=sys.stderr)
        raise SystemExit(2) from error
    return [Column("C borrow", "borrow", bench.borrow), Column("aa.view", "view", aa.view)]


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


def report(rows: list[Row], missing: dict[str, str], windows: int) -> dict[str, Any]:
    """The run as data: absolute ns a call, the C loop included."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "windows": windows,
        "missing": missing,
        "rows": [
            {
                "producer": row.producer.name,
                "ns": {c.column.name: c.best for c in row.cells if not c.error},
                "refused": {c.column.name: c.error for c in row.cells if c.error},
                "verdicts": row.verdicts(),
            }
            for row in rows
        ],
    }


def fold_in_process(rows: list[Row], arguments: list[str]) -> None:
    """Measures all once more in a process of its own, where code and stack lie elsewhere, and keeps the minima."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        command = [sys.executable, __file__, *arguments, "--processes", "1", "--json", str(file)]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode > 1:
            raise SystemExit("a repeated run failed: run with --processes 1 to see why")
        again = {row["producer"]: row["ns"] for row in json.loads(file.read_text(encoding="utf-8"))["rows"]}
    for row in rows:
        for cell in row.cells:
            cell.best = min(cell.best, again[row.producer.name].get(cell.column.name, cell.best))


def main() -> int:
    """Runs it; see the module's docstring."""
    parser = argparse.ArgumentParser(description="What an import costs, against the floor and against peers.")
    parser.add_argument("--modules", type=Path, required=True, help="folder of the compiled modules")
    parser.add_argument("--only", help="only producers whose name contains this")
    parser.add_argument("--json", type=Path, help="write the run here")
    parser.add_argument("--windows", type=int, default=100, help="windows per cell and process")
    parser.add_argument("--processes", type=int, default=3, help="processes whose minima are taken")
    parser.add_argument("--smoke", action="store_true", help="few windows, one process, no verdict")
    parser.add_argument("--peers-only", action="store_true", help="without anyarray")
    options = parser.parse_args()
    windows = 3 if options.smoke else options.windows
    missing: dict[str, str] = {}
    bench = load(options.modules)
    columns = own_columns(bench, options.peers_only)
    columns += peers.columns(options.modules, missing)
    rows = []
    for producer, obj in available(options.only, missing):
        mine = [Column("no-op", "no-op", bench.noop)]
        mine += [Column(name, "floor", getattr(bench, name)) for name in producer.floors]
        rows.append(Row(producer, [Cell(column, obj) for column in [*mine, *columns]]))
    measure(bench, [row.cells for row in rows], windows)
    for _ in range(0 if options.smoke else options.processes - 1):
        fold_in_process(rows, sys.argv[1:])
    console = Console(width=None if sys.stdout.isatty() else 220)
    show(rows, not options.smoke, console)
    for name, why in missing.items():
        console.print(f"missing: {name} ({why})", markup=False)
    if options.json is not None:
        options.json.write_text(json.dumps(report(rows, missing, windows), indent=1), encoding="utf-8")
    failures = [failure for row in rows for failure in row.failed()]
    for failure in failures:
        console.print(failure, style="red", markup=False)
    if failures or not rows:
        return 2
    judged = [verdict["met"] for row in rows for verdict in row.verdicts().values()]
    return 0 if options.smoke or all(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
