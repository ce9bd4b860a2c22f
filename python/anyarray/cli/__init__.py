# SPDX-License-Identifier: Apache-2.0
"""The command `anyarray` (also `python -m anyarray`). Its parts are imported when they are used, rich among them."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .._version import __version__
from .config import DESCRIPTION as CONFIG
from .config import EPILOG as CONFIG_END
from .config import add_arguments as add_config_arguments
from .order.arguments import DESCRIPTION as ORDER
from .order.arguments import EPILOG as ORDER_END
from .order.arguments import add_arguments as add_order_arguments

if TYPE_CHECKING:
    from .producers import Library

__all__ = ["main"]

_MATRIX = """\
Finds the array libraries that are installed here, makes their arrays (dtypes x layouts x read-only), takes each with
anyarray.view, and checks shape, dtype, values, bytes, pointer and read-only flag against the library's own word.
Each library runs in a process of its own, so one that crashes costs its row alone. Beside it stands what numpy, torch,
jax and nanobind would have taken, by their presets (anyarray order)."""

_MATRIX_END = """\
exit status:
  0  every array that should be taken has the right values; what should be refused is refused
  1  a wrong value, a refusal of what should be taken, an array that couldn't be checked, or a library that crashed
     or hung
  2  wrong usage

A library that isn't in the list takes part by a Python file or module that defines cases(), which yields
anyarray.cli.cases.Case: anyarray matrix --library ./mylib_cases.py"""

_EXPLAIN_END = """\
EXPR is executed as Python code: don't paste what you don't trust. Modules are imported by the names in it
(torch.ones(3) imports torch), and np, jnp, pa, pd, pl, tf, mx, xr, ml, wp and aa are known.

exit status:
  0  taken
  1  refused
  2  the expression raised, or wrong usage

