# SPDX-License-Identifier: Apache-2.0
"""The one error of a failed exchange: what was tried, why each try ended, and what to do."""

from __future__ import annotations

import collections.abc
import numbers
from typing import Any, NamedTuple


class NotServedError(AttributeError, BufferError):
    """An object whose class `exchange` decorated doesn't offer this protocol: its device or dtype can't serve it.

    An AttributeError, so that the attribute is hidden; a BufferError, because a request for the buffer of such an
    object arrives here as well.
    """


class Attempt(NamedTuple):
    """How one try of one protocol ended.

    Attributes
    ----------
    protocol : str
        Name of the registry row.
    attribute : str
        What is looked up on the object; "" where its C type is the offer.
    status : str
        "ok", "failed", "invalid", "not offered", ...
    reason : str
        One sentence; "" where there is nothing to say.
    exception : BaseException or None
        What the producer raised.
    ns : int
        Time of the try in nanoseconds; 0 unless asked for by `explain`.
    """

    protocol: str
    attribute: str
    status: str
    reason: str
    exception: BaseException | None
    ns: int

    @property
    def label(self) -> str:
        """The row's name and the attribute behind it: "dlpack (__dlpack__)"."""
        return f"{self.protocol} ({self.attribute})" if self.attribute else self.protocol


class ExchangeError(BufferError):
    """An array couldn't be taken, or isn't what was asked for.

    Attributes
    ----------
    attempts : tuple of Attempt
        Every protocol that was offered or passed over, in the order of the tries.
    """

    attempts: tuple[Attempt, ...]

    def __init__(self, message: str = "", attempts: tuple[Attempt, ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions of producers may not be picklable; their words are in the reasons.
        bare = tuple(a._replace(exception=None) for a in self.attempts)
        return type(self), (str(self), bare)


class NotAnArrayError(ExchangeError, TypeError):
    """The object offers no exchange protocol at all."""


def make_error(
    obj: object,
    request: str,
    outcome: str,
    refusal: str,
    refusal_exception: BaseException | None,
    rows: tuple[tuple[Any, ...], ...],
    policy: tuple[list[str], list[str]],
) -> ExchangeError:
    """Make the error of a failed view; called by the extension.

    Parameters
    ----------
    obj : object
        What was given.
    request : str
        The conditions in words; "" for none.
    outcome : str
        The status that ended the search.
    refusal, refusal_exception : str, BaseException or None
        A guard that spoke before the first try.
    rows : tuple of tuple
        The fields of each Attempt.
    policy : tuple of list of str
        The protocols that the object's type offers and the policy doesn't name; those that it names.
    """
    attempts = tuple(Attempt(*row) for row in rows)
    tried = [a for a in attempts if a.status not in ("not offered", "not tried")]
    name = type_name(obj)
    asked = f" (asked for {request})" if request else ""
    cls: type[ExchangeError]
    outside, named = policy
    if not tried and not refusal and outcome == "not offered" and outside:
        cls = ExchangeError
        message = (
            f"can't view {name}{asked}: it offers none of the protocols of this policy ({', '.join(named)}); "
            f"outside of it: {', '.join(outside)}"
        )
    elif not tried and not refusal and outcome == "not offered":
        try:
            what = _what_it_is(obj)
        except Exception:  # a metaclass may refuse to be asked
            what = _ANY_OBJECT
        cls, message = NotAnArrayError, f"can't view {name}{asked}: {what}"
    else:
        lines = [f"can't view {name}{asked}:"]
        if refusal:
            lines.append(f"  {outcome}: {refusal}")
        lines += [f"  {a.label}: {a.status}{': ' if a.reason else ''}{a.reason}" for a in tried]
        advice = _ADVICE.get(outcome)
        if advice:
            lines.append(f"  {advice}")
        cls, message = ExchangeError, "\n".join(lines)
    error = cls(message, attempts)
    causes = [a.exception for a in tried if a.exception is not None]
    error.__cause__ = refusal_exception or (causes[-1] if causes else None)
    return error


_EXPLAIN = "anyarray.explain() with the same arguments shows every try"
_ADVICE = {
    "mismatch": "What is asked for is required, never converted: convert the array first, or leave the condition out.",
    "other device": "The array isn't moved: copy it to that device with its own library first.",
    "failed": f"{_EXPLAIN}; the last producer's error is chained to this one.",
    "invalid": f"The producer breaks a rule of the protocol; {_EXPLAIN}.",
    "unsupported": "Convert the array with its own library first, e.g. to a dtype or layout of fixed size.",
    "skipped": f"Nothing that this object offers can serve its device; {_EXPLAIN}.",
}


_ANY_OBJECT = (
    "it offers none of the exchange protocols (anyarray.protocols() lists them); give an array, "
    "or the array inside this object"
)


def type_name(obj: object) -> str:
    """Give the full name of an object's type, whatever its metaclass says."""
    kind = type(obj)
    try:
        module = type.__dict__["__module__"].__get__(kind)
    except AttributeError:  # a type made in C without a dot in its name
        module = None
    name = type.__dict__["__qualname__"].__get__(kind)
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else str(name)


def _what_it_is(obj: object) -> str:
    """Say what an object without any protocol is, and how to go on."""
    kind = type(obj)
    convert = "convert it first, e.g. with numpy.asarray(x)"
    if issubclass(kind, type):
        return "it is a class; give an instance of it"
    if obj is None:
        return "it is None"
    if issubclass(kind, (str, bytes)):
        return f"a {kind.__name__} is text, not an array; {convert}"
    if issubclass(kind, (list, tuple)):
        return f"a {kind.__name__} is a sequence of Python objects, not an array in memory; {convert}"
    if issubclass(kind, int) and kind is not bool:
        return f"an {kind.__name__} is a number of any size, which has no array in memory; {convert}"
    if issubclass(kind, (bool, float, complex)) or numbers.Number in kind.__mro__:
        return f"a number ({kind.__name__}) isn't an array; {convert}"
    if issubclass(kind, (dict, set, frozenset)) or collections.abc.Mapping in kind.__mro__:
        return "it is a collection of Python objects, not an array in memory; take an array out of it"
    if issubclass(kind, (range, collections.abc.Sequence)):
        return f"it is a sequence of Python objects, not an array in memory; {convert}"
    return _ANY_OBJECT
