# SPDX-License-Identifier: Apache-2.0
"""Who accepts what: every array of the interop matrix given to bound functions, with the binding libraries' own array
types as parameter and with anyarray's.

    python benchmarks/accepts.py --modules BUILD/modules [--only LIBRARY] [--json FILE]

A cell counts the arrays of a kind of producer that the function took and whose memory it was given, of all that can be
taken; `c`: copied, `x`: the process ended. Exit status: 0, or 1 where a function of ours refused, copied or crashed
on one that is to be taken, or took one that is to be refused.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from anyarray.cli import workers
from anyarray.cli.cases import Case
from anyarray.cli.producers import LIBRARIES, Library, find

#: Column → module, function. Functions take any array and return the address that they were given.
COLUMNS = {
    "nb::ndarray<nb::ro>": ("bench_casters_nanobind", "theirs_accepts"),
    "anyarray in nanobind": ("bench_casters_nanobind", "accepts"),
    "py::array": ("bench_casters_pybind11", "theirs_accepts"),
    "py::array_t<float>": ("bench_casters_pybind11", "theirs_accepts_float"),
    "anyarray in pybind11": ("bench_casters_pybind11", "accepts"),
}
OURS = tuple(name for name in COLUMNS if name.startswith("anyarray"))


@dataclass
class Row:
    """One kind of producer: per column, how often each outcome came ("shares", "copies", "refuses", "crashes")."""

    library: str
    kind: str
    total: int = 0
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)

    def text(self, column: str) -> str:
        """The cell as the table shows it."""
        counts = self.outcomes.get(column)
        if counts is None:
            return "–"
        extra = [f"{counts[name]}{letter}" for name, letter in (("copies", "c"), ("crashes", "x")) if counts[name]]
        return " ".join([str(counts["shares"]), *extra])


def functions(columns: dict[str, tuple[str, str]]) -> dict[str, Callable[[Any], int]]:
    """The columns whose modules are built."""
    found = {}
    for name, (module, function) in columns.items():
        try:
            found[name] = getattr(importlib.import_module(module), function)
        except ImportError:
            continue
    return found


def judge(case: Case, function: Callable[[Any], int]) -> str:
    """What became of one array; "unavailable" where this version of its library can't make it."""
    try:
        sample = case.build()
    except Exception:
        return "unavailable"
    try:
        address = function(sample.array)
    except Exception:
        return "refuses"
    shares = sample.pointer is None or address == sample.pointer or math.prod(sample.shape) == 0
    return "shares" if shares or sample.copies else "copies"


def work(library: Library, emit: workers.Emit, skip: int, modules: Path) -> None:
    """The worker's side: an event for each array and column."""
    sys.path.insert(0, str(modules))
    try:
        cases = list(library.cases())
    except Exception as error:
        emit("unusable", reason=str(error))
        return
    emit("start", cases=len(cases))
    index = -1
    for case in cases:
        for column, function in functions(COLUMNS).items():
            index += 1
            if index < skip:
                continue
            labels = {"kind": case.kind, "column": column, "expect": case.expect, "dtype": case.dtype}
            emit("case", index=index, **labels)
            emit("row", index=index, **labels, outcome=judge(case, function))
    emit("end")


def outcomes(library: Library, modules: Path) -> Iterator[dict[str, Any]]:
    """What became of each array of a library, in processes of their own."""
    here = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])

    def command(skip: int) -> list[str]:
        return ["accepts", "--modules", str(modules), "--worker", library.origin, "--skip", str(skip)]

    events = workers.cases(command, 64, 180.0, 60.0, environment={**os.environ, "PYTHONPATH": here})
    try:
        for event in events:
            if event["event"] == "ended":
                yield {**event, "outcome": "crashes"}
            elif event["event"] == "row":
                yield event
    except workers.EndedError as error:
        print(f"{library.name}: {error}", file=sys.stderr)


def collect(library: Library, modules: Path, wrong: list[str]) -> list[Row]:
    """The rows of a library; what ours did wrong goes to `wrong`."""
    rows: dict[str, Row] = {}
    for event in outcomes(library, modules):
        column, outcome, expect = event["column"], event["outcome"], event["expect"]
        if outcome == "unavailable" or expect == "either":
            continue
        if column in OURS and outcome not in {"take": ("shares",), "refuse": ("refuses",)}[expect]:
            wrong.append(f"{column}: {library.name} {event['kind']} {event['dtype']}: {outcome}, to be {expect}n")
        if expect == "take":
            row = rows.setdefault(event["kind"], Row(library.name, event["kind"]))
            row.outcomes.setdefault(column, Counter())[outcome] += 1
    for row in rows.values():
        row.total = max(sum(counts.values()) for counts in row.outcomes.values())
    return list(rows.values())


def table(rows: list[Row]) -> Table:
    """All rows."""
    made = Table(title="arrays accepted without a copy (c: copied, x: the process ended)")
    for heading in ("library", "kind", "arrays"):
        made.add_column(heading, justify="right" if heading == "arrays" else "left")
    shown = [name for name in COLUMNS if any(name in row.outcomes for row in rows)]
    for name in shown:
        made.add_column(name, justify="right")
    for row in rows:
        made.add_row(row.library, row.kind, str(row.total), *(row.text(name) for name in shown))
    made.add_section()
    whole = Row("", "all", sum(row.total for row in rows))
    for name in shown:
        whole.outcomes[name] = sum((row.outcomes.get(name, Counter()) for row in rows), Counter())
    made.add_row(whole.library, whole.kind, str(whole.total), *(whole.text(name) for name in shown))
    return made


def main() -> int:
    """Runs it; see the module's docstring."""
    parser = argparse.ArgumentParser(description="Who accepts what.")
    parser.add_argument("--modules", type=Path, required=True, help="folder of the compiled modules")
    parser.add_argument("--only", help="only the library of this name")
    parser.add_argument("--json", type=Path, help="write the table here")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--skip", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker is not None:
        warnings.simplefilter("ignore")
        workers.serve(lambda emit: work(find(options.worker), emit, options.skip, options.modules))
    rows: list[Row] = []
    wrong: list[str] = []
    for library in LIBRARIES:
        if library.installed() and options.only in (None, library.name):
            rows += collect(library, options.modules.resolve(), wrong)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table(rows))
    for line in wrong:
        console.print(line, style="red", markup=False)
    if options.json is not None:
        data = [{"library": r.library, "kind": r.kind, "total": r.total, "outcomes": r.outcomes} for r in rows]
        options.json.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
