# SPDX-License-Identifier: Apache-2.0
"""Runs the workers, one process a library, and collects their rows; knows nothing of how they are shown.

A worker that dies or hangs in a case loses that case alone: the row says how it ended, and a fresh worker goes on
behind it.
"""

from __future__ import annotations

import json
import platform
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from .._version import __version__
from .probe import Row
from .producers import Library

SCHEMA_VERSION = 1

#: Seconds that a library may take to be imported, and that one case may take.
IMPORT_TIMEOUT = 180.0
CASE_TIMEOUT = 30.0

#: A library whose worker ended more often than this is given up.
MAX_RESTARTS = 8

#: Outcomes that make the exit status 1.
FAILURES = ("wrong", "error", "unchecked", "crashed", "hung")


@dataclass
class LibraryReport:
    """What became of one library. `status` is "ok", "unusable" (it can't be imported), "crashed" or "hung"."""

    name: str
    version: str = "unknown"
    status: str = "ok"
    reason: str = ""
    rows: list[Row] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        return self.status in ("crashed", "hung") or any(row.outcome in FAILURES for row in self.rows)


#: Called as progress(library, cases done, cases in all); all is 0 while the library is imported.
Progress = Callable[[str, int, int], None]


class _HungError(Exception):
    """The worker said nothing for too long."""


def _lines(stream: IO[str], import_timeout: float, case_timeout: float) -> Iterator[dict[str, Any]]:
    """The worker's events as they come; raises _HungError when the next one takes too long."""
    timeout = import_timeout
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=timeout)
        except queue.Empty:
            raise _HungError from None
        if line is None:
            return
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            return  # cut off in the middle of a line: the worker is dead
        timeout = case_timeout
        yield event


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"its process ended with status {returncode}"
    try:
        return f"its process was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"its process was killed by signal {-returncode}"


def run_library(
    library: Library,
    *,
    timing: bool = True,
    progress: Progress = lambda *_: None,
    import_timeout: float = IMPORT_TIMEOUT,
    case_timeout: float = CASE_TIMEOUT,
) -> LibraryReport:
    """All rows of one library. Never raises because of what the library does."""
    report = LibraryReport(library.name)
    skip = 0
    for _ in range(MAX_RESTARTS + 1):
        ending = _run_once(library, report, skip, timing, progress, import_timeout, case_timeout)
        if ending is None:
            return report
        status, reason, case = ending
        if case is None:
            report.status, report.reason = status, f"{reason} before its first case: nothing of it was looked at"
            return report
        index = case.pop("index")
        reason = f"{reason} in this case"
        report.rows.append(Row(library.name, **case, outcome=status, problems=[reason], reason=reason))
        skip = index + 1
    report.status = "crashed"
    report.reason = f"given up after {MAX_RESTARTS + 1} processes of it had ended too early"
    return report


def _run_once(
    library: Library,
    report: LibraryReport,
    skip: int,
    timing: bool,
    progress: Progress,
    import_timeout: float,
    case_timeout: float,
) -> tuple[str, str, dict[str, Any] | None] | None:
    """One worker. None when it came to its end; otherwise how it ended, and the case in which it was."""
    command = [sys.executable, "-m", "anyarray.cli._worker", library.origin, f"--skip={skip}"]
    if not timing:
        command.append("--no-timing")
    worker = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    current: dict[str, Any] | None = None
    total = 0
    assert worker.stdout is not None
    try:
        for event in _lines(worker.stdout, import_timeout, case_timeout):
            kind = event.pop("event")
            if kind == "start":
                report.version, total = event["version"], event["cases"]
                progress(library.name, skip, total)
            elif kind == "unusable":
                report.version, report.status, report.reason = event["version"], "unusable", event["reason"]
                return None
            elif kind == "case":
                current = event
            elif kind == "row":
                report.rows.append(Row(**event["row"]))
                current = None
                progress(library.name, event["index"] + 1, total)
            elif kind == "end":
                return None
        worker.wait(10)  # so that its own signal is seen and not the one below
    except subprocess.TimeoutExpired:
        return "hung", "its process went silent without ending", current
    except _HungError:
        limit = case_timeout if total else import_timeout
        return "hung", f"its process gave no sign for {limit:g} s", current
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()
    return "crashed", _ending(worker.returncode), current


def versions() -> dict[str, str]:
    """What the rows depend on beside the libraries."""
    return {
        "anyarray": __version__,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
    }


def document(reports: Sequence[LibraryReport], missing: Sequence[str]) -> dict[str, Any]:
    """The JSON document: everything that the tables show and more."""
    rows = [row for report in reports for row in report.rows]
    return {
        "schema": "anyarray.matrix",
        "schema_version": SCHEMA_VERSION,
        "platform": versions(),
        "libraries": [
            {"name": r.name, "version": r.version, "status": r.status, "reason": r.reason, "cases": len(r.rows)}
            for r in reports
        ],
        "not_installed": list(missing),
        "summary": summary(reports),
        "rows": [row.as_dict() for row in rows],
    }


def summary(reports: Sequence[LibraryReport]) -> dict[str, int]:
    """Counts of the outcomes; zero-copy counts among the taken."""
    rows = [row for report in reports for row in report.rows]
    counts = {
        outcome: sum(row.outcome == outcome for row in rows)
        for outcome in ("taken", "refused", "unavailable", *FAILURES)
    }
    counts["zero_copy"] = sum(row.outcome == "taken" and row.zero_copy is True for row in rows)
    counts["cases"] = len(rows)
    return counts
