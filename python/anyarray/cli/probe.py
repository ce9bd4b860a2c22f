# SPDX-License-Identifier: Apache-2.0
"""Takes one case with `anyarray.view` and checks what came against the library's own word.

Called by the worker, one process a library. Uses the standard library and anyarray alone.
"""

from __future__ import annotations

import ctypes
import gc
import itertools
import math
import struct
import timeit
from dataclasses import asdict, dataclass, field
from typing import Any

import anyarray as aa
from anyarray._core import _live

from .cases import Case, Sample


@dataclass
class Row:
    """One line of the matrix, as it stands in the JSON document."""

    library: str
    kind: str
    dtype: str
    layout: str
    expect: str
    outcome: str = "error"  # taken, refused, wrong, error, unchecked; the parent adds: crashed, hung
    protocol: str | None = None
    zero_copy: bool | None = None
    copied: bool | None = None
    readonly: bool | None = None
    ns: float | None = None
    checked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    reason: str = ""
    attempts: list[dict[str, str]] = field(default_factory=list)
    elsewhere: dict[str, str | None] = field(default_factory=dict)  # what presets of other consumers choose

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def same(a: object, b: object) -> bool:
    """Whether two values are the same: NaN equals NaN, 0.0 isn't -0.0, True isn't 1, a list isn't a tuple."""
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        return (
            isinstance(a, (list, tuple))
            and isinstance(b, (list, tuple))
            and isinstance(a, list) == isinstance(b, list)
            and len(a) == len(b)
            and all(map(same, a, b))
        )
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, complex) and isinstance(b, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or struct.pack("=d", a) == struct.pack("=d", b)
    return type(a) is type(b) and a == b


def gather(array: Any) -> bytes:
    """The elements' bytes in row-major order, read from memory by pointer, shape and strides."""
    shape, strides, pointer, itemsize = array.shape, array.strides, array.ptr, array.itemsize
    if 0 in shape:
        return b""
    return b"".join(
        ctypes.string_at(pointer + sum(map(int.__mul__, index, strides)), itemsize)
        for index in itertools.product(*map(range, shape))
    )


def _write_shows(array: Any, sample: Sample) -> bool:
    """Flips a bit of the first element, looks whether the library sees it, and flips it back."""
    before = sample.read()
    first = ctypes.c_ubyte.from_address(array.ptr)
    first.value ^= 1
    try:
        return not same(before, sample.read())
    finally:
        first.value ^= 1


def _check(array: Any, sample: Sample, row: Row) -> None:
    """Fills `checked`, `problems` and `zero_copy`."""

    def expect(what: str, got: object, want: object, equal: bool) -> None:
        row.checked.append(what)
        if not equal:
            row.problems.append(f"{what} is {_short(got)}, but the library says {_short(want)}")

    size = math.prod(sample.shape)
    expect("shape", array.shape, sample.shape, tuple(array.shape) == tuple(sample.shape))
    expect("dtype", array.dtype, sample.dtype, str(array.dtype) == sample.dtype)
    expect("device", array.device, sample.device, array.device == sample.device)
    if sample.readonly is not None:
        expect("readonly", array.readonly, sample.readonly, array.readonly is sample.readonly)
    if row.problems:
        return  # nothing else may be read by a wrong shape or dtype, nor written to read-only memory
    if sample.raw is not None:
        got_bytes = gather(array)
        expect("bytes", got_bytes.hex(), sample.raw.hex(), got_bytes == sample.raw)
    want = sample.read()
    if want is not None:
        try:
            got = array.tolist()
        except Exception as error:
            row.problems.append(f"its tolist() raised {first_line(error)}")
            return
        expect("values", got, want, same(got, want))
    if size and sample.pointer is not None:
        row.zero_copy = array.ptr == sample.pointer
        row.checked.append("pointer")
    elif size and sample.readonly is False and want is not None and not row.problems:
        row.zero_copy = _write_shows(array, sample)
        row.checked.append("write-through")
    elif size and array.device == "cpu" and aa.view(sample.array).ptr != array.ptr:
        row.zero_copy = False  # memory made anew for each view
        row.checked.append("second view")
    if row.zero_copy is False and array.copied is False and not sample.copies:
        row.problems.append("says that it isn't a copy, but its memory isn't the library's")
    if row.zero_copy is None and array.copied is not None and not size:
        row.zero_copy = not array.copied


def _short(value: object, limit: int = 120) -> str:
    text = str(value) if isinstance(value, str) else repr(value) if not hasattr(value, "name") else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def first_line(error: BaseException) -> str:
    """The error in one line: its type and what it says first; of anyarray's own, why the first try ended."""
    lines = str(error).strip().split("\n")
    if isinstance(error, aa.ExchangeError):
        head, _, why = lines[0].partition(": ")  # "can't view torch.Tensor:", and a line a try; or all in one line
        return why or (lines[1].strip() if len(lines) > 1 else head)
    return f"{type(error).__name__}: {lines[0]}"


#: Presets whose choice stands beside anyarray's own. Their libraries aren't run.
ELSEWHERE = ("numpy", "torch.as_tensor", "jax", "nanobind")


def elsewhere(obj: object) -> dict[str, str | None]:
    """The row that each of these would take, by its preset; None where it would refuse, or has nothing to take."""
    rows: dict[str, str | None] = {}
    for preset in ELSEWHERE:
        try:
            rows[preset] = str(aa.view(obj, policy=preset).protocol)
        except Exception:
            rows[preset] = None
    return rows


def _attempts(attempts: Any) -> list[dict[str, str]]:
    return [{"protocol": str(a.protocol), "status": str(a.status), "reason": str(a.reason or "")} for a in attempts]


def measure(obj: object, windows: int = 5, window_s: float = 2e-4) -> float:
    """Nanoseconds a `view(obj)` that is dropped at once: the least of several short windows, loop included."""
    timer = timeit.Timer("view(x)", globals={"view": aa.view, "x": obj})
    number = 1
    while (elapsed := timer.timeit(number)) < window_s and number < 10_000:
        number = min(10_000, max(2 * number, int(1.2 * number * window_s / max(elapsed, 1e-7))))
    return min([elapsed, *(timer.timeit(number) for _ in range(windows - 1))]) / number * 1e9


def run_case(library: str, case: Case, timing: bool = True) -> Row:
    """Builds the array, takes it, checks it, times it, and looks that nothing stays held. Never raises an Exception."""
    row = Row(library, case.kind, case.dtype, case.layout, case.expect)
    held = _live()
    _run_case(row, case, timing)
    if _live() != held:
        gc.collect()  # views may wait in cycles that the library made
    if _live() != held:
        row.outcome = "wrong"
        row.problems.append(f"{_live() - held} views are still held after the last one was dropped")
    return row


def _run_case(row: Row, case: Case, timing: bool) -> None:
    try:
        sample = case.build()
    except Exception as error:
        row.reason = f"the library couldn't make this array: {first_line(error)}"
        row.outcome = "unavailable"
        return
    try:
        array = aa.view(sample.array)
    except aa.ExchangeError as error:
        row.attempts = _attempts(error.attempts)
        row.reason = first_line(error)
        row.outcome = "error" if case.expect == "take" else "refused"
        row.elsewhere = elsewhere(sample.array)
        if row.outcome == "error":
            row.problems.append(f"should have been taken: {row.reason}")
        elif case.reason:
            row.reason = f"{case.reason}: {row.reason}"
        return
    except Exception as error:
        row.reason = first_line(error)
        row.problems.append(f"raised {row.reason} instead of an ExchangeError")
        return
    try:
        row.protocol, row.copied, row.readonly = str(array.protocol), array.copied, array.readonly
        if case.expect == "refuse":
            row.problems.append(f"should have been refused: {case.reason}")
        else:
            _check(array, sample, row)
        row.elsewhere = elsewhere(sample.array)
        if timing and not row.problems:
            row.ns = round(measure(sample.array), 1)
    except Exception as error:
        # What was found wrong before stays wrong; so does a view that is refused when it is taken again.
        if not row.problems and not isinstance(error, aa.ExchangeError):
            row.outcome = "unchecked"
        row.problems.append(f"checking it raised {first_line(error)}")
    finally:
        del array  # a library that keeps an exception keeps this frame with it
    if row.outcome != "unchecked":
        row.outcome = "wrong" if row.problems else "taken"
