# SPDX-License-Identifier: Apache-2.0
"""What anyarray knows of single libraries: a test for every row of the quirks table.

The libraries with most rows have a file of their own. The others are here: where they are installed, and as classes
that have their names and their faults.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .quirk_marks import covered, quirk, refusal, statuses

Effigy = Callable[..., type]


@pytest.fixture
def effigy(monkeypatch: pytest.MonkeyPatch) -> Effigy:
    """Makes a class that says that it is `name` of `library`, which seems to be loaded in that version."""

    def make(library: str, name: str, body: dict[str, Any], version: object = None) -> type:
        module: Any = ModuleType(library)
        if version is not None:
            module.__version__ = version
        monkeypatch.setitem(sys.modules, library, module)
        return type(name, (), {**body, "__module__": library, "__qualname__": name})

    return make


# ------------------------------------------------------------------ the table


def test_every_row_has_a_test() -> None:
    for file in Path(__file__).parent.glob("test_quirks_*.py"):
        importlib.import_module(f"{__package__}.{file.stem}")  # marks the rows that it tests
    assert {row["id"] for row in aa.quirks_table()} == covered


def test_rows_say_what_breaks_and_where_it_was_seen() -> None:
    rows = aa.quirks_table()
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        assert row["effect"] in {"guard", "readonly", "drop", "hook"}
        assert row["text"].endswith(".") and row["reference"] and row["library"] and row["type"]


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

    kind: Any = EagerTensor
    kind.__qualname__ = "EagerTensor"
    for module in ("tensorflower", "my.tensorflow", "", 3):
        kind.__module__ = module
        assert aa.view(kind()).readonly is False


@quirk("jax_export", "torch_bits")
def test_classes_that_only_say_that_they_are_from_a_library() -> None:
    np = needs("numpy")

    def make(name: str, module: str) -> Any:
        body = {"__module__": module, "__qualname__": name}
        return type(name, (), {**body, "__dlpack__": lambda self, **kw: np.ones(2).__dlpack__(**kw)})()

    assert aa.view(make("ArrayImpl", "jaxlib._jax")).tolist() == [1.0, 1.0]
    refusal(make("Tensor", "torch"), "requires_grad")


# ------------------------------------------------------------------ dpctl


@quirk("dpctl_memory")
def test_dpctl_memory_means_writable(effigy: Effigy) -> None:
    entries = {"shape": (8,), "typestr": "|u1", "data": (4096, True), "version": 1, "syclobj": "cpu"}
    base = effigy("dpctl.memory._memory", "_Memory", {"__sycl_usm_array_interface__": entries})
    for kind in (base, type("MemoryUSMDevice", (base,), {})):
        assert aa.view(kind()).readonly is False
    array = effigy("dpctl.tensor", "usm_ndarray", {"__sycl_usm_array_interface__": entries})
    assert aa.view(array()).readonly is True


# ------------------------------------------------------------------ tvm-ffi


def tvm_tensor() -> Any:
    np = needs("numpy")
    return needs("tvm_ffi").from_dlpack(np.arange(6.0, dtype="f4").reshape(2, 3))


@quirk("tvm_ffi_export")
def test_tvm_ffi_export_gives_what_the_public_way_gives() -> None:
    class Public:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack__(self, **kwargs: Any) -> Any:
            return self.tensor.__dlpack__(**kwargs)

    x = tvm_tensor()
    direct, public = aa.view(x, policy=["dlpack"]), aa.view(Public(x))
    for v in (direct, public):
        assert (v.tolist(), v.shape, str(v.dtype), v.readonly, v.copied, v.device, v.ptr) == (
            [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], (2, 3), "float32", False, False, "cpu", direct.ptr,
        )  # fmt: skip


@quirk("tvm_ffi_export")
def test_tvm_ffi_subclass_with_its_own_dlpack_is_asked_through_it() -> None:
    ffi = needs("tvm_ffi")
    x = tvm_tensor()
    called: list[int] = []
    own = ffi.Tensor._to_dlpack_versioned

    class Counting(ffi.Tensor):
        def __dlpack__(self, **kwargs: Any) -> Any:
            called.append(1)
            return own(x)

    child = Counting.__new__(Counting)
    assert aa.view(child, policy=["dlpack"]).tolist() == aa.view(x).tolist()
    assert called == [1]


@quirk("tvm_ffi_export")
def test_tvm_ffi_export_that_fails_leaves_the_public_way(effigy: Effigy) -> None:
    np = needs("numpy")
    data = np.arange(3.0)
    seen: list[str] = []

    def make(private: Callable[..., Any]) -> Any:
        def public(self: Any, **kwargs: Any) -> Any:
            seen.append("public")
            return data.__dlpack__(**kwargs)

        return effigy("tvm_ffi", "Tensor", {"_to_dlpack_versioned": private, "__dlpack__": public}, "0.1.15")()

    def raises(self: Any) -> Any:
        seen.append("private")
        raise RuntimeError("not this one")

    def interrupts(self: Any) -> Any:
        raise KeyboardInterrupt

    assert aa.view(make(raises)).tolist() == [0.0, 1.0, 2.0]
    assert seen == ["private", "public"]
    with pytest.raises(KeyboardInterrupt):
        aa.view(make(interrupts))
    assert seen == ["private", "public"]
    assert aa.view(make(lambda self: data.__dlpack__(max_version=(1, 0)))).ptr == data.ctypes.data
    assert seen == ["private", "public"]


@quirk("tvm_ffi_export")
@pytest.mark.parametrize("version", ["0.0.9", "0.2", "0.2.0rc1", "1.0", None, 3])
def test_tvm_ffi_export_of_other_versions_is_left_alone(effigy: Effigy, version: object) -> None:
    np = needs("numpy")
    body = {
        "_to_dlpack_versioned": lambda self: pytest.fail("private"),
        "__dlpack__": lambda self, **kwargs: np.ones(2).__dlpack__(**kwargs),
    }
    assert aa.view(effigy("tvm_ffi", "Tensor", body, version)()).tolist() == [1.0, 1.0]


@quirk("tvm_ffi_export")
def test_tvm_ffi_export_keeps_counts() -> None:
    x = tvm_tensor()
    aa.view(x, policy=["dlpack"])
    before = sys.getrefcount(x)
    for _ in range(100):
        aa.view(x, policy=["dlpack"]).release()
    held = [aa.view(x, policy=["dlpack"]) for _ in range(5)]
    del held
    gc.collect()
    assert sys.getrefcount(x) == before


# ------------------------------------------------------------------ PaddlePaddle


def paddle_effigy(effigy: Effigy, *, dense: object = True, stops: object = True) -> Any:
    """A tensor with Paddle's flags; its export mustn't be asked where Paddle's own would crash."""
    np = needs("numpy")
    data = np.arange(3.0)

    def answer(value: object) -> object:
        if isinstance(value, BaseException):
            raise value
        return value

    def export(self: Any, **kwargs: Any) -> Any:
        assert dense is True
        return data.__dlpack__(**kwargs)

    body = {
        "is_dense": lambda self: answer(dense),
        "stop_gradient": property(lambda self: answer(stops)),
        "__dlpack__": export,
        "__array__": lambda self, *args, **kwargs: data.astype("u2"),
    }
    return effigy("paddle", "Tensor", body)()


