# SPDX-License-Identifier: Apache-2.0
"""`anyarray order`: the table, the check, and one object; what is printed is made elsewhere."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyarray as aa

from ..explain import ExpressionError
from ..render import Bar
from . import objects, report, table
from .check import Agreement, check
from .natives import NATIVES, Native


class UsageError(Exception):
    """Wrong usage, in a sentence."""


def _names(preset: str, consumer: str, native: Native | None) -> set[str]:
    """What a consumer may be called on the command line."""
    names = {preset, preset.partition(".")[0], consumer}
    if native is not None:
        names |= {native.distribution, native.name, native.needs, native.needs.partition(".")[0]}
    return names


def _wanted(chosen: Sequence[Sequence[str]] | None) -> set[str] | None:
    return None if chosen is None else {name for names in chosen for name in names}


def _by_preset(consumers: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """The names of each consumer, by its preset."""
    named = {preset: _names(preset, one["consumer"], None) for preset, one in consumers.items()}
    for native in NATIVES.values():
        named[native.preset] |= _names(native.preset, consumers[native.preset]["consumer"], native)
    return named


def expression_of(args: argparse.Namespace) -> str | None:
    """EXPR, which argparse takes for one more name where it stands behind those of --library: then it is taken out.

    What has nothing but letters, digits, dots and hyphens stays a name, a known one or a wrong one.
    """
    given: str | None = args.expression
    if given is not None or args.check or args.markdown:
        return given
    known = set().union(*_by_preset(aa.consumers()).values())
    for names in args.library or ():
        if len(names) > 1 and names[-1] not in known and not re.fullmatch(r"[\w.-]+", names[-1]):
            given = names.pop()
            return given
    return None


def chosen_consumers(wanted: set[str] | None) -> dict[str, dict[str, Any]]:
    """The presets that are asked for, all where nothing is.

    Raises
    ------
    UsageError
        A name is of none.
    """
    everything = aa.consumers()
    if wanted is None:
        return everything
    named = _by_preset(everything)
    _all_known(wanted, set().union(*named.values()), list(everything))
    return {preset: one for preset, one in everything.items() if named[preset] & wanted}


def chosen_natives(wanted: set[str] | None) -> list[Native]:
    """The ways into libraries that are asked for, all where nothing is.

    Raises
    ------
    UsageError
        A name is of none.
    """
    if wanted is None:
        return list(NATIVES.values())
    consumers = aa.consumers()
    named = {n.name: _names(n.preset, consumers[n.preset]["consumer"], n) for n in NATIVES.values()}
    _all_known(wanted, set().union(*named.values()), list(NATIVES))
    return [native for native in NATIVES.values() if named[native.name] & wanted]


def _all_known(wanted: set[str], known: set[str], listed: Sequence[str]) -> None:
    unknown = sorted(wanted - known)
    if unknown:
        raise UsageError(f"there is no consumer named {', '.join(unknown)}; there are: {', '.join(listed)}")


def interpreters(given: Sequence[str]) -> dict[str, str]:
    """Interpreters by the name of the library's distribution.

    Raises
    ------
    UsageError
        One isn't of the form LIBRARY=PATH, or names no library or no file.
    """
    found: dict[str, str] = {}
    for text in given:
        name, _, path = text.partition("=")
        natives = [n for n in NATIVES.values() if name in (n.distribution, n.needs, n.needs.partition(".")[0])]
        if not path or not natives:
            known = ", ".join(sorted({native.distribution for native in NATIVES.values()}))
            raise UsageError(f"--python takes LIBRARY=PATH, not {text!r}; libraries are: {known}")
        if not Path(path).is_file():
            raise UsageError(f"--python {text}: there is no such file")
        found.update((native.distribution, path) for native in natives)
    return found


def run_checks(natives: Sequence[Native], pythons: dict[str, str], quick: bool) -> list[Agreement]:
    results = []
    with Bar(len(natives), "consumers") as bar:
        for native in natives:
            bar.next_library(native.name)
            python = pythons.get(native.distribution, sys.executable)
            results.append(check(native.name, python=python, quick=quick, progress=bar))
            bar.library_done()
    return results


def _check(args: argparse.Namespace, pythons: dict[str, str]) -> int:
    results = run_checks(chosen_natives(_wanted(args.library)), pythons, args.quick)
    if args.json:
        print(json.dumps(report.document(results, args.quick), indent=1))
    elif args.markdown:
        print(report.markdown(results))
        print(report.markdown_not_run(results), end="")
    else:
        report.show(results)
    wrong = [sentence for result in results for sentence in report.complaints(result)]
    if args.markdown:
        print("".join(f"{sentence}\n" for sentence in wrong), file=sys.stderr, end="")
    return 1 if any(result.failed for result in results) else 0


def _object(args: argparse.Namespace, pythons: dict[str, str]) -> int:
    consumers = chosen_consumers(_wanted(args.library))
    default, choices, kind = objects.look(
        args.expression,
        consumers,
        not args.presets_only,
        lambda native: pythons.get(native.distribution, sys.executable),
    )
    if args.json:
        print(objects.as_json(args.expression, kind, default, choices))
    else:
        objects.show(kind, default, choices)
    return 0


def _table(args: argparse.Namespace) -> int:
    consumers = chosen_consumers(_wanted(args.library))
    if args.json:
        print(table.as_json(consumers))
    elif args.markdown:
        print(table.markdown(consumers), end="")
    else:
        table.show(consumers)
    return 0


def run(args: argparse.Namespace) -> int:
    """Returns the exit status."""
    try:
        args.expression = expression_of(args)
        if args.expression is not None and (args.check or args.markdown):
            raise UsageError("EXPR goes with neither --check nor --markdown")
        if (args.quick and not args.check) or (args.presets_only and args.expression is None):
            raise UsageError("--quick goes with --check, --presets-only with EXPR")
        pythons = interpreters(args.python)
        if args.check:
            return _check(args, pythons)
        return _table(args) if args.expression is None else _object(args, pythons)
    except (UsageError, ExpressionError) as error:
        print(f"anyarray order: error: {error}", file=sys.stderr)
        return 2
