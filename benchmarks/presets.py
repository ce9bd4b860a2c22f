# SPDX-License-Identifier: Apache-2.0
"""What a policy costs: the same import under several presets, under a policy of one's own, and from Python.

    python benchmarks/presets.py --modules BUILD/modules [--only TEXT] [--json FILE] [--smoke]

Every figure is a difference: C borrows from the default preset asked for by name, aa.view from aa.view without
a policy. Where a preset leads to another protocol, the difference is that of the protocols; the table names them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from harness import Cell, Column, load, measure
from producers import available
from rich.console import Console
from rich.table import Table

PRESETS = ("default", "numpy", "mpi4py", "mpi4py_proposed", "device_first")


def columns(bench: Any) -> list[Column]:
    """Borrows from C under each preset, then views from Python under a name and under a Policy."""
    try:
        import anyarray as aa

        bench.connect()
    except ImportError as error:
        raise SystemExit(f"anyarray can't be imported: {error}") from error
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


def served_by(obj: Any, preset: str) -> str:
    """The protocol that serves the object under a preset."""
    import anyarray as aa

    return str(aa.view(obj, policy=preset).protocol)


def cell_text(cell: Cell, base: Cell, served: str) -> str:
    """The base in full, every other as a difference from it, with the protocol where there is one to tell."""
    if cell.error:
        return "–"
    figure = f"{cell.best:.1f}" if cell is base else f"{cell.best - base.best:+.1f}"
    return f"{figure} {served}" if served else figure


def main() -> int:
    """Runs it; see the module's docstring."""
    parser = argparse.ArgumentParser(description="What a policy costs.")
    parser.add_argument("--modules", type=Path, required=True, help="folder of the compiled modules")
    parser.add_argument("--only", help="only producers whose name contains this")
    parser.add_argument("--json", type=Path, help="write the run here")
    parser.add_argument("--windows", type=int, default=200, help="windows per cell")
    parser.add_argument("--smoke", action="store_true", help="few windows")
    options = parser.parse_args()
    bench = load(options.modules)
    wanted = columns(bench)
    missing: dict[str, str] = {}
    rows = [
        (producer.name, [Cell(column, obj) for column in wanted]) for producer, obj in available(options.only, missing)
    ]
    measure(bench, [cells for _, cells in rows], 3 if options.smoke else options.windows)
    table = Table(title="ns per import; all but the first of a group as a difference from it")
    for heading in ("producer", *(column.name for column in wanted)):
        table.add_column(heading, justify="left" if heading == "producer" else "right")
    data = []
    for name, cells in rows:
        base = {group: next(c for c in cells if c.column.group == group) for group in ("borrow", "view")}
        taken = [c for c in cells if not c.error]
        served = {c.column.name: served_by(c.obj, c.column.name) for c in taken if c.column.name in PRESETS}
        texts = [cell_text(c, base[c.column.group], served.get(c.column.name, "")) for c in cells]
        table.add_row(name, *texts)
        ns = {c.column.name: c.best for c in taken}
        refused = {c.column.name: c.error for c in cells if c.error}
        data.append({"producer": name, "ns": ns, "protocol": served, "refused": refused})
    Console(width=None if sys.stdout.isatty() else 240).print(table)
    for name, why in missing.items():
        print(f"missing: {name} ({why})")
    if options.json is not None:
        options.json.write_text(json.dumps({"missing": missing, "rows": data}, indent=1), encoding="utf-8")
    failed = [f"{name}: {cells[0].error}" for name, cells in rows if cells[0].error]
    for failure in failed:
        print(failure)
    return 2 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
