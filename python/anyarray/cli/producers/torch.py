# SPDX-License-Identifier: Apache-2.0
"""PyTorch: every dtype that a tensor can have, strided; and what a tensor's memory alone doesn't say."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from ..cases import INTEGERS, LAYOUTS, SHAPE, Case, Cases, Sample, booleans, complexes, floats, integers, load, refused

torch = load("torch")

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_FP8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
_COMPLEX = ("complex32", "complex64", "complex128")

# torch has no negative strides.
_LAYOUTS: dict[str, Callable[[Any], Any]] = {
    **{name: at for name, at in LAYOUTS.items() if name != "negative stride"},
    "broadcast": lambda x: x[:, :1].expand(*SHAPE),
}


def _data(name: str) -> Any:
    dtype = getattr(torch, name)
    if name == "bool":
        return torch.tensor(booleans())
    if name in INTEGERS:
        return torch.tensor(integers(*INTEGERS[name]), dtype=dtype)
    if name in _COMPLEX:
        return torch.tensor(complexes(), dtype=torch.complex128).to(dtype)
    if name == "float8_e8m0fnu":
        return torch.tensor([1.0, 2, 4, 8, 0.5, 0.25, 16, 32, 64, 1, 2, 4]).to(dtype)
    if name == "float4_e2m1fn_x2":
        return torch.arange(1, 13, dtype=torch.uint8).view(dtype)
    return torch.tensor(floats(), dtype=torch.float64).to(dtype)


def _read(x: Any, name: str) -> Any:
    if name in _FP8:
        return x.float().tolist()
    if name == "complex32":
        return x.to(torch.complex64).tolist()
    return x.tolist()


def _raw(x: Any) -> bytes:
    dense = x.detach().clone(memory_format=torch.contiguous_format) if x.dim() else x.detach().clone()
    return ctypes.string_at(dense.data_ptr(), dense.numel() * dense.element_size()) if dense.numel() else b""


def _sample(name: str, layout: str) -> Sample:
    x = _LAYOUTS[layout](_data(name).reshape(SHAPE))
    return _tensor(x, name, None if layout == "broadcast" else False)


def _tensor(x: Any, name: str, readonly: bool | None = False) -> Sample:
    pointer = x.data_ptr() if x.numel() else None
    return Sample(x, lambda: _read(x, name), tuple(x.shape), name, readonly, pointer, _raw(x))


def _float4() -> Sample:
    x = _data("float4_e2m1fn_x2")
    raw = x.view(torch.uint8)
    # torch counts bytes, each of two elements; it can't read them itself.
    return Sample(x, lambda: None, (12,), "float4_e2m1fn_x2", False, x.data_ptr(), bytes(raw.tolist()))


def _guards() -> Cases:
    one = partial(torch.ones, 3)
    grad = "autograd wouldn't see what is done to the memory"
    yield refused("Tensor, requires_grad", "float32", grad, lambda: one(requires_grad=True))
    yield refused("Tensor, requires_grad", "complex64", grad, lambda: one(dtype=torch.complex64, requires_grad=True))
    yield refused("Tensor, not a leaf", "float32", grad, lambda: one(requires_grad=True) * 2)
    yield refused("Parameter", "float32", grad, lambda: torch.nn.Parameter(one()))
    conjugate = torch.tensor(complexes(), dtype=torch.complex64).conj()
    yield refused("Tensor, conj bit", "complex64", "its memory holds the conjugate", lambda: conjugate)
    yield refused("Tensor, neg bit", "float32", "its memory holds the negative", lambda: conjugate.imag)
    yield refused("Tensor, sparse COO", "float32", "no strided memory", lambda: one().to_sparse())
    yield refused("Tensor, sparse CSR", "float32", "no strided memory", lambda: torch.ones(2, 2).to_sparse_csr())
    yield refused("Tensor, meta", "float32", "no memory at all", lambda: one(device="meta"))
    yield refused(
        "Tensor, quantized",
        "quint8",
        "scale and zero point would be lost",
        lambda: torch.quantize_per_tensor(one(), 0.1, 0, torch.quint8),
    )
    yield refused(
        "Tensor, nested", "float32", "no strided memory", lambda: torch.nested.nested_tensor([one(), torch.ones(2)])
    )
    yield refused("Tensor, MKL-DNN", "float32", "its memory's layout is opaque", lambda: one().to_mkldnn())
    yield refused("storage", "uint8", "offers no protocol", lambda: one().untyped_storage())


#: A subclass that changes nothing.
_Sub: Any = type("Sub", (torch.Tensor,), {})


def cases() -> Cases:
    warnings.simplefilter("ignore")  # torch warns of beta features (CSR, nested) when they are used
    names = ("bool", *INTEGERS, *_FLOATS, *_COMPLEX, *_FP8)
    for name in (n for n in names if hasattr(torch, n)):
        for layout in _LAYOUTS:
            yield Case("Tensor", name, layout, partial(_sample, name, layout))
    if hasattr(torch, "float4_e2m1fn_x2"):
        yield Case("Tensor", "float4_e2m1fn_x2", "C", _float4)
    yield Case(
        "Tensor, channels last",
        "float32",
        "strided",
        lambda: _tensor(torch.arange(48.0).reshape(1, 3, 4, 4).to(memory_format=torch.channels_last), "float32"),
    )
    leaf = torch.ones(3, requires_grad=True)
    yield Case("Tensor, detached", "float32", "C", lambda: _tensor(leaf.detach(), "float32"))
    yield Case("Tensor subclass", "float32", "C", lambda: _tensor(torch.ones(3).as_subclass(_Sub), "float32"))
    yield from _guards()
