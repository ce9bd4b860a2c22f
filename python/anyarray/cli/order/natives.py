# SPDX-License-Identifier: Apache-2.0
"""Gives probes to the real libraries and tells whose data came out. One function a way into a library.

Libraries are imported by the functions alone, in a worker process: some of them end the process on what a probe does.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..installed import installed, version
from . import abi, compiled, probes
from .probes import VALUES, Probe, build

#: Gives the first element, as a float, of what a library made of a probe. Raises whatever the library raises.
Take = Callable[[Probe], float]


class NotAnArray(Exception):
    """The library took the probe for something that isn't its array: an object, a scalar."""


@dataclass(frozen=True)
class Outcome:
    """What became of a probe. `row` is the protocol that was taken, None where the library refused.

    `detail` is the error's type and first line. It stands beside a row as well where the library chose that row and
    only failed to use its memory, as with CUDA's where there is no device. `refused` is the row whose data were looked
    at and refused, where that is known.
    """

    row: str | None
    detail: str = ""
    refused: str | None = None


@dataclass(frozen=True)
class Native:
    """A way into a library.

    `preset` is the policy that imitates it, `knows` its protocols in the order of `VALUES`, `start` imports the library
    and gives the function that takes a probe. `unusable` are rows whose memory can't be used on a machine with nothing
    but a CPU: that they were chosen shows by the error that a probe with nothing else leads to. `extra` are members
    that the library looks at before any protocol; `writable` says that it asks for memory that it may write to.
    """

    name: str
    preset: str
    needs: str
    distribution: str
    knows: tuple[str, ...]
    start: Callable[[], Take]
    unusable: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    writable: bool = False

    def version(self) -> str:
        return version(self.distribution)

    def installed(self) -> bool:
        return installed(self.needs)


def first_line(error: BaseException) -> str:
    """The error's type and first line, without what differs from one process to the next."""
    text = str(error).strip().split("\n", 1)[0]
    return re.sub(r"0x[0-9a-fA-F]+", "0x…", f"{type(error).__name__}: {text}")


def row_of(value: float) -> str:
    """The protocol whose data this is.

    Raises
    ------
    ValueError
        It is no probe's.
    """
    for row, its in VALUES.items():
        if value == its:
            return row
    raise ValueError(f"{value!r} is the data of no protocol: the probe was misread")


class Consumer:
    """A started way into a library; `take` tells what it does with a probe."""

    def __init__(self, native: Native) -> None:
        self.native = native
        self._take = native.start()
        nothing = self._try({}).detail
        self._marks = {row: self._try({row: "offered"}).detail for row in native.unusable}
        self._marks = {row: mark for row, mark in self._marks.items() if mark and mark != nothing}

    def _try(self, states: Mapping[str, str]) -> Outcome:
        return self._outcome(self.build(states))

    def build(self, states: Mapping[str, str]) -> Probe:
        return build(states, self.native.extra)

    def _outcome(self, probe: Probe) -> Outcome:
        try:
            value = self._take(probe)
        except Exception as error:
            return Outcome(None, first_line(error))
        return Outcome(row_of(value))

    def take(self, probe: Probe) -> Outcome:
        outcome = self._outcome(probe)
        if outcome.row is None:
            for row, mark in self._marks.items():
                state = probe.probe_states.get(row)
                if state in ("offered", "instance", "readonly") and outcome.detail == mark:
                    return Outcome(row, outcome.detail)
        return outcome


def _load(name: str) -> Any:
    return importlib.import_module(name)


def _first(array: Any) -> float:
    """The first element of what NumPy made; an object array holds no elements of the probe."""
    if array.dtype.kind == "O":
        raise NotAnArray(f"a {array.ndim}-d array of objects")
    return float(array.reshape(-1)[0])


def _at(address: int) -> float:
    return float(ctypes.c_float.from_address(address).value)


def _by_item(module: str, function: str) -> Callable[[], Take]:
    """A function whose arrays give elements themselves."""

    def start() -> Take:
        take = getattr(_load(module), function)
        return lambda probe: float(take(probe).reshape(-1)[0].item())

    return start


