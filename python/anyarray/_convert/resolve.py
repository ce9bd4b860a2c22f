# SPDX-License-Identifier: Apache-2.0
"""What `to` stands for: a name, a module, an array type, or an array of the library."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, NamedTuple

from .targets import BY_NAME, TARGETS, Target, unknown_library


class Resolved(NamedTuple):
    """A target, and the name of the type that was asked for among those that the library has; "" for its usual one."""

    target: Target
    asked: str


def by_type(kind: type) -> Resolved | None:
    """Give the library whose array type this is, or derives from; None for any other type."""
    for base in type.__dict__["__mro__"].__get__(kind):
        module = type.__dict__["__module__"].__get__(base) if base.__flags__ & 1 << 9 else base.__module__
        top = module.partition(".")[0] if isinstance(module, str) else ""
        for target in TARGETS:
            if top in (name.partition(".")[0] for name in target.modules) and base.__qualname__ in target.types:
                return Resolved(target, base.__qualname__)
    return None


def _by_module_name(name: str) -> Target | None:
    parts = name.split(".")
    if parts[0] == "array_api_compat" and len(parts) > 1:
        parts = parts[1:]
    for target in TARGETS:
        if any(parts == m.split(".")[: len(parts)] or parts[: len(m.split("."))] == m.split(".") for m in target.modules):
            return target
    return None


def _by_module(module: ModuleType) -> Target:
    name = module.__name__
    found = _by_module_name(name)
    if found is not None:
        return found
    if callable(getattr(module, "from_dlpack", None)):
        return unknown_library(name)
    raise ValueError(f"the module {name} is no array library that is known, and has no from_dlpack")


def resolve(to: Any) -> Resolved:
    """Give the library that `to` stands for.

    Raises
    ------
    ValueError
        A name, module or type of no library that is known.
    TypeError
        Something else.
    """
    if isinstance(to, str):
        target = BY_NAME.get(to) or _by_module_name(to.replace("-", "_"))
        if target is None:
            raise ValueError(f"{to!r} is no array library that is known by name: {', '.join(BY_NAME)}; give its module")
        return Resolved(target, "")
    if isinstance(to, ModuleType):
        return Resolved(_by_module(to), "")
    if isinstance(to, type):
        found = by_type(to)
        if found is None:
            raise ValueError(f"{to!r} isn't an array type of a library that is known ({', '.join(BY_NAME)})")
        return found
    found = by_type(type(to))
    if found is not None:
        return found
    namespace = getattr(type(to), "__array_namespace__", None)
    if namespace is not None:
        module = to.__array_namespace__()
        if isinstance(module, ModuleType):
            return Resolved(_by_module(module), "")
    raise TypeError(
        f"`to` is a library's name ({', '.join(BY_NAME)}), its module, its array type, or one of its arrays, "
        f"not {type(to).__name__}"
    )


def load(target: Target) -> Any:
    """Import the library.

    Raises
    ------
    ImportError
        It isn't installed.
    """
    name = target.modules[0]
    module = sys.modules.get(name)
    if module is not None:
        return module
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"an array can't be given to {target.name}, which can't be imported ({error})") from error
