# SPDX-License-Identifier: Apache-2.0
"""The table of `anyarray order`: each consumer's order, and what ends it, from the presets alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich.text import Text

import anyarray as aa

from ... import _consumers as words
from ..render import console, plain_table

SCHEMA_VERSION = 1

#: How protocols are called at the head of a column; their full names stand below the table.
SHORT = {
    "numpy": "ndarray",
    "builtin": "builtin",
    "dlpack_exchange": "DLX",
    "buffer": "BUF",
    "dlpack": "DL",
    "array_struct": "AS",
    "array_interface": "AI",
    "array_method": "ARR",
    "cuda_array_interface": "CAI",
    "sycl_usm_array_interface": "SUAI",
    "arrow_array": "ACA",
    "arrow_stream": "ACS",
}


def short(row: str) -> str:
    return SHORT.get(row, row)


def _attributes() -> dict[str, str]:
    """Each protocol's attribute, "" where it has none; in the registry's order."""
    return {row[0]: row[1] for row in aa.protocols()}


def _columns(consumers: Iterable[dict[str, Any]]) -> list[str]:
    """The protocols that any of them uses, in the registry's order."""
    used = {row for consumer in consumers for row in consumer["policy"].order}
    return [row for row in _attributes() if row in used]


def steps(text: str) -> str:
    """All that a consumer looks for, in words: "*scalar*, ndarray, BUF, …"; what is no row is in italics."""
    return ", ".join(f"*{step[1:]}*" if step.startswith("=") else short(step) for step in text.split())


def entry(name: str, consumer: dict[str, Any]) -> dict[str, Any]:
    """One consumer, ready for JSON."""
    policy: aa.Policy = consumer["policy"]
    return {
        "preset": name,
        "consumer": consumer["consumer"],
        "order": list(policy.order),
        "ranks": {row: rank for rank, row in enumerate(policy.order, 1)},
        "steps": consumer["steps"].split(),
        "lookup": policy.lookup,
        "on_failure": policy.on_failure,
        "final": {cause: list(rows) for cause, rows in policy.final.items()},
        "after_failure": words.after_failure(policy),
        "none_is": words.for_none(policy),
        "device": words.device_question(policy),
        "handshake": consumer["handshake"] if "dlpack" in policy.order else None,
        "nothing": consumer["nothing"],
        "text": consumer["text"],
        "versions": consumer["versions"],
        "source": consumer["source"],
        "checked": words.checked(consumer),
    }


def document(consumers: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "schema": "anyarray.order",
        "schema_version": SCHEMA_VERSION,
        "protocols": _attributes(),
        "consumers": [entry(name, consumer) for name, consumer in consumers.items()],
    }


def _rank_cells(policy: aa.Policy, columns: Sequence[str]) -> list[str]:
    ranks = {row: str(rank) for rank, row in enumerate(policy.order, 1)}
    return [ranks.get(row, "") for row in columns]


def _legend(columns: Sequence[str], mark: str) -> str:
    """What the heads of the columns stand for; attributes stand between two `mark`."""
    attributes = _attributes()
    of_types = {"numpy": "NumPy's own array", "buffer": "the buffer protocol", "builtin": "bytes and their kind"}
    return ", ".join(
        f"{short(row)} {mark}{attributes[row]}{mark}" if attributes[row] else f"{short(row)} {of_types[row]}"
        for row in columns
    )


def _ranks(consumers: dict[str, dict[str, Any]], columns: Sequence[str], mark: str) -> list[tuple[str, ...]]:
    """Lines of the first table; preset names stand between two `mark`."""
    return [
        (
            f"{mark}{name}{mark}",
            one["consumer"],
            *_rank_cells(one["policy"], columns),
            one["versions"],
            words.checked(one),
        )
        for name, one in consumers.items()
    ]


def _failures(consumers: dict[str, dict[str, Any]]) -> list[tuple[str, ...]]:
    """Lines of the second table."""
    return [
        (
            one["consumer"],
            words.after_failure(one["policy"]),
            words.for_none(one["policy"]),
            words.LOOKUP[one["policy"].lookup],
            words.device_question(one["policy"]),
        )
        for one in consumers.values()
    ]


_FAILURE_COLUMNS = ("consumer", "a protocol that fails", "None is", "looked up on", "__dlpack_device__")


def show(consumers: dict[str, dict[str, Any]]) -> None:
    """Prints the ranks, and what a failure does."""
    columns = _columns(consumers.values())
    heads = ("preset", "consumer", *map(short, columns), "seen in", "how")
    plain_table("Which protocol first", heads, _ranks(consumers, columns, ""), ("preset", *map(short, columns)))
    console().print(Text(_legend(columns, "")))
    plain_table("When it fails", _FAILURE_COLUMNS, _failures(consumers))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown. Cells are text, except that they may hold its marks."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def markdown(consumers: dict[str, dict[str, Any]]) -> str:
    """The same for the docs, and what each looks for besides."""
    columns = _columns(consumers.values())
    ranks = markdown_table(
        ("preset", "consumer", *map(short, columns), "seen in", "how"), _ranks(consumers, columns, "`")
    )
    heads = (*_FAILURE_COLUMNS[:-1], f"`{_FAILURE_COLUMNS[-1]}`")
    details = markdown_table(
        ("consumer", "looks for, in this order", "calls `__dlpack__` with", "offered nothing", "source"),
        [
            (
                one["consumer"],
                steps(one["steps"]),
                str(words.Handshake(one["handshake"])) if "dlpack" in one["policy"].order else "",
                one["nothing"],
                one["source"],
            )
            for one in consumers.values()
        ],
    )
    return f"{ranks}\n\n{_legend(columns, chr(96))}.\n\n{markdown_table(heads, _failures(consumers))}\n\n{details}\n"


def as_json(consumers: dict[str, dict[str, Any]]) -> str:
    return json.dumps(document(consumers), indent=1)
