# SPDX-License-Identifier: Apache-2.0
"""PaddlePaddle: tensors on the CPU."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import Case, Cases, Sample, load, nested, numbers, refused

paddle = load("paddle")

_INTEGERS = ("int8", "uint8", "int16", "int32", "int64")


def _values(x: Any, name: str) -> Any:
    if name == "bfloat16":
        x = x.astype("float32")
    return x.tolist()


def _sample(name: str, layout: str) -> Sample:
    data: Any = numbers(name)
    x = paddle.to_tensor(nested(data), dtype=name)
    pick = {"C": lambda: x, "0-d": lambda: x[1, 2], "1 element": lambda: x[1:2, 2:3]}
    y = pick[layout]()
    return Sample(y, lambda: _values(y, name), tuple(y.shape), name, False, y.data_ptr())


def cases() -> Cases:
    paddle.set_device("cpu")
    for name in ("bool", *_INTEGERS, "float16", "bfloat16", "float32", "float64"):
        for layout in ("C", "0-d", "1 element"):
            yield Case("Tensor", name, layout, partial(_sample, name, layout))
    yield refused(
        "Tensor, not stop_gradient",
        "float32",
        "autograd wouldn't see what is done to the memory",
        lambda: paddle.to_tensor([1.0], stop_gradient=False),
    )
    yield refused(
        "Parameter",
        "float32",
        "autograd wouldn't see what is done to the memory",
        lambda: paddle.nn.Linear(2, 2).weight,
    )
    yield refused(
        "Tensor, sparse",
        "float32",
        "elements of several memories",
        lambda: paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2]),
    )
