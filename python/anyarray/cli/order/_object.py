# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray.cli.order._object EXPR PRESET...`: what libraries make of an object, a JSON object a line.

A process of its own, because a library may end it. Each preset is announced before its library is given the object.
What libraries print goes to standard error.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from typing import Any

import anyarray as aa

from ..explain import ExpressionError, compiled
from .made import STARTS, data_of
from .natives import first_line


def _ours(obj: object, preset: str) -> dict[str, Any] | None:
    try:
        return data_of(aa.view(obj, policy=preset))
    except aa.ExchangeError:
        return None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m anyarray.cli.order._object", description=__doc__)
    parser.add_argument("expression")
    parser.add_argument("presets", nargs="+", choices=sorted(STARTS))
    args = parser.parse_args(argv)
    # Libraries may print, from C too: descriptor 1 becomes standard error, the lines go to a copy of the old one.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")

    def emit(event: str, **fields: Any) -> None:
        out.write(json.dumps({"event": event, **fields}) + "\n")
        out.flush()

    evaluate = compiled(args.expression)
    for preset in args.presets:
        emit("case", preset=preset)
        try:
            describe = STARTS[preset]()
            obj = evaluate()
            # What can be taken once only is made anew for the library.
            ours = _ours(evaluate() if type(obj).__name__ == "PyCapsule" else obj, preset)
        except (Exception, ExpressionError) as error:
            emit("row", preset=preset, unusable=first_line(error))
            continue
        try:
            emit("row", preset=preset, ours=ours, native=describe(obj))
        except Exception as error:
            emit("row", preset=preset, ours=ours, error=first_line(error))
    emit("end")
    out.flush()
    os._exit(0)  # a library that crashes when the interpreter ends isn't what is looked at here


if __name__ == "__main__":
    sys.exit(main())
