# SPDX-License-Identifier: Apache-2.0
"""PyArrow: arrays without nulls, slices, tensors, buffers; and the kinds that have no plain elements."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..cases import INTEGERS, SHAPE, Case, Cases, Sample, load, numbers, refused
from ._mirror import witness

pa = load("pyarrow")
np = load("numpy")

_NAMES = (*INTEGERS, "float16", "float32", "float64")


def _data(name: str) -> Any:
    return np.array(numbers(name), name)


def _array(name: str, layout: str) -> Sample:
    x = pa.array(_data(name))
    x = {"C": x, "sliced": x[3:9], "size 0": x[:0], "1 element": x[4:5]}[layout]
    itemsize = np.dtype(name).itemsize
    pointer = x.buffers()[1].address + x.offset * itemsize if len(x) else None
    raw = x.buffers()[1].to_pybytes()[x.offset * itemsize :][: len(x) * itemsize]
    return Sample(
        x,
        lambda: [float(v) for v in x.to_pylist()] if name[0] == "f" else x.to_pylist(),
        (len(x),),
        name,
        True,
        pointer,
        raw,
    )


def _tensor(name: str, layout: str) -> Sample:
    x = _data(name).reshape(SHAPE)
    x = {"C": x, "F": np.asfortranarray(x), "sliced": x[1:, ::2]}[layout]
    return witness(x, pa.Tensor.from_numpy(x))


def _buffer(x: Any, data: bytes) -> Sample:
    signed = np.frombuffer(data, "i1")
    return Sample(
        x,
        signed.tolist if not x.is_mutable else lambda: np.frombuffer(x, "i1").tolist(),
        (len(data),),
        "int8",
        not x.is_mutable,
        x.address,
        data,
    )


def _fixed_shape() -> Sample:
    x = np.arange(24.0).reshape(2, 3, 4)
    tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(x)
    data = tensor.storage.values.buffers()[1]
    return Sample(tensor, x.tolist, x.shape, "float64", True, data.address, data.to_pybytes())


def _times() -> Sample:
    x = pa.array([1, 2, 3], pa.timestamp("us"))
    return Sample(x, x.to_pylist, (3,), "datetime64[us]", None, x.buffers()[1].address)


def _chunked() -> Sample:
    return Sample(pa.chunked_array([[1.0, 2.0], [3.0]]), lambda: [1.0, 2.0, 3.0], (3,), "float64")


def _batch() -> Any:
    return pa.record_batch({"a": pa.array([1.0, 2.0]), "b": pa.array([3.0, 4.0])})


def cases() -> Cases:
    for name in _NAMES:
        for layout in ("C", "sliced", "size 0", "1 element"):
            yield Case("Array", name, layout, partial(_array, name, layout))
    for name in _NAMES:
        for layout in ("C", "F", "sliced"):
            yield Case("Tensor", name, layout, partial(_tensor, name, layout))
    yield Case("Buffer", "int8", "read-only", lambda: _buffer(pa.py_buffer(b"anyarray"), b"anyarray"))
    yield Case("Buffer", "int8", "writable", lambda: _buffer(pa.py_buffer(bytearray(b"anyarray")), b"anyarray"))
    yield Case("FixedShapeTensorArray", "float64", "3-D", _fixed_shape, "either", "in DLPack from pyarrow 26 on")
    yield Case("Array", "datetime64[us]", "C", _times, "either", "timestamps aren't in DLPack")
    yield Case("ChunkedArray", "float64", "C", _chunked, "either", "several memories: it can only be copied")
    # Arrow's own protocols carry these; as views of plain elements they don't exist.
    yield refused("Array with nulls", "int64", "the nulls would be lost", lambda: pa.array([1, None, 3]))
    yield refused("Array", "bool", "a bit an element", lambda: pa.array([True, False]))
    yield refused("Array", "string", "elements of no fixed size", lambda: pa.array(["a", "bc"]))
    yield refused("Array", "dictionary", "indices alone mean nothing", lambda: pa.array(["a", "b"]).dictionary_encode())
    yield refused("RecordBatch", "float64", "columns of several memories", _batch)
