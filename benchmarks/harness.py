# SPDX-License-Identifier: Apache-2.0
"""What every benchmark shares: finding the compiled modules, and minima over interleaved windows.

A *column* is a callable that takes one object; a *cell* is a column on one producer. All windows of all cells
are spread over the whole run, and the columns of one producer follow each other, so that a slow phase of the
machine meets all of them alike. Every call is made by the same C loop, peers included.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

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
