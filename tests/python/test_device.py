# SPDX-License-Identifier: Apache-2.0
"""Device: a tuple that also answers to its name. And the question that device-first policies ask: which rows can serve
an object's device at all."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import anyarray as aa


def test_of_host_memory() -> None:
    d = aa.view(b"abc").device
    assert d == (1, 0) == aa.Device("cpu") and d == "cpu" and d == "cpu" and d != "cuda:0" and d != (2, 0)
    assert hash(d) == hash((1, 0)) and {(1, 0): "here"}[d] == "here"
    assert isinstance(d, tuple) and tuple(d) == (1, 0)
    assert d.type == 1 and d.type is aa.DeviceType.CPU and d.id == 0 and d.name == "cpu"
    assert str(d) == "cpu" and repr(d) == "Device('cpu')"
    assert aa.view(b"x").device is d


@pytest.mark.parametrize(
    ("given", "pair", "name"),
    [
        ("cuda:1", (2, 1), "cuda:1"),
        ("cuda", (2, 0), "cuda:0"),
        ((10, 3), (10, 3), "rocm:3"),
        ((3, 0), (3, 0), "cuda_host"),
        ((13, 0), (13, 0), "cuda_managed"),
        ("oneapi:2", (14, 2), "oneapi:2"),
    ],
)
def test_forms(given: str | tuple[int, int], pair: tuple[int, int], name: str) -> None:
    d = aa.Device(given)
    assert d == pair == aa.Device(*pair) == aa.Device(d) and str(d) == name and d == name and hash(d) == hash(pair)
    assert pickle.loads(pickle.dumps(d)) == d and type(pickle.loads(pickle.dumps(d))) is aa.Device
    assert copy.deepcopy(d) == d and eval(repr(d), {"Device": aa.Device}) == d


def test_every_kind_has_a_name() -> None:
    for kind in aa.DeviceType:
        d = aa.Device(kind, 0)
        assert d.name == kind.name.lower() and aa.Device(str(d)) == d and aa.Device(d.name) == d


@pytest.mark.parametrize(
    "wrong", ["", "CPU", "gpu", "cuda:", "cuda:-1", "cuda:x", (99, 0), (0, 0), (1, -1), (1 << 40, 0)]
)
def test_wrong_values(wrong: str | tuple[int, int]) -> None:
    with pytest.raises(ValueError):
        aa.Device(wrong)
    assert aa.Device("cpu") != wrong


@pytest.mark.parametrize("wrong", [None, 1.5, [1, 0], (1,), (1, 2, 3), (1.5, 0), ("cpu", "0")])
def test_wrong_types(wrong: object) -> None:
    with pytest.raises(TypeError):
        aa.Device(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        aa.Device((2, 0), 0)


def test_a_kind_by_name_with_a_number() -> None:
    assert aa.Device("cuda", 1) == aa.Device(("cuda", 1)) == (2, 1) == aa.Device("cuda:1")  # type: ignore[arg-type]
    for wrong in (("cuda:0", 0), ("gpu", 0), ("cuda\0", 0), ("cuda", -1)):
        with pytest.raises(ValueError):
            aa.Device(wrong)  # type: ignore[arg-type]


def test_order_is_that_of_tuples() -> None:
    assert sorted([aa.Device("cuda:1"), aa.Device("cpu"), aa.Device("cuda:0")]) == [(1, 0), (2, 0), (2, 1)]


# ------------------------------------------------------------------ which rows can serve a device

DICT = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 1, "syclobj": "gpu"}
DEVICE_ROWS = {"cuda_array_interface": "CUDA", "sycl_usm_array_interface": "SYCL"}
HOST_ROWS = ["array_struct", "array_interface", "array_method"]
GPUS = {
    "cuda_array_interface": [(2, 0), (3, 0), (10, 0), (11, 0), (13, 0)],
    "sycl_usm_array_interface": [(14, 0)],
}
ODD_ANSWERS = [(99, 0), (0, 0), None, (1,), ("cpu", 0), (None, 1), (1.0, 0), (2**70, 0), RuntimeError("lost")]
EVERY = [(kind.value, 0) for kind in aa.DeviceType]


def on(device: Any, *rows: str, **body: Any) -> Any:
    """An object whose DLPack fails, with its device and these rows; `asked` and `read` tell what was done to it."""

    class Elsewhere:
        asked = 0
        read: list[str] = []  # noqa: RUF012  (a fresh class for each object)

        def __dlpack__(self, **kw: Any) -> Any:
            raise BufferError("not exported")

        def __dlpack_device__(self) -> Any:
            Elsewhere.asked += 1
            if isinstance(device, BaseException):
                raise device
            return device

    def offer(row: str) -> property:
        def give(self: Any) -> Any:
            Elsewhere.read.append(row)
            return DICT

        return property(give)

    for row in rows:
        setattr(Elsewhere, f"__{row}__", offer(row))
    for name, value in body.items():
        setattr(Elsewhere, f"__{name}__", value)
    return Elsewhere()


def outcome(obj: Any, **request: Any) -> dict[str, str]:
    """What each row came to, "status: reason" where it was passed over."""
    attempts = aa.explain(obj, **request).attempts
    return {a.protocol: f"{a.status}: {a.reason}" if a.status == "skipped" else a.status for a in attempts}


def first(*rows: str, **more: Any) -> Any:
    return aa.Policy(list(rows), device_first=True, **more)


@pytest.mark.parametrize("row", DEVICE_ROWS)
@pytest.mark.parametrize("device", EVERY)
def test_rows_of_one_kind_of_device_serve_that_kind(row: str, device: tuple[int, int]) -> None:
    obj = on(device, row)
    found = outcome(obj)
    served = device in GPUS[row]
    says = f"skipped: __dlpack_device__ says {aa.Device(device)}"
    if served:
        assert found[row] == "ok" and aa.view(obj).device == device
    else:
        assert found[row] == f"{says}, and this row gives {DEVICE_ROWS[row]} memory"
        with pytest.raises(aa.ExchangeError, match=f"gives {DEVICE_ROWS[row]} memory"):
            aa.view(obj)
    assert found["dlpack"] == "failed"


@pytest.mark.parametrize("row", DEVICE_ROWS)
def test_the_next_row_serves_where_one_was_skipped(row: str) -> None:
    other = next(r for r in DEVICE_ROWS if r != row)
    obj = on(GPUS[other][0], row, other)
    assert aa.view(obj, policy=first(row, other)).protocol == other
    assert outcome(obj, policy=first(row, other))[row].startswith("skipped")


@pytest.mark.parametrize("row", DEVICE_ROWS)
@pytest.mark.parametrize("answer", ODD_ANSWERS)
def test_no_answer_skips_nothing(row: str, answer: Any) -> None:
    assert aa.view(on(answer, row)).protocol == row


@pytest.mark.parametrize("number", [None, -1, 2**70, "0"])
def test_the_kind_counts_whatever_the_number(number: Any) -> None:
    obj = on((2, number), "array_interface", "cuda_array_interface")
    assert outcome(obj)["array_interface"] == "skipped: __dlpack_device__ says cuda, and this row gives host memory"
    view = aa.view(obj)
    assert (view.protocol, view.device, view.device_verified) == ("cuda_array_interface", "cuda:0", False)


@pytest.mark.parametrize("row", DEVICE_ROWS)
def test_without_device_first_nothing_is_skipped(row: str) -> None:
    obj = on((1, 0), row)
    assert aa.view(obj, policy=[row]).protocol == row
    with pytest.raises(aa.ExchangeError, match="says cpu"):
        aa.view(obj, policy=first(row))


def test_the_device_is_asked_once_for_all_rows() -> None:
    obj = on((8, 0), *HOST_ROWS[:2], *DEVICE_ROWS)
    found = outcome(obj)
    assert [r for r, s in found.items() if s.startswith("skipped")] == [*HOST_ROWS[:2], *DEVICE_ROWS]
    assert obj.asked == 1
    assert not set(obj.read) & set(HOST_ROWS), "a mirror's property may copy memory to the host"


def test_a_device_is_not_asked_where_the_answer_cannot_matter() -> None:
    bare = on(AssertionError("asked for nothing"))
    found = outcome(bare)
    assert bare.asked == 0 and set(found.values()) == {"failed", "not offered"}

    class Buffer(bytearray):
        def __dlpack__(self, **kw: Any) -> Any:
            raise AssertionError("the buffer serves")

        __dlpack_device__ = __dlpack__

    assert aa.view(Buffer(b"host"), policy=first("numpy", "builtin", "buffer", "dlpack")).protocol == "buffer"


def test_a_type_without_dlpack_is_not_asked() -> None:
    class Plain:
        __cuda_array_interface__ = DICT
        asked = 0

        def __dlpack_device__(self) -> Any:
            Plain.asked += 1
            return (1, 0)

    assert aa.view(Plain()).protocol == "cuda_array_interface"
    assert Plain.asked == 1, "by the row itself, which has no other way to know the number"


@pytest.mark.parametrize("row", [*HOST_ROWS, *DEVICE_ROWS])
def test_rows_that_an_instance_hides_are_not_offered(row: str) -> None:
    attribute = "__array__" if row == "array_method" else f"__{row}__"
    # None on the instance, over what the class has.
    masked = on((8, 0), **{attribute.strip("_"): (lambda self: DICT) if row == "array_method" else DICT})
    assert outcome(masked)[row].startswith("skipped")
    setattr(masked, attribute, None)
    assert outcome(masked)[row] == "not offered"
    # Never there: neither on the class nor on the instance.
    assert outcome(on((8, 0)))[row] == "not offered"
    # On the instance alone: there, and skipped.
    alone = on((8, 0))
    setattr(alone, attribute, DICT)
    assert outcome(alone)[row].startswith("skipped")


@pytest.mark.parametrize("row", DEVICE_ROWS)
def test_a_property_that_raises_attribute_error_hides_its_row(row: str) -> None:
    def hides(self: Any) -> Any:
        raise AttributeError("on the host")

    obj = on((1, 0), **{row: property(hides)})
    assert outcome(obj)[row] == "not offered"
    with pytest.raises(aa.ExchangeError, match="offers none of the protocols of this policy"):
        aa.view(obj, policy=first(row))


@pytest.mark.parametrize("row", DEVICE_ROWS)
def test_a_property_that_raises_otherwise_is_skipped_all_the_same(row: str) -> None:
    def raises(self: Any) -> Any:
        raise error

    error: BaseException = RuntimeError("no such device")
    obj = on((1, 0), **{row: property(raises)})
    assert outcome(obj)[row].startswith("skipped")
    error = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        aa.view(obj)


def test_a_hidden_device_method_skips_nothing() -> None:
    obj = on((1, 0), "cuda_array_interface")
    obj.__dlpack_device__ = None
    assert aa.view(obj).protocol == "cuda_array_interface"


def test_skipping_is_no_failure() -> None:
    """on_failure="raise" ends a search at what was tried; a row that was skipped wasn't."""
    obj = on((14, 0), *DEVICE_ROWS)
    policy = first(*DEVICE_ROWS, on_failure="raise")
    assert aa.view(obj, policy=policy).protocol == "sycl_usm_array_interface"


