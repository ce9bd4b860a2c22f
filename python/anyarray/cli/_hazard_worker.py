# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray.cli._hazard_worker ID native|ours`: one side of one hazard, and how it ended."""

from __future__ import annotations

import sys
import warnings
from typing import NoReturn

from .hazard_list import HAZARDS, Hazard
from .probe import first_line, same
from .workers import Emit, serve


def run(hazard: Hazard, side: str, emit: Emit) -> None:
    """Writes `end` with the outcome."""
    try:
        got, want, how = (hazard.native if side == "native" else hazard.ours)()
    except Exception as error:
        outcome = f"refused: {first_line(error)}"
    else:
        outcome = f"right{': ' + how if how else ''}" if same(got, want) else f"wrong: {got!r}, should be {want!r}"
    emit("end", outcome=outcome)


def main() -> NoReturn:
    hazard = next(h for h in HAZARDS if h.id == sys.argv[1])
    warnings.simplefilter("ignore")
    serve(lambda emit: run(hazard, sys.argv[2], emit))


if __name__ == "__main__":
    main()
