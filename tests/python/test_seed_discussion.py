# SPDX-License-Identifier: Apache-2.0
"""The discussion that asked "which protocol first, and what if it fails?" (data-apis/array-api issue 142 and the
thread of mpi4py that it grew from): a test for each thing that its participants brought up, under its name."""

from __future__ import annotations

from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

PROTOCOLS = ("buffer", "array_interface", "dlpack", "cuda_array_interface")


def data(row: str) -> Any:
    """Memory of its own for each protocol, so that the data tell which one was taken."""
    np = needs("numpy")
    return np.full(2, PROTOCOLS.index(row), dtype="f4")


class Offers:
    """Offers what it is told to, on the type, each over different data."""

    def __new__(cls, *rows: str, device: tuple[int, int] = (1, 0), fails: bool = False) -> Any:
        arrays = {row: data(row) for row in PROTOCOLS}

        def cuda(_: Any) -> dict[str, Any]:
            about: dict[str, Any] = arrays["cuda_array_interface"].__array_interface__
            return {**about, "version": 3, "stream": None}

        members: dict[str, Any] = {}
        if "array_interface" in rows:
            members["__array_interface__"] = property(lambda _: arrays["array_interface"].__array_interface__)
        if "dlpack" in rows:
            members["__dlpack__"] = lambda _, **keywords: arrays["dlpack"].__dlpack__()
            members["__dlpack_device__"] = lambda _: device
        if "cuda_array_interface" in rows:
            members["__cuda_array_interface__"] = property(cuda)
        base: type = bytearray if "buffer" in rows else object
        obj = type("Offers", (base,), members)()
        if base is bytearray:
            obj += arrays["buffer"].tobytes()
        return obj


def taken(obj: Any, policy: Any) -> str:
    with aa.view(obj, policy=policy) as v:
        return v.protocol


def test_the_four_protocols() -> None:
    for row in PROTOCOLS:
        obj = Offers(row)
        assert taken(obj, None) == taken(obj, list(PROTOCOLS)) == row
        with aa.view(obj) as v:
            if row == "cuda_array_interface":
                assert v.device == "cuda:0"
            elif row == "buffer":
                assert bytes(memoryview(v)) == data(row).tobytes()
            else:
                assert v.tolist() == data(row).tolist()


def test_the_three_orders() -> None:
    """NumPy's, mpi4py's, and the one that was proposed for it."""
    everything = Offers(*PROTOCOLS)
    without_buffer = Offers(*PROTOCOLS[1:])
    assert [taken(everything, p) for p in ("numpy", "mpi4py", "mpi4py_proposed")] == ["buffer"] * 3
    assert [taken(without_buffer, p) for p in ("numpy", "mpi4py", "mpi4py_proposed")] == [
        "array_interface",
        "dlpack",
        "cuda_array_interface",
    ]


@pytest.mark.parametrize("kind", [2, 10])
def test_device_first(kind: int) -> None:
    """Ask for the device, then choose: of memory on a GPU, a protocol of the host would be a copy."""
    obj = Offers("array_interface", "dlpack", "cuda_array_interface", device=(kind, 0))
    order = ["array_interface", "cuda_array_interface", "dlpack"]
    assert taken(obj, aa.Policy(order)) == "array_interface"
    assert taken(obj, aa.Policy(order, device_first=True)) == "cuda_array_interface"
    assert taken(obj, "device_first") == "dlpack"


def test_skipping() -> None:
    """What can't serve the device is skipped, and the account says so."""
    on_gpu = Offers("array_interface", "dlpack", device=(2, 0))
    story = aa.explain(on_gpu, policy=aa.Policy(["array_interface", "dlpack"], device_first=True))
    assert [(a.protocol, a.status) for a in story.attempts] == [("array_interface", "skipped"), ("dlpack", "ok")]
    assert "cuda" in story.attempts[0].reason and "host memory" in story.attempts[0].reason
    on_host = Offers("cuda_array_interface", "dlpack", device=(1, 0))
    story = aa.explain(on_host, policy=aa.Policy(["cuda_array_interface", "dlpack"], device_first=True))
    assert [(a.protocol, a.status) for a in story.attempts] == [("cuda_array_interface", "skipped"), ("dlpack", "ok")]
    assert "cpu" in story.attempts[0].reason
    nothing_left = Offers("array_interface", "dlpack", device=(2, 0))
    with pytest.raises(aa.ExchangeError, match="skipped") as error:
        aa.view(nothing_left, policy=aa.Policy(["array_interface"], device_first=True))
    assert error.value.attempts[0].status == "skipped"


def test_hiding() -> None:
    """A library with several devices hides what one object can't serve: hasattr() is False for that object alone."""
    arrays = {"host": data("array_interface"), "gpu": data("cuda_array_interface")}

    class Array:
        def __init__(self, where: str) -> None:
            self.where = where

        @property
        def __array_interface__(self) -> Any:
            if self.where != "host":
                raise AttributeError("__array_interface__")
            return arrays["host"].__array_interface__

        @property
        def __cuda_array_interface__(self) -> Any:
            if self.where != "gpu":
                raise AttributeError("__cuda_array_interface__")
            return {**arrays["gpu"].__array_interface__, "version": 3}

    for policy in (None, list(PROTOCOLS), list(reversed(PROTOCOLS)), "numpy", "cupy", "pydlpack"):
        assert taken(Array("host"), policy) == "array_interface"
    for policy in (None, list(PROTOCOLS), list(reversed(PROTOCOLS)), "cupy", "mpi4py"):
        assert taken(Array("gpu"), policy) == "cuda_array_interface"
    with pytest.raises(aa.ExchangeError):
        aa.view(Array("gpu"), policy="numpy")


def test_the_failing_buffer() -> None:
    """The slot can't be hidden: it is there, fails, and is passed over."""
    jnp = needs("jax.numpy")
    x = jnp.arange(3, dtype="bfloat16")
    with pytest.raises((BufferError, ValueError, NotImplementedError)):
        memoryview(x)
    assert taken(x, ["buffer", "dlpack"]) == "dlpack"
    story = aa.explain(x, policy=["buffer", "dlpack"])
    assert story.attempts[0].protocol == "buffer" and story.attempts[0].status in ("failed", "skipped")
    assert story.attempts[0].reason


def test_a_released_buffer_fails_and_is_passed_over() -> None:
    class Released:
        """A memoryview's slot is there whatever has become of it."""

        def __init__(self) -> None:
            self.view = memoryview(b"abcd")
            self.view.release()

    held = Released().view
    with pytest.raises(ValueError):
        memoryview(held)
    with pytest.raises(aa.ExchangeError) as error:
        aa.view(held)
    assert [a.status for a in error.value.attempts] == ["invalid", "failed"]


def test_torch_on_the_cpu_without_a_buffer() -> None:
    torch = needs("torch")
    x = torch.arange(3)
    with pytest.raises(TypeError):
        memoryview(x)
    assert taken(x, ["buffer", "dlpack"]) == "dlpack"
    with pytest.raises(aa.ExchangeError) as error:
        aa.view(x, policy=["buffer"])
    assert "torch.Tensor" in str(error.value) and "outside of it: dlpack_exchange, dlpack" in str(error.value)


@pytest.mark.parametrize("number", [0, -1, 2**63, 10**30])
def test_the_int_of_arbitrary_precision(number: int) -> None:
    for policy in (None, "numpy", "mpi4py", "device_first"):
        with pytest.raises(aa.NotAnArrayError, match="an int is a number of any size"):
            aa.view(number, policy=policy)
