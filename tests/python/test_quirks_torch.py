# SPDX-License-Identifier: Apache-2.0
"""Rows of the quirks table about torch."""

from __future__ import annotations

from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .quirk_marks import quirk, refusal, statuses


def torch_module() -> Any:
    return needs("torch")


WAIVABLE = {
    "grad": (lambda torch: torch.ones(3, requires_grad=True), "x.detach()"),
    "grad of a result": (lambda torch: torch.ones(3, requires_grad=True) * 2, "x.detach()"),
    "grad of a parameter": (lambda torch: torch.nn.Parameter(torch.ones(3)), "x.detach()"),
    "grad in bfloat16": (lambda torch: torch.ones(3, dtype=torch.bfloat16, requires_grad=True), "x.detach()"),
    "grad of complex": (lambda torch: torch.ones(3, dtype=torch.complex64, requires_grad=True), "x.detach()"),
    "conj": (lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj(), "x.resolve_conj()"),
    "conj complex128": (lambda torch: torch.ones(3, dtype=torch.complex128).conj(), "x.resolve_conj()"),
    "neg": (lambda torch: torch.tensor([1 + 2j, 3 - 4j]).conj().imag, "x.resolve_neg()"),
    "neg of complex": (lambda torch: torch._neg_view(torch.tensor([1 + 2j])), "x.resolve_neg()"),
    "neg float64": (lambda torch: torch.ones(3, dtype=torch.complex128).conj().imag, "x.resolve_neg()"),
}


@quirk("torch_bits")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["dlpack_exchange"]])
@pytest.mark.parametrize("how", WAIVABLE)
def test_torch_bits_are_refused_by_every_route(how: str, policy: Any) -> None:
    make, remedy = WAIVABLE[how]
    x = make(torch_module())
    error = refusal(x, policy=policy)
    if policy != ["dlpack"]:  # torch's own __dlpack__ refuses what it knows of with words of its own
        word = how.partition(" ")[0]
        assert remedy in str(error)
        assert f'allow=("{word}",)' in str(error)
        assert statuses(error)["dlpack_exchange"] == "guarded"


@quirk("torch_bits")
@pytest.mark.parametrize("how", WAIVABLE)
def test_torch_bits_can_be_waived_one_by_one(how: str) -> None:
    x = WAIVABLE[how][0](torch_module())
    word = how.partition(" ")[0]
    for other in {"grad", "conj", "neg", "mask"} - {word}:
        refusal(x, allow=(other,))
    v = aa.view(x, allow=(word,))
    assert (v.ptr, v.protocol) == (x.data_ptr(), "dlpack_exchange")


@quirk("torch_bits")
def test_torch_two_bits_need_two_waivers() -> None:
    x = torch_module().ones(3, dtype=torch_module().complex64, requires_grad=True).conj()
    refusal(x, allow=("grad",))
    refusal(x, allow=("conj",))
    assert aa.view(x, allow=("grad", "conj")).ptr == x.data_ptr()


@quirk("torch_bits")
def test_torch_tensors_without_bits_pass() -> None:
    torch = torch_module()
    for name in ("float16", "bfloat16", "float32", "float64", "complex64", "int8", "int64", "uint8", "bool"):
        x = torch.ones(2, 3, dtype=getattr(torch, name)).t()
        v = aa.view(x)
        assert (v.shape, str(v.dtype), v.ptr, v.protocol) == ((3, 2), name, x.data_ptr(), "dlpack_exchange")
        assert v.readonly is False
    resolved = torch.tensor([1 + 2j]).conj().resolve_conj()
    assert aa.view(resolved).tolist() == [1 - 2j]
    assert aa.view(torch.ones(3, requires_grad=True).detach()).tolist() == [1.0, 1.0, 1.0]


