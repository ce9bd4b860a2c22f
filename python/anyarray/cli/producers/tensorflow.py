# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: eager tensors on the CPU, which are immutable whatever a protocol says."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from ..cases import (
    INTEGERS,
    SHAPE,
    Case,
    Cases,
    Sample,
    buffer_address,
    load,
    nested,
    numbers,
    refused,
)

tf = load("tensorflow")
np = load("numpy")


def _values(x: Any) -> Any:
    host = np.asarray(x.numpy())
    if host.dtype.name == "bfloat16":
        return nested([float(v) for v in host.reshape(-1)], host.shape)
    return host.tolist()


def _sample(name: str, layout: str) -> Sample:
    data: Any = numbers(name)
    x = tf.reshape(tf.constant(data, getattr(tf, name)), SHAPE)
    x = {"C": lambda: x, "0-d": lambda: x[1, 2], "size 0": lambda: x[:, :0], "1 element": lambda: x[1:2, 2:3]}[layout]()
    host = np.asarray(x.numpy())  # a copy
    address = buffer_address(x) if host.size and name != "bfloat16" else None
    return Sample(x, lambda: _values(x), host.shape, name, True, address, host.tobytes())


def cases() -> Cases:
    for name in ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        for layout in ("C", "0-d", "size 0", "1 element"):
            yield Case("Tensor", name, layout, partial(_sample, name, layout))
    variable = tf.Variable([1.0, 2.0])
    yield Case(
        "Variable",
        "float32",
        "C",
        lambda: Sample(variable, lambda: [1.0, 2.0], (2,), "float32"),
        "either",
        "its `__array__` copies",
    )
    # The export of a string tensor ends the process, so it mustn't even be asked.
    yield refused("Tensor", "string", "elements of no fixed size", lambda: tf.constant(["a", "b"]))
    yield refused("RaggedTensor", "int32", "rows of different lengths", lambda: tf.ragged.constant([[1], [2, 3]]))
