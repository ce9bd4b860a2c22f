# SPDX-License-Identifier: Apache-2.0
"""The agreement of presets and libraries as a table, as Markdown, as JSON, and in the sentences of a red test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

import anyarray as aa

from ..matrix import versions
from ..render import console, plain_table
from .check import Agreement, Disagreement
from .natives import NATIVES
from .table import markdown_table

SCHEMA_VERSION = 1

#: Disagreements that are told one by one; the others are counted.
MOST = 10

COLUMNS = ("consumer", "version", "preset", "probes", "agree", "of these, data refused by anyarray", "disagree",
           "out of scope", "crashed")  # fmt: skip


def _outcome(row: str | None, detail: str) -> str:
    if row is None:
        return f"refuses ({detail})" if detail else "refuses"
    return f"takes {row}"


def what_changed(result: Agreement, one: Disagreement) -> str:
    """The sentence on one disagreement."""
    consumer = aa.consumers().get(result.preset)
    seen = f", seen in {consumer['versions']}" if consumer is not None else ""
    native, ours = _outcome(one.native, one.native_detail), _outcome(one.ours, one.ours_detail)
    return (
        f"{result.consumer} of {result.library} {result.version} decides otherwise than the preset "
        f"{result.preset!r}{seen}: given {one.probe}, the library {native}, the preset {ours}"
    )


def complaints(result: Agreement) -> list[str]:
    """All that is wrong with one consumer, a sentence each; nothing where it agrees or wasn't run."""
    told = [what_changed(result, one) for one in result.disagreements[:MOST]]
    if len(result.disagreements) > MOST:
        told.append(f"{result.consumer}: {len(result.disagreements) - MOST} more probes disagree")
    told += [
        f"{result.consumer} of {result.library} {result.version} agrees by now where a difference was known: {stale}"
        for stale in result.stale
    ]
    if result.status in ("crashed", "hung"):
        told.append(f"{result.consumer} of {result.library} {result.version} {result.status}: {result.reason}")
    return told


def _scope(result: Agreement) -> str:
    parts = [f"{count} ({reason})" for reason, count in (*result.known.items(), *result.out_of_scope.items())]
    return "; ".join(parts) or "0"


def _cells(result: Agreement) -> tuple[str, ...]:
    return (
        result.consumer,
        f"{result.library} {result.version}",
        result.preset,
        str(result.probes),
        str(result.agreed),
        str(result.data_refused),
        str(len(result.disagreements)),
        _scope(result),
        str(len(result.crashed)),
    )


def ran(results: Sequence[Agreement]) -> list[Agreement]:
    return [result for result in results if result.status == "ok"]


def not_run(results: Sequence[Agreement]) -> dict[str, str]:
    """What wasn't run and why: consumers that weren't, and presets that no library is held to."""
    named = {result.consumer: f"{result.status}: {result.reason}" for result in results if result.status != "ok"}
    held = {native.preset for native in NATIVES.values()}
    for preset, consumer in aa.consumers().items():
        if preset not in held:
            named[consumer["consumer"]] = f"from source: {consumer['source']}"
    return named


def totals(results: Sequence[Agreement]) -> str:
    done = ran(results)
    probes, agreed = sum(r.probes for r in done), sum(r.agreed for r in done)
    refused, wrong = sum(r.data_refused for r in done), sum(len(r.disagreements) for r in done)
    return (
        f"{probes} probes of {len(done)} consumers: {agreed} agree (in {refused} of them anyarray refuses the data of "
        f"the row that both chose), {wrong} disagree"
    )


def show(results: Sequence[Agreement]) -> None:
    """Prints the table, what wasn't run, and what is wrong."""
    plain_table("Presets held to the libraries", COLUMNS, [_cells(r) for r in ran(results)], ("consumer",))
    out = console()
    for consumer, why in not_run(results).items():
        out.print(Text(f"not run: {consumer}: {why}"))
    for result in results:
        for probe in result.crashed:
            out.print(Text(f"{result.consumer}: {probe} ended the library's process"))
        for sentence in complaints(result):
            out.print(Text(sentence, style="bold red"))
    out.print(Text(totals(results)))


def markdown(results: Sequence[Agreement]) -> str:
    """The table for the docs."""
    lines = [markdown_table(COLUMNS, [_cells(result) for result in ran(results)]), "", f"{totals(results)}.", ""]
    for result in results:
        lines += [f"- {result.consumer}: `{probe}` ends the library's process." for probe in result.crashed[:1]]
        if len(result.crashed) > 1:
            lines[-1] = lines[-1].replace(" ends", f" and {len(result.crashed) - 1} like it end")
    return "\n".join(lines).rstrip() + "\n"


def markdown_not_run(results: Sequence[Agreement]) -> str:
    return markdown_table(("consumer", "not run"), list(not_run(results).items())) + "\n"


def document(results: Sequence[Agreement], quick: bool) -> dict[str, Any]:
    done = ran(results)
    return {
        "schema": "anyarray.order.check",
        "schema_version": SCHEMA_VERSION,
        "platform": versions(),
        "quick": quick,
        "summary": {
            "consumers": len(done),
            "probes": sum(r.probes for r in done),
            "agreed": sum(r.agreed for r in done),
            "data_refused": sum(r.data_refused for r in done),
            "disagreed": sum(len(r.disagreements) for r in done),
        },
        "consumers": [{**result.as_dict(), "complaints": complaints(result)} for result in results],
        "not_run": not_run(results),
    }
