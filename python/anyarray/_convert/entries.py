# SPDX-License-Identifier: Apache-2.0
"""How memory is given to each library: a function an entry, named in the table of targets.

Each gets an Array in host memory that the library can hold, and the library's module. What it can't hold was copied or
refused before; none of these tries something to see whether it works.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

from .. import _core
from .._numpy import _ml_dtype, to_ndarray

#: Given an Array, the library, and a type of it that was asked for by name; gives the library's array.
Entry = Callable[[_core.Array, Any, str], Any]


class _Legacy:
    """Shows an Array to a consumer that reads nothing but legacy DLPack capsules. The caller has made sure that it
    doesn't write to read-only memory, which such a capsule can't say.
    """

    def __init__(self, array: _core.Array) -> None:
        self._array = array

    def __dlpack__(self, **_: Any) -> Any:
        return _core._to_legacy_capsule(self._array)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def numpy_dtype(kind: _core.DType, numpy: Any) -> Any:
    """Give the dtype object for elements of `kind`; TypeError where there is none."""
    if kind.fields is not None:  # with the gaps where they are: a description would make fields of them
        columns = {
            "names": [name for name, _, _ in kind.fields],
            "formats": [numpy_dtype(field, numpy) for _, field, _ in kind.fields],
            "offsets": [offset for _, _, offset in kind.fields],
        }
        return numpy.dtype({**columns, "itemsize": kind.itemsize})
    if kind.kind == "subarray":
        return numpy.dtype((numpy_dtype(kind.base, numpy), kind.shape))
    try:
        return numpy.dtype(kind.name.replace("clongdouble", "G").replace("longdouble", "g"))
    except TypeError:
        return _ml_dtype(kind, numpy)


def ndarray(array: _core.Array, numpy: Any, asked: str) -> Any:  # noqa: ARG001
    """NumPy: an ndarray made by its C functions; by __array__ where the elements are packed, or arrays themselves."""
    kind = array.dtype
    if array.strides is None or kind.lanes != 1 or kind.kind == "subarray":
        return to_ndarray(array)
    dtype = numpy_dtype(kind, numpy)
    return _core._to_ndarray(array, dtype, not (array.readonly or _core._overlaps(array)))


def torch(array: _core.Array, torch: Any, asked: str) -> Any:  # noqa: ARG001
    """torch: its C exchange table, or from_dlpack of versions that have none."""
    if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        return _core._to_exchange(array, torch.Tensor)
    return torch.from_dlpack(_Legacy(array))


def jax(array: _core.Array, jax: Any, asked: str) -> Any:  # noqa: ARG001
    """JAX: from_dlpack, by a legacy capsule, the only one that it reads."""
    return importlib.import_module("jax.dlpack").from_dlpack(_Legacy(array))


def tvm_ffi(array: _core.Array, tvm_ffi: Any, asked: str) -> Any:  # noqa: ARG001
    """tvm-ffi: from_dlpack, by a legacy capsule."""
    return tvm_ffi.from_dlpack(_core._to_legacy_capsule(array))


def pyarrow(array: _core.Array, pyarrow: Any, asked: str) -> Any:
    """pyarrow: a column for one dimension, a tensor for any other or where one was asked for."""
    if asked == "Tensor" or array.ndim != 1:
        if array.dtype.kind == "bool" or "64[" in array.dtype.name:
            raise TypeError(f"a pyarrow.Tensor has no elements of dtype {array.dtype}")
        numpy = importlib.import_module("numpy")
        return pyarrow.Tensor.from_numpy(ndarray(array, numpy, ""))
    if array.dtype.kind == "bool" or "64[" in array.dtype.name:
        return pyarrow.array(ndarray(array, importlib.import_module("numpy"), ""))
    kind = getattr(pyarrow, array.dtype.name)()
    memory = pyarrow.py_buffer(memoryview(array)) if array.size else None
    return pyarrow.Array.from_buffers(kind, array.size, [None, memory])


def array_api_strict(array: _core.Array, strict: Any, asked: str) -> Any:  # noqa: ARG001
    """array-api-strict: asarray of an ndarray, which it keeps."""
    return strict.asarray(ndarray(array, importlib.import_module("numpy"), ""))


def cupy(array: _core.Array, cupy: Any, asked: str) -> Any:  # noqa: ARG001
    """CuPy: host memory is copied to the current device."""
    return cupy.array(ndarray(array, importlib.import_module("numpy"), ""))


def tensorflow(array: _core.Array, tensorflow: Any, asked: str) -> Any:  # noqa: ARG001
    """TensorFlow: its function for legacy capsules."""
    return tensorflow.experimental.dlpack.from_dlpack(_core._to_legacy_capsule(array))


def mlx(array: _core.Array, mlx: Any, asked: str) -> Any:  # noqa: ARG001
    """MLX: mlx.core.array, which copies."""
    return mlx.array(_Legacy(array))


def paddle(array: _core.Array, paddle: Any, asked: str) -> Any:  # noqa: ARG001
    """paddle: from_dlpack, by a legacy capsule."""
    return paddle.utils.dlpack.from_dlpack(_core._to_legacy_capsule(array))


def dpnp(array: _core.Array, dpnp: Any, asked: str) -> Any:  # noqa: ARG001
    """dpnp: host memory is copied to unified shared memory."""
    return dpnp.asarray(ndarray(array, importlib.import_module("numpy"), ""))


def warp(array: _core.Array, warp: Any, asked: str) -> Any:  # noqa: ARG001
    """Warp: from_dlpack, by a legacy capsule."""
    warp.init()  # without which it knows no device; done once
    return warp.from_dlpack(_Legacy(array))


def from_dlpack(array: _core.Array, library: Any, asked: str) -> Any:  # noqa: ARG001
    """A library that isn't in the table: its from_dlpack, given the Array."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return library.from_dlpack(array)


ENTRIES: dict[str, Entry] = {
    f.__name__: f
    for f in (
        ndarray, torch, jax, tvm_ffi, pyarrow, array_api_strict, cupy, tensorflow, mlx, paddle, dpnp, warp, from_dlpack,
    )
}  # fmt: skip


def from_device(obj: object, array: _core.Array, name: str, library: Any) -> Any:
    """Give memory on a device that both know: the library's from_dlpack asks `obj` itself, so that both agree on the
    stream. Only where `obj` has no `__dlpack__` is it given the Array.
    """
    source = obj if hasattr(obj, "__dlpack__") and hasattr(obj, "__dlpack_device__") else array
    if name == "tensorflow":
        return library.experimental.dlpack.from_dlpack(_core._to_legacy_capsule(array))
    if name == "jax":
        return importlib.import_module("jax.dlpack").from_dlpack(source)
    return library.from_dlpack(source)
