# SPDX-License-Identifier: Apache-2.0
"""What copies.py copies: for each case two arrays, what the floor moves, and what the copy may cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

LINE = 64


@dataclass(frozen=True)
class Case:
    """One copy between two arrays that exist.

    Attributes
    ----------
    name : what the table calls it.
    group : cases whose ratios are taken together.
    to, of : the two, as NumPy sees them; dtypes that NumPy hasn't are those of ml_dtypes.
    floor : bytes that the memcpy beside it copies: reads and writes as many bytes (or cache lines) as the case must.
    limit : what it may cost, in times of the floor on as many threads; None: it is compared with the peers alone.
    """

    name: str
    group: str
    to: Any
    of: Any
    floor: int
    limit: float | None


def filled(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array whose pages are there, with small numbers that every dtype holds."""
    n = math.prod(shape)
    return np.resize(np.arange(97, dtype=np.float32) % 5, n).astype(dtype).reshape(shape)


def touched(array: Any) -> int:
    """Bytes of the cache lines that a one- or two-dimensional array lies in."""
    steps = [(extent, abs(stride)) for extent, stride in zip(array.shape, array.strides, strict=True)]
    *outer, (n, stride) = steps
    lines = n if stride >= LINE else -(-((n - 1) * stride + array.itemsize) // LINE)
    return int(lines * math.prod(extent for extent, _ in outer) * LINE)


def case(name: str, group: str, of: Any, limit: float | None, dtype: Any = None) -> Case:
    """The copy of a view into dense memory in C order, in its own dtype or in another."""
    to = np.zeros(of.shape, of.dtype if dtype is None else dtype)
    return Case(name, group, to, of, (of.nbytes + to.nbytes) // 2, limit)


def layouts(side: int) -> Iterator[Case]:
    """The layouts that people copy, of `side` squared elements and thereabouts."""
    x = filled((side, side), np.float32)
    yield case(f"f32 {side}² transposed", "layouts", x.T, 1.35)
    for dtype in ("u1", "u2", "f8", "c16"):
        y = filled((side, side), dtype)
        yield case(f"{y.dtype.name} {side}² transposed", "layouts", y.T, None)
    n = max(1, side // 64)
    image = filled((n, 128, 128, 32), np.float32)
    yield case("f32 NHWC → NCHW", "layouts", image.transpose(0, 3, 1, 2), 1.25)
    yield case("f32 NCHW → NHWC", "layouts", filled((n, 32, 128, 128), np.float32).transpose(0, 2, 3, 1), 1.25)
    view = x[::2, ::3]
    to = np.zeros(view.shape, view.dtype)
    yield Case("f32 [::2, ::3]", "layouts", to, view, (touched(view) + touched(to)) // 2, 1.1)
    yield case("f32 [::-1]", "layouts", x[::-1], 1.2)
    yield case("f32 [:, ::-1]", "layouts", x[:, ::-1], 1.2)
    rows = side * side // 16
    yield case(f"f32 ({rows}, 3) → (3, {rows})", "layouts", filled((rows, 3), np.float32).T, 1.2)
    yield case(f"f32 (3, {rows}) → ({rows}, 3)", "layouts", filled((3, rows), np.float32).T, 1.2)
    yield case("u8 RGB → planes", "layouts", filled((side, side, 3), "u1").transpose(2, 0, 1), None)
    yield case("f32 dense", "layouts", x, None)


def permutations(side: int) -> Iterator[Case]:
    """Permuted dimensions at random, the same in every run."""
    random = np.random.default_rng(7)
    for ndim in (3, 5):
        for dtype in ("u1", "u2", "f4", "f8", "c16"):
            for _ in range(2):
                order = tuple(int(i) for i in random.permutation(ndim))
                while order == tuple(range(ndim)):
                    order = tuple(int(i) for i in random.permutation(ndim))
                edge = (side * side) ** (1 / ndim)
                shape = tuple(max(2, int(edge * f)) for f in random.uniform(0.6, 1.6, ndim))
                x = filled(shape, dtype)
                label = "×".join(str(extent) for extent in shape)
                yield case(f"{x.dtype.name} {label} {order}", f"{ndim}-D permutations", x.transpose(order), None)


def casts(side: int) -> Iterator[Case]:
    """Dense casts, then some of them strided and transposed."""
    ml = __import__("ml_dtypes")
    pairs: list[tuple[Any, Any, float]] = [
        (np.float32, np.float16, 1.1),
        (np.float16, np.float32, 1.1),
        (np.float32, ml.bfloat16, 1.1),
        (ml.bfloat16, np.float32, 1.1),
        (np.int32, np.float32, 1.1),
        (np.float64, np.float32, 1.1),
        (np.uint8, np.float32, 1.1),
        (np.float32, np.bool_, 1.1),
        (np.bool_, np.float32, 1.1),
        *((np.float32, getattr(ml, name), 1.3) for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz")),
        *((getattr(ml, name), np.float32, 1.3) for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz")),
    ]
    for source, target, limit in pairs:
        x = filled((side, side), source)
        yield case(f"{x.dtype.name} → {np.dtype(target).name}", "casts", x, limit, target)
    for source, target, _ in pairs[:6]:
        x = filled((side, side), source)
        name = f"{x.dtype.name} → {np.dtype(target).name}"
        yield case(f"{name} transposed", "casts in other layouts", x.T, 1.35, target)
        view = x[::2, ::3]
        to = np.zeros(view.shape, target)
        yield Case(f"{name} [::2, ::3]", "casts in other layouts", to, view, (touched(view) + touched(to)) // 2, 1.2)
