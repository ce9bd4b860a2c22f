# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray.cli.order._worker CONSUMER`: what a library does with its probes, a JSON object a line.

A process of its own, because a library may end it. Every probe is announced before it is given, so that the parent
knows which one it was; `--skip N` starts again behind it. What libraries print goes to standard error.
"""

from __future__ import annotations

import argparse
import warnings
from typing import NoReturn

from ..workers import Emit, serve
from .natives import NATIVES, Consumer, Native, first_line
from .probes import descriptions, name_of


def run(native: Native, emit: Emit, skip: int, quick: bool) -> None:
    """Writes `start`, then `case` and `row` for each probe, then `end`; or `unusable` if the library can't be used."""
    try:
        consumer = Consumer(native)
    except Exception as error:
        emit("unusable", version=native.version(), reason=first_line(error))
        return
    probes = list(descriptions(native.knows, native.knows) if quick else descriptions(native.knows))
    emit("start", version=native.version(), cases=len(probes))
    for index, states in enumerate(probes[skip:], skip):
        name = name_of(states)
        emit("case", index=index, probe=name)
        probe = consumer.build(states)
        outcome = consumer.take(probe)
        emit("row", index=index, probe=name, row=outcome.row, detail=outcome.detail, log=probe.probe_log)
    emit("end")


def main() -> NoReturn:
    parser = argparse.ArgumentParser(prog="python -m anyarray.cli.order._worker", description=__doc__)
    parser.add_argument("consumer", choices=sorted(NATIVES))
    parser.add_argument("--quick", action="store_true", help="only the protocols that the library knows")
    parser.add_argument("--skip", type=int, default=0)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    serve(lambda emit: run(NATIVES[args.consumer], emit, args.skip, args.quick))


if __name__ == "__main__":
    main()
