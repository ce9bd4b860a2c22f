# SPDX-License-Identifier: Apache-2.0
"""What `to` stands for: a name, a module, an array type, or an array of the library."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, NamedTuple

from .targets import BY_NAME, TARGETS, Target, unknown_library


class Resolved(NamedTuple):
    """What `to` stands for.

    Attributes
    ----------
    target : Target
        The library's row.
    asked : str
        Name of the type that was asked for among those that the library has; "" for its usual one.
    module : module or None
        The library, where it isn't in the table.
    """

    target: Target
    asked: str
    module: ModuleType | None = None


_BY_TYPE = {
    (module.partition(".")[0], name): Resolved(target, name)
    for target in TARGETS
    for module in target.modules
    for name in target.types
}


def by_type(kind: type) -> Resolved | None:
    """Give the library whose array type this is, or derives from; None for any other type."""
    for base in type.__dict__["__mro__"].__get__(kind):
        found = _BY_TYPE.get((_top_module(base), type.__dict__["__name__"].__get__(base).rpartition(".")[2]))
        if found is not None:
            return found
    return None


def _top_module(kind: type) -> str:
    """Give the package of a class, whatever its metaclass says."""
    try:
        module = type.__dict__["__module__"].__get__(kind)
    except AttributeError:  # a type made in C without a dot in its name
        return ""
    return module.partition(".")[0] if isinstance(module, str) else ""


def _by_module_name(name: str) -> Target | None:
    parts = name.split(".")
    if parts[0] == "array_api_compat" and len(parts) > 1:
        parts = parts[1:]
    for target in TARGETS:
        if parts[0] in (module.partition(".")[0] for module in target.modules):
            return target
    return None


def _by_module(module: ModuleType) -> Resolved:
    name = module.__name__
    found = _by_module_name(name)
    if found is not None:
        return Resolved(found, "")
    if callable(getattr(module, "from_dlpack", None)):
        return Resolved(unknown_library(name), "", module)
    raise ValueError(f"the module {name} is no array library that is known, and has no from_dlpack")


def by_instance(array: Any) -> Resolved | None:
    """Give the library that made an array; None for any other object."""
    found = by_type(type(array))
    if found is None and getattr(type(array), "__array_namespace__", None) is not None:
        module = array.__array_namespace__()
        if isinstance(module, ModuleType):
            return _by_module(module)
    return found


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
        return _by_module(to)
    if isinstance(to, type):
        found = by_type(to)
        if found is None:
            raise ValueError(f"{to!r} isn't an array type of a library that is known ({', '.join(BY_NAME)})")
        return found
    found = by_instance(to)
    if found is not None:
        return found
    raise TypeError(
        f"`to` is a library's name ({', '.join(BY_NAME)}), its module, its array type, or one of its arrays, "
        f"not {type(to).__name__}"
    )


def load(found: Resolved) -> Any:
    """Give the library's module, imported if it isn't yet.

    Raises
    ------
    ImportError
        It isn't installed.
    """
    target = found.target
    name = target.modules[0]
    module = found.module or sys.modules.get(name)
    if module is not None:
        return module
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"an array can't be given to {target.name}, which can't be imported ({error})") from error
