# SPDX-License-Identifier: Apache-2.0
"""Gives the same probes to a library and to what imitates it, and compares which protocol each takes.

The library runs in a process of its own, and in another one from the next probe on where it ends that; what imitates it
runs here, on a probe made anew from the same description.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import anyarray as aa

from .. import workers
from .imitate import Ours, imitate
from .natives import NATIVES, Native, Outcome
from .probes import build, states_of

#: Called as progress(consumer, probes done, probes in all); all is 0 while the library is imported.
Progress = Callable[[str, int, int], None]

#: Seconds that a library may take to be started (some build something first), and that a probe may take.
IMPORT_TIMEOUT = 300.0
PROBE_TIMEOUT = 60.0

#: A consumer whose process ended more often than this is given up.
MAX_RESTARTS = 64


@dataclass(frozen=True)
class Known:
    """A difference that no order explains: what the library does with a protocol in this state, and why.

    It covers probes of `consumer` whose protocol `row` is in one of `states`.
    """

    consumer: str
    row: str
    states: tuple[str, ...]
    reason: str

    def covers(self, states: Mapping[str, str]) -> bool:
        return states.get(self.row) in self.states


_TABLE = "looks for the exchange table on the instance too, anyarray on the type alone"

KNOWN: tuple[Known, ...] = tuple(
    Known(consumer, "dlpack_exchange", ("instance",), _TABLE) for consumer in ("tvm_ffi", "tvm_ffi.from_dlpack")
)

#: Probes that are known to end the library's process; any other that does is a disagreement.
CRASHES: tuple[Known, ...] = tuple(
    Known(consumer, "dlpack_exchange", ("wrong:type",), "takes an int for the table")
    for consumer in ("tvm_ffi", "tvm_ffi.from_dlpack")
)


@dataclass(frozen=True)
class Disagreement:
    """A probe of which the library and the imitation make different things; a row is None where it was refused."""

    probe: str
    native: str | None
    native_detail: str
    ours: str | None
    ours_detail: str


@dataclass
class Agreement:
    """What became of one consumer.

    `status` is "ok", "not installed", "unusable" (it can't be started), "no preset" (nothing imitates it yet),
    "crashed" or "hung"; `reason` says more. `probes` is agreed + disagreements + known + out_of_scope + crashed. Of the
    agreed, `data_refused` are those where the library took data that anyarray refuses, of the row that both chose.
    `known` counts the differences that `KNOWN` explains, by reason; `out_of_scope` the probes that offer a protocol for
    which the consumer has a use and anyarray no row, by that protocol; `crashed` names those of `CRASHES` that ended
    the library's process. `stale` are reasons of `KNOWN` for which no probe differs any more.
    """

    consumer: str
    preset: str
    library: str
    version: str = "unknown"
    status: str = "ok"
    reason: str = ""
    probes: int = 0
    agreed: int = 0
    data_refused: int = 0
    disagreements: list[Disagreement] = field(default_factory=list)
    known: dict[str, int] = field(default_factory=dict)
    out_of_scope: dict[str, int] = field(default_factory=dict)
    crashed: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def failed(self) -> bool:
        return bool(self.disagreements or self.stale) or self.status in ("crashed", "hung")


@dataclass(frozen=True)
class Row:
    """One probe, what the library did with it, and what it read and called. `crashed` says how its process ended."""

    probe: str
    outcome: Outcome
    log: tuple[str, ...] = ()
    crashed: str = ""


class UnusableError(Exception):
    """The library can't be run. `status` is as in `Agreement`."""

    def __init__(self, status: str, reason: str, version: str = "unknown") -> None:
        super().__init__(reason)
        self.status, self.reason, self.version = status, reason, version


def worker_environment() -> dict[str, str]:
    """The environment of a worker: any interpreter finds this anyarray there."""
    given, root = Path(aa.__file__).parent.parent, Path(aa.__file__).resolve().parent.parent
    path = os.pathsep.join(filter(None, dict.fromkeys((str(given), str(root), os.environ.get("PYTHONPATH", "")))))
    return {**os.environ, "PYTHONPATH": path}


@dataclass
class NativeRun:
    """The rows of one consumer as they come; `version` and `total` are known once the first has come."""

    native: Native
    python: str = sys.executable
    quick: bool = False
    version: str = "unknown"
    total: int = 0

    def rows(self) -> Iterator[Row]:
        """All rows, in the order of `descriptions`.

        Raises
        ------
        UnusableError
            The library can't be imported, or ends its process outside a probe or too often.
        """
        quick = ["--quick"] if self.quick else []

        def command(skip: int) -> list[str]:
            return [f"{__package__}._worker", self.native.name, *quick, f"--skip={skip}"]

        where = {"python": self.python, "environment": worker_environment()}
        try:
            for event in workers.cases(command, MAX_RESTARTS, IMPORT_TIMEOUT, PROBE_TIMEOUT, **where):
                kind = event["event"]
                if kind == "unusable":
                    raise UnusableError("unusable", event["reason"], event["version"])
                if kind == "start":
                    self.version, self.total = event["version"], event["cases"]
                elif kind == "row":
                    yield Row(event["probe"], Outcome(event["row"], event["detail"]), tuple(event["log"]))
                elif kind == "ended":
                    yield Row(event["probe"], Outcome(None, event["reason"]), crashed=event["reason"])
        except workers.EndedError as error:
            raise UnusableError(error.status, error.reason, self.version) from None


def compare(native: Native, rows: Iterator[Row], ours: Ours, progress: Callable[[int], None]) -> Agreement:
    """Goes through the library's rows and gives each probe to `ours`."""
    result = Agreement(native.name, native.preset, native.distribution)
    served = {row for row, *_ in aa.protocols()}
    unserved = [row for row in native.knows if row not in served]
    expected = [known for known in KNOWN if known.consumer == native.name]
    known: Counter[Known] = Counter()
    scope: Counter[str] = Counter()
    for row in rows:
        result.probes += 1
        progress(result.probes)
        states = states_of(row.probe)
        missing = next((name for name in unserved if name in states), None)
        if row.crashed and any(one.consumer == native.name and one.covers(states) for one in CRASHES):
            result.crashed.append(row.probe)
        elif missing is not None:
            scope[missing] += 1
        else:
            its = ours(build(states, native.extra))
            if its.row == row.outcome.row and not row.crashed:
                result.agreed += 1
            elif its.row is None and row.outcome.row is not None and its.refused == row.outcome.row:
                result.agreed += 1
                result.data_refused += 1
            elif why := next((one for one in expected if one.covers(states)), None):
                known[why] += 1
            else:
                native_row, detail = row.outcome.row, row.outcome.detail
                result.disagreements.append(Disagreement(row.probe, native_row, detail, its.row, its.detail))
    for one, number in known.items():
        result.known[one.reason] = result.known.get(one.reason, 0) + number
    result.out_of_scope = dict(scope)
    if result.agreed:
        result.stale = [f"{one.row}={'|'.join(one.states)}: {one.reason}" for one in expected if one not in known]
    return result


def check(
    consumer: str,
    ours: Ours | None = None,
    *,
    python: str = sys.executable,
    quick: bool = False,
    progress: Progress = lambda *_: None,
) -> Agreement:
    """Compares one consumer with what imitates it: `ours`, or the preset of its name.

    `python` is the interpreter in which the library is installed; it must be able to import this anyarray. `quick`
    leaves out what offers a protocol that the library doesn't know. Never raises because of what the library does.

    Raises
    ------
    KeyError
        There is no such consumer.
    """
    native = NATIVES[consumer]
    if ours is None:
        if native.preset not in aa.presets():
            reason = f"there is no preset {native.preset!r}"
            return Agreement(consumer, native.preset, native.distribution, status="no preset", reason=reason)
        ours = imitate(native.preset, native.writable, native.extra)
    if not {row for row, *_ in aa.protocols()} & set(native.knows):
        reason = f"anyarray has no row {' or '.join(native.knows)}"
        return Agreement(consumer, native.preset, native.distribution, status="no preset", reason=reason)
    if python == sys.executable and not native.installed():
        reason = f"pip install {native.distribution}"
        return Agreement(consumer, native.preset, native.distribution, status="not installed", reason=reason)
    run = NativeRun(native, python, quick)
    progress(consumer, 0, 0)
    try:
        result = compare(native, run.rows(), ours, lambda done: progress(consumer, done, run.total))
    except UnusableError as error:
        status, reason, version = error.status, error.reason, error.version
        return Agreement(consumer, native.preset, native.distribution, version, status, reason)
    result.version = run.version
    return result
