# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray.cli._worker LIBRARY`: runs one library's cases, a JSON object a line on standard output.

A process of its own, because a library may abort in a probe. Every case is announced before it is run, so that
the parent knows which one it was; `--skip N` starts again behind it. What libraries print goes to standard error.
"""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from .installed import version
from .probe import first_line, run_case
from .producers import Library, find
from .workers import Emit, serve


def _version(library: Library) -> str:
    return version(library.distribution) if library.distribution else sys.version.split()[0]


def run(library: Library, emit: Emit, skip: int, timing: bool) -> None:
    """Writes `start`, then `case` and `row` for each case, then `end`; or `unusable` if the library can't be used."""
    try:
        cases = list(library.cases())
    except Exception as error:
        emit("unusable", version=_version(library), reason=first_line(error))
        return
    emit("start", version=_version(library), cases=len(cases))
    for index, case in enumerate(cases[skip:], skip):
        labels = {"kind": case.kind, "dtype": case.dtype, "layout": case.layout, "expect": case.expect}
        emit("case", index=index, **labels)
        emit("row", index=index, row=run_case(library.name, case, timing).as_dict())
    emit("end")


def main() -> NoReturn:
    parser = argparse.ArgumentParser(prog="python -m anyarray.cli._worker", description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--no-timing", action="store_true")
    args = parser.parse_args()
    serve(lambda emit: run(find(args.library), emit, args.skip, not args.no_timing))


if __name__ == "__main__":
    main()
