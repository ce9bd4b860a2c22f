# SPDX-License-Identifier: Apache-2.0
"""Row `cuda_array_interface`: what only its dict has, and the device, which the dict doesn't say."""

from __future__ import annotations

from typing import Any

import pytest

import anyarray as aa

from .conftest import needs
from .interface_forge import WHOLE, asked, changed, cuda, interrupted, refused

np = needs("numpy")


@pytest.mark.parametrize("version", [..., 0, 1, 2, 3, np.int64(3)])
def test_known_versions(version: Any) -> None:
    assert aa.view(cuda(**changed(version=version))).shape == (24,)


@pytest.mark.parametrize(
    ("entries", "status", "word"),
    [
        ({"version": 4}, "unsupported", "4"),
        ({"version": -1}, "invalid", "version"),
        ({"version": "3"}, "invalid", "version"),
        ({"version": True}, "invalid", "version"),
        ({"version": 2**80}, "invalid", "version"),
        ({"stream": 0}, "invalid", "stream"),
        ({"stream": "legacy"}, "invalid", "stream"),
        ({"data": ...}, "invalid", "data"),
        ({"data": (None, False)}, "invalid", "NoneType"),
        ({"data": bytes(96)}, "invalid", "bytes"),
    ],
)
def test_what_only_the_cuda_dict_has(entries: Any, status: str, word: str) -> None:
    refused(cuda(**changed(**entries)), status, word)


@pytest.mark.parametrize("stream", [None, 1, 2, 0x7F0012345678])
def test_streams_that_are_lawful(stream: Any) -> None:
    assert aa.view(cuda(**changed(stream=stream))).shape == (24,)


@pytest.mark.parametrize("data", [(0, False), (None, False), None, ...])
def test_no_elements_need_no_address(data: Any) -> None:
    view = aa.view(cuda(**changed(shape=(0, 4), data=data)))
    assert (view.shape, view.ptr) == ((0, 4), 0)


@pytest.mark.parametrize(
    ("answer", "device"),
    [
        ((2, 1), ("cuda", 1)),
        ((13, 0), ("cuda_managed", 0)),
        ((3, 0), ("cuda_host", 0)),
        ((10, 2), ("rocm", 2)),
        ((1, 0), ("cuda", 0)),
        ((2, None), ("cuda", 0)),
        ((2, -1), ("cuda", 0)),
        ((2, 2**40), ("cuda", 0)),
        ((2,), ("cuda", 0)),
        ([2, 1], ("cuda", 0)),
        (ValueError, ("cuda", 0)),
    ],
)
def test_the_device_is_asked_of_dlpack(answer: Any, device: tuple[str, int]) -> None:
    view = aa.view(asked("cuda_array_interface", WHOLE, answer), policy=["cuda_array_interface"])
    assert (str(view.device).split(":")[0], view.device[1]) == device


def test_an_interrupt_while_the_device_is_asked() -> None:
    interrupted(asked("cuda_array_interface", WHOLE, KeyboardInterrupt), policy=["cuda_array_interface"])
