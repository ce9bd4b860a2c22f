# SPDX-License-Identifier: Apache-2.0
"""What it costs to give an array to another library: anyarray.convert beside the libraries' own ways.

    python benchmarks/convert.py --modules BUILD/modules [--only TEXT] [--json FILE] [--smoke]

Absolute ns a call, the result's end included. Exit status: 0 convert is faster than every way that shares the memory as
it does, 1 it isn't, 2 anyarray is missing or a conversion failed.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from harness import Cell, Column, connect, console, figures, load, measure_as_asked, parse, parser, tell
from rich.table import Table


@dataclass(frozen=True)
class Pair:
    """One kind of array and a target; `peers` are "module:function" of ways that do the same."""

    name: str
    source: str
    make: Callable[[Any], Any]
    to: str
    peers: tuple[str, ...]


def _aligned(np: Any) -> Any:
    block = np.zeros(24 * 4 + 64, "u1")
    start = -block.ctypes.data % 64
    return block[start : start + 96].view("f4").reshape(4, 6)


PAIRS = (
    Pair("numpy → torch", "numpy", lambda np: np.ones((4, 6), "f4"), "torch",
         ("torch:from_numpy", "torch:from_dlpack", "torch:as_tensor")),
    Pair("numpy transposed → torch", "numpy", lambda np: np.ones((4, 6), "f4").T, "torch",
         ("torch:from_numpy", "torch:from_dlpack", "torch:as_tensor")),
    Pair("torch → numpy", "torch", lambda torch: torch.ones(4, 6), "numpy",
         ("numpy:from_dlpack", "torch:Tensor.numpy", "numpy:asarray")),
    Pair("torch int64 → numpy", "torch", lambda torch: torch.ones(4, 6, dtype=torch.int64), "numpy",
         ("numpy:from_dlpack", "torch:Tensor.numpy", "numpy:asarray")),
    Pair("torch bfloat16 → numpy", "torch", lambda torch: torch.ones(4, 6, dtype=torch.bfloat16), "numpy", ()),
    Pair("jax → numpy", "jax.numpy", lambda jnp: jnp.ones((4, 6)), "numpy", ("numpy:from_dlpack", "numpy:asarray")),
    Pair("tvm-ffi → numpy", "tvm_ffi", lambda tvm: tvm.from_dlpack(importlib.import_module("numpy").ones((4, 6))),
         "numpy", ("numpy:from_dlpack",)),
    Pair("pyarrow → numpy", "pyarrow", lambda pa: pa.array([1.0, 2.0]), "numpy",
         ("numpy:from_dlpack", "numpy:asarray")),
    Pair("bytes → numpy", "builtins", lambda _: b"abcdefgh", "numpy", ()),
    Pair("tvm-ffi → torch", "tvm_ffi", lambda tvm: tvm.from_dlpack(importlib.import_module("numpy").ones((4, 6))),
         "torch", ("torch:from_dlpack",)),
    Pair("torch → torch", "torch", lambda torch: torch.ones(4, 6), "torch", ("torch:as_tensor",)),
    Pair("numpy → jax", "numpy", _aligned, "jax", ("jax.dlpack:from_dlpack",)),
    Pair("numpy → tvm-ffi", "numpy", lambda np: np.ones((4, 6), "f4"), "tvm_ffi", ("tvm_ffi:from_dlpack",)),
    Pair("numpy → pyarrow", "numpy", lambda np: np.ones(24, "f4"), "pyarrow", ("pyarrow:array",)),
)  # fmt: skip

#: Where the extension does it all; elsewhere Python code takes part, and no verdict is given.
JUDGED = tuple(pair.name for pair in PAIRS if pair.to in ("numpy", "torch") and pair.peers)


def _peer(name: str) -> Callable[[Any], Any]:
    module, _, path = name.partition(":")
    found: Callable[[Any], Any] = attrgetter(path)(importlib.import_module(module))
    return found


def cells(aa: Any, pair: Pair, missing: dict[str, str]) -> list[Cell]:
    """Ours and the peers on one array; empty where a library is missing."""
    try:
        obj = pair.make(importlib.import_module(pair.source))
        aa.convert(obj, pair.to)
        peers = [Column(name.replace(":", "."), "peer", _peer(name)) for name in pair.peers]
    except ImportError as error:
        missing[pair.name] = str(error)
        return []
    return [Cell(column, obj) for column in [Column("convert", "ours", aa.convert, (pair.to,)), *peers]]


def main() -> int:
    """Runs it; see the module's docstring."""
    options = parse(parser("What it costs to give an array to another library.", "pairs", windows=200))
    bench = load(options.modules)
    aa = connect(bench)
    missing: dict[str, str] = {}
    wanted = [pair for pair in PAIRS if not options.only or options.only in pair.name]
    rows = [(pair, found) for pair in wanted if (found := cells(aa, pair, missing))]
    measure_as_asked(bench, options, [found for _, found in rows])
    table = Table(title="ns a call, the result's end included")
    for heading in ("pair", "convert", "the libraries' own ways", "verdict"):
        table.add_column(heading)
    slower, failed, data = 0, [], []
    for pair, (ours, *peers) in rows:
        if ours.error:
            failed.append(f"{pair.name}: {ours.error}")
            continue
        good = [c for c in peers if not c.error]
        faster = all(ours.best < c.best for c in good)
        judged = pair.name in JUDGED and not options.smoke
        slower += judged and not faster
        verdict = ("[green]faster[/]" if faster else "[red]slower[/]") if judged else "–"
        shown = ", ".join(f"{c.column.name} {c.best:.0f}" if not c.error else f"{c.column.name} –" for c in peers)
        table.add_row(pair.name, f"{ours.best:.0f}", shown or "none", verdict)
        data.append({"pair": pair.name, **figures([ours, *peers])})
    out = console(140)
    out.print(table)
    tell(out, options, data, missing, failed)
    return 2 if failed or not rows else 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