def _by_numpy(module: str, function: str) -> Callable[[], Take]:
    """A function of NumPy, or whose arrays NumPy reads."""

    def start() -> Take:
        np, take = _load("numpy"), getattr(_load(module), function)
        return lambda probe: _first(np.asarray(take(probe)))

    return start


def started_mpi4py() -> Callable[..., Any]:
    """`MPI.buffer.frombuffer`, with MPI not initialised."""
    _load("mpi4py").rc.initialize = False
    take: Callable[..., Any] = _load("mpi4py.MPI").buffer.frombuffer
    return take


def _mpi4py() -> Take:
    take = started_mpi4py()
    return lambda probe: _at(take(probe, readonly=True).address)


def _pydlpack() -> Take:
    take = _load("dlpack").asdlpack
    return lambda probe: _at(take(probe).impl.get_dlpack_data())


def _tvm_tensor(made: Any) -> float:
    tvm_ffi = _load("tvm_ffi")
    if not isinstance(made, tvm_ffi.Tensor):
        raise NotAnArray(f"passed on as {type(made).__name__}")
    return _first(_load("numpy").from_dlpack(made))


def _tvm_ffi() -> Take:
    echo = _load("tvm_ffi").get_global_func("testing.echo")
    return lambda probe: _tvm_tensor(echo(probe))


def _tvm_ffi_from_dlpack() -> Take:
    take = _load("tvm_ffi").from_dlpack
    return lambda probe: _tvm_tensor(take(probe))


def _nanobind() -> Take:
    take: Take = compiled.nanobind().first
    return take


def _nanobind_writable() -> Take:
    take: Take = compiled.nanobind().first_writable
    return take


def started_pybind11() -> Callable[[Any], Any]:
    """`py::array::ensure`; raises where that gives null."""
    ensure = compiled.pybind11().ensure

    def take(x: Any) -> Any:
        array = ensure(x)
        if array is None:
            raise NotAnArray("array::ensure gave null")
        return array

    return take


def _pybind11() -> Take:
    take = started_pybind11()
    return lambda probe: _first(take(probe))


def _pybind11_array_t() -> Take:
    take: Take = compiled.pybind11().first
    return take


def _cuda_core() -> Take:
    view = _load("cuda.core.utils").StridedMemoryView
    return lambda probe: _at(view.from_any_interface(probe, stream_ptr=-1).ptr)


def _pyarrow() -> Take:
    pa = _load("pyarrow")

    def take(probe: Probe) -> float:
        array = pa.array(probe)
        return float(array[0].as_py())

    return take


def _place_in_usm() -> None:
    """Gives the probes memory that SYCL knows; the CPU's driver is found where pip puts it."""
    driver = Path(sys.prefix) / "lib" / "libintelocl.so"
    if driver.exists():
        os.environ.setdefault("OCL_ICD_FILENAMES", str(driver))
    row = "sycl_usm_array_interface"
    memory = _load("dpctl.memory").MemoryUSMShared(4 * abi.COUNT)
    memory.copy_from_host(ctypes.string_at(abi.memory(VALUES[row]), 4 * abi.COUNT))
    probes.USM.update(data=memory.__sycl_usm_array_interface__["data"], syclobj=memory.sycl_queue, memory=memory)


def _dpnp(module: str) -> Callable[[], Take]:
    def start() -> Take:
        _place_in_usm()
        take, to_numpy = _load(module).asarray, _load("dpnp.tensor").asnumpy
        unwrap = _load("dpnp").get_usm_ndarray
        return lambda probe: _first(to_numpy(unwrap(take(probe))))

    return start


def started_warp() -> Any:
    """Warp, with its cache in a folder of ours."""
    os.environ.setdefault("WARP_CACHE_PATH", str(compiled.folder() / "warp"))
    wp = _load("warp")
    wp.config.quiet = True
    wp.init()
    return wp


def _warp_array() -> Take:
    wp = started_warp()
    return lambda probe: _first(wp.array(probe, dtype=wp.float32, device="cpu").numpy())


def _warp_from_dlpack() -> Take:
    wp = started_warp()
    return lambda probe: _first(wp.from_dlpack(probe).numpy())


def _warp_argument() -> Take:
    wp = started_warp()
    kernel = _load(f"{__package__}.warp_kernel").first
    out = wp.zeros(1, dtype=wp.float32, device="cpu")

    def take(probe: Probe) -> float:
        wp.launch(kernel, dim=1, inputs=[probe], outputs=[out], device="cpu")
        return _first(out.numpy())

    return take


