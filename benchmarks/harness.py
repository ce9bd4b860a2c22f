# SPDX-License-Identifier: Apache-2.0
"""What every benchmark shares: its arguments, the compiled modules, minima over interleaved windows, its report.

A *column* is a callable that takes one object; a *cell* is a column on one producer. All windows of all cells
are spread over the whole run, and the columns of one producer follow each other, so that a slow phase of the
machine meets all of them alike. Every call is made by the same C loop, peers included.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import platform
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.progress import Progress

WINDOW_NS = 60_000.0


@dataclass(frozen=True)
class Column:
    """A callable to be timed on a producer.

    Attributes
    ----------
    name : what tables and JSON call it.
    group : columns of one group are shown as the best of them.
    function : called with the object, then `args`; the last of them are keywords if `keywords` names them.
    check : given the object and the result, whether that is an import at all (some libraries wrap what they can't
        take, or hand back the very object).
    """

    name: str
    group: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    keywords: tuple[str, ...] | None = None
    check: Callable[[Any, Any], bool] = lambda *_: True

    def call(self, obj: Any) -> Any:
        """Calls it once, as the timer does."""
        named = self.keywords or ()
        split = len(self.args) - len(named)
        return self.function(obj, *self.args[:split], **dict(zip(named, self.args[split:], strict=True)))


@dataclass
class Cell:
    """The best window of one column on one producer, in ns a call; or why it can't take the object."""

    column: Column
    obj: Any
    best: float = float("inf")
    error: str = ""
    n: int = 0
    arguments: tuple[Any, ...] = field(default=())

    def probe(self) -> None:
        """Calls once, and notes why it doesn't work."""
        self.arguments = (self.obj, *self.column.args)
        try:
            if not self.column.check(self.obj, self.column.call(self.obj)):
                self.error = "not an import"
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"

    def window(self, time: Callable[..., float]) -> None:
        """Times one window after a fifth of one unmeasured, its length fitted to the best so far."""
        call = (self.column.function, self.arguments)
        if self.n == 0:
            self._fit(time(*call, 3, self.column.keywords))
        time(*call, max(3, self.n // 5), self.column.keywords)
        self.best = min(self.best, time(*call, self.n, self.column.keywords))
        self._fit(self.best)

    def _fit(self, ns: float) -> None:
        self.n = max(3, min(5000, int(WINDOW_NS / max(ns, 1.0))))


def parser(description: str, of: str, windows: int, processes: int = 1) -> argparse.ArgumentParser:
    """The arguments that all have; more than one process is a choice."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--modules", type=Path, required=True, help="folder of the compiled modules")
    made.add_argument("--only", help=f"only {of} whose name contains this")
    made.add_argument("--json", type=Path, help="write the run here")
    made.add_argument("--windows", type=int, default=windows, help="windows per cell and process")
    made.add_argument("--smoke", action="store_true", help="few windows, one process, no verdict")
    made.set_defaults(processes=processes)
    if processes > 1:
        made.add_argument("--processes", type=int, help="processes whose minima are taken")
    return made


def parse(arguments: argparse.ArgumentParser) -> argparse.Namespace:
    """Reads the command line; --smoke is a run of few windows in one process."""
    options = arguments.parse_args()
    if options.smoke:
        options.windows, options.processes = 3, 1
    return options


def connect(bench: ModuleType) -> ModuleType:
    """anyarray, its C table given to anyarray_bench; ends the run with status 2 where it can't be imported."""
    try:
        found = importlib.import_module("anyarray")
        bench.connect()
    except ImportError as error:
        print(f"anyarray can't be imported ({error}); imports.py --peers-only measures the rest", file=sys.stderr)
        raise SystemExit(2) from error
    return found


def load(folder: Path) -> ModuleType:
    """Imports anyarray_bench from the folder that holds the compiled modules, and gives its floors their objects."""
    sys.path.insert(0, str(folder))
    try:
        bench = importlib.import_module("anyarray_bench")
    except ImportError as error:
        raise SystemExit(f"anyarray_bench isn't in {folder} ({error}): see benchmarks/README.md") from error
    ndarray = _attribute("numpy", "ndarray")
    export = _attribute("jaxlib._jax", "buffer_to_dlpack_managed_tensor")
    bench.setup(ndarray, export, _attribute("jax.sharding", "SingleDeviceSharding"))
    return bench


def _attribute(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps destructors of refused objects from printing that they failed (pydlpack's do)."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before


def measure(bench: ModuleType, rows: Iterable[list[Cell]], windows: int) -> None:
    """Fills the cells. Cells that can't take their object keep their error."""
    live: list[list[Cell]] = []
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        for row in rows:
            for cell in row:
                cell.probe()
            live.append([cell for cell in row if not cell.error])
        gc.collect()
        gc.disable()
        try:
            with Progress(transient=True, disable=not sys.stderr.isatty()) as progress:
                for turn in progress.track(range(windows), description="windows"):
                    for row in live:
                        first = turn % max(len(row), 1)
                        for cell in (*row[first:], *row[:first]):
                            cell.window(bench.time)
        finally:
            gc.enable()


def measure_as_asked(bench: ModuleType, options: argparse.Namespace, rows: list[list[Cell]]) -> None:
    """Fills the cells, with the windows and over the processes of the arguments."""
    measure(bench, rows, options.windows)
    for _ in range(options.processes - 1):
        _fold_in_process(rows)


def _fold_in_process(rows: list[list[Cell]]) -> None:
    """Measures all once more in a process of its own, where code and stack lie elsewhere, and keeps the minima."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.json"
        command = [sys.executable, *sys.argv, "--processes", "1", "--json", str(file)]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode > 1:
            raise SystemExit("a repeated run failed: run with --processes 1 to see why")
        again = json.loads(file.read_text(encoding="utf-8"))["rows"]
    for row, told in zip(rows, again, strict=True):
        for cell in row:
            cell.best = min(cell.best, told["ns"].get(cell.column.name, cell.best))


def figures(cells: list[Cell]) -> dict[str, Any]:
    """A row's cells as data: absolute ns a call, the C loop included, or why there is none."""
    return {
        "ns": {cell.column.name: cell.best for cell in cells if not cell.error},
        "refused": {cell.column.name: cell.error for cell in cells if cell.error},
    }


def console(width: int) -> Console:
    """As wide as the terminal, or `width` where there is none."""
    return Console(width=None if sys.stdout.isatty() else width)


def tell(
    out: Console,
    options: argparse.Namespace,
    rows: list[dict[str, Any]],
    missing: dict[str, str],
    failures: list[str],
) -> None:
    """After the table: what is missing and what failed of ours, and the run as JSON where it was asked for."""
    for name, why in missing.items():
        out.print(f"missing: {name} ({why})", markup=False)
    if options.json is not None:
        about = {"python": platform.python_version(), "machine": platform.machine(), "windows": options.windows}
        options.json.write_text(json.dumps({**about, "missing": missing, "rows": rows}, indent=1), encoding="utf-8")
    for failure in failures:
        out.print(failure, style="red", markup=False)