@quirk("paddle_tensor")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["array_method", "dlpack"]])
def test_paddle_flags_are_asked_before_anything_else(effigy: Effigy, policy: Any) -> None:
    assert aa.view(paddle_effigy(effigy), policy=policy).tolist() == [0.0, 1.0, 2.0]
    x = paddle_effigy(effigy, stops=False)
    refusal(x, "stop_gradient=False", "x.detach()", 'allow=("grad",)', policy=policy)
    refusal(x, policy=policy, allow=("mask", "conj", "neg"))
    assert aa.view(x, policy=policy, allow=("grad",)).tolist() == [0.0, 1.0, 2.0]
    for waived in ((), ("grad",)):
        refusal(paddle_effigy(effigy, dense=False), "isn't dense", "x.to_dense()", policy=policy, allow=waived)


@quirk("paddle_tensor")
def test_paddle_flags_that_raise(effigy: Effigy) -> None:
    refusal(paddle_effigy(effigy, dense=OSError("not now")), "OSError", "not now")
    refusal(paddle_effigy(effigy, stops=OSError("not now")), "OSError", "not now")
    with pytest.raises(KeyboardInterrupt):
        aa.view(paddle_effigy(effigy, stops=KeyboardInterrupt()))


@quirk("paddle_array")
def test_paddle_array_method_isnt_taken(effigy: Effigy) -> None:
    refusal(paddle_effigy(effigy), policy=["array_method"])
    own = type("Own", (type(paddle_effigy(effigy)),), {"__array__": lambda self, **kw: needs("numpy").ones(2)})
    assert aa.view(own(), policy=["array_method"]).tolist() == [1.0, 1.0]


