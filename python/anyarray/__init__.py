# SPDX-License-Identifier: Apache-2.0
"""Takes any array, over any exchange protocol, from any library.

>>> import anyarray as aa
>>> a = aa.view(b"abc")
>>> a.shape, str(a.dtype), a.readonly
((3,), 'uint8', True)
"""

from ._convert import explain_convert, from_dlpack
from ._convert.record import Conversion
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
