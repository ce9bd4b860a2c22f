# SPDX-License-Identifier: Apache-2.0
"""Takes any array, over any exchange protocol, from any library.

>>> import anyarray as aa
>>> a = aa.view(b"abc")
>>> a.shape, str(a.dtype), a.readonly
((3,), 'uint8', True)
"""

from typing import TYPE_CHECKING, Any

from ._core import (
    Array,
    DType,
    Policy,
    consumers,
    convert,
    explain,
    from_pointer,
    get_default_policy,
    presets,
    protocols,
    quirks_table,
    set_default_policy,
    view,
)
from ._exchange import exchange
from ._policy import default_policy
from ._version import __version__
from .device import Device, DeviceType
from .errors import Attempt, ExchangeError, NotAnArrayError, NotServedError

if TYPE_CHECKING:
    from ._convert import explain_convert, from_dlpack
    from ._convert.record import Conversion
    from .explanation import Explanation

__all__ = [
    "Array",
    "Attempt",
    "Conversion",
    "DType",
    "Device",
    "DeviceType",
    "ExchangeError",
    "Explanation",
    "NotAnArrayError",
    "NotServedError",
    "Policy",
    "__version__",
    "consumers",
    "convert",
    "default_policy",
    "exchange",
    "explain",
    "explain_convert",
    "from_dlpack",
    "from_pointer",
    "get_default_policy",
    "presets",
    "protocols",
    "quirks_table",
    "set_default_policy",
    "view",
]

# Imported when first asked for: nothing of it, nor dataclasses and inspect behind it, is needed to take an array.
_LATER = {
    "Conversion": "_convert.record",
    "Explanation": "explanation",
    "explain_convert": "_convert",
    "from_dlpack": "_convert",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