PADDLE = {
    "leaf": lambda paddle: paddle.to_tensor([1.0, 2.0], stop_gradient=False),
    "result": lambda paddle: paddle.to_tensor([1.0, 2.0], stop_gradient=False) * 2,
    "integers": lambda paddle: paddle.to_tensor([1, 2], stop_gradient=False),
    "parameter": lambda paddle: paddle.nn.Linear(2, 2).weight,
    "coo": lambda paddle: paddle.sparse.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2]),
    "csr": lambda paddle: paddle.sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], [2, 2]),
}


@quirk("paddle_tensor", "paddle_array")
@pytest.mark.parametrize("policy", [None, ["dlpack_exchange"], ["dlpack"], ["array_method"]])
@pytest.mark.parametrize("how", PADDLE)
def test_paddle_tensors_that_mean_more_than_their_memory(how: str, policy: Any) -> None:
    paddle = needs("paddle")
    x = PADDLE[how](paddle)
    error = refusal(x, policy=policy)
    assert not error.attempts
    if how not in ("coo", "csr"):
        assert "x.detach()" in str(error)
        assert aa.view(x, allow=("grad",)).ptr == x.data_ptr()
        assert aa.view(x.detach()).ptr == x.data_ptr()


@quirk("paddle_tensor", "paddle_array")
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "bool", "complex64", "int8"])
def test_paddle_types_are_kept_by_every_route(dtype: str) -> None:
    x = needs("paddle").to_tensor([1.0, 2.0]).astype(dtype)
    for policy in (None, ["dlpack_exchange"], ["dlpack"]):
        v = aa.view(x, policy=policy)
        assert (str(v.dtype), v.ptr, v.copied) == (dtype, x.data_ptr(), False)
        assert [complex(i) for i in v.tolist()] == [1, 1 if dtype == "bool" else 2]
    refusal(x, policy=["array_method"])


# ------------------------------------------------------------------ Warp, ONNX Runtime


@quirk("warp_bfloat16")
@pytest.mark.parametrize("how", ["scalar", "vector"])
def test_warp_bfloat16_isnt_taken_for_integers(effigy: Effigy, how: str) -> None:
    np = needs("numpy")
    data = np.array([0x3F80, 0x4000], "u2")

    def make(element: object) -> Any:
        body = {"dtype": element, "__array_interface__": property(lambda self: data.__array_interface__)}
        return effigy("warp", "array", body)()

    bfloat16, uint16 = type("bfloat16", (), {}), type("uint16", (), {})
    if how == "vector":
        bfloat16 = type("vec", (), {"_wp_scalar_type_": bfloat16})
        uint16 = type("vec", (), {"_wp_scalar_type_": uint16})
    error = refusal(make(bfloat16), "uint16 for bfloat16")
    assert statuses(error) == {"array_interface": "unsupported"}
    for other in (uint16, None, 3):
        assert aa.view(make(other)).tolist() == data.tolist()


