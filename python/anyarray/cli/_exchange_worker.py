# SPDX-License-Identifier: Apache-2.0
"""`python -m anyarray.cli._exchange_worker PRODUCER CONSUMER`: gives one library's arrays to another, by the consumer's
own means and through `convert`, a JSON object a line on standard output.

A process of its own, because libraries may abort. Every try is announced before it is run; `--skip N` starts again
behind it, and `--avoid` names what ended an earlier process.
"""

from __future__ import annotations

import argparse
import importlib
import math
import warnings
from typing import Any, NoReturn

import anyarray as aa

from .cases import Case, Sample
from .consumers import Consumer, find_consumer
from .probe import first_line, gather, same
from .producers import find
from .workers import Emit, serve

ANYARRAY = "anyarray.convert"


def _native(dtype: str) -> str:
    """A dtype's name in the machine's order."""
    return str(aa.DType("=" + dtype[1:])) if dtype[:1] in "<>" and dtype[1:2] not in "'{" else dtype


def judge(sample: Sample, made: Any) -> tuple[str, str]:
    """What became of an array: ("works" | "copies" | "converts" | "corrupts" | "unchecked", why)."""
    try:
        array = aa.view(made)
    except aa.ExchangeError as error:
        if getattr(getattr(made, "dtype", None), "kind", "") == "O":
            return "corrupts", "it became an object, not an array"
        return "unchecked", first_line(error)
    if tuple(array.shape) != tuple(sample.shape):
        return "corrupts", f"shape {tuple(sample.shape)} became {tuple(array.shape)}"
    got_dtype, want_dtype = str(array.dtype), sample.dtype
    if _native(got_dtype) != _native(want_dtype):
        kept = same(array.tolist(), sample.read())
        return "converts" if kept else "corrupts", f"{want_dtype} became {got_dtype}"
    if got_dtype == want_dtype and sample.raw is not None and array.strides is not None:
        if gather(array) != sample.raw:
            return "corrupts", "other values"
    else:
        want = sample.read()
        if want is None:
            return "unchecked", "its library can't tell the values"
        if not same(array.tolist(), want):
            return "corrupts", "other values"
    shares = sample.pointer is not None and array.ptr == sample.pointer
    if math.prod(sample.shape) and shares and sample.readonly and not array.readonly:
        return "corrupts", "read-only memory can be written"
    if math.prod(sample.shape) and sample.pointer is not None and not shares:
        return "copies", ""
    return "works", ""


def _try(case: Case, sample: Sample, function: Any) -> tuple[str, str]:
    try:
        made = function(sample.array)
    except Exception as error:
        return "fails", first_line(error)
    if made is sample.array:
        return "works", ""
    if case.expect == "refuse":
        return "unjudged", f"taken, though {case.reason}"
    return judge(sample, made)


def _setup(consumer: Consumer) -> None:
    importlib.import_module(consumer.needs)
    if consumer.setup:
        importlib.import_module(consumer.needs).config.update(consumer.setup, True)


def run(producer: str, consumer: Consumer, emit: Emit, skip: int, avoid: set[tuple[str, str]]) -> None:
    """Writes `start`, then `case` and `row` for each array and way, then `end`; or `unusable`."""
    try:
        cases = list(find(producer).cases())
        _setup(consumer)
        ways = {way: consumer.way(way) for way in consumer.ways}
    except Exception as error:
        emit("unusable", reason=first_line(error))
        return
    ways[ANYARRAY] = lambda x: aa.convert(x, consumer.name)
    emit("start", total=len(cases) * len(ways))
    index = -1
    for case in cases:
        sample: Sample | None = None
        for way, function in ways.items():
            index += 1
            if index < skip:
                continue
            labels = {"kind": case.kind, "dtype": case.dtype, "layout": case.layout, "way": way}
            emit("case", index=index, **labels)
            if (way, case.layout) in avoid:
                emit("row", index=index, **labels, outcome="not tried", why="an array of this layout ended the process")
                continue
            try:
                sample = sample or case.build()
            except Exception as error:
                emit("row", index=index, **labels, outcome="unavailable", why=first_line(error))
                continue
            outcome, why = _try(case, sample, function)
            emit("row", index=index, **labels, outcome=outcome, why=why)
    emit("end")


def main() -> NoReturn:
    parser = argparse.ArgumentParser(prog="python -m anyarray.cli._exchange_worker", description=__doc__)
    parser.add_argument("producer")
    parser.add_argument("consumer")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--avoid", nargs=2, action="append", default=[], metavar=("WAY", "LAYOUT"))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    avoid = {(way, layout) for way, layout in args.avoid}
    serve(lambda emit: run(args.producer, find_consumer(args.consumer), emit, args.skip, avoid))


if __name__ == "__main__":
    main()
