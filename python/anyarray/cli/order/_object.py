# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray.cli.order._object EXPR PRESET...`: what libraries make of an object, a JSON object a line.

A process of its own, because a library may end it. Each preset is announced before its library is given the object.
What libraries print goes to standard error.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import anyarray as aa

from ..explain import compiled
from ..workers import Emit, serve
from .made import STARTS, data_of
from .natives import first_line


def _ours(obj: object, preset: str) -> dict[str, Any] | None:
    try:
        return data_of(aa.view(obj, policy=preset))
    except aa.ExchangeError:
        return None


def run(expression: str, presets: Sequence[str], emit: Emit) -> None:
    """Writes `case` and `row` for each preset, then `end`."""
    evaluate = compiled(expression)
    for preset in presets:
        emit("case", preset=preset)
        try:
            describe = STARTS[preset]()
            obj = evaluate()
            # What can be taken once only is made anew for the library.
            ours = _ours(evaluate() if type(obj).__name__ == "PyCapsule" else obj, preset)
        except Exception as error:
            emit("row", preset=preset, unusable=first_line(error))
            continue
        try:
            emit("row", preset=preset, ours=ours, native=describe(obj))
        except Exception as error:
            emit("row", preset=preset, ours=ours, error=first_line(error))
    emit("end")


def main() -> NoReturn:
    parser = argparse.ArgumentParser(prog="python -m anyarray.cli.order._object", description=__doc__)
    parser.add_argument("expression")
    parser.add_argument("presets", nargs="+", choices=sorted(STARTS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    serve(lambda emit: run(args.expression, args.presets, emit))


if __name__ == "__main__":
    main()