@quirk("warp_bfloat16")
def test_warp_bfloat16_is_had_over_dlpack() -> None:
    wp = needs("warp")
    wp.config.quiet = True
    x = wp.array([1.0, 2.0], dtype=wp.bfloat16, device="cpu")
    assert str(aa.view(x).dtype) == "bfloat16"
    assert str(aa.view(x, policy=["array_interface", "dlpack"]).dtype) == "bfloat16"
    refusal(x, policy=["array_interface"])


@quirk("onnxruntime_array")
def test_onnxruntime_array_method_isnt_taken(effigy: Effigy) -> None:
    np = needs("numpy")
    body = {"__array__": lambda self, **kw: np.ones(2, "u1"), "__dlpack__": lambda self: np.ones(2).__dlpack__()}
    x = effigy("onnxruntime", "OrtValue", body)()
    assert aa.view(x).protocol == "dlpack"
    refusal(x, policy=["array_method"])


# ------------------------------------------------------------------ pyarrow


@quirk("pyarrow_immutable", "pyarrow_tensor")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["array_method"]])
def test_pyarrow_immutable_memory_is_readonly_by_every_route(policy: Any) -> None:
    pa, np = needs("pyarrow"), needs("numpy")
    frozen = np.arange(6.0).reshape(2, 3)
    frozen.flags.writeable = False
    for x in (pa.array([1.0, 2.0]), pa.array([1, 2, 3])[1:], pa.Tensor.from_numpy(frozen)):
        try:
            v = aa.view(x, policy=policy)
        except aa.ExchangeError:
            assert policy is not None and isinstance(x, pa.Tensor)
            continue
        assert v.readonly is True
        del v
        refusal(x, policy=policy, writable=True)
    assert aa.view(pa.Tensor.from_numpy(np.ones(2))).readonly is False


@quirk("pyarrow_immutable", "pyarrow_tensor")
@pytest.mark.parametrize(("version", "old"), [("14.0.0", True), ("25.0.1", True), ("26.0.0", False), ("26.0.1", False)])
def test_pyarrow_versions_whose_capsules_cant_say_it(effigy: Effigy, version: str, old: bool) -> None:
    np = needs("numpy")
    data = np.arange(3.0)
    body = {"__dlpack__": lambda self: data.__dlpack__(), "__array__": lambda self, **kw: data}
    array = effigy("pyarrow", "Array", body, version)()
    assert aa.view(array, policy=["dlpack"]).readonly is old
    tensor = effigy("pyarrow", "Tensor", body, version)()
    if old:
        refusal(tensor, policy=["dlpack"])
    else:
        assert aa.view(tensor, policy=["dlpack"]).readonly is False


# ------------------------------------------------------------------ Arrow's producers


@quirk("pyarrow_permuted")
@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [0, 2, 1], [0, 1, 2]])
def test_pyarrow_permuted_tensors_come_over_arrow(order: list[int]) -> None:
    pa, np = needs("pyarrow"), needs("numpy")
    of = pa.fixed_shape_tensor(pa.float32(), [2, 3, 4], permutation=order)
    storage = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(48, dtype="f4")), 24)
    x = pa.ExtensionArray.from_storage(of, storage)
    want = np.arange(48, dtype="f4").reshape(2, 2, 3, 4).transpose(0, *(i + 1 for i in order))
    view = aa.view(x)
    assert (view.protocol, view.tolist(), view.readonly) == ("arrow_array", want.tolist(), True)
    assert view.ptr == storage.values.buffers()[1].address
    refusal(x, policy=["dlpack"])


