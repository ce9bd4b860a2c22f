# SPDX-License-Identifier: Apache-2.0
"""The peers: how each other library takes an array, as columns. What isn't installed or built is listed as missing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import Column


def columns(folder: Path, missing: dict[str, str]) -> list[Column]:
    """All columns that can be had here; `folder` holds the compiled modules."""
    found: list[Column] = []
    for name, make in _PEERS.items():
        try:
            found += make(folder)
        except (ImportError, OSError, AttributeError) as error:
            missing[name] = str(error)
    return found


def _nanobind(_: Path) -> list[Column]:
    m = importlib.import_module("bench_nanobind")
    names = {"any": "nb::ndarray<>", "any_ro": "nb::ndarray<nb::ro>", "float_ro": "nb::ndarray<const float>"}
    return [Column(text, "nanobind", getattr(m, name)) for name, text in names.items()]


def _pybind11(_: Path) -> list[Column]:
    m = importlib.import_module("bench_pybind11")
    names = {"array": "py::array", "array_t": "py::array_t<float>", "buffer": "py::buffer"}
    return [Column(text, "pybind11", getattr(m, name)) for name, text in names.items()]


def _tvm_ffi(folder: Path) -> list[Column]:
    import tvm_ffi

    take = tvm_ffi.load_module(str(folder / "bench_tvm_ffi.so")).get_function("take")
    return [
        Column("tvm-ffi argument", "tvm-ffi", take),
        Column("tvm_ffi.from_dlpack", "tvm-ffi", tvm_ffi.from_dlpack),
    ]


def _mpi4py(_: Path) -> list[Column]:
    import mpi4py

    mpi4py.rc.initialize = False
    from mpi4py import MPI

    return [Column("MPI.buffer", "mpi4py", MPI.buffer)]


def _numpy(_: Path) -> list[Column]:
    import numpy as np

    def is_array(obj: Any, result: Any) -> bool:
        return result is not obj and result.dtype != np.dtype(object)

    return [
        Column("np.asarray", "numpy", np.asarray, check=is_array),
        Column("np.from_dlpack", "numpy", np.from_dlpack),
    ]


def _cuda_core(_: Path) -> list[Column]:
    from cuda.core.utils import StridedMemoryView as View

    no_stream: dict[str, Any] = {"args": (-1,), "keywords": ("stream_ptr",)}
    return [
        Column("cuda.core any", "cuda.core", View.from_any_interface, **no_stream),
        Column("cuda.core dlpack", "cuda.core", View.from_dlpack, **no_stream),
        Column("cuda.core array_interface", "cuda.core", View.from_array_interface),
    ]


def _pydlpack(_: Path) -> list[Column]:
    import dlpack

    return [Column("pydlpack", "pydlpack", dlpack.asdlpack)]


def _memoryview(_: Path) -> list[Column]:
    return [Column("memoryview()", "memoryview", memoryview)]


_PEERS: dict[str, Callable[[Path], list[Column]]] = {
    "nanobind": _nanobind,
    "pybind11": _pybind11,
    "tvm-ffi": _tvm_ffi,
    "mpi4py": _mpi4py,
    "numpy": _numpy,
    "cuda.core": _cuda_core,
    "pydlpack": _pydlpack,
    "memoryview": _memoryview,
}
