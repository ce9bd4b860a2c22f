# SPDX-License-Identifier: Apache-2.0
"""Rows of the quirks table about JAX."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .quirk_marks import quirk, refusal, statuses


@pytest.fixture
def jnp(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    return needs("jax.numpy")


@pytest.fixture
def no_public_dlpack(jnp: Any) -> Iterator[None]:
    """JAX's public __dlpack__ raises, so that only the direct export can serve."""
    kind = type(jnp.zeros(1))
    public = kind.__dlpack__
    kind.__dlpack__ = lambda self, **kw: (_ for _ in ()).throw(BufferError("public"))
    yield
    kind.__dlpack__ = public


JAX_DTYPES = ["float32", "int32", "bool", "complex64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


@quirk("jax_immutable")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["buffer"], ["array_method"]])
@pytest.mark.parametrize("dtype", JAX_DTYPES)
def test_jax_is_readonly_by_every_route(jnp: Any, dtype: str, policy: Any) -> None:
    x = jnp.ones((2, 3), getattr(jnp, "bool_" if dtype == "bool" else dtype))
    if policy == ["buffer"] and JAX_DTYPES.index(dtype) >= 5:
        refusal(x, policy=policy)
        return
    v = aa.view(x, policy=policy)
    assert (v.readonly, v.shape, str(v.dtype)) == (True, (2, 3), dtype)
    del v
    refusal(x, policy=policy, writable=True)


@quirk("jax_array")
def test_jax_array_method_may_show_a_copy(jnp: Any) -> None:
    x = jnp.ones(3, jnp.float32)
    for policy, copied in ((["array_method"], None), (["dlpack"], False), (["buffer"], False)):
        assert aa.view(x, policy=policy).copied is copied


@quirk("jax_buffer")
def test_jax_buffer_is_skipped_where_it_has_no_format(jnp: Any) -> None:
    for dtype in (jnp.float32, jnp.int8, jnp.bool_, jnp.complex64):
        assert aa.view(jnp.zeros(3, dtype)).protocol == "buffer"
    for dtype in (jnp.bfloat16, jnp.float8_e5m2, jnp.float8_e4m3fn):
        x = jnp.zeros(3, dtype)
        assert aa.view(x).protocol == "dlpack"
        assert statuses(aa.explain(x)) | {"buffer": "skipped", "dlpack": "ok"} == statuses(aa.explain(x))
    assert aa.view(jnp.zeros(3)).protocol == "buffer"


@quirk("jax_buffer")
def test_jax_many_dtypes_stay_told_apart(jnp: Any) -> None:
    names = [
        "float32",
        "bfloat16",
        "int8",
        "int16",
        "int32",
        "uint8",
        "uint16",
        "uint32",
        "bool_",
        "float16",
        "complex64",
    ]
    names += [n for n in vars(jnp) if n.startswith("float8_")]
    for name in names * 3:
        dtype = getattr(jnp, name)
        v = aa.view(jnp.zeros(3, dtype))
        assert str(v.dtype) == name.rstrip("_")
        assert v.protocol == ("dlpack" if name == "bfloat16" or "float8" in name else "buffer")


@quirk("jax_export")
def test_jax_export_serves_one_cpu_device(jnp: Any, no_public_dlpack: None) -> None:
    x = jnp.arange(6, dtype=jnp.bfloat16).reshape(2, 3)
    v = aa.view(x)
    assert (v.protocol, v.tolist(), v.readonly) == ("dlpack", [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], True)
    assert v.ptr == x.unsafe_buffer_pointer()


@quirk("jax_export")
def test_jax_named_sharding_goes_the_public_way(jnp: Any, no_public_dlpack: None) -> None:
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    np = needs("numpy")
    mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
    x = jax.device_put(jnp.ones(4, jnp.bfloat16), NamedSharding(mesh, PartitionSpec("i")))
    refusal(x, "public", policy=["dlpack"])


@quirk("jax_export")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_waits_for_what_is_being_computed(jnp: Any, dtype: str) -> None:
    import jax

    def slow(x: Any) -> Any:
        return jax.lax.fori_loop(0, 60, lambda i, a: (a @ a) / 512 + 1 / 512, x)

    run = jax.jit(slow)
    start = jnp.ones((512, 512), getattr(jnp, dtype))
    want = aa.view(run(start).block_until_ready()).tolist()
    for _ in range(3):
        assert aa.view(run(start)).tolist() == want