@quirk("pandas_series")
def test_pandas_series_are_streamed_only_where_the_memory_is_arrows() -> None:
    pd, np = needs("pandas"), needs("numpy")
    needs("pyarrow")
    data = np.array([1.5, float("nan"), 2.5, 3.5])
    for s in (pd.Series(data), pd.Series(data)[::2], pd.Series([True, False]), pd.Series([1, 2], dtype="Int64")[:1]):
        account = statuses(aa.explain(s))
        assert account["arrow_stream"] == "skipped", account
    every_other = pd.Series(data)[::2]
    view = aa.view(every_other)
    assert (view.protocol, view.strides) == ("array_method", (16,))
    assert view.ptr == every_other.to_numpy().ctypes.data
    refusal(pd.Series(data), "isn't Arrow's", policy=["arrow_stream"])
    assert aa.view(pd.Series([1, 2], dtype="int32[pyarrow]")).protocol == "arrow_stream"


@quirk("pandas_series")
@pytest.mark.parametrize("answer", [OSError("lost"), AttributeError("none"), None, 3])
def test_pandas_series_whose_dtype_cant_be_had(effigy: Effigy, answer: object) -> None:
    def dtype(self: Any) -> object:
        if isinstance(answer, Exception):
            raise answer
        return answer

    def stream(self: Any) -> None:
        raise AssertionError("was asked")

    x = effigy("pandas", "Series", {"dtype": property(dtype), "__arrow_c_stream__": stream})()
    assert statuses(refusal(x))["arrow_stream"] == "skipped"


@quirk("pandas_series")
def test_pandas_series_interrupted_while_asked(effigy: Effigy) -> None:
    def dtype(self: Any) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        aa.view(effigy("pandas", "Series", {"dtype": property(dtype), "__arrow_c_stream__": lambda self: None})())


@quirk("pandas_frame", "xarray_table")
@pytest.mark.parametrize(("library", "name"), [("pandas", "DataFrame"), ("xarray", "DataArray")])
def test_tables_made_for_arrow_arent_asked_for(effigy: Effigy, library: str, name: str) -> None:
    np = needs("numpy")
    data = np.ones((2, 2))

    def stream(self: Any) -> None:
        raise OSError("was asked")

    body = {"__arrow_c_stream__": stream, "__array__": lambda self, **kw: data}
    frame = effigy(library, name, body)
    assert aa.view(frame()).ptr == data.ctypes.data
    assert statuses(aa.explain(frame()))["arrow_stream"] == "not offered"
    own = type("Own", (frame,), {"__arrow_c_stream__": lambda self: stream(self)})
    refusal(own(), "was asked", policy=["arrow_stream"])


@quirk("pandas_frame")
def test_pandas_frames_show_their_memory() -> None:
    pd, np = needs("pandas"), needs("numpy")
    frame = pd.DataFrame(np.arange(12.0).reshape(3, 4))
    view = aa.view(frame)
    assert (view.protocol, view.ptr) == ("array_method", frame.to_numpy().ctypes.data)


@quirk("xarray_table")
def test_xarray_arrays_show_their_memory() -> None:
    xr, np = needs("xarray"), needs("numpy")
    data = np.arange(6.0).reshape(2, 3)
    view = aa.view(xr.DataArray(data, dims=("x", "y")))
    assert (view.protocol, view.ptr, view.shape) == ("array_method", data.ctypes.data, (2, 3))


# ------------------------------------------------------------------ anyarray itself


@quirk("anyarray_lent")
def test_arrays_are_not_taken_by_a_tensor_that_release_would_free() -> None:
    b = bytearray(4)
    v = aa.view(b)
    w = aa.view(v)
    assert w.protocol == "buffer" and hasattr(v, "__dlpack_c_exchange_api__")
    with pytest.raises(BufferError, match="in use"):
        v.release()
    w.release()
    w = aa.view(v, policy=["dlpack_exchange", "dlpack"])
    assert w.protocol == "dlpack"
    v.release()
    assert w.tolist() == [0] * 4
    w.release()
    b.append(1)
