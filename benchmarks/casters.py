# SPDX-License-Identifier: Apache-2.0
"""What a call costs with a parameter of anyarray's, beside the same function with the binding library's own array type.

    python benchmarks/casters.py --modules BUILD/modules [--only TEXT] [--json FILE] [--smoke]

Absolute ns a call, the empty function beside it. Exit status: 0 all criteria are met (with --smoke: everything ran), 1
one isn't, 2 anyarray is missing or one of our functions failed.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

from harness import Cell, Column, connect, console, figures, load, measure_as_asked, parse, parser, tell
from producers import PRODUCERS
from rich.table import Table


@dataclass(frozen=True)
class Binding:
    """A binding library: its module, its functions in the order of the table, and the titles of those columns."""

    name: str
    module: str
    functions: dict[str, str]


BINDINGS = (
    Binding(
        "raw C API",
        "bench_casters_raw",
        {"noop": "no-op", "ours": "view<const float, 2>", "ours_kept": "array<const float, 2>"},
    ),
    Binding(
        "nanobind",
        "bench_casters_nanobind",
        {
            "noop": "no-op",
            "ours": "view<const float, 2>",
            "ours_optional": "optional view",
            "ours_kept": "array<const float, 2>",
            "theirs": "nb::ndarray<const float, ndim<2>>",
            "theirs_any": "nb::ndarray<>",
        },
    ),
    Binding(
        "pybind11",
        "bench_casters_pybind11",
        {
            "noop": "no-op",
            "ours": "view<const float, 2>",
            "ours_optional": "optional view",
            "ours_kept": "array<const float, 2>",
            "theirs": "py::array_t<float>",
            "theirs_any": "py::array",
        },
    ),
)

#: (binding, producer, function, other function): the first takes at most this part of the time of the other.
CRITERIA = {
    ("nanobind", "ndarray f32 2-D", "ours", "theirs"): 1 / 3,
    ("nanobind", "torch float32", "ours", "theirs"): 1 / 10,
    ("pybind11", "ndarray f32 2-D", "ours", "theirs_any"): 1.2,
    ("pybind11", "ndarray f32 2-D", "ours", "theirs"): 1 / 3,
}
#: (binding, producer, function, other function): the first takes at most so many ns more.
MORE = {("raw C API", "ndarray f32 2-D", "ours", "noop"): 8.0}
#: Producers of two-dimensional float32.
SHOWN = ("ndarray f32 2-D", "ndarray f32 transposed", "torch float32", "jax float32", "tvm-ffi Tensor")


@dataclass
class Row:
    """One producer taken by the functions of one binding library."""

    binding: Binding
    producer: str
    cells: dict[str, Cell]

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """Per criterion: the ratio that was measured, what is allowed, whether it is met."""
        found: dict[str, dict[str, Any]] = {}
        for (binding, producer, ours, other), allowed in CRITERIA.items():
            if (binding, producer) != (self.binding.name, self.producer) or self.cells[other].error:
                continue
            ratio = self.cells[ours].best / self.cells[other].best
            found[f"{ours} / {other}"] = {"ratio": ratio, "allowed": allowed, "met": ratio <= allowed}
        for (binding, producer, ours, other), most in MORE.items():
            if (binding, producer) == (self.binding.name, self.producer):
                more = self.cells[ours].best - self.cells[other].best
                found[f"{ours} - {other}"] = {"ns": more, "allowed": most, "met": more <= most}
        return found


def said(verdict: tuple[str, dict[str, Any]]) -> str:
    """A verdict in the table."""
    name, figures_of = verdict
    if "ns" in figures_of:
        return f"{name}: {figures_of['ns']:.1f} of {figures_of['allowed']:.0f} ns"
    return f"{name}: {figures_of['ratio']:.2f} of {figures_of['allowed']:.2f}"


def rows_of(binding: Binding, only: str | None, missing: dict[str, str]) -> list[Row]:
    """The rows of a binding library; what isn't built or installed goes to `missing`."""
    try:
        module = importlib.import_module(binding.module)
    except ImportError as error:
        missing[binding.name] = str(error)
        return []
    rows = []
    for producer in PRODUCERS:
        if producer.name not in SHOWN or (only is not None and only.lower() not in producer.name.lower()):
            continue
        try:
            obj = producer.make()
        except ImportError as error:
            missing[producer.name] = str(error)
            continue
        cells = {name: Cell(Column(name, name, getattr(module, name)), obj) for name in binding.functions}
        rows.append(Row(binding, producer.name, cells))
    return rows


def table(binding: Binding, rows: list[Row], judged: bool) -> Table:
    """The table of one binding library."""
    made = Table(title=f"{binding.name}: ns a call")
    made.add_column("producer", no_wrap=True)
    for title in binding.functions.values():
        made.add_column(title, justify="right")
    if judged:
        made.add_column("verdict")
    for row in rows:
        line = ["–" if cell.error else f"{cell.best:.1f}" for cell in row.cells.values()]
        if judged:
            verdicts = row.verdicts()
            line.append(", ".join(map(said, verdicts.items())) or "–")
        made.add_row(row.producer, *line)
    return made


def main() -> int:
    """Runs it; see the module's docstring."""
    options = parse(
        parser("What a call costs, beside the binding library's own.", "producers", windows=100, processes=3)
    )
    missing: dict[str, str] = {}
    bench = load(options.modules)
    connect(bench)
    rows = [row for binding in BINDINGS for row in rows_of(binding, options.only, missing)]
    measure_as_asked(bench, options, [list(row.cells.values()) for row in rows])
    out = console(200)
    for binding in BINDINGS:
        mine = [row for row in rows if row.binding is binding]
        if mine:
            out.print(table(binding, mine, not options.smoke))
    failures = [
        f"{row.binding.name}, {row.producer}: {name}: {cell.error}"
        for row in rows
        for name, cell in row.cells.items()
        if cell.error and not name.startswith("theirs")
    ]
    report = [
        {"binding": r.binding.name, "producer": r.producer, **figures(list(r.cells.values())), "verdicts": r.verdicts()}
        for r in rows
    ]
    tell(out, options, report, missing, failures)
    if failures or not rows:
        return 2
    judged = [verdict["met"] for row in rows for verdict in row.verdicts().values()]
    return 0 if options.smoke or all(judged) else 1


if __name__ == "__main__":
    sys.exit(main())
