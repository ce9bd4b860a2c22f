# SPDX-License-Identifier: Apache-2.0
"""Protocols for type checkers and `isinstance`: what an object offers, one class an exchange protocol.

`isinstance(x, SupportsDLPack)` and its kin look for the attribute, as consumers do, and call nothing. For an `Array`
the answer is right in every version of Python, since what an array can't serve isn't on its type. Objects of other
libraries that hide an attribute by raising `AttributeError` from a property are seen as offering it from Python 3.12
on, where attributes are looked up without running properties; `hasattr` runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

__all__ = [
    "AnyArray",
    "SupportsArray",
    "SupportsArrayInterface",
    "SupportsArrayStruct",
    "SupportsArrowArray",
    "SupportsArrowSchema",
    "SupportsBuffer",
    "SupportsCudaArrayInterface",
    "SupportsDLPack",
    "SupportsDLPackExchange",
]


@runtime_checkable
class SupportsArray(Protocol):
    """Has ``__array__``, NumPy's method, which may copy or refuse."""

    def __array__(self, dtype: Any = None, copy: bool | None = None, /) -> Any:
        """Give a numpy.ndarray."""
        ...


@runtime_checkable
class SupportsArrayInterface(Protocol):
    """Has ``__array_interface__``, NumPy's dict: memory that the host can read."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Give shape, typestr, data and so on."""
        ...


@runtime_checkable
class SupportsArrayStruct(Protocol):
    """Has ``__array_struct__``, the same as a C struct in a capsule."""

    @property
    def __array_struct__(self) -> CapsuleType:
        """Give a capsule without a name."""
        ...


@runtime_checkable
class SupportsArrowArray(Protocol):
    """Has ``__arrow_c_array__``: Arrow's C data interface, on the host."""

    def __arrow_c_array__(self, requested_schema: CapsuleType | None = None) -> tuple[CapsuleType, CapsuleType]:
        """Give an Arrow schema and an Arrow array."""
        ...


@runtime_checkable
class SupportsArrowSchema(Protocol):
    """Has ``__arrow_c_schema__``: the Arrow type of what it is or holds."""

    def __arrow_c_schema__(self) -> CapsuleType:
        """Give an Arrow schema."""
        ...


@runtime_checkable
class SupportsCudaArrayInterface(Protocol):
    """Has ``__cuda_array_interface__``: memory that CUDA (or ROCm) can read."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Give shape, typestr, data, stream and so on."""
        ...


@runtime_checkable
class SupportsDLPack(Protocol):
    """Has ``__dlpack__`` and ``__dlpack_device__``, as the array API standard has them."""

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Give a DLPack capsule."""
        ...

    def __dlpack_device__(self) -> tuple[int, int]:
        """Give (device type, device id) with the numbers of DLPack."""
        ...


@runtime_checkable
class SupportsDLPackExchange(Protocol):
    """Has DLPack's C exchange table, in a capsule on its type."""

    __dlpack_c_exchange_api__: ClassVar[CapsuleType]


if TYPE_CHECKING:

    class SupportsBuffer(Protocol):
        """Has the buffer slot of PEP 3118: `memoryview` may be asked of it."""

        def __buffer__(self, flags: int, /) -> memoryview:
            """Give a memoryview; called by `memoryview` in all versions, callable since Python 3.12."""
            ...

else:
    from abc import ABC

    from . import _core

    class SupportsBuffer(ABC):  # noqa: B024 - the slot decides, no method
        """Has the buffer slot of PEP 3118: `memoryview` may be asked of it.

        The slot itself is looked at, which Python doesn't show before 3.12.
        """

        @classmethod
        def __subclasshook__(cls, other: type) -> bool:
            """Tell whether the type has the slot."""
            return _core._has_buffer_slot(other) if cls is SupportsBuffer else NotImplemented


#: Any object that `view` can take: what signatures of C++ functions with an array parameter say.
AnyArray: TypeAlias = (
    SupportsBuffer
    | SupportsDLPack
    | SupportsArrayInterface
    | SupportsArrayStruct
    | SupportsCudaArrayInterface
    | SupportsArrowArray
    | SupportsArray
)
