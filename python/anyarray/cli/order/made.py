# SPDX-License-Identifier: Apache-2.0
"""What the libraries make of any object: the array that each gives, and its data. Used in a worker process alone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

import anyarray as aa

from . import compiled, natives
from .natives import NotAnArray

#: Data as JSON: ptr, shape, dtype, readonly, as far as they are known.
Data = dict[str, Any]
Describe = Callable[[Any], Data]

GUARDS = ("mask", "grad", "conj", "neg")


def data_of(array: aa.Array) -> Data:
    return {
        "ptr": array.ptr,
        "shape": list(array.shape),
        "dtype": str(array.dtype),
        "readonly": array.readonly,
    }


def _described(made: Any) -> Data:
    """The data of an array that a library made, in anyarray's own words."""
    np = sys.modules.get("numpy")
    if np is not None and isinstance(made, np.ndarray) and made.dtype.kind == "O":
        raise NotAnArray(f"a {made.ndim}-d array of objects")
    return data_of(aa.view(made, allow=GUARDS))


def _by(module: str, function: str, **options: Any) -> Callable[[], Describe]:
    def start() -> Describe:
        call = getattr(importlib.import_module(module), function)
        return lambda x: _described(call(x, **options))

    return start


def _mpi4py() -> Describe:
    take = natives.started_mpi4py()

    def describe(x: Any) -> Data:
        return {"ptr": take(x, readonly=True).address}

    return describe


def _nanobind() -> Describe:
    call = compiled.nanobind().describe

    def describe(x: Any) -> Data:
        ptr, shape, code, bits, lanes = call(x)
        return {"ptr": ptr, "shape": list(shape), "dtype": str(dtype_of(code, bits, lanes))}

    return describe


def dtype_of(code: int, bits: int, lanes: int) -> str:
    """The name of one of DLPack's dtypes."""
    kinds = {0: "int", 1: "uint", 2: "float", 5: "complex"}
    if code == 4 and bits == 16:
        name = "bfloat16"
    elif code == 6 and bits == 8:
        name = "bool"
    else:
        name = f"{kinds[code]}{bits}" if code in kinds else f"code {code}, {bits} bits"
    return name if lanes == 1 else f"{name}x{lanes}"


def _pybind11() -> Describe:
    take = natives.started_pybind11()
    return lambda x: _described(take(x))


def _cuda_core() -> Describe:
    view = importlib.import_module("cuda.core.utils").StridedMemoryView

    def describe(x: Any) -> Data:
        made = view.from_any_interface(x, stream_ptr=-1)
        return {
            "ptr": made.ptr,
            "shape": list(made.shape),
            "dtype": str(aa.DType(made.dtype)),
            "readonly": made.readonly,
        }

    return describe


def _tvm_ffi() -> Describe:
    echo = importlib.import_module("tvm_ffi").get_global_func("testing.echo")

    def describe(x: Any) -> Data:
        made = echo(x)  # a tensor comes back as one of x's library
        if made is x:
            raise NotAnArray("passed on as an opaque object")
        return _described(made)

    return describe


def _dpnp() -> Describe:
    dpnp = importlib.import_module("dpnp")
    return lambda x: _described(dpnp.get_usm_ndarray(dpnp.asarray(x)))


def _warp(function: str, **options: Any) -> Callable[[], Describe]:
    def start() -> Describe:
        wp = natives.started_warp()
        return lambda x: _described(getattr(wp, function)(x, **options))

    return start


#: By preset. A Warp kernel is compiled for a dtype, so no object can be given to one as it is.
STARTS: Mapping[str, Callable[[], Describe]] = {
    "numpy": _by("numpy", "asarray"),
    "numpy.from_dlpack": _by("numpy", "from_dlpack"),
    "torch.as_tensor": _by("torch", "as_tensor"),
    "torch.asarray": _by("torch", "asarray"),
    "torch.from_dlpack": _by("torch", "from_dlpack"),
    "jax": _by("jax.numpy", "asarray"),
    "jax.from_dlpack": _by("jax.dlpack", "from_dlpack"),
    "mpi4py": _mpi4py,
    "nanobind": _nanobind,
    "mlx": _by("mlx.core", "array"),
    "pybind11": _pybind11,
    "cuda.core": _cuda_core,
    "tvm_ffi": _tvm_ffi,
    "tvm_ffi.from_dlpack": _by("tvm_ffi", "from_dlpack"),
    "dpnp": _dpnp,
    "dpnp.from_dlpack": _by("dpnp.tensor", "from_dlpack"),
    "pydlpack": _by("dlpack", "asdlpack"),
    "arrow": _by("pyarrow", "array"),
    "warp": _warp("array", device="cpu"),
    "warp.from_dlpack": _warp("from_dlpack"),
}