# ------------------------------------------------------------------ requests that a policy can't meet


@pytest.mark.parametrize(
    ("policy", "device", "rows"),
    [
        ("numpy", "cuda", "dlpack_exchange, dlpack, cuda_array_interface"),
        ("numpy", "rocm:1", "dlpack_exchange, dlpack, cuda_array_interface"),
        ("numpy", "cuda_host", "dlpack_exchange, dlpack, cuda_array_interface"),
        ("numpy", "oneapi:0", "dlpack_exchange, dlpack, sycl_usm_array_interface"),
        (["buffer", "array_method"], "metal", "dlpack_exchange, dlpack"),
        (["cuda_array_interface", "buffer"], (14, 0), "dlpack_exchange, dlpack, sycl_usm_array_interface"),
        (["sycl_usm_array_interface"], "cuda:0", "dlpack_exchange, dlpack, cuda_array_interface"),
    ],
)
def test_a_device_that_no_row_of_the_policy_can_give(policy: Any, device: Any, rows: str) -> None:
    for call in (aa.view, aa.explain):
        for obj in (b"host", object(), on((2, 0), *DEVICE_ROWS)):
            with pytest.raises(ValueError, match="no row of this policy can give memory on") as caught:
                call(obj, policy=policy, device=device)
            assert not isinstance(caught.value, aa.ExchangeError)
            assert str(caught.value).endswith(rows)
            name = device if isinstance(device, str) else str(aa.Device(device))
            assert f"on {name};" in str(caught.value)


def test_the_host_can_be_asked_of_rows_whose_memory_it_may_read() -> None:
    with pytest.raises(ValueError, match=r"memory on cpu; the rows that can: numpy, builtin, .*cuda_array_interface"):
        aa.view(b"host", policy=["sycl_usm_array_interface"], device="cpu")
    pinned = on((3, 0), "cuda_array_interface")
    assert aa.view(pinned, policy=["cuda_array_interface"], device="cpu").device == "cuda_host"


@pytest.mark.parametrize("device", EVERY)
def test_every_device_can_be_asked_of_the_default(device: tuple[int, int]) -> None:
    for policy in ({}, {"policy": "default"}, {"policy": "device_first"}, {"policy": ["dlpack"]}):
        with pytest.raises(aa.NotAnArrayError):
            aa.view(object(), device=device, **policy)
