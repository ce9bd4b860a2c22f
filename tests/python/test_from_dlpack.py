# SPDX-License-Identifier: Apache-2.0
"""from_dlpack as the array API standard 2025.12 has it, and conversions of memory that the host can't read."""

from __future__ import annotations

from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")


class Elsewhere:
    """Says that it lies on some device; gives a host copy if asked for one. `calls` are the keywords it was given."""

    def __init__(self, device: tuple[int, int] = (2, 0), *, copies: bool = True) -> None:
        self.calls: list[dict[str, Any]] = []
        self._x = np.arange(3.0)
        self._device, self._copies = device, copies

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, **keywords: Any) -> Any:
        self.calls.append(keywords)
        if keywords.get("dl_device") == (1, 0):
            if not self._copies:
                raise BufferError("this library can't copy to the host")
            return aa.view(self._x).__dlpack__(max_version=(1, 0), copy=True)
        raise BufferError("this memory isn't there")


def test_an_array_of_the_host() -> None:
    x = np.arange(6.0).reshape(2, 3)
    a = aa.from_dlpack(x.T)
    assert isinstance(a, aa.Array) and a.protocol == "dlpack"
    assert (a.shape, a.strides, a.ptr, a.readonly, a.copied) == ((3, 2), (8, 24), x.ctypes.data, False, False)
    for device in (None, "cpu", (1, 0), aa.Device("cpu")):
        assert aa.from_dlpack(x, device=device).ptr == x.ctypes.data
        assert aa.from_dlpack(x, device=device, copy=False).ptr == x.ctypes.data
        fresh = aa.from_dlpack(x, device=device, copy=True)
        assert fresh.ptr != x.ctypes.data and fresh.copied is True and not fresh.readonly
        assert fresh.tolist() == x.tolist() and fresh.c_contiguous
    x.flags.writeable = False
    assert aa.from_dlpack(aa.view(x)).readonly
    again = aa.from_dlpack(aa.from_dlpack(aa.view(x)))
    assert again.ptr == x.ctypes.data and again.readonly


def test_torch_by_its_table() -> None:
    torch = needs("torch")
    t = torch.arange(4)
    assert aa.from_dlpack(t).protocol == "dlpack_exchange" and aa.from_dlpack(t).ptr == t.data_ptr()
    with pytest.raises(BufferError):
        aa.from_dlpack(torch.ones(2, requires_grad=True))
    with pytest.raises(BufferError):
        aa.from_dlpack(torch.ones(2, dtype=torch.complex64).conj().imag)


def test_what_has_no_dlpack() -> None:
    class Half:
        def __dlpack__(self, **keywords: Any) -> Any:
            raise AssertionError("not to be called")

    for x in (b"abc", [1, 2], None, Half(), np.arange(3.0).__dlpack__()):
        with pytest.raises(AttributeError, match="__dlpack"):
            aa.from_dlpack(x)


def test_what_can_not_be_exported() -> None:
    for x in (np.array(["a"]), np.zeros(2, "M8[s]"), np.zeros(2, ">f8"), np.zeros(2, "i4,f8")):
        with pytest.raises(BufferError):
            aa.from_dlpack(x)
    with pytest.raises(BufferError, match="no other device"):
        aa.from_dlpack(np.ones(2), device="cuda:0")
    with pytest.raises(ValueError, match="isn't a device"):
        aa.from_dlpack(np.ones(2), device="nowhere")
    for bad in (1, "yes"):
        with pytest.raises(TypeError, match="copy is"):
            aa.from_dlpack(np.ones(2), copy=bad)
    with pytest.raises(TypeError):
        aa.from_dlpack(x=np.ones(2))


def test_from_a_device_to_the_host() -> None:
    x = Elsewhere()
    a = aa.from_dlpack(x, device="cpu")
    assert a.tolist() == [0, 1, 2] and a.copied is True
    assert x.calls == [{"max_version": (1, 3), "dl_device": (1, 0), "copy": None}]
    with pytest.raises(ValueError, match="needs a copy"):
        aa.from_dlpack(x, device="cpu", copy=False)
    with pytest.raises(BufferError, match="can't copy to the host"):
        aa.from_dlpack(Elsewhere(copies=False), device="cpu")

    class Old(Elsewhere):
        def __dlpack__(self) -> Any:
            raise AssertionError

    with pytest.raises(BufferError, match="can't be asked"):
        aa.from_dlpack(Old(), device="cpu")


def test_a_copy_that_was_not_wanted() -> None:
    class Copies(Elsewhere):
        def __dlpack__(self, **keywords: Any) -> Any:
            return aa.view(self._x).__dlpack__(max_version=(1, 0), copy=True)

    x = Copies((1, 0))
    assert aa.from_dlpack(x).copied is True
    with pytest.raises(ValueError, match="gave a copy"):
        aa.from_dlpack(x, copy=False)


class Pinned(Elsewhere):
    """Memory of the host that a GPU can reach as well."""

    def __init__(self) -> None:
        super().__init__((3, 0))

    def __dlpack__(self, **keywords: Any) -> Any:
        assert "dl_device" not in keywords
        return aa.view(self._x).__dlpack__(max_version=(1, 0))


def test_pinned_memory_is_the_hosts() -> None:
    x = Pinned()
    a = aa.from_dlpack(x, device="cpu")
    assert a.ptr == x._x.ctypes.data
    assert aa.from_dlpack(x, device="cpu", copy=True).ptr != a.ptr


class Cuda:
    """Memory on a GPU, as the CUDA array interface tells it: an address that the host must not read."""

    def __init__(self, readonly: bool = False) -> None:
        self.__cuda_array_interface__ = {
            "shape": (3,),
            "typestr": "<f4",
            "data": (1 << 40, readonly),
            "version": 3,
        }


@pytest.mark.parametrize("name", ["numpy", "pyarrow", "array_api_strict"])
def test_device_memory_is_not_read_on_the_host(name: str) -> None:
    needs(name)
    with pytest.raises(aa.ExchangeError, match="can't read it"):
        aa.convert(Cuda(), name, copy=False)
    for copy in (None, True):
        with pytest.raises(aa.ExchangeError, match="__dlpack"):
            aa.convert(Cuda(), name, copy=copy)
    account = aa.explain_convert(Cuda(), name, copy=False)
    assert account.way == "refused" and "cuda:0" in str(account)


def test_read_only_device_memory() -> None:
    torch = needs("torch")
    with pytest.raises(aa.ExchangeError, match="read-only"):
        aa.convert(Cuda(readonly=True), torch, copy=False)
    if not torch.cuda.is_available():
        with pytest.raises(aa.ExchangeError):
            aa.convert(Cuda(), torch)
