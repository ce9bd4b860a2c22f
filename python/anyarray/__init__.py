# SPDX-License-Identifier: Apache-2.0
"""Takes any array, over any exchange protocol, from any library.

>>> import anyarray as aa
>>> a = aa.view(b"abc")
>>> a.shape, str(a.dtype), a.readonly
((3,), 'uint8', True)
"""

from ._core import (
    Array,
    DType,
    Policy,
    consumers,
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
    "default_policy",
    "exchange",
    "explain",
    "from_pointer",
    "get_default_policy",
    "presets",
    "protocols",
    "quirks_table",
    "set_default_policy",
    "view",
]
