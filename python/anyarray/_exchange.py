# SPDX-License-Identifier: Apache-2.0
"""`exchange`: a class of any library gets every exchange protocol from one method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from . import _core

_C = TypeVar("_C", bound=type)

#: Attributes by which consumers find a protocol. A class gets those that the Arrays of its device have.
_ATTRIBUTES = (
    "__buffer__",
    "__dlpack__",
    "__dlpack_c_exchange_api__",
    "__dlpack_device__",
    "__array__",
    "__array_interface__",
    "__array_struct__",
    "__cuda_array_interface__",
    "__sycl_usm_array_interface__",
    "__arrow_c_schema__",
    "__arrow_c_array__",
    "__arrow_c_device_array__",
)


@overload
def exchange(cls: _C, /) -> _C: ...
@overload
def exchange(*, device: _core._DeviceLike | None = None) -> Callable[[_C], _C]: ...
def exchange(cls: Any = None, /, *, device: Any = None) -> Any:
    """Give a class every exchange protocol that its instances' memory can serve.

    The class has a method ``__anyarray__(self)`` that returns an `Array` over the memory of the instance, made by
    `from_pointer` or `view`; None where there is none. It is called once for each exchange. What the class defines or
    inherits itself is left as it is.

    Parameters
    ----------
    device : None, str, tuple, or Device
        Where the memory of all instances lies. Protocols that such a device never serves are then not on the class.
        None: it depends on the instance, and what its Array doesn't serve is hidden from `hasattr`, `getattr` and
        `dir`.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    TypeError
        The class has no method ``__anyarray__``, or isn't one that takes attributes.

    Notes
    -----
    The memory must stay valid as long as the instance: who reads ``__array_interface__`` keeps the instance and
    nothing else. The buffer protocol is served from Python 3.12 on; older ones have no ``__buffer__``.
    """
    if cls is None:
        return lambda decorated: _decorate(decorated, device)
    return _decorate(cls, device)


def _decorate(cls: Any, device: Any) -> Any:
    if not isinstance(cls, type):
        raise TypeError(f"exchange decorates a class, not {type(cls).__name__}")
    if not callable(getattr(cls, "__anyarray__", None)):
        raise TypeError(f"{cls.__qualname__} needs a method __anyarray__(self) that returns an anyarray.Array")
    types = _core._types_of_device(device)
    for name in _ATTRIBUTES:
        inherited = any(name in base.__dict__ for base in cls.__mro__)
        if not inherited and any(hasattr(kind, name) for kind in types):
            setattr(cls, name, _core._Served(name, device))
    if "__dir__" not in cls.__dict__:
        setattr(cls, "__dir__", _make_dir())  # noqa: B010 - an assignment would claim that all classes have it so
    return cls


def _make_dir() -> Callable[[Any], list[str]]:
    """Make a `__dir__` that knows its own place in the MRO, in copies of the class too."""

    def __dir__(self: Any) -> list[str]:  # noqa: N807 - becomes the method
        rest = iter(type(self).__mro__)
        any(base.__dict__.get("__dir__") is __dir__ for base in rest)  # goes past the class that this one is on
        # Of an object that isn't the class's: `object.__dir__` is last in every MRO.
        following = next((base.__dict__["__dir__"] for base in rest if "__dir__" in base.__dict__), object.__dir__)
        return [name for name in following(self) if not _is_hidden(self, name)]

    return __dir__


def _is_hidden(instance: Any, name: str) -> bool:
    served = name in _ATTRIBUTES and next(
        (base.__dict__[name] for base in type(instance).__mro__ if name in base.__dict__), None
    )
    if not isinstance(served, _core._Served):
        return False
    try:
        return not hasattr(instance, name)
    except Exception:  # the instance isn't finished, or its method fails: dir() is not the place to say so
        return False