@quirk("torch_bits")
def test_torch_flag_that_raises_is_a_failure() -> None:
    torch = torch_module()

    class Loud(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func == torch.Tensor.requires_grad.__get__:
                raise OSError("not now")
            return super().__torch_function__(func, types, args, kwargs or {})

    refusal(torch.ones(3).as_subclass(Loud), "OSError", "not now")
    assert aa.view(torch.ones(3).as_subclass(Loud), allow=("grad",)).tolist() == [1.0, 1.0, 1.0]


def wrapper(torch: Any, offset: int, dtype: Any, n: int = 3) -> Any:
    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise NotImplementedError(str(func))

    return torch.Tensor._make_wrapper_subclass(Wrapper, (n,), strides=(1,), storage_offset=offset, dtype=dtype)


def freed(torch: Any, offset: int) -> Any:
    x = torch.ones(8)[offset:]
    x.untyped_storage().resize_(0)
    return x


WITHOUT_MEMORY = {
    "wrapper": lambda torch: wrapper(torch, 0, torch.float32),
    "wrapper with offset": lambda torch: wrapper(torch, 5, torch.float32),
    "wrapper of ints": lambda torch: wrapper(torch, 5, torch.int16),
    "wrapper with a far offset": lambda torch: wrapper(torch, 2**30, torch.int64),
    "functional": lambda torch: torch._to_functional_tensor(torch.ones(8)),
    "functional with offset": lambda torch: torch._to_functional_tensor(torch.ones(8)[2:]),
    "zero tensor": lambda torch: torch._efficientzerotensor(8),
    "zero tensor with offset": lambda torch: torch._efficientzerotensor(8)[2:],
    "freed": lambda torch: freed(torch, 0),
    "freed with offset": lambda torch: freed(torch, 2),
    "meta": lambda torch: torch.empty(3, device="meta"),
    "sparse": lambda torch: torch.eye(3).to_sparse(),
    "compressed": lambda torch: torch.eye(3).to_sparse_csr(),
    "nested": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "jagged": lambda torch: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    "quantized": lambda torch: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
}


@quirk("torch_no_memory")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("policy", [None, ["dlpack"], ["array_method"]])
@pytest.mark.parametrize("how", WITHOUT_MEMORY)
def test_torch_without_memory_is_refused_by_every_route(how: str, policy: Any) -> None:
    x = WITHOUT_MEMORY[how](torch_module())
    refusal(x, policy=policy, allow=("grad", "neg", "conj"))


@quirk("torch_no_memory")
def test_torch_offset_into_nothing_says_so() -> None:
    refusal(wrapper(torch_module(), 5, torch_module().float32), "has no memory", "offset")


@quirk("torch_no_memory")
def test_torch_empty_tensors_need_no_memory() -> None:
    torch = torch_module()
    assert aa.view(torch.empty(0, 3)).shape == (0, 3)
    assert aa.view(wrapper(torch, 0, torch.float32, n=0)).shape == (0,)


@quirk("torch_no_memory")
def test_torch_transforms_are_refused_inside() -> None:
    torch = torch_module()
    seen: list[aa.ExchangeError] = []

    def inside(x: Any) -> Any:
        seen.append(refusal(x, allow=("grad",)))
        return (x * x).sum()

    torch.func.grad(inside)(torch.ones(3))
    torch.func.vmap(inside)(torch.ones(2, 3))
    torch.func.jvp(inside, (torch.ones(3),), (torch.ones(3),))
    assert len(seen) == 3


@quirk("torch_override")
def test_torch_subclass_with_its_own_dlpack_is_asked_through_it() -> None:
    torch = torch_module()
    other = torch.arange(4.0)

    class Own(torch.Tensor):
        def __dlpack__(self, **kwargs: Any) -> Any:
            return other.__dlpack__(**kwargs)

    v = aa.view(torch.ones(3).as_subclass(Own))
    assert (v.protocol, v.tolist()) == ("dlpack", [0.0, 1.0, 2.0, 3.0])

    class Closed(torch.Tensor):
        def __dlpack__(self, **kwargs: Any) -> Any:
            raise BufferError("not for export")

    error = refusal(torch.ones(3).as_subclass(Closed), "not for export", policy=["dlpack_exchange", "dlpack"])
    assert "dlpack_exchange" not in statuses(error)


@quirk("torch_override")
def test_torch_subclass_without_one_takes_the_table() -> None:
    torch = torch_module()

    class Plain(torch.Tensor):
        extra = 1

    assert aa.view(torch.ones(3).as_subclass(Plain)).protocol == "dlpack_exchange"


@quirk("torch_override")
def test_torch_override_that_comes_later() -> None:
    torch = torch_module()

    class Late(torch.Tensor):
        pass

    x = torch.ones(3).as_subclass(Late)
    assert aa.view(x).protocol == "dlpack_exchange"
    Late.__dlpack__ = lambda self, **kw: torch.zeros(2).__dlpack__(**kw)
    assert aa.view(x).shape == (2,)


@quirk("torch_table")
def test_torch_table_says_errors_by_its_result() -> None:
    torch = torch_module()
    for x in (torch.ones(3, 3).to_sparse(), torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)):
        first = aa.explain(x, policy=["dlpack_exchange"]).attempts[0]
        assert (first.protocol, first.status) == ("dlpack_exchange", "failed") and first.exception is not None
    for shape in ((), (0,), (3,), (2, 0, 3), (1,) * 12):
        x = torch.zeros(shape, dtype=torch.int16)
        for y in (x, x.mT if x.ndim > 1 else x):
            v = aa.view(y, policy=["dlpack_exchange"])
            assert (v.ptr, v.shape, v.device) == (y.data_ptr(), tuple(y.shape), "cpu")


@quirk("torch_table")
def test_torch_table_of_a_subclass_is_asked_for_errors() -> None:
    torch = torch_module()

    class Own(torch.Tensor):
        __dlpack_c_exchange_api__ = type(aa.view(bytearray(3))).__dlpack_c_exchange_api__

    with pytest.raises(aa.ExchangeError, match="knows nothing of Own"):
        aa.view(torch.ones(3).as_subclass(Own), policy=["dlpack_exchange"])


@quirk("torch_fake")
@pytest.mark.parametrize("policy", [None, ["dlpack_exchange"], ["dlpack"], ["array_method"]])
@pytest.mark.parametrize("offset", [0, 2])
def test_torch_fake_tensor_is_named(policy: Any, offset: int) -> None:
    torch = torch_module()
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.ones(8)[offset:]
    refusal(x, "FakeTensor has no memory", policy=policy)
