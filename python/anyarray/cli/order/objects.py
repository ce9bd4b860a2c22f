# SPDX-License-Identifier: Apache-2.0
"""`anyarray order EXPR`: what each consumer would do with one object, by its preset, and what the library does.

The presets are asked here; the libraries, in processes of their own, are given an object that the expression makes
there, so their data are compared with what the preset gives in the same process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table
from rich.text import Text

import anyarray as aa

from .. import workers
from ..explain import compiled
from ..render import console
from .check import IMPORT_TIMEOUT, worker_environment
from .made import data_of
from .natives import NATIVES, Native

SCHEMA_VERSION = 1

#: Processes of libraries that run at the same time.
WORKERS = 4

#: Consumers that no library is given an object for: their argument's dtype is compiled in.
NOT_FOR_OBJECTS = frozenset({"warp.argument"})

FIELDS = ("ptr", "shape", "dtype", "readonly")


@dataclass
class Choice:
    """What one policy does with the object. `differs` names the fields of `data` that aren't the default policy's.

    `native` says what the library does: "same data", "same data, writable" (and the preset's aren't; or "read-only"),
    "a copy", "other data", "takes it" (and the preset doesn't), "refuses", "crashed", "not run"; `native_detail` says
    more, `native_data` is what it made.
    """

    preset: str
    consumer: str
    row: str | None = None
    data: dict[str, Any] | None = None
    reason: str = ""
    differs: list[str] = field(default_factory=list)
    native: str = "not run"
    native_detail: str = ""
    native_data: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def choose(obj: object, preset: str, consumer: str, nothing: str = "") -> Choice:
    """What the preset does with the object; `nothing` is what the consumer does where nothing is offered."""
    choice = Choice(preset, consumer)
    try:
        array = aa.view(obj, policy=preset)
    except aa.ExchangeError as error:
        tried = [a for a in error.attempts if a.status not in ("not offered", "not tried")]
        if tried:
            choice.reason = "; ".join(f"{a.protocol} {a.status}{': ' if a.reason else ''}{a.reason}" for a in tried)
        elif aa.explain(obj, policy=preset).status == "not offered":
            choice.reason = f"it offers none of these protocols{': ' if nothing else ''}{nothing}"
        else:
            choice.reason = str(error).strip().split("\n")[-1].strip()
        return choice
    choice.row = str(array.protocol)
    choice.data = data_of(array)
    return choice


def mark(choices: Sequence[Choice], default: Choice) -> None:
    """Fills `differs`."""
    for choice in choices:
        if choice.data is not None and default.data is not None:
            choice.differs = [name for name in FIELDS if choice.data[name] != default.data[name]]


def compared(native: dict[str, Any], ours: dict[str, Any] | None) -> str:
    """How the data that a library made compare with the preset's, as far as they are known."""
    if ours is None:
        return "takes it"
    if any(native.get(name, ours[name]) != ours[name] for name in ("shape", "dtype")):
        return "other data"
    if native["ptr"] != ours["ptr"]:
        return "a copy"
    if native.get("readonly", ours["readonly"]) == ours["readonly"]:
        return "same data"
    return "same data, read-only" if native["readonly"] else "same data, writable"


def _result(choice: Choice, event: dict[str, Any]) -> None:
    if "unusable" in event:
        choice.native_detail = event["unusable"]
    elif "error" in event:
        choice.native, choice.native_detail = "refuses", event["error"]
    else:
        choice.native, choice.native_data = compared(event["native"], event["ours"]), event["native"]


def run_natives(expression: str, choices: Sequence[Choice], python: str) -> None:
    """Gives the object to the libraries of one process, and to another process from the next on where one ends it."""
    left = list(choices)
    while left:
        reason = ""
        command = [f"{__package__}._object", expression, *(choice.preset for choice in left)]
        try:
            for event in workers.events(
                command, IMPORT_TIMEOUT, IMPORT_TIMEOUT, python=python, environment=worker_environment()
            ):
                if event["event"] == "row":
                    _result(left.pop(0), event)
        except workers.EndedError as error:
            reason = error.reason
        if left:
            choice = left.pop(0)
            choice.native, choice.native_detail = "crashed", reason


def _native_of(preset: str) -> Native | None:
    return next((native for native in NATIVES.values() if native.preset == preset), None)


def look(
    expression: str, consumers: dict[str, dict[str, Any]], natives: bool, python_of: Callable[[Native], str]
) -> tuple[Choice, list[Choice], str]:
    """The default's choice, each consumer's, and the name of the object's type.

    Raises
    ------
    ExpressionError
        The expression raised, or isn't one.
    """
    evaluate = compiled(expression)
    obj = evaluate()
    once = type(obj).__name__ == "PyCapsule"
    default = choose(obj, "default", "anyarray")
    choices = [
        choose(evaluate() if once else obj, name, one["consumer"], one["nothing"]) for name, one in consumers.items()
    ]
    mark(choices, default)
    by_library: dict[str, list[Choice]] = {}
    for choice in choices:
        native = _native_of(choice.preset)
        if native is None:
            choice.native_detail = "from source"
        elif choice.preset in NOT_FOR_OBJECTS:
            choice.native_detail = "its dtype is compiled in"
        elif python_of(native) == sys.executable and not native.installed():
            choice.native_detail = f"pip install {native.distribution}"
        elif natives:
            by_library.setdefault(native.distribution, []).append(choice)
    kind = type(obj)
    pythons = {native.distribution: python_of(native) for native in NATIVES.values()}
    with ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        done = [pool.submit(run_natives, expression, group, pythons[name]) for name, group in by_library.items()]
        for one in done:
            one.result()
    return default, choices, f"{kind.__module__}.{kind.__qualname__}"


def _words(choice: Choice, name: str) -> str:
    if choice.data is None:
        return ""
    value = choice.data[name]
    text = hex(value) if name == "ptr" else str(tuple(value)) if name == "shape" else str(value)
    if name == "readonly":
        text = "read-only" if value else "writable"
    return text + (" *" if name in choice.differs else "")


def _native_words(choice: Choice) -> str:
    if choice.native_data is not None and choice.native in ("other data", "takes it"):
        shown = {n: v for n, v in choice.native_data.items() if n != "ptr"}
        detail = ", ".join(f"{name} {tuple(v) if isinstance(v, list) else v}" for name, v in shown.items())
        return f"{choice.native}: {detail}" if detail else choice.native
    return f"{choice.native}: {choice.native_detail}" if choice.native_detail else choice.native


def show(kind: str, default: Choice, choices: Sequence[Choice]) -> None:
    table = Table(title=f"What they do with this {kind}", title_justify="left")
    for name in ("preset", "row", "pointer", "dtype", "shape", "access", "the library itself"):
        table.add_column(name, overflow="fold")
    for choice in (default, *choices):
        native = "" if choice is default else _native_words(choice)
        if choice.row is None:
            table.add_row(choice.preset, "refused", Text(choice.reason), "", "", "", Text(native))
        else:
            data = (_words(choice, name) for name in ("ptr", "dtype", "shape", "readonly"))
            table.add_row(choice.preset, choice.row, *map(Text, data), Text(native))
        if choice is default:
            table.add_section()
    out = console()
    out.print(table)
    if any(choice.differs for choice in choices):
        out.print("*: not what anyarray's default reads")


def as_json(expression: str, kind: str, default: Choice, choices: Sequence[Choice]) -> str:
    document = {
        "schema": "anyarray.order.object",
        "schema_version": SCHEMA_VERSION,
        "expression": expression,
        "type": kind,
        "default": {name: value for name, value in default.as_dict().items() if not name.startswith("native")},
        "consumers": [choice.as_dict() for choice in choices],
    }
    return json.dumps(document, indent=1)
