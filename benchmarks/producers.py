# SPDX-License-Identifier: Apache-2.0
"""The arrays that are imported: one row per producer, with the floors of its routes and what it may cost over them.

Called by imports.py and presets.py. Libraries are imported when their first producer is made.
"""

from __future__ import annotations

import array
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REGISTRY = Path(__file__).parent.parent / "include" / "anyarray" / "protocols.def"


@dataclass(frozen=True)
class Producer:
    """One kind of object.

    Attributes
    ----------
    name : what the table calls it.
    make : makes the object; ImportError where its library isn't installed.
    floors : functions of anyarray_bench that take it; the cheapest counts.
    guards : ns allowed over the floor for guards that the route needs (torch's flags).
    row : registry row, where only an instance offers it: each name that ranks above may cost 15 ns.
    cap : ns in all that replace the comparison with the floor, or None.
    """

    name: str
    make: Callable[[], Any]
    floors: tuple[str, ...]
    guards: float = 0.0
    row: str | None = None
    cap: float | None = None

    def allowance(self) -> float:
        """Nanoseconds allowed over the floor for guards and for names that an instance may have."""
        return self.guards + (15.0 * names_above(self.row) if self.row is not None else 0.0)


def names_above(row: str) -> int:
    """How many attributes that an instance may have rank above this row in the default order."""
    rows = re.findall(
        r'^ANYARRAY_PROTOCOL\((\w+), "(\w*)", ([\w |]+)', REGISTRY.read_text(encoding="utf-8"), re.MULTILINE
    )
    names = [name for name, _, _ in rows]
    above = rows[: names.index(row)]
    return sum(1 for _, attribute, traits in above if attribute and "row_type_only" not in traits)


class Stored:
    """Offers what is put on it, by its own dict alone."""


def interface(cuda: bool) -> tuple[Any, dict[str, Any]]:
    """An owner of memory, and a dict that describes it."""
    owner = array.array("f", range(12))
    about = {"shape": (3, 4), "typestr": "<f4", "data": (owner.buffer_info()[0], False), "strides": None, "version": 3}
    if cuda:
        about["stream"] = None
    return owner, about


def stored(name: str) -> Any:
    """An object with an interface dict as an attribute of the instance."""
    owner, about = interface("cuda" in name)
    obj: Any = Stored()
    obj.owner = owner
    setattr(obj, name, about)
    return obj


def made(name: str) -> Any:
    """An object whose class makes the interface dict anew in a Python property."""
    owner, about = interface("cuda" in name)
    address = about["data"][0]

    def with_stream(_: Any) -> dict[str, Any]:
        data = (address, False)
        return {"shape": (3, 4), "typestr": "<f4", "data": data, "strides": None, "version": 3, "stream": None}

    def without(_: Any) -> dict[str, Any]:
        return {"shape": (3, 4), "typestr": "<f4", "data": (address, False), "strides": None, "version": 3}

    obj = type("Made", (), {name: property(with_stream if "cuda" in name else without)})()
    obj.owner = owner
    return obj


def _numpy(text: str) -> Callable[[], Any]:
    def make() -> Any:
        import numpy as np

        scope: dict[str, Any] = {"np": np}
        if "ml_dtypes" in text:
            import ml_dtypes

            scope["ml_dtypes"] = ml_dtypes
        return eval(text, scope)

    return make


def _read_only() -> Any:
    import numpy as np

    a: Any = np.arange(12, dtype="f4")
    a.flags.writeable = False
    return a


def _array_struct() -> Any:
    import numpy as np

    obj: Any = Stored()
    obj.__array_struct__ = np.arange(12, dtype="f4").__array_struct__
    return obj


def _torch(dtype: str) -> Callable[[], Any]:
    def make() -> Any:
        import torch

        return torch.ones(3, 4, dtype=getattr(torch, dtype))

    return make


def _jax(dtype: str) -> Callable[[], Any]:
    def make() -> Any:
        import jax.numpy as jnp

        return jnp.ones((3, 4), dtype).block_until_ready()

    return make


def _tvm() -> Any:
    import numpy as np
    import tvm_ffi

    return tvm_ffi.from_dlpack(np.ones((3, 4), "f4"))


def _pyarrow() -> Any:
    import pyarrow as pa

    return pa.array([1.0, 2.0, 3.0], pa.float32())


def _ndarray(name: str, text: str) -> Producer:
    return Producer(f"ndarray {name}", _numpy(text), ("floor_ndarray",))


PRODUCERS: tuple[Producer, ...] = (
    _ndarray("f32 1-D", "np.arange(12, dtype='f4')"),
    _ndarray("f32 2-D", "np.ones((3, 4), 'f4')"),
    _ndarray("f32 transposed", "np.ones((3, 4), 'f4').T"),
    Producer("ndarray f32 read-only", _read_only, ("floor_ndarray",)),
    _ndarray("f32 big-endian", "np.arange(12, dtype='>f4')"),
    _ndarray("bfloat16", "np.ones(12, ml_dtypes.bfloat16)"),
    _ndarray("datetime64[us]", "np.zeros(12, 'M8[us]')"),
    _ndarray("struct", "np.zeros(12, [('a', 'i4'), ('b', 'f8')])"),
    _ndarray("U3", "np.zeros(12, 'U3')"),
    Producer("bytes", lambda: b"0123456789ab", ("floor_bytes",)),
    Producer("bytearray", lambda: bytearray(b"0123456789ab"), ("floor_bytearray",)),
    Producer("memoryview", lambda: memoryview(b"0123456789ab"), ("floor_memoryview",)),
    Producer("array.array f", lambda: array.array("f", range(12)), ("floor_buffer",)),
    Producer("torch int32", _torch("int32"), ("floor_exchange",)),
    Producer("torch float32", _torch("float32"), ("floor_exchange",), guards=90),
    Producer("torch bfloat16", _torch("bfloat16"), ("floor_exchange",), guards=90),
    Producer("torch complex64", _torch("complex64"), ("floor_exchange",), guards=150),
    Producer("jax float32", _jax("float32"), ("floor_buffer",)),
    Producer("jax bfloat16", _jax("bfloat16"), ("floor_jax_export",), cap=500),
    Producer("tvm-ffi Tensor", _tvm, ("floor_tvm_export", "floor_dlpack")),
    Producer("pyarrow float32", _pyarrow, ("floor_dlpack",)),
    Producer(
        "CAI dict, stored", lambda: stored("__cuda_array_interface__"), ("floor_cuda_array_interface",),
        row="cuda_array_interface",
    ),
    Producer("CAI dict, property", lambda: made("__cuda_array_interface__"), ("floor_cuda_array_interface",)),
    Producer(
        "AI dict, stored", lambda: stored("__array_interface__"), ("floor_array_interface",), row="array_interface"
    ),
    Producer("AI dict, property", lambda: made("__array_interface__"), ("floor_array_interface",)),
    Producer("array_struct, stored", _array_struct, ("floor_array_struct",), row="array_struct"),
)  # fmt: skip


def available(only: str | None, missing: dict[str, str]) -> Iterator[tuple[Producer, Any]]:
    """The producers whose libraries are here and whose names contain `only`; the others go to `missing`."""
    for producer in PRODUCERS:
        if only is not None and only.lower() not in producer.name.lower():
            continue
        try:
            yield producer, producer.make()
        except ImportError as error:
            missing[producer.name] = str(error)