examples:
  anyarray explain "torch.ones(3).bfloat16()"
  anyarray explain "np.arange(6.)[::-1]" --policy mpi4py
  anyarray explain "torch.ones(3)" --policy buffer,dlpack --json"""


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="anyarray", description="Take any array, over any exchange protocol, from any library."
    )
    parser.add_argument("--version", action="version", version=f"anyarray {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    matrix = commands.add_parser(
        "matrix",
        help="take the arrays of all installed libraries, and check them",
        description=_MATRIX,
        epilog=_MATRIX_END,
        formatter_class=raw,
    )
    matrix.add_argument("--json", action="store_true", help="one JSON document on standard output, a row an array")
    matrix.add_argument(
        "--library",
        action="append",
        nargs="+",
        metavar="NAME",
        default=None,
        help="these libraries only; may be given several times (default: all that are installed)",
    )
    matrix.add_argument(
        "--to",
        action="append",
        nargs="+",
        metavar="NAME",
        default=None,
        help="give the arrays to these libraries (all: every one that is installed), by their own means and through "
        "anyarray.convert, and compare; takes minutes",
    )
    matrix.add_argument(
        "--hazards",
        action="store_true",
        help="show what corrupts or crashes between libraries natively, and what anyarray makes of it",
    )
    matrix.add_argument("--markdown", action="store_true", help="with --hazards: the page docs/hazards.md")
    matrix.add_argument("--list", action="store_true", help="list the libraries that are known, and stop")
    matrix.add_argument("--no-timing", action="store_true", help="don't measure the time of an import")
    matrix.set_defaults(run=_matrix)

    explain = commands.add_parser(
        "explain",
        help="show how one object is taken: what was tried, and why it ended",
        description="Evaluates a Python expression and shows how its value is taken.",
        epilog=_EXPLAIN_END,
        formatter_class=raw,
    )
    explain.add_argument("expression", metavar="EXPR", help="a Python expression; it is executed")
    explain.add_argument("--policy", help="a preset's name, or protocols in their order, separated by commas")
    explain.add_argument("--device", help='require this device: "cpu", "cuda:0", …')
    explain.add_argument("--dtype", help='require this dtype: "float32", "bfloat16", …')
    explain.add_argument("--ndim", type=int, help="require this number of dimensions")
    explain.add_argument("--order", choices=("C", "F"), help="require this memory order")
    explain.add_argument("--writable", action="store_true", help="require memory that may be written to")
    explain.add_argument(
        "--allow",
        action="append",
        metavar="GUARD",
        default=[],
        help="waive a guard: mask, grad, conj or neg; may be given several times",
    )
    explain.add_argument("--json", action="store_true", help="one JSON document on standard output")
    explain.set_defaults(run=_explain)

    order = commands.add_parser(
        "order",
        help="which protocol first: each consumer's order, held to the installed libraries",
        description=ORDER,
        epilog=ORDER_END,
        formatter_class=raw,
    )
    add_order_arguments(order)
    order.set_defaults(run=_order)

    config = commands.add_parser(
        "config",
        help="where C++ projects find headers, core, CMake package and pkg-config files",
        description=CONFIG,
        epilog=CONFIG_END,
        formatter_class=raw,
    )
    add_config_arguments(config)
    config.set_defaults(run=_config)

    for name, text in (
        ("protocols", "list the protocols in the default order"),
        ("quirks", "list what is known of single libraries"),
    ):
        table = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        table.add_argument("--json", action="store_true", help="one JSON document on standard output")
        table.set_defaults(run=_protocols if name == "protocols" else _quirks)
    return parser


def _matrix(args: argparse.Namespace) -> int:
    from . import matrix, render
    from .producers import LIBRARIES, find

    if args.hazards:
        return _hazards(args)
    if args.list:
        rows = [
            (library.name, library.distribution or "(standard library)", "yes" if library.installed() else "no")
            for library in LIBRARIES
        ]
        if args.json:
            print(json.dumps([{"name": n, "distribution": d, "installed": i == "yes"} for n, d, i in rows], indent=2))
        else:
            render.plain_table("", ("library", "distribution", "installed"), rows)
        return 0
    chosen = list(LIBRARIES)
    if args.library is not None:
        try:
            chosen = [find(name) for names in args.library for name in names]
        except KeyError as error:
            return _usage("matrix", str(error.args[0]))
        absent = [library for library in chosen if not library.installed()]
        if absent:
            return _usage(
                "matrix", "not installed: " + ", ".join(f"{a.name} (pip install {a.distribution})" for a in absent)
            )
    present = [library for library in chosen if library.installed()]
    missing = [library.name for library in chosen if not library.installed()]
    if args.to is not None:
        return _exchange(args, present)
    reports = []
    with render.Bar(len(present)) as bar:
        for library in present:
            bar.next_library(library.name)
            reports.append(matrix.run_library(library, timing=not args.no_timing, progress=bar))
            bar.library_done()
    if args.json:
        print(json.dumps(matrix.document(reports, missing), indent=1))
    else:
        render.show_matrix(reports, missing)
    return 1 if any(report.failed for report in reports) else 0


def _exchange(args: argparse.Namespace, producers: Sequence[Library]) -> int:
    from . import exchange, render, render_exchange
    from .consumers import CONSUMERS, find_consumer

    names = [name for names in args.to for name in names]
    consumers = [consumer for consumer in CONSUMERS if consumer.installed()]
    if names != ["all"]:
        try:
            consumers = [find_consumer(name) for name in names]
        except KeyError as error:
            return _usage("matrix", str(error.args[0]))
        absent = [f"{c.name} (pip install {c.distribution})" for c in consumers if not c.installed()]
        if absent:
            return _usage("matrix", "not installed: " + ", ".join(absent))
    with render.Bar(len(producers) * len(consumers)) as bar:
        pairs = []
        for consumer in consumers:
            for producer in producers:
                bar.next_library(f"{producer.name} → {consumer.name}")
                pairs.append(exchange.run_pair(producer, consumer))
                bar.library_done()
    if args.json:
        print(json.dumps(exchange.document(pairs), indent=1))
    else:
        render_exchange.show_exchange(pairs)
    return 1 if any(pair.failed for pair in pairs) else 0


def _hazards(args: argparse.Namespace) -> int:
    from . import hazards, render_exchange

    found = hazards.run_all()
    if args.json:
        print(json.dumps(hazards.document(found), indent=1))
    elif args.markdown:
        print(hazards.page(found), end="")
    else:
        render_exchange.show_hazards(found)
    return 1 if any(not f.safe for f in found) else 0


def _explain(args: argparse.Namespace) -> int:
    from . import explain

    request: dict[str, object] = {
        "device": args.device,
        "dtype": args.dtype,
        "ndim": args.ndim,
        "order": args.order,
        "policy": args.policy,
    }
    if args.policy is not None and "," in args.policy:
        request["policy"] = [name.strip() for name in args.policy.split(",") if name.strip()]
    request = {name: value for name, value in request.items() if value is not None}
    if args.writable:
        request["writable"] = True
    if args.allow:
        request["allow"] = tuple(args.allow)
    return explain.run(args.expression, request, args.json)


def _order(args: argparse.Namespace) -> int:
    from .order import command

    return command.run(args)


def _config(args: argparse.Namespace) -> int:
    from . import config

    return config.run(args.facts)


def _protocols(args: argparse.Namespace) -> int:
    from .. import protocols

    columns = ("name", "attribute", "mirror", "type_only", "text")
    return _rows([dict(zip(columns, row, strict=True)) for row in protocols()], args.json)


def _quirks(args: argparse.Namespace) -> int:
    from .. import quirks_table

    return _rows(quirks_table(), args.json)


def _rows(rows: Sequence[Mapping[str, object]], as_json: bool) -> int:
    """Prints dicts with the same keys as a table or as JSON."""
    if as_json:
        print(json.dumps(list(rows), indent=2, default=str))
        return 0
    from .render import plain_table

    columns = list(rows[0])
    plain_table("", columns, [["" if row[c] is None else str(row[c]) for c in columns] for row in rows])
    return 0


def _usage(command: str, message: str) -> int:
    print(f"anyarray {command}: error: {message}", file=sys.stderr)
    return 2


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status. argparse itself exits with 2 on wrong usage."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:  # `anyarray matrix | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    return status
