# SPDX-License-Identifier: Apache-2.0
"""What offers interface dicts made by hand, and the one error that comes of a bad one."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")


FOREIGN = ">" if sys.byteorder == "little" else "<"


class Offers:
    """Offers what it is given as attributes of the instance."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update({f"__{name}__": value for name, value in attributes.items()})


def host(**entries: Any) -> Offers:
    return Offers(array_interface=entries)


def cuda(**entries: Any) -> Offers:
    return Offers(cuda_array_interface=entries)


def refused(obj: Any, status: str, *words: str, policy: Any = None) -> aa.Attempt:
    """`view` raises the one error, whose only attempt has this status and these words."""
    before = aa._core._live()
    with pytest.raises(aa.ExchangeError) as info:
        aa.view(obj, policy=policy)
    del obj
    attempt = next(a for a in info.value.attempts if a.status == status)
    for word in words:
        assert word in attempt.reason, attempt.reason
    assert aa._core._live() == before
    return attempt


MEMORY = np.arange(24, dtype="f4")
WHOLE = {"shape": (24,), "typestr": "<f4", "data": (MEMORY.ctypes.data, False), "version": 3}


def changed(**entries: Any) -> dict[str, Any]:
    return {k: v for k, v in {**WHOLE, **entries}.items() if v is not ...}


def asked(row: str, entries: dict[str, Any], answer: Any) -> Any:
    """Has the dict, and a device to be asked for, which is the answer, or raises that class of exceptions."""

    def device(_: Any) -> Any:
        if isinstance(answer, type):
            raise answer("sharded")
        return answer

    return type("Asked", (), {f"__{row}__": entries, "__dlpack_device__": device})()


def interrupted(obj: Any, policy: Any = None) -> None:
    """A KeyboardInterrupt of the producer comes out of `view`, and nothing is held."""
    before = aa._core._live()
    with pytest.raises(KeyboardInterrupt):
        aa.view(obj, policy=policy)
    assert aa._core._live() == before


class NoInt:
    def __index__(self) -> int:
        raise KeyError("no int today")
