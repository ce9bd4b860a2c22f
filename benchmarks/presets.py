# SPDX-License-Identifier: Apache-2.0
"""What a policy costs: the same import under several presets, under a policy of one's own, and from Python.

    python benchmarks/presets.py --modules BUILD/modules [--only TEXT] [--json FILE] [--smoke]

Every figure is a difference: C borrows from the default preset asked for by name, aa.view from aa.view without
a policy. Where a preset leads to another protocol, the difference is that of the protocols; the table names them.
"""

from __future__ import annotations

import sys
from typing import Any

from harness import Cell, Column, connect, console, figures, load, measure_as_asked, parse, parser, tell
from producers import available
from rich.table import Table

PRESETS = ("default", "numpy", "mpi4py", "mpi4py_proposed", "device_first")


def columns(bench: Any, aa: Any) -> list[Column]:
    """Borrows from C under each preset, then views from Python under a name and under a Policy."""
    custom = aa.Policy(order=["numpy", "builtin", "dlpack_exchange", "buffer", "dlpack", "array_interface"])
    named = ("policy",)
    return [
        *(Column(name, "borrow", bench.borrow_policy, (name,)) for name in PRESETS),
        Column("no request", "borrow", bench.borrow),
        Column("policy of one's own", "borrow", bench.borrow_own_policy),
        Column("view()", "view", aa.view),
        Column("view(policy='numpy')", "view", aa.view, ("numpy",), named),
        Column("view(policy=Policy)", "view", aa.view, (custom,), named),
    ]


def cell_text(cell: Cell, base: Cell, served: str) -> str:
    """The base in full, every other as a difference from it, with the protocol where there is one to tell."""
    if cell.error:
        return "–"
    figure = f"{cell.best:.1f}" if cell is base else f"{cell.best - base.best:+.1f}"
    return f"{figure} {served}" if served else figure


def main() -> int:
    """Runs it; see the module's docstring."""
    options = parse(parser("What a policy costs.", "producers", windows=200))
    bench = load(options.modules)
    aa = connect(bench)
    wanted = columns(bench, aa)
    missing: dict[str, str] = {}
    rows = [
        (producer.name, [Cell(column, obj) for column in wanted]) for producer, obj in available(options.only, missing)
    ]
    measure_as_asked(bench, options, [cells for _, cells in rows])
    table = Table(title="ns per import; all but the first of a group as a difference from it")
    for heading in ("producer", *(column.name for column in wanted)):
        table.add_column(heading, justify="left" if heading == "producer" else "right")
    data = []
    for name, cells in rows:
        base = {group: next(c for c in cells if c.column.group == group) for group in ("borrow", "view")}
        named = [(c.column.name, c.obj) for c in cells if c.column.name in PRESETS and not c.error]
        served = {preset: aa.view(obj, policy=preset).protocol for preset, obj in named}
        texts = [cell_text(c, base[c.column.group], served.get(c.column.name, "")) for c in cells]
        table.add_row(name, *texts)
        data.append({"producer": name, **figures(cells), "protocol": served})
    out = console(240)
    out.print(table)
    failed = [f"{name}: {cells[0].error}" for name, cells in rows if cells[0].error]
    tell(out, options, data, missing, failed)
    return 2 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
