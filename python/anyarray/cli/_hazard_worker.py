# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray.cli._hazard_worker ID native|ours`: one side of one hazard; prints how it ended, if it ends."""

from __future__ import annotations

import json
import os
import sys
import warnings

from .hazard_list import HAZARDS
from .probe import first_line, same


def main(argv: list[str]) -> int:
    """Runs it; a JSON object on standard output."""
    hazard = next(h for h in HAZARDS if h.id == argv[0])
    warnings.simplefilter("ignore")
    try:
        got, want, how = (hazard.native if argv[1] == "native" else hazard.ours)()
    except Exception as error:
        outcome = f"refused: {first_line(error)}"
    else:
        outcome = f"right{': ' + how if how else ''}" if same(got, want) else f"wrong: {got!r}, should be {want!r}"
    print(json.dumps({"outcome": outcome}), flush=True)
    os._exit(0)  # a library that crashes when the interpreter ends isn't what is looked at here


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
