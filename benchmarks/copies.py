# SPDX-License-Identifier: Apache-2.0
"""What copies cost beside memcpy, NumPy and torch, on one thread and on two.

    python benchmarks/copies.py --modules BUILD/modules [--only TEXT] [--json FILE] [--markdown] [--sizes] [--smoke]

A figure is a time as a multiple of the memcpy beside it, on as many threads, into memory that exists. --sizes prints
what a transposed copy costs from a kilobyte to a gigabyte instead, as the plot in docs/copies.md.
Exit status: 1 where a criterion isn't met, 2 where a copy of ours failed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from copy_cases import Case, casts, filled, layouts, permutations
from harness import Cell, Column, connect, console, load, measure, parse, parser, tell
from rich.table import Table

SIDE = 4096
THREADS = (1, 2)
PEER = {"numpy": 4.0, "torch": 2.0}  # how many times faster than a peer, in the geometric mean over permutations


def address(array: Any) -> int:
    """Where the lowest byte lies."""
    low = sum(min(0, (n - 1) * s) for n, s in zip(array.shape, array.strides, strict=True))
    return int(array.__array_interface__["data"][0]) + low


def torch_pair(case: Case) -> tuple[Any, Any] | None:
    """The two arrays as tensors, if torch is there and can hold them."""
    try:
        torch = __import__("torch")
    except ImportError:
        return None
    try:
        return _tensor(torch, case.to), _tensor(torch, case.of)
    except (TypeError, ValueError, AttributeError):
        return None


def _tensor(torch: Any, array: Any) -> Any:
    name = array.dtype.name
    if array.dtype.kind == "V" or name.startswith(("bfloat16", "float8")):
        bits = {1: np.uint8, 2: np.uint16}[array.dtype.itemsize]
        return torch.from_numpy(array.view(bits)).view(getattr(torch, name))
    return torch.from_numpy(array)


def rooms(case: Case) -> tuple[Any, ...]:
    """What the floor copies between: two arrays, then their addresses."""
    made = filled((case.floor,), np.uint8), filled((case.floor,), np.uint8)
    return (*made, *map(address, made))


def columns(bench: Any, aa: Any, case: Case) -> list[Column]:
    """memcpy, which is given rooms(), ours, NumPy, torch; of those with threads one column each."""

    def floor(n: int) -> Callable[[Any], Any]:
        return lambda room: bench.floor_memcpy(*room[2:], case.floor, n)

    def with_threads(set_threads: Callable[[int], Any], n: int, copy: Callable[[], Any]) -> Callable[[Any], Any]:
        def call(_: Any) -> Any:
            set_threads(n)
            return copy()

        return call

    made = []
    for n in THREADS:
        made.append(Column(f"memcpy {n}T", "memcpy", floor(n)))
        ours = with_threads(aa.set_num_threads, n, lambda: aa.copyto(case.to, case.of, casting="unsafe"))
        made.append(Column(f"anyarray {n}T", "anyarray", ours))
    made.append(Column("numpy", "numpy", lambda _: np.copyto(case.to, case.of, casting="unsafe")))
    pair = torch_pair(case)
    if pair is not None:
        torch = __import__("torch")
        for n in THREADS:
            theirs = with_threads(torch.set_num_threads, n, lambda: pair[0].copy_(pair[1]))
            made.append(Column(f"torch {n}T", "torch", theirs))
    return made


def check(aa: Any, case: Case) -> str:
    """Whether ours does what NumPy does; the words if not."""
    case.to.fill(0)
    aa.copyto(case.to, case.of, casting="unsafe")
    wanted = np.ascontiguousarray(case.of.astype(case.to.dtype))
    same = np.array_equal(case.to.view(np.uint8), wanted.view(np.uint8))
    return "" if same else f"{case.name}: the copy isn't NumPy's"


def verdict(case: Case, times: dict[str, float]) -> str:
    """Empty where the criterion is met."""
    if case.limit is not None:
        worst = max(times[f"anyarray {n}T"] / times[f"memcpy {n}T"] for n in THREADS)
        return "" if worst <= case.limit else f"{worst:.2f} > {case.limit}"
    peers = [times[name] for name in ("numpy", "torch 1T") if name in times]
    ratio = times["anyarray 1T"] / min(peers)
    return "" if ratio <= 1 else f"{ratio:.2f} × the faster peer"


def means(rows: list[tuple[Case, dict[str, float]]]) -> Iterator[str]:
    """Over all permutations: how many times faster than each peer."""
    for peer, least in PEER.items():
        name = "numpy" if peer == "numpy" else "torch 1T"
        found = [t[name] / t["anyarray 1T"] for case, t in rows if "permutations" in case.group and name in t]
        if not found:
            continue
        mean = math.exp(sum(map(math.log, found)) / len(found))
        yield f"permutations: {mean:.1f} × faster than {peer} in the geometric mean ({least:.0f} wanted)" + (
            "" if mean >= least else " MISSED"
        )


def in_markdown(rows: list[tuple[Case, dict[str, float]]]) -> str:
    """The table as the README has it: for one thread and for two in one column."""
    lines = [("copy", "memcpy, GB/s", "anyarray", "numpy", "torch"), ("---",) * 5]
    for case, t in rows:
        floor = {n: t[f"memcpy {n}T"] for n in THREADS}
        ours = " / ".join(f"{t[f'anyarray {n}T'] / floor[n]:.2f}" for n in THREADS)
        torch = " / ".join(f"{t[f'torch {n}T'] / floor[n]:.1f}" for n in THREADS if f"torch {n}T" in t) or "–"
        rates = " / ".join(f"{2 * case.floor / floor[n]:.0f}" for n in THREADS)
        lines.append((case.name, rates, ours, f"{t['numpy'] / floor[1]:.1f}", torch))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def table(rows: list[tuple[Case, dict[str, float]]]) -> Table:
    """The first column in GB/s read and written, the others as multiples of the memcpy on as many threads."""
    heads = ["copy", *(f"memcpy {n}T, GB/s" for n in THREADS), *(f"anyarray {n}T" for n in THREADS)]
    heads += ["numpy", *(f"torch {n}T" for n in THREADS), "at most", "verdict"]
    lines = []
    for case, t in rows:
        cells = [case.name, *(f"{2 * case.floor / t[f'memcpy {n}T']:.1f}" for n in THREADS)]
        for name, n in (("anyarray 1T", 1), ("anyarray 2T", 2), ("numpy", 1), ("torch 1T", 1), ("torch 2T", 2)):
            cells.append(f"{t[name] / t[f'memcpy {n}T']:.2f}" if name in t else "–")
        lines.append([*cells, f"{case.limit}" if case.limit else "peers", verdict(case, t) or "met"])
    made = Table(title="times as multiples of memcpy on as many threads")
    for i, head in enumerate(heads):
        made.add_column(head, justify="left" if i == 0 else "right")
    for line in lines:
        made.add_row(*line)
    return made


def sizes(bench: Any, aa: Any, windows: int, most: int) -> str:
    """A plot of the time against the bytes copied: ours transposed, and memcpy, on one thread."""
    points: list[tuple[int, float, float]] = []
    nbytes = 1 << 10
    while nbytes <= most:
        side = 1 << ((nbytes.bit_length() - 3) // 2)
        of = filled((nbytes // 4 // side, side), np.float32).T
        case = Case(f"{nbytes}", "sizes", np.zeros(of.shape, of.dtype), of, of.nbytes, None)
        room = rooms(case)
        cells = [Cell(c, room) for c in columns(bench, aa, case) if c.name in ("memcpy 1T", "anyarray 1T")]
        measure(bench, [cells], windows)
        found = {cell.column.name: cell.best for cell in cells}
        points.append((nbytes, found["anyarray 1T"], found["memcpy 1T"]))
        nbytes *= 4
    names = ", ".join(f'"{_size(n)}"' for n, _, _ in points)
    ours = ", ".join(f"{math.log10(t):.2f}" for _, t, _ in points)
    floor = ", ".join(f"{math.log10(t):.2f}" for _, _, t in points)
    head = 'xychart-beta\n  title "transposed copy of f32, one thread"'
    axes = f'  x-axis "bytes" [{names}]\n  y-axis "log10 ns" 1 --> 10'
    return f"{head}\n{axes}\n  line [{ours}]\n  line [{floor}]"


def _size(n: int) -> str:
    for unit in ("B", "KB", "MB"):
        if n < 1024:
            return f"{n} {unit}"
        n //= 1024
    return f"{n} GB"


def main() -> int:
    """Runs it; see the module's docstring."""
    arguments = parser("What copies cost.", "cases", windows=12)
    arguments.add_argument("--markdown", action="store_true", help="print the table as the README has it")
    arguments.add_argument("--sizes", action="store_true", help="print the plot of time against bytes instead")
    options = parse(arguments)
    side = 256 if options.smoke else SIDE
    bench = load(options.modules)
    aa = connect(bench)
    out = console(200)
    if options.sizes:
        print(sizes(bench, aa, options.windows, 1 << 20 if options.smoke else 1 << 30))
        return 0
    rows: list[tuple[Case, dict[str, float]]] = []
    failures: list[str] = []
    for case in (*layouts(side), *permutations(side // 2), *casts(side)):
        if options.only and options.only not in f"{case.group} {case.name}":
            continue
        wrong = check(aa, case)
        room = rooms(case)
        cells = [Cell(column, room) for column in columns(bench, aa, case)]
        measure(bench, [cells], options.windows)
        failures += [wrong] if wrong else []
        failures += [f"{case.name}: {c.error}" for c in cells if c.error and c.column.group == "anyarray"]
        rows.append((case, {c.column.name: c.best for c in cells if not c.error}))
    out.print(in_markdown(rows) if options.markdown else table(rows), markup=False)
    summary = list(means(rows))
    for line in summary:
        out.print(line, markup=False)
    data = [{"case": case.name, "group": case.group, "bytes": case.floor, "ns": times} for case, times in rows]
    tell(out, options, data, {}, failures)
    if failures or not rows:
        return 2
    missed = any(verdict(case, times) for case, times in rows) or any("MISSED" in line for line in summary)
    return 0 if options.smoke or not missed else 1


if __name__ == "__main__":
    sys.exit(main())
