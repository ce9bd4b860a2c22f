# SPDX-License-Identifier: Apache-2.0
"""The policy of a context: of a thread or a task, for the length of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, TypeVar

from . import _core

_F = TypeVar("_F", bound=Callable[..., Any])

# What ends the blocks that this thread or task is in: not kept in the object, which others may be using as well.
_entered: ContextVar[tuple[Token[_core.Policy], ...]] = ContextVar("anyarray._entered", default=())


class default_policy(ContextDecorator):  # noqa: N801 - used as a function, as contextlib.suppress is
    """Makes a policy the one that holds where none is named, in this thread or task, for the length of a block.

    Parameters
    ----------
    policy : str, list of str, or Policy
        A preset's name, names of protocols, or a Policy.

    Raises
    ------
    ValueError, TypeError
        On entering, if there is no such policy.

    Notes
    -----
    Follows the rules of contextvars: a task that is started inside the block keeps the policy, a new thread starts
    without it. It goes before :func:`set_default_policy`; a policy that a call names goes before both. Can be entered
    again, and used as a decorator of plain functions.

    >>> import anyarray as aa
    >>> with aa.default_policy(["buffer"]):
    ...     aa.view(b"abc").protocol
    'buffer'
    """

    def __init__(self, policy: _core.Policy | str | Sequence[str]) -> None:
        self._policy = policy

    def __call__(self, func: _F) -> _F:
        import inspect  # takes long to import

        if inspect.iscoroutinefunction(func) or inspect.isgeneratorfunction(func) or inspect.isasyncgenfunction(func):
            raise TypeError(
                f"default_policy can't decorate {func.__qualname__}: a call of it only makes a coroutine or generator, "
                "which would run after the block has ended; put a with block into it"
            )
        return super().__call__(func)

    def __enter__(self) -> _core.Policy:
        token = _core._scope_policy(self._policy)
        _entered.set((*_entered.get(), token))
        return _core.get_default_policy()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not _entered.get():
            raise RuntimeError(
                "this default_policy block was entered in another context (a thread's or a task's), or isn't open any "
                "more: leave it where it was entered"
            )
        *before, token = _entered.get()
        _core._unscope_policy(token)
        _entered.set(tuple(before))
