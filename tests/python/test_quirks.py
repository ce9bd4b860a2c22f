# SPDX-License-Identifier: Apache-2.0
"""What anyarray knows of single libraries: a test for every row of the quirks table."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeVar

import pytest

import anyarray as aa

from .conftest import needs

F = TypeVar("F", bound=Callable[..., Any])
covered: dict[str, list[str]] = {}


def quirk(*ids: str) -> Callable[[F], F]:
    """Marks the tests of a row."""

    def mark(function: F) -> F:
        for i in ids:
            covered.setdefault(i, []).append(function.__name__)
        return function

    return mark


def refusal(obj: Any, *words: str, **request: Any) -> aa.ExchangeError:
    """The error of a view, whose text must hold the words."""
    with pytest.raises(aa.ExchangeError) as caught:
        aa.view(obj, **request)
    for word in words:
        assert word in str(caught.value)
    return caught.value


def statuses(error: Any) -> dict[str, str]:
    return {a.protocol: a.status for a in error.attempts}


# ------------------------------------------------------------------ the table


def test_every_row_has_a_test() -> None:
    from . import test_quirks_more  # noqa: F401  (marks the rows that it tests)

    assert {row["id"] for row in aa.quirks_table()} == set(covered)


def test_rows_say_what_breaks_and_where_it_was_seen() -> None:
    rows = aa.quirks_table()
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["effect"] in {"guard", "readonly", "drop", "hook"}
        assert row["text"].endswith(".") and row["reference"] and row["library"] and row["type"]


# ------------------------------------------------------------------ torch


def torch_module() -> Any:
    return needs("torch")


WAIVABLE = {
    "grad": (lambda torch: torch.ones(3, requires_grad=True), "x.detach()"),
    "grad of a result": (lambda torch: torch.ones(3, requires_grad=True) * 2, "x.detach()"),
    "grad of a parameter": (lambda torch: torch.nn.Parameter(torch.ones(3)), "x.detach()"),
    "grad in bfloat16": (lambda torch: torch.ones(3, dtype=torch.bfloat16, requires_grad=True), "x.detach()"),
    "grad of complex": (lambda torch: torch.ones(3, dtype=torch.complex64, requires_grad=True), "x.detach()"),
    "conj": (lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj(), "x.resolve_conj()"),
    "conj complex128": (lambda torch: torch.ones(3, dtype=torch.complex128).conj(), "x.resolve_conj()"),
    "neg": (lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj().imag, "x.resolve_neg()"),
    "neg of complex": (lambda torch: torch._neg_view(torch.tensor([1 + 2j])), "x.resolve_neg()"),
    "neg float64": (lambda torch: torch.ones(3, dtype=torch.complex128).conj().imag, "x.resolve_neg()"),
}


@quirk("torch_bits")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["dlpack_exchange"]])
@pytest.mark.parametrize("how", WAIVABLE)
def test_torch_bits_are_refused_by_every_route(how: str, policy: Any) -> None:
    make, remedy = WAIVABLE[how]
    x = make(torch_module())
    error = refusal(x, policy=policy)
    if policy != ["dlpack"]:  # torch's own __dlpack__ refuses what it knows of with words of its own
        word = how.partition(" ")[0]
        assert remedy in str(error)
        assert f'allow=("{word}",)' in str(error)
        assert statuses(error)["dlpack_exchange"] == "guarded"


@quirk("torch_bits")
@pytest.mark.parametrize("how", WAIVABLE)
def test_torch_bits_can_be_waived_one_by_one(how: str) -> None:
    x = WAIVABLE[how][0](torch_module())
    word = how.partition(" ")[0]
    for other in {"grad", "conj", "neg", "mask"} - {word}:
        refusal(x, allow=(other,))
    v = aa.view(x, allow=(word,))
    assert (v.ptr, v.protocol) == (x.data_ptr(), "dlpack_exchange")


@quirk("torch_bits")
def test_torch_two_bits_need_two_waivers() -> None:
    x = torch_module().ones(3, dtype=torch_module().complex64, requires_grad=True).conj()
    refusal(x, allow=("grad",))
    refusal(x, allow=("conj",))
    assert aa.view(x, allow=("grad", "conj")).ptr == x.data_ptr()


@quirk("torch_bits")
def test_torch_tensors_without_bits_pass() -> None:
    torch = torch_module()
    for name in ("float16", "bfloat16", "float32", "float64", "complex64", "int8", "int64", "uint8", "bool"):
        x = torch.ones(2, 3, dtype=getattr(torch, name)).t()
        v = aa.view(x)
        assert (v.shape, str(v.dtype), v.ptr, v.protocol) == ((3, 2), name, x.data_ptr(), "dlpack_exchange")
        assert v.readonly is False
    resolved = torch.tensor([1 + 2j]).conj().resolve_conj()
    assert aa.view(resolved).tolist() == [1 - 2j]
    assert aa.view(torch.ones(3, requires_grad=True).detach()).tolist() == [1.0, 1.0, 1.0]


@quirk("torch_bits")
def test_torch_flag_that_raises_is_a_failure() -> None:
    torch = torch_module()

    class Loud(torch.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func == torch.Tensor.requires_grad.__get__:
                raise OSError("not now")
            return super().__torch_function__(func, types, args, kwargs or {})

    refusal(torch.ones(3).as_subclass(Loud), "OSError", "not now")
    assert aa.view(torch.ones(3).as_subclass(Loud), allow=("grad",)).tolist() == [1.0, 1.0, 1.0]


def wrapper(torch: Any, offset: int, dtype: Any, n: int = 3) -> Any:
    class Wrapper(torch.Tensor):  # type: ignore[misc, name-defined]
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise NotImplementedError(str(func))

    return torch.Tensor._make_wrapper_subclass(Wrapper, (n,), strides=(1,), storage_offset=offset, dtype=dtype)


def freed(torch: Any, offset: int) -> Any:
    x = torch.ones(8)[offset:]
    x.untyped_storage().resize_(0)
    return x


WITHOUT_MEMORY = {
    "wrapper": lambda torch: wrapper(torch, 0, torch.float32),
    "wrapper with offset": lambda torch: wrapper(torch, 5, torch.float32),
    "wrapper of ints": lambda torch: wrapper(torch, 5, torch.int16),
    "wrapper with a far offset": lambda torch: wrapper(torch, 2**30, torch.int64),
    "functional": lambda torch: torch._to_functional_tensor(torch.ones(8)),
    "functional with offset": lambda torch: torch._to_functional_tensor(torch.ones(8)[2:]),
    "zero tensor": lambda torch: torch._efficientzerotensor(8),
    "zero tensor with offset": lambda torch: torch._efficientzerotensor(8)[2:],
    "freed": lambda torch: freed(torch, 0),
    "freed with offset": lambda torch: freed(torch, 2),
    "meta": lambda torch: torch.empty(3, device="meta"),
    "sparse": lambda torch: torch.eye(3).to_sparse(),
    "compressed": lambda torch: torch.eye(3).to_sparse_csr(),
    "nested": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "jagged": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    "quantized": lambda torch: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
}


@quirk("torch_no_memory")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["array_method"]])
@pytest.mark.parametrize("how", WITHOUT_MEMORY)
def test_torch_without_memory_is_refused_by_every_route(how: str, policy: Any) -> None:
    x = WITHOUT_MEMORY[how](torch_module())
    refusal(x, policy=policy, allow=("grad", "neg", "conj"))


@quirk("torch_no_memory")
def test_torch_offset_into_nothing_says_so() -> None:
    refusal(wrapper(torch_module(), 5, torch_module().float32), "has no memory", "offset")


@quirk("torch_no_memory")
def test_torch_empty_tensors_need_no_memory() -> None:
    torch = torch_module()
    assert aa.view(torch.empty(0, 3)).shape == (0, 3)
    assert aa.view(wrapper(torch, 0, torch.float32, n=0)).shape == (0,)


@quirk("torch_no_memory")
def test_torch_transforms_are_refused_inside() -> None:
    torch = torch_module()
    seen: list[aa.ExchangeError] = []

    def inside(x: Any) -> Any:
        seen.append(refusal(x, allow=("grad",)))
        return (x * x).sum()

    torch.func.grad(inside)(torch.ones(3))
    torch.func.vmap(inside)(torch.ones(2, 3))
    torch.func.jvp(inside, (torch.ones(3),), (torch.ones(3),))
    assert len(seen) == 3


@quirk("torch_override")
def test_torch_subclass_with_its_own_dlpack_is_asked_through_it() -> None:
    torch = torch_module()
    other = torch.arange(4.0)

    class Own(torch.Tensor):  # type: ignore[misc, name-defined]
        def __dlpack__(self, **kwargs: Any) -> Any:
            return other.__dlpack__(**kwargs)

    v = aa.view(torch.ones(3).as_subclass(Own))
    assert (v.protocol, v.tolist()) == ("dlpack", [0.0, 1.0, 2.0, 3.0])

    class Closed(torch.Tensor):  # type: ignore[misc, name-defined]
        def __dlpack__(self, **kwargs: Any) -> Any:
            raise BufferError("not for export")

    error = refusal(torch.ones(3).as_subclass(Closed), "not for export", policy=["dlpack_exchange", "dlpack"])
    assert "dlpack_exchange" not in statuses(error)


@quirk("torch_override")
def test_torch_subclass_without_one_takes_the_table() -> None:
    torch = torch_module()

    class Plain(torch.Tensor):  # type: ignore[misc, name-defined]
        extra = 1

    assert aa.view(torch.ones(3).as_subclass(Plain)).protocol == "dlpack_exchange"


@quirk("torch_override")
def test_torch_override_that_comes_later() -> None:
    torch = torch_module()

    class Late(torch.Tensor):  # type: ignore[misc, name-defined]
        pass

    x = torch.ones(3).as_subclass(Late)
    assert aa.view(x).protocol == "dlpack_exchange"
    Late.__dlpack__ = lambda self, **kw: torch.zeros(2).__dlpack__(**kw)
    assert aa.view(x).shape == (2,)


@quirk("torch_fake")
@pytest.mark.parametrize("policy", [None, ["dlpack_exchange"], ["dlpack"], ["array_method"]])
@pytest.mark.parametrize("offset", [0, 2])
def test_torch_fake_tensor_is_named(policy: Any, offset: int) -> None:
    torch = torch_module()
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.ones(8)[offset:]
    refusal(x, "FakeTensor has no memory", policy=policy)


# ------------------------------------------------------------------ JAX


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


# ------------------------------------------------------------------ TensorFlow, in effigy


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes tensors of a class that has TensorFlow's names and its faults, except that it doesn't end the process."""
    np = needs("numpy")
    names = ["tensorflow", "tensorflow.python", "tensorflow.python.framework", "tensorflow.python.framework.ops"]
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))

    class EagerTensor:
        def __init__(self, data: Any, dtype: Any) -> None:
            self.data, self._dtype = np.asarray(data), dtype

        @property
        def dtype(self) -> Any:
            if isinstance(self._dtype, BaseException):
                raise self._dtype
            return type("DType", (), {"name": self._dtype})()

        def __dlpack__(self, stream: Any = None) -> Any:
            if self._dtype in ("string", "resource", "variant"):
                pytest.fail("here TensorFlow would have ended the process")
            return self.data.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __array__(self, *args: Any, **kwargs: Any) -> Any:
            return self.data

    EagerTensor.__module__ = names[-1]
    EagerTensor.__qualname__ = "EagerTensor"
    return EagerTensor


