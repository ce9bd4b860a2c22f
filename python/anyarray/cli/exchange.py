# SPDX-License-Identifier: Apache-2.0
"""`anyarray matrix --to`: each producer's arrays to each consumer, natively and through anyarray, in workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from . import workers
from ._exchange_worker import ANYARRAY
from .consumers import Consumer
from .matrix import CASE_TIMEOUT, IMPORT_TIMEOUT, SCHEMA_VERSION, versions
from .producers import Library

#: In the order of the columns. "converts": another dtype, though these values came through. "unjudged": a library took
#: what anyarray.view refuses; whether it lost anything can't be told from values.
OUTCOMES = (
    "works",
    "copies",
    "converts",
    "fails",
    "corrupts",
    "crashes",
    "unjudged",
    "unchecked",
    "not tried",
    "unavailable",
)

#: A pair whose worker ended more often than this is given up.
MAX_RESTARTS = 12


@dataclass
class Try:
    """One array given in one way."""

    producer: str
    consumer: str
    way: str
    kind: str
    dtype: str
    layout: str
    outcome: str
    why: str = ""


@dataclass
class Pair:
    """One producer and one consumer. `status` is "ok", "unusable" or "crashed"."""

    producer: str
    consumer: str
    status: str = "ok"
    reason: str = ""
    tries: list[Try] = field(default_factory=list)

    def count(self, way: str) -> dict[str, int]:
        """Outcomes of one way."""
        mine = [t.outcome for t in self.tries if t.way == way]
        return {outcome: mine.count(outcome) for outcome in OUTCOMES}

    @property
    def failed(self) -> bool:
        """Whether anyarray corrupted anything, or ended a process."""
        bad = ("corrupts", "crashes")
        return any(t.way == ANYARRAY and t.outcome in bad for t in self.tries) or self.status == "crashed"


def run_pair(producer: Library, consumer: Consumer) -> Pair:
    """All tries of one pair. Never raises because of what a library does."""
    pair = Pair(producer.name, consumer.name)
    avoid: list[str] = []

    def command(skip: int) -> list[str]:
        return ["anyarray.cli._exchange_worker", producer.origin, consumer.name, f"--skip={skip}", *avoid]

    try:
        for event in workers.cases(command, MAX_RESTARTS, IMPORT_TIMEOUT, CASE_TIMEOUT):
            kind = event.pop("event")
            if kind == "unusable":
                pair.status, pair.reason = "unusable", event["reason"]
            elif kind == "row":
                del event["index"]
                pair.tries.append(Try(pair.producer, pair.consumer, **event))
            elif kind == "ended":
                del event["index"], event["status"]
                avoid += ["--avoid", event["way"], event["layout"]]
                why = event.pop("reason")
                pair.tries.append(Try(pair.producer, pair.consumer, **event, outcome="crashes", why=why))
    except workers.EndedError as error:
        pair.status, pair.reason = "crashed", error.reason
    return pair


def document(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The JSON document: everything that the tables show and more."""
    return {
        "schema": "anyarray.exchange",
        "schema_version": SCHEMA_VERSION,
        "platform": versions(),
        "pairs": [
            {
                "producer": p.producer,
                "consumer": p.consumer,
                "status": p.status,
                "reason": p.reason,
                "ways": {way: p.count(way) for way in dict.fromkeys(t.way for t in p.tries)},
            }
            for p in pairs
        ],
        "rows": [asdict(t) for p in pairs for t in p.tries],
    }


def problems(pairs: Sequence[Pair]) -> list[tuple[str, str, str, str, int]]:
    """What went wrong: (producer, way, outcome, why, arrays), alike ones together."""
    found: dict[tuple[str, str, str, str], int] = {}
    for pair in pairs:
        for t in pair.tries:
            if t.outcome in ("corrupts", "crashes"):
                key = (t.producer, t.way if t.way != ANYARRAY else f"{ANYARRAY}(x, {t.consumer!r})", t.outcome, t.why)
                found[key] = found.get(key, 0) + 1
    return [(*key, n) for key, n in found.items()]