_NUMPY = ("buffer", "array_struct", "array_interface", "array_method")
_CAI = "cuda_array_interface"

#: Every way in, by name.
NATIVES: dict[str, Native] = {
    native.name: native
    for native in (
        Native("numpy.asarray", "numpy", "numpy", "numpy", _NUMPY, _by_numpy("numpy", "asarray")),
        Native("numpy.from_dlpack", "numpy.from_dlpack", "numpy", "numpy", ("dlpack",),
               _by_numpy("numpy", "from_dlpack")),
        Native("torch.as_tensor", "torch.as_tensor", "torch", "torch", ("dlpack", _CAI),
               _by_item("torch", "as_tensor"), (_CAI,)),
        Native("torch.asarray", "torch.asarray", "torch", "torch", ("buffer", "dlpack", _CAI),
               _by_item("torch", "asarray"), (_CAI,)),
        Native("torch.from_dlpack", "torch.from_dlpack", "torch", "torch", ("dlpack",),
               _by_item("torch", "from_dlpack")),
        Native("jax.numpy.asarray", "jax", "jax", "jax", (*_NUMPY, _CAI),
               _by_numpy("jax.numpy", "asarray"), (_CAI,)),
        Native("jax.dlpack.from_dlpack", "jax.from_dlpack", "jax", "jax", ("dlpack",),
               _by_numpy("jax.dlpack", "from_dlpack")),
        Native("mpi4py", "mpi4py", "mpi4py", "mpi4py", ("buffer", "dlpack", _CAI), _mpi4py, (_CAI,)),
        Native("pydlpack", "pydlpack", "dlpack", "pydlpack", ("buffer", "dlpack", "array_interface", _CAI), _pydlpack,
               (_CAI,)),
        Native("tvm_ffi", "tvm_ffi", "tvm_ffi", "apache-tvm-ffi", ("dlpack_exchange", "dlpack"), _tvm_ffi),
        Native("tvm_ffi.from_dlpack", "tvm_ffi.from_dlpack", "tvm_ffi", "apache-tvm-ffi",
               ("dlpack_exchange", "dlpack"), _tvm_ffi_from_dlpack),
        Native("nanobind", "nanobind", "nanobind", "nanobind", ("buffer", "dlpack"), _nanobind),
        Native("nanobind, writable", "nanobind", "nanobind", "nanobind", ("buffer", "dlpack"), _nanobind_writable,
               writable=True),
        Native("pybind11.ensure", "pybind11", "pybind11", "pybind11", _NUMPY, _pybind11),
        Native("pybind11.array_t", "pybind11", "pybind11", "pybind11", _NUMPY, _pybind11_array_t),
        Native("cuda.core", "cuda.core", "cuda.core", "cuda-core", ("dlpack", _CAI), _cuda_core,
               (_CAI,)),
        Native("pyarrow", "arrow", "pyarrow", "pyarrow", ("arrow_array",), _pyarrow),
        Native("dpnp.tensor.asarray", "dpnp", "dpnp", "dpnp", (*_NUMPY, "sycl_usm_array_interface"),
               _dpnp("dpnp.tensor")),
        Native("dpnp.asarray", "dpnp", "dpnp", "dpnp", (*_NUMPY, "sycl_usm_array_interface"),
               _dpnp("dpnp")),
        Native("dpnp.from_dlpack", "dpnp.from_dlpack", "dpnp", "dpnp", ("dlpack",),
               _by_numpy("dpnp.tensor", "from_dlpack")),
        Native("warp.array", "warp", "warp", "warp-lang", _NUMPY, _warp_array, (), {"__len__": lambda _: 4}),
        Native("warp argument", "warp.argument", "warp", "warp-lang", ("array_interface", "array_method"),
               _warp_argument),
        Native("warp.from_dlpack", "warp.from_dlpack", "warp", "warp-lang", ("dlpack",), _warp_from_dlpack),
        Native("mlx.array", "mlx", "mlx.core", "mlx", ("buffer", "dlpack"), _by_item("mlx.core", "array")),
    )
}  # fmt: skip
