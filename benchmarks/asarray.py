# SPDX-License-Identifier: Apache-2.0
"""What aa.asarray costs where it makes an array: of Python objects, of small arrays, and of large ones in new memory.

    python benchmarks/asarray.py --modules BUILD/modules [--only TEXT] [--json FILE] [--markdown] [--smoke]

Beside it: NumPy's own, and where there is one a floor (a C loop over exact floats; memcpy into new huge pages).
Exit status: 1 where a criterion isn't met, 2 where a call of ours failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Cell, Column, connect, console, figures, load, measure_as_asked, parse, parser, tell
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One call: the object, the ways to make an array of it, and how many times faster than `than` ours must be."""

    name: str
    obj: Any
    columns: tuple[Column, ...]
    faster: float
    than: str


def rows(bench: Any, aa: Any, large: int) -> Iterator[Row]:
    """Everything that is measured; `large` is the bytes of the large array."""

    def made(name: str, obj: Any, faster: float, *more: Column) -> Row:
        both = (Column("anyarray", "anyarray", aa.asarray), Column("numpy", "numpy", np.asarray))
        return Row(name, obj, (*both, *more), faster, "numpy")

    floats = [float(i) / 3 for i in range(1000)]
    yield made("1000 floats, list", floats, 15, Column("floor", "floor", bench.floor_float_list))
    yield made("1000 floats, tuple", tuple(floats), 15)
    yield made("1000 small ints", list(range(1000)), 9)
    yield made("1000 ints beyond 2³⁰", [i << 31 for i in range(1000)], 9)
    yield made("100 × 100 floats, nested", [floats[:100] for _ in range(100)], 15)
    yield made("1000 ints and floats", [i if i % 2 else i / 3 for i in range(1000)], 5)
    yield made("1000 bools", [i % 3 == 0 for i in range(1000)], 5)
    yield made("1000 complex", [complex(i, -i) for i in range(1000)], 5)
    yield made("range(1000)", range(1000), 5)
    yield made("1000 float scalars of NumPy", [np.float64(v) for v in floats], 1)
    yield made("100 ndarrays of 100", [np.arange(100.0) for _ in range(100)], 1)
    yield made("a float", 1.5, 1)
    small = np.arange(9.0).reshape(3, 3).T
    yield Row(
        "3×3 transposed, copied",
        small,
        (
            Column("anyarray", "anyarray", aa.asarray, ("C",), ("order",)),
            Column("numpy", "numpy", np.ndarray.copy),
        ),
        146 / 80,
        "numpy",
    )
    yield Row("an ndarray, shared", small, (Column("anyarray", "anyarray", aa.asarray), view(aa)), 0.9, "aa.view")
    x = np.ones(large // 4, np.float32)
    address = x.__array_interface__["data"][0]
    yield Row(
        f"{large >> 20} MB in new memory",
        x,
        (
            Column("anyarray", "anyarray", single(aa, aa.asarray), (True,), ("copy",)),
            Column("floor", "floor", lambda _: bench.floor_new(address, large)),
            Column("numpy", "numpy", np.array),
        ),
        0.95,
        "floor",
    )


def view(aa: Any) -> Column:
    """What is paid without the copy."""
    return Column("aa.view", "aa.view", aa.view)


def single(aa: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """On one thread, as its floor is."""

    def call(obj: Any, copy: bool) -> Any:
        aa.set_num_threads(1)
        return function(obj, copy=copy)

    return call


def main() -> int:
    """Runs it; see the module's docstring."""
    arguments = parser("What aa.asarray costs.", "rows", windows=200, processes=2)
    arguments.add_argument("--markdown", action="store_true", help="print the table as the README has it")
    options = parse(arguments)
    bench = load(options.modules)
    aa = connect(bench)
    large = (1 if options.smoke else 64) << 20
    wanted = [row for row in rows(bench, aa, large) if not options.only or options.only in row.name]
    cells = [[Cell(column, row.obj) for column in row.columns] for row in wanted]
    measure_as_asked(bench, options, cells)
    heads = ("asarray of", "anyarray, ns", "numpy", "floor", "× faster", "at least", "verdict")
    lines, data, failed, missed = [], [], [], False
    for row, found in zip(wanted, cells, strict=True):
        best = {cell.column.name: cell.best for cell in found if not cell.error}
        failed += [f"{row.name}: {c.error}" for c in found if c.error and c.column.name == "anyarray"]
        ratio = best[row.than] / best["anyarray"] if "anyarray" in best else 0.0
        missed |= ratio < row.faster
        texts = [f"{best[name]:.0f}" if name in best else "–" for name in ("anyarray", "numpy", "floor")]
        verdict = "met" if ratio >= row.faster else "MISSED"
        lines.append((row.name, *texts, f"{ratio:.2f}", f"{row.faster:.2f} ({row.than})", verdict))
        data.append({"row": row.name, **figures(found)})
    out = console(160)
    if options.markdown:
        text = "\n".join("| " + " | ".join(line) + " |" for line in (heads, ("---",) * len(heads), *lines))
        out.print(text, markup=False)
    else:
        table = Table(*heads, title="ns a call, the loop's included")
        for line in lines:
            table.add_row(*line)
        out.print(table)
    tell(out, options, data, {}, failed)
    if failed or not wanted:
        return 2
    return 0 if options.smoke or not missed else 1


if __name__ == "__main__":
    sys.exit(main())
