# SPDX-License-Identifier: Apache-2.0
"""JAX on the CPU: its dtypes, always read-only; sharded, deleted and traced arrays."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

# Two devices, so that an array can be spread over them; must stand before jax is imported. No search for others.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, floats, load, nested, numbers, refused
from ._mirror import witness

jax = load("jax")
jnp = load("jax.numpy")
np = load("numpy")

_FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz",
           "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3", "float8_e8m0fnu")  # fmt: skip


def _data(name: str) -> Any:
    if name not in _FLOATS:
        return np.array(numbers(name), name)
    if name == "float8_e8m0fnu":
        return np.array([1, 2, 4, 8, 0.5, 0.25, 16, 32, 64, 1, 2, 4], "f4").astype(jnp.dtype(name))
    return np.array(floats(), "f8").astype(jnp.dtype(name))


def _values(x: Any) -> Any:
    host = np.asarray(x)
    if host.dtype.kind in "biufc":
        return host.tolist()
    return nested([float(v) for v in host.reshape(-1)], host.shape)


def _array(x: Any, dtype: str, readonly: bool | None = True) -> Sample:
    x.block_until_ready()
    return witness(np.asarray(x), x, dtype=dtype, readonly=readonly, read=lambda: _values(x))


def _sample(name: str, layout: str) -> Sample:
    x = jnp.asarray(_data(name).reshape(SHAPE))
    pick = {"C": lambda: x, "transposed": lambda: x.T, "sliced": lambda: x[1:, ::2], "0-d": lambda: x[1, 2],
            "size 0": lambda: x[:, :0], "1 element": lambda: x[1:2, 2:3]}  # fmt: skip
    return _array(pick[layout](), name)


def _computing() -> Sample:
    x = jnp.ones((300, 300)) @ jnp.ones((300, 300))
    return _array(x[:2, :3], x.dtype.name)


def _int4() -> Sample:
    x = jnp.arange(-4, 4).astype("int4")
    return Sample(x, lambda: [int(v) for v in np.asarray(x)], (8,), "int4", True)


def _sharded() -> Sample:
    sharding = jax.sharding.NamedSharding(
        jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",)), jax.sharding.PartitionSpec("x")
    )
    x = jax.device_put(jnp.arange(8.0), sharding)
    return Sample(x, lambda: np.asarray(x).tolist(), (8,), "float64", True)


def _deleted() -> Any:
    x = jnp.ones(3)
    x.delete()
    return x


def _tracer() -> Any:
    kept: list[Any] = []
    jax.make_jaxpr(kept.append)(jnp.ones(3))
    return kept[0]


def cases() -> Cases:
    jax.config.update("jax_enable_x64", True)
    names = ("bool", *INTEGERS, "complex64", "complex128", *(n for n in _FLOATS if hasattr(jnp, n)))
    for name in names:
        for layout in ("C", "transposed", "sliced", "0-d", "size 0", "1 element"):
            yield Case("Array", name, layout, partial(_sample, name, layout))
    yield Case("Array, still computed", "float64", "C", _computing)
    yield Case(
        "Array, second device",
        "float64",
        "C",
        lambda: _array(jax.device_put(jnp.arange(6.0), jax.devices()[1]), "float64"),
    )
    yield Case("Array", "int4", "C", _int4, "either", "packed or padded by version")
    yield Case("Array, sharded", "float64", "C", _sharded, "either", "its parts lie in several memories")
    yield refused("Array, deleted", "float64", "its memory is gone", _deleted)
    yield refused("tracer", "float64", "it has no values", _tracer)
    yield refused("PRNG key", "key<fry>", "its dtype has no memory format", lambda: jax.random.key(0), "0-d")
