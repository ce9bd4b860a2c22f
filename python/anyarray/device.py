# SPDX-License-Identifier: Apache-2.0
"""Where memory lies: a kind of device and its number."""

from __future__ import annotations

import enum
from typing import Any

from . import _core


class DeviceType(enum.IntEnum):
    """DLPack's kinds of devices, with its numbers (dlpack.h 1.3)."""

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    OPENCL = 4
    VULKAN = 7
    METAL = 8
    VPI = 9
    ROCM = 10
    ROCM_HOST = 11
    EXT_DEV = 12
    CUDA_MANAGED = 13
    ONEAPI = 14
    WEBGPU = 15
    HEXAGON = 16
    MAIA = 17
    TRN = 18


class Device(tuple[DeviceType, int]):
    """A device: the tuple (type, id) that `__dlpack_device__` gives.

    Equal to such tuples, hashed as them, and equal to names such as ``"cpu"`` and ``"cuda:0"``.

    Parameters
    ----------
    type : int, str, tuple
        A number of DLPack, a name ("cuda", "cuda:1"), or a whole (type, id).
    id : int
        The number of the device among those of its kind; not together with a tuple, or a name that has a number.

    Raises
    ------
    ValueError
        There is no such device kind, or the number is negative.
    TypeError
        Something else than the above was given.
    """

    __slots__ = ()

    def __new__(
        cls,
        type: int | str | tuple[int, int] = DeviceType.CPU,  # noqa: A002 - the attributes' names
        id: int | None = None,  # noqa: A002
    ) -> Device:
        given: str | tuple[int | str, int]
        if isinstance(type, tuple):
            if id is not None:
                raise TypeError("give a device as a tuple, or as type and id, not both")
            given = type
        elif isinstance(type, str) and id is None:
            given = type
        else:
            given = (type, 0 if id is None else id)
        pair = _core._parse_device(given)
        return super().__new__(cls, (DeviceType(pair[0]), pair[1]))

    @property
    def type(self) -> DeviceType:
        """The kind; an int."""
        return self[0]

    @property
    def id(self) -> int:
        """The number among devices of this kind; 0 for host memory."""
        return self[1]

    @property
    def name(self) -> str:
        """The kind in words: "cpu", "cuda", "cuda_host", ..."""
        return self[0].name.lower()

    def __str__(self) -> str:
        return _core._device_text((int(self[0]), self[1]))

    def __repr__(self) -> str:
        return f"Device({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            try:
                return tuple.__eq__(self, _core._parse_device(other))
            except ValueError:
                return False
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __getnewargs__(self) -> tuple[Any, ...]:
        return int(self[0]), self[1]
