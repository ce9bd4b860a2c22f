# SPDX-License-Identifier: Apache-2.0
"""`anyarray explain EXPR`: evaluates a Python expression and shows how what it gives is taken."""

from __future__ import annotations

import ast
import builtins
import importlib
import json
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

import anyarray as aa

from .probe import first_line
from .render import console, plain_table

SCHEMA_VERSION = 1

#: Short names that everybody uses.
ALIASES = {"np": "numpy", "jnp": "jax.numpy", "pa": "pyarrow", "pd": "pandas", "pl": "polars", "aa": "anyarray",
           "tf": "tensorflow", "mx": "mlx.core", "xr": "xarray", "ml": "ml_dtypes", "wp": "warp"}  # fmt: skip


def _chains(tree: ast.AST) -> list[list[str]]:
    """Every name that is read, with the attributes behind it: `PIL.Image.new(…)` gives [PIL, Image, new]."""
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    chains = []
    for node in ast.walk(tree):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id not in bound:
            chains.append([inner.id, *parts])
    return chains


def namespace(tree: ast.AST) -> dict[str, Any]:
    """The modules that the expression names, imported; submodules along its attributes too.

    Raises
    ------
    ImportError
        A name is neither built in nor a module.
    """
    names: dict[str, Any] = {}
    for chain in _chains(tree):
        root = chain[0]
        if root not in names and hasattr(builtins, root):
            continue
        target = ALIASES.get(root, root)
        found: Any = importlib.import_module(target)
        names[root] = found
        for part in chain[1:]:
            target = f"{target}.{part}"
            if not hasattr(found, part):
                try:
                    importlib.import_module(target)
                except ImportError:
                    break
            found = getattr(found, part, None)
            if not isinstance(found, ModuleType):
                break
    return names


class ExpressionError(Exception):
    """The text isn't an expression, or it raised."""


def compiled(expression: str) -> Callable[[], Any]:
    """What evaluates the expression, each time anew.

    Raises
    ------
    ExpressionError
        It isn't an expression. Calling the result raises it where evaluating raises.
    """
    try:
        tree = ast.parse(expression.strip(), "<EXPR>", "eval")
    except (SyntaxError, ValueError) as error:
        raise ExpressionError(f"EXPR isn't a Python expression: {error}") from error
    code = compile(tree, "<EXPR>", "eval")

    def evaluate() -> Any:
        try:
            names = {"__name__": "__main__", **namespace(tree)}  # classes that EXPR makes take their __module__ from it
            return eval(code, names)  # that it is executed is said in --help
        except (Exception, SystemExit) as error:
            words = "".join(traceback.format_exception_only(type(error), error)).strip()
            raise ExpressionError(f"EXPR raised {words}") from error

    return evaluate


def second_take(obj: object, request: dict[str, Any], explanation: aa.Explanation) -> aa.Array | None:
    """The array, for what an explanation doesn't hold. None where `obj` can be taken once only (a DLPack capsule),
    or is another array when it is asked again.
    """
    try:
        array = aa.view(obj, **request)
    except aa.ExchangeError:
        return None
    found = (explanation.protocol, explanation.shape, explanation.dtype, explanation.device, explanation.readonly)
    again = (array.protocol, array.shape, array.dtype, array.device, array.readonly)
    return array if again == found else None


def facts(explanation: aa.Explanation, array: aa.Array | None) -> dict[str, Any]:
    """What is known of a taken array, ready for JSON; None for what only a second take would tell."""
    assert explanation.shape is not None and explanation.dtype is not None
    return {
        "shape": list(explanation.shape),
        "strides": None if array is None or array.strides is None else list(array.strides),
        "dtype": str(explanation.dtype),
        "device": str(explanation.device),
        "itemsize": explanation.dtype.itemsize,
        "nbytes": None if array is None else array.nbytes,
        "ptr": None if array is None else array.ptr,
        "readonly": explanation.readonly,
        "copied": None if array is None else array.copied,
        "protocol": explanation.protocol,
        "type": None if array is None else type(array).__name__,
    }


def _fail(message: str) -> int:
    print(f"anyarray explain: error: {message}", file=sys.stderr)
    return 2


def run(expression: str, request: dict[str, Any], as_json: bool) -> int:
    """Evaluates and explains. 0: taken; 1: refused; 2: the expression or the request is wrong."""
    try:
        obj = compiled(expression)()
    except ExpressionError as error:
        return _fail(str(error))
    try:
        explanation = aa.explain(obj, **request)
    except (ValueError, TypeError) as error:
        return _fail(str(error))
    found = facts(explanation, second_take(obj, request, explanation)) if explanation.ok else None
    if as_json:
        _print_json(expression, explanation, found)
    else:
        _print_tables(explanation, found)
    return 0 if explanation.ok else 1


def _attempt(attempt: Any) -> dict[str, Any]:
    exception = attempt.exception
    return {
        "protocol": str(attempt.protocol),
        "status": str(attempt.status),
        "reason": str(attempt.reason) if attempt.reason else None,
        "exception": first_line(exception) if isinstance(exception, BaseException) else None,
        "ns": attempt.ns,
    }


def _print_json(expression: str, explanation: aa.Explanation, found: dict[str, Any] | None) -> None:
    document = {
        "schema": "anyarray.explain",
        "schema_version": SCHEMA_VERSION,
        "expression": expression,
        "type": explanation.object_type,
        "taken": explanation.ok,
        "attempts": [_attempt(a) for a in explanation.attempts],
        "array": found,
        "error": explanation.error or None,
    }
    print(json.dumps(document, indent=2))


def _print_tables(explanation: aa.Explanation, found: dict[str, Any] | None) -> None:
    console().print(explanation)
    if found is not None:
        shown = dict(found)
        if shown["type"] is None:  # it could be taken once only
            shown = {name: value for name, value in found.items() if value is not None}
        else:
            shown["ptr"] = hex(found["ptr"])
            shown["copied"] = {True: "yes", False: "no", None: "unknown"}[found["copied"]]
        plain_table("", ("what", "value"), [(name, str(value)) for name, value in shown.items()])
