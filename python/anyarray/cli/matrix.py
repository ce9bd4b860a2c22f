# SPDX-License-Identifier: Apache-2.0
"""Runs the workers, one process a library, and collects their rows; knows nothing of how they are shown.

A worker that dies or hangs in a case loses that case alone: the row says how it ended, and a fresh worker goes on
behind it.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._version import __version__
from . import workers
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
    total = 0

    def command(skip: int) -> list[str]:
        options = [f"--skip={skip}"] if timing else [f"--skip={skip}", "--no-timing"]
        return ["anyarray.cli._worker", library.origin, *options]

    try:
        for event in workers.cases(command, MAX_RESTARTS, import_timeout, case_timeout):
            kind = event.pop("event")
            if kind == "start":
                report.version, total = event["version"], event["cases"]
                progress(library.name, len(report.rows), total)
            elif kind == "unusable":
                report.version, report.status, report.reason = event["version"], "unusable", event["reason"]
            elif kind == "row":
                report.rows.append(Row(**event["row"]))
                progress(library.name, event["index"] + 1, total)
            elif kind == "ended":
                del event["index"]
                status, reason = event.pop("status"), f"{event.pop('reason')} in this case"
                report.rows.append(Row(library.name, **event, outcome=status, problems=[reason], reason=reason))
    except workers.EndedError as error:
        report.status, report.reason = error.status, error.reason
    return report


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
