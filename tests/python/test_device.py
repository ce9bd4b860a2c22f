# SPDX-License-Identifier: Apache-2.0
"""Device: a tuple that also answers to its name."""

from __future__ import annotations

import copy
import pickle

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