@quirk("jax_export")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_donation_under_a_live_view(jnp: Any, dtype: str) -> None:
    import jax

    add = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.arange(8, dtype=getattr(jnp, dtype)) + 0
    want = [float(i) for i in range(8)]
    v = aa.view(x)
    y = add(x)
    y.block_until_ready()
    assert v.tolist() == want
    assert aa.view(y).tolist() == [i + 1 for i in want]


@quirk("jax_export")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e5m2", "complex64"])
def test_jax_other_layouts(jnp: Any, dtype: str) -> None:
    import jax
    from jax.experimental.layout import Format, Layout
    from jax.sharding import SingleDeviceSharding

    np = needs("numpy")
    x = (jnp.arange(6) % 4).astype(getattr(jnp, dtype)).reshape(2, 3)
    columns = jax.device_put(x, Format(Layout(major_to_minor=(1, 0)), SingleDeviceSharding(jax.devices()[0])))
    v = aa.view(columns)
    assert v.tolist() == np.asarray(x).astype("c8" if dtype == "complex64" else "f4").tolist()


@quirk("jax_export")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_deleted_and_traced(jnp: Any, dtype: str) -> None:
    import jax

    x = jnp.ones(3, getattr(jnp, dtype)) + 1
    v = aa.view(x)
    x.delete()  # ends the process where the export holds the array's own buffer
    refusal(x, "deleted")
    assert v.tolist() == [2.0, 2.0, 2.0]
    v.release()
    seen: list[aa.ExchangeError] = []
    jax.jit(lambda a: (seen.append(refusal(a, "racer")), a)[1])(jnp.ones(3, getattr(jnp, dtype)))
    jax.grad(lambda a: (seen.append(refusal(a)), a.sum())[1])(jnp.ones(3))
    jax.vmap(lambda a: (seen.append(refusal(a)), a)[1])(jnp.ones((2, 3)))
    assert len(seen) == 3


@quirk("jax_export", "jax_array")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_several_devices(dtype: str) -> None:
    needs("jax")
    needs("numpy")
    code = f"""
    import jax, jax.numpy as jnp, numpy as np, anyarray as aa
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
    assert len(jax.devices()) == 2
    x = jnp.arange(8, dtype=jnp.{dtype})
    want = np.asarray(x).astype("f4").tolist()
    second = jax.device_put(x, jax.devices()[1])
    assert aa.view(second).tolist() == want, "second device"
    mesh = Mesh(np.array(jax.devices()), ("i",))
    for spec in (P("i"), P()):
        y = jax.device_put(x, NamedSharding(mesh, spec))
        try:
            v = aa.view(y)
        except aa.ExchangeError:
            continue
        assert v.shape == (8,) and v.tolist() == want and v.readonly, (spec, v)
        assert v.copied is None, (spec, v)
    y = jax.device_put(x, NamedSharding(Mesh(np.array(jax.devices()[1:]), ("i",)), P("i")))
    assert aa.view(y).tolist() == want, "one device of a mesh"
    print("done")
    """
    environment = dict(os.environ, JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip() == "done", done.stderr[-2000:]


# ------------------------------------------------------------------ versions


@quirk("jax_export")
@pytest.mark.parametrize("version", ["0.9.99", "0.11", "0.11.0rc1", "1.0", "12", "", "odd", None, 3])
def test_rows_hold_for_their_versions_only(version: Any) -> None:
    needs("jax")
    code = f"""
    import jaxlib, jax.numpy as jnp
    x = jnp.ones(3, jnp.bfloat16)
    type(x).__dlpack__ = lambda self, **kw: (_ for _ in ()).throw(BufferError("public"))
    jaxlib.__version__ = {version!r}
    import anyarray as aa
    try:
        aa.view(x, policy=["dlpack"])
    except aa.ExchangeError as e:
        assert "public" in str(e)
        print("public")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=dict(os.environ, JAX_PLATFORMS="cpu"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.strip() == "public", done.stderr[-2000:]
