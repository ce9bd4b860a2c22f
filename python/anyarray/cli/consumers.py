# SPDX-License-Identifier: Apache-2.0
"""The libraries that `anyarray matrix --to` gives arrays to, and how each takes one by itself.

A way is what users of the library write. Nothing is imported before it is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .installed import installed


@dataclass(frozen=True)
class Consumer:
    """`ways`: "module:function" of the library's own means of taking an array of another; the last dotted part of the
    module is left out in tables. `setup` is an option of the library that is set in the worker.
    """

    name: str
    needs: str
    distribution: str
    ways: tuple[str, ...]
    setup: str = ""

    def installed(self) -> bool:
        """Whether the library can be found."""
        return installed(self.needs)

    def way(self, name: str) -> Callable[[Any], Any]:
        """The function behind one of `ways`."""
        module, _, function = name.partition(":")
        found: Callable[[Any], Any] = getattr(importlib.import_module(module), function)
        return found


CONSUMERS: tuple[Consumer, ...] = (
    Consumer("numpy", "numpy", "numpy", ("numpy:asarray", "numpy:from_dlpack")),
    Consumer("torch", "torch", "torch", ("torch:from_dlpack", "torch:as_tensor")),
    Consumer("jax", "jax", "jax", ("jax.dlpack:from_dlpack", "jax.numpy:asarray"), "jax_enable_x64"),
    Consumer("tvm_ffi", "tvm_ffi", "apache-tvm-ffi", ("tvm_ffi:from_dlpack",)),
    Consumer("pyarrow", "pyarrow", "pyarrow", ("pyarrow:array",)),
    Consumer(
        "array_api_strict",
        "array_api_strict",
        "array-api-strict",
        ("array_api_strict:asarray", "array_api_strict:from_dlpack"),
    ),
    Consumer("cupy", "cupy", "cupy", ("cupy:asarray", "cupy:from_dlpack")),
    Consumer("tensorflow", "tensorflow", "tensorflow-cpu", ("tensorflow:convert_to_tensor",)),
    Consumer("mlx", "mlx.core", "mlx", ("mlx.core:array",)),
    Consumer("paddle", "paddle", "paddlepaddle", ("paddle.utils.dlpack:from_dlpack", "paddle:to_tensor")),
    Consumer("dpnp", "dpnp", "dpnp", ("dpnp:asarray", "dpnp:from_dlpack")),
    Consumer("warp", "warp", "warp-lang", ("warp:array", "warp:from_dlpack")),
)


def find_consumer(name: str) -> Consumer:
    """The consumer of this name.

    Raises
    ------
    KeyError
        There is none.
    """
    for consumer in CONSUMERS:
        if consumer.name == name:
            return consumer
    known = ", ".join(consumer.name for consumer in CONSUMERS)
    raise KeyError(f"{name!r} is no library that arrays are given to ({known})")
