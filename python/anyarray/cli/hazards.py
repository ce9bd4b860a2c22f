# SPDX-License-Identifier: Apache-2.0
"""`anyarray matrix --hazards`: what corrupts or crashes between libraries natively, beside what anyarray makes of it.

Each hazard is two short functions that give (what came, what was right); each runs in a process of its own. The page
docs/hazards.md is what this prints as Markdown.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from . import workers
from .hazard_list import HAZARDS, Hazard
from .installed import installed, version
from .matrix import SCHEMA_VERSION, versions
from .order import compiled
from .order.table import markdown_table

#: Seconds that one side may take; the one with nanobind compiles.
TIMEOUT = 300.0

_DISTRIBUTIONS = {"tvm_ffi": "apache-tvm-ffi"}


@dataclass(frozen=True)
class Found:
    """What became of one hazard. `missing` says why it wasn't run."""

    hazard: Hazard
    native: str = ""
    ours: str = ""
    missing: str = ""

    @property
    def safe(self) -> bool:
        """Whether anyarray's side is right or refused."""
        return bool(self.missing) or self.ours.startswith(("right", "refused"))

    @property
    def real(self) -> bool:
        """Whether the native side goes wrong with the versions that are installed."""
        return self.native.startswith(("wrong", "crash"))


def _missing(hazard: Hazard) -> str:
    absent = [name for name in hazard.needs if not installed(name)]
    if absent:
        return f"{', '.join(absent)} isn't installed"
    if "nanobind" in hazard.needs and shutil.which(compiled.compiler()[0]) is None:
        return "there is no C++ compiler"
    return ""


def _outcome(hazard: Hazard, side: str) -> str:
    try:
        (end,) = workers.events(["anyarray.cli._hazard_worker", hazard.id, side], TIMEOUT, TIMEOUT)
    except workers.EndedError as error:
        return f"{'wrong' if error.status == 'hung' else 'crash'}: {error.reason}"
    outcome: str = end["outcome"]
    return outcome


def run(hazard: Hazard) -> Found:
    """Both sides of one hazard."""
    missing = _missing(hazard)
    if missing:
        return Found(hazard, missing=missing)
    return Found(hazard, _outcome(hazard, "native"), _outcome(hazard, "ours"))


def run_all() -> list[Found]:
    """All of them, in their order."""
    return [run(hazard) for hazard in HAZARDS]


def document(found: Sequence[Found]) -> dict[str, Any]:
    """The JSON document."""
    rows = []
    for f in found:
        row = asdict(f)
        row["hazard"] = {"id": f.hazard.id, "title": f.hazard.title, "code": f.hazard.code, "known": f.hazard.known}
        rows.append({**row, "safe": f.safe, "real": f.real})
    return {
        "schema": "anyarray.hazards",
        "schema_version": SCHEMA_VERSION,
        "platform": versions(),
        "libraries": library_versions(found),
        "rows": rows,
    }


def library_versions(found: Sequence[Found]) -> dict[str, str]:
    """The versions of all libraries that were used."""
    names = sorted({name for f in found if not f.missing for name in f.hazard.needs})
    return {name: version(_DISTRIBUTIONS.get(name, name)) for name in names}


def page(found: Sequence[Found]) -> str:
    """The page for the docs. The same versions print the same page."""
    used = ", ".join(f"{name} {version}" for name, version in library_versions(found).items())
    rows = [(f.hazard.title, f"`{f.hazard.code}`", f.native, f.ours, f.hazard.known) for f in found if not f.missing]
    return (
        "# What corrupts or crashes natively, and is safe through anyarray\n\n"
        "Printed by `anyarray matrix --hazards --markdown`: each side of each row runs in a process of its own, and\n"
        "its result is compared with what it should be. A test prints the page again and compares.\n\n"
        f"With {used}.\n\n"
        f"{markdown_table(('what', 'natively', 'what happens', 'through anyarray', 'known as'), rows)}\n"
    )
