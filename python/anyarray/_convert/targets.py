# SPDX-License-Identifier: Apache-2.0
"""What is known of the libraries that an array can be given to: one table, a row a library.

A row says how the library takes memory (`entry`), what it can't hold (`limits`: names of predicates in limits.py),
which dtypes it has, and where that was measured. Nothing here imports a library.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field

_INTEGERS = tuple(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u"))
_FLOATS = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
STANDARD = ("bool", *_INTEGERS, *_FLOATS, *_COMPLEX)
_FP8_OF_TORCH = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
_FP8 = (*_FP8_OF_TORCH, "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz")

ANY_DTYPE = ("*",)  #: the entry itself knows


@dataclass(frozen=True)
class Target:
    """How one library takes arrays.

    Attributes
    ----------
    name : str
        What `convert` calls it; also the module whose presence tells that it is installed.
    modules : tuple of str
        Modules that stand for it, besides their submodules.
    types : tuple of str
        Qualified names of its array types; the first is what `convert` makes.
    entry : str
        How memory is given to it: a function of entries.py.
    limits : tuple of str
        What it can't hold: predicates of limits.py.
    dtypes : tuple of str
        The dtypes that it has.
    since : dict of str to str
        dtypes that only came with a version.
    devices : tuple of str
        Kinds of device memory that it takes over `__dlpack__`, without a copy.
    copies : str
        Why giving it host memory always copies; "" where it doesn't.
    may_copy : bool
        Whether it may copy unasked: the result's address is compared.
    immutable : bool
        Whether its arrays promise never to change.
    clone : str
        The method by which its arrays copy themselves; "" for none.
    fast : bool
        Whether the extension may hand memory over by itself, by NumPy's C functions or the type's exchange table.
    reference : str
        With which version this was measured, or where it was read.
    """

    name: str
    modules: tuple[str, ...]
    types: tuple[str, ...]
    entry: str
    limits: tuple[str, ...]
    dtypes: tuple[str, ...]
    reference: str
    since: dict[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ()
    copies: str = ""
    may_copy: bool = False
    immutable: bool = False
    clone: str = ""
    fast: bool = False

    def installed(self) -> bool:
        """Whether it can be imported; imports nothing but the parents of a dotted name."""
        try:
            return importlib.util.find_spec(self.modules[0]) is not None
        except (ImportError, ValueError, AttributeError):
            return False


#: What a caller should know of a result that shares memory with such a library.
SHARED_WITH_IMMUTABLE = "the library takes its arrays for constant: don't write to the memory while it uses it"

TARGETS: tuple[Target, ...] = (
    Target(
        "numpy",
        ("numpy",),
        ("ndarray",),
        "ndarray",
        ("numpy_dtype",),
        ANY_DTYPE,
        "measured with numpy 2.4",
        clone="copy",
        fast=True,
    ),
    Target(
        "torch",
        ("torch",),
        ("Tensor",),
        "torch",
        ("readonly", "negative", "element_strides"),
        (*STANDARD, "float16", "bfloat16", "complex32", *_FP8_OF_TORCH, "float4_e2m1fn_x2"),
        "measured with torch 2.13; negative strides abort the process (pytorch issue 188023)",
        since={"uint16": "2.3", "uint32": "2.3", "uint64": "2.3", "float8_e8m0fnu": "2.7", "float4_e2m1fn_x2": "2.8"},
        devices=("cuda", "rocm", "oneapi"),
        clone="clone",
        fast=True,
    ),
    Target(
        "jax",
        ("jax", "jaxlib"),
        ("ArrayImpl", "Array"),
        "jax",
        ("compact", "overlap", "aligned_64", "jax_narrows"),
        (*STANDARD, "float16", "bfloat16", *_FP8),
        "measured with jax 0.10.2: legacy capsule only, copies unaligned memory and narrows 64-bit types in silence",
        devices=("cuda", "rocm"),
        may_copy=True,
        immutable=True,
        clone="copy",
    ),
    Target(
        "tvm_ffi",
        ("tvm_ffi",),
        ("Tensor",),
        "tvm_ffi",
        ("readonly", "element_strides"),
        (*STANDARD, "float16", "bfloat16", "complex32", *_FP8, "float4_e2m1fn_x2"),
        "measured with apache-tvm-ffi 0.1.15: legacy capsule only, the read-only flag is dropped; it holds complex "
        "numbers, but has no name for them",
        devices=("cuda", "rocm", "oneapi", "metal", "vulkan", "opencl"),
    ),
    Target(
        "pyarrow",
        ("pyarrow",),
        ("Array", "Tensor"),
        "pyarrow",
        ("arrow_layout",),
        (
            "bool",
            *_INTEGERS,
            "float16",
            *_FLOATS,
            *(f"datetime64[{u}]" for u in ("s", "ms", "us", "ns")),
            *(f"timedelta64[{u}]" for u in ("s", "ms", "us", "ns")),
        ),
        "measured with pyarrow 26: arrays have no strides, tensors have",
        may_copy=True,
        immutable=True,
    ),
    Target(
        "array_api_strict",
        ("array_api_strict",),
        ("Array",),
        "array_api_strict",
        (),
        STANDARD,
        "measured with array-api-strict 2.6: it keeps the ndarray that it is given, read-only flag included",
        may_copy=True,
    ),
    Target(
        "cupy",
        ("cupy",),
        ("ndarray",),
        "cupy",
        ("readonly",),
        (*STANDARD, "float16"),
        "read in the source of cupy 14: host memory is copied to the device, the read-only flag is ignored",
        devices=("cuda", "cuda_managed", "rocm"),
        copies="its arrays lie on a device",
        clone="copy",
    ),
    Target(
        "tensorflow",
        ("tensorflow",),
        ("EagerTensor", "Tensor"),
        "tensorflow",
        ("contiguous", "aligned_64"),
        (*STANDARD, "float16", "bfloat16"),
        "measured with tensorflow-cpu 2.21: legacy capsule only, row-major",
        devices=("cuda",),
        may_copy=True,
        immutable=True,
    ),
    Target(
        "mlx",
        ("mlx.core", "mlx"),
        ("array",),
        "mlx",
        ("negative",),
        ("bool", *_INTEGERS, "float16", "float32", "bfloat16", "complex64"),
        "measured with mlx 0.32: mlx.core.array makes float32 of float64 and raises for negative strides",
        copies="its constructor copies",
        immutable=True,
    ),
    Target(
        "paddle",
        ("paddle",),
        ("Tensor",),
        "paddle",
        ("readonly", "negative", "overlap", "element_strides"),
        ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", *_FLOATS, *_COMPLEX),
        "measured with paddlepaddle 3.3.1",
        devices=("cuda", "rocm"),
        may_copy=True,
        clone="clone",
    ),
    Target(
        "dpnp",
        ("dpnp",),
        ("dpnp_array", "usm_ndarray"),
        "dpnp",
        (),
        (*STANDARD, "float16"),
        "measured with dpnp 0.20 on an OpenCL CPU device: host memory is copied to unified shared memory",
        devices=("oneapi",),
        copies="its arrays lie on a device",
        clone="copy",
    ),
    Target(
        "warp",
        ("warp",),
        ("array",),
        "warp",
        ("readonly", "element_strides", "warp_dims"),
        ("bool", *_INTEGERS, "float16", *_FLOATS),
        "measured with warp-lang 1.19: legacy capsule, the read-only flag is ignored, 1 to 4 dimensions",
        devices=("cuda",),
    ),
)

BY_NAME = {target.name: target for target in TARGETS}


def unknown_library(module: str) -> Target:
    """Give the row for a library that isn't in the table and has `from_dlpack`: nothing is taken for granted."""
    return Target(
        module,
        (module,),
        (),
        "from_dlpack",
        ("readonly", "negative", "overlap", "element_strides"),
        ANY_DTYPE,
        "not in the table: given what every consumer of DLPack can hold",
        devices=("cuda", "rocm", "oneapi"),
        may_copy=True,
    )
