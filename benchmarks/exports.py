# SPDX-License-Identifier: Apache-2.0
"""What giving an array on costs: each way of an aa.Array beside the same way of the ndarray that it was taken from.

    python benchmarks/exports.py --modules BUILD/modules [--only TEXT] [--json FILE] [--processes N] [--smoke]

Exit status: 0 all criteria are met (with --smoke: everything ran), 1 one isn't, 2 something of ours failed. How it is
measured and how to read it: README.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Cell, Column, load, measure
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

    f32 = np.arange(12, dtype="f4").reshape(3, 4)
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
    return getattr(type(obj), name).__get__  # type: ignore[no-any-return]


def rows_of(bench: Any, name: str, array: Any) -> Iterator[Row]:
    """All ways of one array."""
    import numpy as np

    import anyarray as aa

    mine = aa.view(array)
    noop = Cell(Column("no-op", "no-op", bench.noop), mine)

    def row(way: str, ours: Column, beside: Column | None, other: Any = array) -> Row:
        return Row(name, way, Cell(ours, mine), None if beside is None else Cell(beside, other), noop)

    def pair(way: str, function: Callable[[Any], Callable[..., Any]], *args: Any, **words: Any) -> Row:
        return row(
            way, *(Column(way, who, function(x), args, **words) for who, x in (("ours", mine), ("NumPy", array)))
        )

    if array.flags.writeable:
        yield pair("__dlpack__()", lambda x: type(x).__dlpack__)
    yield pair("__dlpack__(max_version)", lambda x: type(x).__dlpack__, (1, 3), keywords=NEWEST)
    yield pair("np.from_dlpack(a)", lambda _: np.from_dlpack)
    yield pair("memoryview(a)", lambda _: memoryview)
    yield row("np.asarray(a)", Column("np.asarray(a)", "ours", np.asarray), None)
    yield pair("__array_interface__", lambda x: getter(x, "__array_interface__"))
    yield pair("__array_struct__", lambda x: getter(x, "__array_struct__"))
    tensor = torch_beside(array)
    tables = [("table: take", bench.floor_exchange_take)]
    if array.flags.writeable:
        tables.insert(0, ("table: borrow", bench.floor_exchange))
    for way, function in tables:
        beside = None if tensor is None else Column(way, "torch", function)
        yield row(way, Column(way, "ours", function), beside, tensor)


def show(rows: list[Row], judged: bool, console: Console) -> None:
    """Prints the table."""
    table = Table(title="ns per export, less the no-op; the result dropped, and with it what was exported")
    for heading in ("array", "way", "anyarray", "beside it", "", "ratio of whole calls", "verdict" if judged else ""):
        table.add_column(heading, justify="left" if heading in ("array", "way", "") else "right", no_wrap=True)
    for row in rows:
        verdict, ratio = row.verdict(), row.ratio
        other = "–" if row.beside is None or row.beside.error else f"{row.beside.best - row.noop.best:.1f}"
        who = "" if other == "–" or row.beside is None else row.beside.column.group
        word = "" if verdict is None or not judged else "[green]met[/]" if verdict["met"] else "[red]missed[/]"
        shown = "–" if ratio is None else f"{ratio:.2f}"
        table.add_row(row.array, row.way, "–" if row.ours.error else f"{row.ns:.1f}", other, who, shown, word)
    console.print(table)


def report(rows: list[Row]) -> list[dict[str, Any]]:
    """The run as data: absolute ns a call, the C loop included."""
    return [
        {
            "array": row.array,
            "way": row.way,
            "ns": {cell.column.group: cell.best for cell in row.cells if not cell.error},
            "refused": {cell.column.group: cell.error for cell in row.cells if cell.error},
            "verdict": row.verdict(),
        }
        for row in rows
    ]


def fold_in_process(rows: list[Row], arguments: list[str]) -> None:
    """Measures all once more in a process of its own, where code and stack lie elsewhere, and keeps the minima."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        command = [sys.executable, __file__, *arguments, "--processes", "1", "--json", str(file)]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode > 1:
            raise SystemExit("a repeated run failed: run with --processes 1 to see why")
        again = json.loads(file.read_text(encoding="utf-8"))["rows"]
    for row, told in zip(rows, again, strict=True):
        for cell in row.cells:
            cell.best = min(cell.best, told["ns"].get(cell.column.group, cell.best))


def main() -> int:
    """Runs it; see the module's docstring."""
    parser = argparse.ArgumentParser(description="What giving an array on costs, beside NumPy.")
    parser.add_argument("--modules", type=Path, required=True, help="folder of the compiled modules")
    parser.add_argument("--only", help="only arrays whose name contains this")
    parser.add_argument("--json", type=Path, help="write the run here")
    parser.add_argument("--windows", type=int, default=100, help="windows per cell and process")
    parser.add_argument("--processes", type=int, default=3, help="processes whose minima are taken")
    parser.add_argument("--smoke", action="store_true", help="few windows, one process, no verdict")
    options = parser.parse_args()
    bench = load(options.modules)
    chosen = [(name, array) for name, array in arrays() if options.only is None or options.only in name]
    rows = [row for name, array in chosen for row in rows_of(bench, name, array)]
    measure(bench, [row.cells for row in rows], 3 if options.smoke else options.windows)
    for _ in range(0 if options.smoke else options.processes - 1):
        fold_in_process(rows, sys.argv[1:])
    console = Console(width=None if sys.stdout.isatty() else 160)
    show(rows, not options.smoke, console)
    if options.json is not None:
        about = {"python": platform.python_version(), "machine": platform.machine(), "rows": report(rows)}
        options.json.write_text(json.dumps(about, indent=1), encoding="utf-8")
    failures = [f"{row.array}: {row.way}: {row.ours.error}" for row in rows if row.ours.error]
    for failure in failures:
        console.print(failure, style="red", markup=False)
    if failures:
        return 2
    verdicts = [verdict for verdict in (row.verdict() for row in rows) if verdict is not None]
    return 0 if options.smoke or all(verdict["met"] for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
