# SPDX-License-Identifier: Apache-2.0
"""Takes any array, over any exchange protocol, from any library.

>>> import anyarray as aa
>>> a = aa.view(b"abc")
>>> a.shape, str(a.dtype), a.readonly
((3,), 'uint8', True)
"""

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import _core as _core
    from ._convert import explain_convert, from_dlpack
    from ._convert.record import Conversion
    from ._core import (
        Array,
        DType,
        Policy,
        asarray,
        can_cast,
        consumers,
        convert,
        copyto,
        empty,
        empty_like,
        explain,
        explain_asarray,
        from_pointer,
        get_default_policy,
        get_num_threads,
        presets,
        promote_types,
        protocols,
        quirks_table,
        set_default_policy,
        set_num_threads,
        view,
    )
    from ._exchange import exchange
    from ._policy import default_policy
    from .device import Device, DeviceType
    from .errors import (
        Attempt,
        CastError,
        CastOverflowError,
        CopyError,
        ExchangeError,
        NotAnArrayError,
        NotServedError,
        SequenceError,
    )
    from .explanation import Explanation

__all__ = [
    "Array",
    "Attempt",
    "CastError",
    "CastOverflowError",
    "Conversion",
    "CopyError",
    "DType",
    "Device",
    "DeviceType",
    "ExchangeError",
    "Explanation",
    "NotAnArrayError",
    "NotServedError",
    "Policy",
    "SequenceError",
    "__version__",
    "asarray",
    "can_cast",
    "consumers",
    "convert",
    "copyto",
    "default_policy",
    "empty",
    "empty_like",
    "exchange",
    "explain",
    "explain_asarray",
    "explain_convert",
    "from_dlpack",
    "from_pointer",
    "get_default_policy",
    "get_num_threads",
    "presets",
    "promote_types",
    "protocols",
    "quirks_table",
    "set_default_policy",
    "set_num_threads",
    "view",
]

# Each module is imported when one of its names is first asked for. Nothing of what records conversions is needed to
# take an array; and what finds the headers from a build (`anyarray config`, the entry points) comes through here too,
# and must not load the extension: it may be built for another machine than the one that builds.
_NAMES = {
    "_convert": ("explain_convert", "from_dlpack"),
    "_convert.record": ("Conversion",),
    "_core": (
        "Array",
        "DType",
        "Policy",
        "asarray",
        "can_cast",
        "consumers",
        "convert",
        "copyto",
        "empty",
        "empty_like",
        "explain",
        "explain_asarray",
        "from_pointer",
        "get_default_policy",
        "get_num_threads",
        "presets",
        "promote_types",
        "protocols",
        "quirks_table",
        "set_default_policy",
        "set_num_threads",
        "view",
    ),
    "_exchange": ("exchange",),
    "_policy": ("default_policy",),
    "device": ("Device", "DeviceType"),
    "errors": (
        "Attempt",
        "CastError",
        "CastOverflowError",
        "CopyError",
        "ExchangeError",
        "NotAnArrayError",
        "NotServedError",
        "SequenceError",
    ),
    "explanation": ("Explanation",),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _NAMES:  # modules that an import of the package has always brought
        return import_module(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_MODULE_OF[name]}")
    for one in _NAMES[_MODULE_OF[name]]:
        globals().setdefault(one, getattr(module, one))
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
