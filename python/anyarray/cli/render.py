# SPDX-License-Identifier: Apache-2.0
"""The matrix, and an explanation, as tables for people. The JSON documents are made elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from .matrix import FAILURES, LibraryReport, summary
from .probe import ELSEWHERE, Row

#: Columns of a table that isn't shown on a terminal (a file, a pipe, a CI log).
PLAIN_WIDTH = 140


def console(stderr: bool = False) -> Console:
    """A console as wide as the terminal, or PLAIN_WIDTH where there is none; never with colours there."""
    out = Console(stderr=stderr, highlight=False, soft_wrap=False)
    return out if out.is_terminal else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH, no_color=True)


class Bar:
    """A progress bar over the libraries on standard error; does nothing where that isn't a terminal."""

    def __init__(self, libraries: int, what: str = "libraries") -> None:
        self._progress: Progress | None = None
        if sys.stderr.isatty():
            self._progress = Progress(
                TextColumn("{task.description:<18}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console(stderr=True),
                transient=True,
            )
            self._all = self._progress.add_task(what, total=libraries)
            self._one = self._progress.add_task("", total=None)

    def __enter__(self) -> Bar:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, library: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress.update(self._one, description=library, completed=done, total=total or None)

    def next_library(self, name: str) -> None:
        if self._progress is not None:
            self._progress.reset(self._one, total=None, description=f"{name} (import)")

    def library_done(self) -> None:
        if self._progress is not None:
            self._progress.advance(self._all)


def _several(words: Iterable[str], most: int) -> str:
    """The distinct words in their order, cut to `most` with the number of the others."""
    distinct = list(dict.fromkeys(words))
    if len(distinct) <= most + 1:
        return ", ".join(distinct)
    return ", ".join(distinct[:most]) + f" +{len(distinct) - most}"


def _range(rows: Sequence[Row]) -> str:
    times = sorted(row.ns for row in rows if row.ns is not None)
    if not times:
        return "–"
    low, high = f"{times[0]:.0f}", f"{times[-1]:.0f}"
    return low if low == high else f"{low}–{high}"


def _zero_copy(row: Row) -> str:
    """Proven by the address or by a write; otherwise what the producer says."""
    if row.zero_copy is not None:
        return "yes" if row.zero_copy else "copy"
    return {True: "copy", False: "unproven", None: "unknown"}[row.copied]


def groups(rows: Iterable[Row]) -> dict[tuple[str, ...], list[Row]]:
    """Rows that a reader would see alike: the same kind, protocol, copy or not, read-only or not."""
    out: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        readonly = "" if row.readonly is None else "ro" if row.readonly else "rw"
        out.setdefault((row.kind, row.protocol or "", _zero_copy(row), readonly), []).append(row)
    return out


def _elsewhere(rows: Sequence[Row]) -> str:
    """What each preset of ELSEWHERE would take, in their order; one word where all would take the same."""
    words = [
        "/".join(dict.fromkeys(row.elsewhere.get(preset) or "–" for row in rows if row.elsewhere)) or "–"
        for preset in ELSEWHERE
    ]
    return words[0] if len(set(words)) == 1 else ", ".join(words)


def _taken(reports: Sequence[LibraryReport]) -> Table | None:
    table = Table(title="Taken", title_justify="left", expand=False)
    for name in ("library", "kind", "protocol", "zero-copy", ""):
        table.add_column(name)
    table.add_column("ns", justify="right", no_wrap=True)
    table.add_column("arrays", justify="right")
    table.add_column("numpy, torch, jax, nanobind would take", ratio=3)
    table.add_column("dtypes", ratio=2)
    table.add_column("layouts", ratio=2)
    for report in reports:
        first = True
        taken = groups(row for row in report.rows if row.outcome == "taken")
        for (kind, protocol, zero_copy, readonly), rows in taken.items():
            table.add_row(
                f"{report.name} {report.version}" if first else "",
                kind,
                protocol,
                zero_copy,
                readonly,
                _range(rows),
                str(len(rows)),
                _elsewhere(rows),
                _several((r.dtype for r in rows), 5),
                _several((r.layout for r in rows), 7),
            )
            first = False
        if not first:
            table.add_section()
    return table if table.row_count else None


def _refused(reports: Sequence[LibraryReport]) -> Table | None:
    table = Table(title="Refused, as it should be", title_justify="left")
    for name in ("library", "kind", "dtypes", "why"):
        table.add_column(name)
    for report in reports:
        seen: dict[str, list[Row]] = {}
        for row in report.rows:
            if row.outcome == "refused":
                seen.setdefault(row.reason, []).append(row)
        for n, (reason, rows) in enumerate(seen.items()):
            kinds, dtypes = "; ".join(dict.fromkeys(r.kind for r in rows)), _several((r.dtype for r in rows), 3)
            table.add_row("" if n else report.name, kinds, dtypes, Text(reason))
        if seen:
            table.add_section()
    return table if table.row_count else None


#: What isn't known to be wrong: the check itself failed.
_UNCHECKED = ("unchecked",)
_WRONG = tuple(outcome for outcome in FAILURES if outcome not in _UNCHECKED)


def _problems(title: str, outcomes: Sequence[str], reports: Sequence[LibraryReport]) -> Table | None:
    table = Table(title=title, title_justify="left", title_style="bold red")
    for name in ("library", "case", "outcome", "what"):
        table.add_column(name)
    for report in reports:
        for row in report.rows:
            if row.outcome in outcomes:
                what = "; ".join(row.problems)
                table.add_row(report.name, f"{row.kind}, {row.dtype}, {row.layout}", row.outcome, Text(what))
    return table if table.row_count else None


def show_matrix(reports: Sequence[LibraryReport], missing: Sequence[str]) -> None:
    """Prints all tables and the line that sums up."""
    out = console()
    wrong = _problems("WRONG", _WRONG, reports)
    unchecked = _problems("NOT CHECKED", _UNCHECKED, reports)
    for table in (_taken(reports), _refused(reports), wrong, unchecked):
        if table is not None:
            out.print(table)
    for report in reports:
        if report.status != "ok":
            out.print(Text(f"{report.name}: {report.status}: {report.reason}"))
        unavailable = [row for row in report.rows if row.outcome == "unavailable"]
        if unavailable:
            kinds = _several((f"{row.kind} {row.dtype} {row.layout}" for row in unavailable), 4)
            out.print(Text(f"{report.name} can't make {len(unavailable)}: {kinds}: {unavailable[0].reason}"))
    if missing:
        out.print(f"not installed: {', '.join(missing)}")
    counts = summary(reports)
    bad = sum(counts[outcome] for outcome in _WRONG) + sum(report.status in FAILURES for report in reports)
    also = f", {counts['unchecked']} not checked" if counts["unchecked"] else ""
    out.print(
        f"{counts['cases']} arrays of {sum(r.status == 'ok' for r in reports)} libraries: {counts['taken']} taken with "
        f"the right values ({counts['zero_copy']} of them proven zero-copy), {counts['refused']} refused as they "
        f"should be, {bad} wrong{also}. ns: one view() and its release, called from Python. "
        f"What others would take is by the presets {', '.join(ELSEWHERE)}; those libraries weren't asked."
    )


def plain_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], whole: Sequence[str] = ()) -> None:
    """A table of text; the cells of the columns `whole` aren't broken."""
    table = Table(title=title or None, title_justify="left")
    for column in columns:
        table.add_column(column, no_wrap=column in whole)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)