@quirk("tensorflow_immutable")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["array_method"]])
def test_tensorflow_is_readonly_by_every_route(eager: Any, policy: Any) -> None:
    x = eager([1.0, 2.0], "float64")
    v = aa.view(x, policy=policy)
    assert (v.tolist(), v.readonly) == ([1.0, 2.0], True)
    del v
    refusal(x, policy=policy, writable=True)
    assert aa.view(x.data).readonly is False


@quirk("tensorflow_abort")
@pytest.mark.parametrize("dtype", ["string", "resource", "variant"])
def test_tensorflow_export_that_would_end_the_process_is_not_asked(eager: Any, dtype: str) -> None:
    for policy in (None, ["dlpack"]):
        refusal(eager([1.0], dtype), dtype, "x.numpy()", policy=policy)


@quirk("tensorflow_abort")
@pytest.mark.parametrize("dtype", [3, None, ValueError("no dtype")])
def test_tensorflow_dtype_that_cant_be_read(eager: Any, dtype: Any) -> None:
    refusal(eager([1.0], dtype), "dtype can't be read")


@quirk("tensorflow_abort")
def test_tensorflow_dtype_that_interrupts(eager: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        aa.view(eager([1.0], KeyboardInterrupt()))


@quirk("tensorflow_immutable", "tensorflow_abort")
def test_a_class_of_the_same_name_elsewhere_is_left_alone() -> None:
    np = needs("numpy")

    class EagerTensor:
        def __dlpack__(self, **kwargs: Any) -> Any:
            return np.ones(2).__dlpack__(**kwargs)

    EagerTensor.__qualname__ = "EagerTensor"
    for module in ("tensorflower", "my.tensorflow", "", 3):
        EagerTensor.__module__ = module  # type: ignore[assignment]
        assert aa.view(EagerTensor()).readonly is False


@quirk("jax_export", "torch_bits")
def test_classes_that_only_say_that_they_are_from_a_library() -> None:
    np = needs("numpy")

    def make(name: str, module: str) -> Any:
        body = {"__module__": module, "__qualname__": name}
        return type(name, (), {**body, "__dlpack__": lambda self, **kw: np.ones(2).__dlpack__(**kw)})()

    assert aa.view(make("ArrayImpl", "jaxlib._jax")).tolist() == [1.0, 1.0]
    refusal(make("Tensor", "torch"), "requires_grad")


# ------------------------------------------------------------------ NumPy


def masked_arrays(np: Any) -> dict[str, Any]:
    return {
        "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
        "without a mask": np.ma.array([1.0, 2.0]),
        "constant": np.ma.masked,
        "record": np.ma.array([(1, 2.0)], dtype="i4,f4")[0],
        "subclass": np.ma.array([1, 2]).view(type("Mine", (np.ma.MaskedArray,), {})),
    }


@quirk("numpy_masked")
@pytest.mark.parametrize("row", [None, "buffer", "dlpack", "array_interface", "array_struct", "array_method"])
@pytest.mark.parametrize("kind", ["masked", "without a mask", "constant", "record", "subclass"])
def test_numpy_masks_are_refused_by_every_route(kind: str, row: str | None) -> None:
    policy = None if row is None else [row]
    x = masked_arrays(needs("numpy"))[kind]
    refusal(x, "mask", "x.filled(", "x.data", 'allow=("mask",)', policy=policy)
    refusal(x, policy=policy, allow=("grad", "conj", "neg"))


@quirk("numpy_masked")
def test_numpy_mask_waived() -> None:
    x = masked_arrays(needs("numpy"))["masked"]
    v = aa.view(x, allow=("mask",))
    assert (v.tolist(), v.ptr) == ([1, 2, 3], x.data.ctypes.data)
    assert aa.view(x.filled(0)).tolist() == [1, 0, 3]


OVERRIDES = {
    "__dlpack__": ("dlpack", lambda other: lambda self, **kw: other.__dlpack__(**kw)),
    "__array_interface__": ("array_interface", lambda other: property(lambda self: other.__array_interface__)),
    "__array_struct__": ("array_struct", lambda other: property(lambda self: other.__array_struct__)),
    "__array__": ("array_method", lambda other: lambda self, *a, **kw: other),
}


@quirk("numpy_override")
@pytest.mark.parametrize("name", OVERRIDES)
def test_numpy_subclass_is_asked_through_what_it_overrides(name: str) -> None:
    np = needs("numpy")
    row, make = OVERRIDES[name]
    other = np.arange(4.0)
    kind = type("Own", (np.ndarray,), {name: make(other)})
    v = aa.view(np.ones(3).view(kind))
    assert (v.protocol, v.tolist()) == (row, [0.0, 1.0, 2.0, 3.0])
    child = type("Child", (kind,), {})
    assert aa.view(np.ones(3).view(child)).protocol == row


@quirk("numpy_override")
def test_numpy_subclass_that_refuses_is_refused() -> None:
    np = needs("numpy")

    def closed(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise BufferError("closed")

    kind = type("Closed", (np.ndarray,), {"__dlpack__": closed})
    assert set(statuses(refusal(np.ones(3).view(kind), "closed"))) == {"dlpack"}


@quirk("numpy_override")
def test_numpy_other_subclasses_are_read_in_place() -> None:
    np = needs("numpy")
    plain = type("Plain", (np.ndarray,), {"unit": "m"})
    hidden = type("Hidden", (np.ndarray,), {"__dlpack__": None})
    for x in (
        np.ones(3).view(plain),
        np.ones(3).view(hidden),
        np.matrix([[1.0]]),
        np.rec.array([(1, 2.0)], dtype="i4,f8"),
    ):
        v = aa.view(x)
        assert (v.protocol, v.ptr) == ("numpy", x.ctypes.data)
    refusal(np.ones(3).view(hidden), policy=["dlpack"])


@quirk("numpy_scalar")
@pytest.mark.parametrize("policy", [None, ["array_struct"], ["array_interface"]])
@pytest.mark.parametrize("kind", ["int8", "uint64", "float16", "float64", "complex64", "bool_"])
def test_numpy_scalars_are_readonly(kind: str, policy: Any) -> None:
    np = needs("numpy")
    x = getattr(np, kind)(1)
    v = aa.view(x, policy=policy)
    assert (v.readonly, v.shape, v.item()) == (True, (), 1)
    del v
    refusal(x, policy=policy, writable=True)


@quirk("numpy_datetime", "numpy_timedelta")
@pytest.mark.parametrize("policy", [None, ["buffer"], ["buffer", "array_struct", "array_interface"]])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_numpy_times_keep_their_type(kind: str, policy: Any) -> None:
    np = needs("numpy")
    x = getattr(np, kind)(12345, "us")
    if policy == ["buffer"]:
        refusal(x, policy=policy)
        return
    v = aa.view(x, policy=policy)
    assert (str(v.dtype), v.shape, v.readonly) == (f"{kind}[us]", (), True)
    assert ctypes.c_int64.from_address(v.ptr).value == 12345


@quirk("numpy_user_scalar")
@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_numpy_scalars_of_user_dtypes_keep_their_type(kind: str) -> None:
    needs("numpy")
    x = getattr(needs("ml_dtypes"), kind)(1.5)
    v = aa.view(x)
    assert (str(v.dtype), v.shape, v.item(), v.readonly) == (kind, (), 1.5, True)
    for row in ("buffer", "array_struct", "array_interface"):
        refusal(x, policy=[row])


# ------------------------------------------------------------------ ctypes


@quirk("ctypes_format")
def test_ctypes_class_says_the_type() -> None:
    class Packed(ctypes.Structure):
        _pack_ = 1
        _layout_ = "ms"
        _fields_ = [("flag", ctypes.c_uint8), ("value", ctypes.c_double)]

    x = (Packed * 2)((1, 2.5), (3, 4.5))
    v = aa.view(x)
    assert (v.shape, v.itemsize, v.ptr) == ((2,), 9, ctypes.addressof(x))
    assert [tuple(row) for row in v.tolist()] == [(1, 2.5), (3, 4.5)]


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
