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
    """The object offers no exchange protocol at all; to `asarray`, it is no number and no sequence either."""


class CopyError(ExchangeError, ValueError):
    """A copy is needed, and copy=False was given."""


class CastError(ExchangeError, TypeError):
    """Elements can't be what dtype= asks for, under the rule that casting= names."""


class CastOverflowError(CastError, OverflowError):
    """A number is out of the range of the dtype."""


class SequenceError(ExchangeError, ValueError):
    """A nested sequence isn't an array: ragged, too deep, or changed while it was read."""


def make_error(
    obj: object,
    request: str,
    outcome: str,
    refusal: str,
    refusal_exception: BaseException | None,
    rows: tuple[tuple[Any, ...], ...],
    policy: tuple[list[str], list[str]],
    action: str = "view",
) -> ExchangeError:
    """Make the error of an object that couldn't be taken; called by the extension.

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
    action : str
        What was to be done with it: "view", "asarray", "share" where asarray() mustn't copy and a producer must, or
        "write" where it was to be written to.
    """
    cant = _CANT[action]
    if action == "share":
        request = f"{request}, copy=False" if request else "copy=False"
    attempts = tuple(Attempt(*row) for row in rows)
    tried = [a for a in attempts if a.status not in ("not offered", "not tried")]
    name = type_name(obj)
    asked = f" (asked for {request})" if request else ""
    cls: type[ExchangeError]
    outside, named = policy
    if not tried and not refusal and outcome == "not offered" and outside:
        cls = ExchangeError
        message = (
            f"{cant} {name}{asked}: it offers none of the protocols of this policy ({', '.join(named)}); "
            f"outside of it: {', '.join(outside)}"
        )
    elif not tried and not refusal and outcome == "not offered":
        try:
            what = _what_it_is(obj, action)
        except Exception:  # a metaclass may refuse to be asked
            what = _ANY_OBJECT
        cls, message = NotAnArrayError, f"{cant} {name}{asked}: {what}"
    else:
        lines = [f"{cant} {name}{asked}:"]
        if refusal:
            lines.append(f"  {outcome}: {refusal}")
        lines += [f"  {a.label}: {a.status}{': ' if a.reason else ''}{a.reason}" for a in tried]
        cls = ExchangeError
        advice = _WRITE_ADVICE if action == "write" else _ADVICE.get(outcome)
        if action == "share":
            cls, advice = _REFUSALS["copy"]
        if advice:
            lines.append(f"  {advice}")
        message = "\n".join(lines)
    error = cls(message, attempts)
    causes = [a.exception for a in tried if a.exception is not None]
    error.__cause__ = refusal_exception or (causes[-1] if causes else None)
    return error


_CANT = {
    "view": "can't view",
    "asarray": "can't make an array of",
    "share": "can't make an array of",
    "write": "can't write to",
}
_WRITE_ADVICE = "What is written to is an array in writable memory of the host; anyarray.empty() makes one."
_EXPLAIN = "anyarray.explain() with the same arguments shows every try"
_ADVICE = {
    "mismatch": "What is asked for is required, never converted: asarray() converts, or leave the condition out.",
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


_INSTEAD = {
    "asarray": "give a list of its elements",
    "view": "anyarray.asarray(x) makes one of it",
    "write": "give an array to write to, such as anyarray.empty(shape)",
}
_TEXT_INSTEAD = {**_INSTEAD, "view": 'anyarray.asarray(x, dtype="U") makes one of it'}


def type_name(obj: object) -> str:
    """Give the full name of an object's type, whatever its metaclass says."""
    kind = type(obj)
    try:
        module = type.__dict__["__module__"].__get__(kind)
    except AttributeError:  # a type made in C without a dot in its name
        module = None
    name = type.__dict__["__qualname__"].__get__(kind)
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else str(name)


def _what_it_is(obj: object, action: str) -> str:
    """Say what an object without any protocol is, and how to go on."""
    kind = type(obj)
    convert = _INSTEAD[action]
    if issubclass(kind, type):
        return "it is a class; give an instance of it"
    if obj is None:
        return "it is None"
    if issubclass(kind, (str, bytes)):
        return f"a {kind.__name__} is text, not an array; {_TEXT_INSTEAD[action]}"
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


#: For each kind of refusal its class, and how to go on.
_REFUSALS: dict[str, tuple[type[ExchangeError], str]] = {
    "nothing": (NotAnArrayError, ""),
    "copy": (CopyError, "copy=None copies where it is needed."),
    "cast": (CastError, "Name another dtype, or a rule that allows it: casting='unsafe' takes whatever is lost."),
    "no cast": (CastError, "No rule of casting helps: ask for another dtype, or convert it first."),
    "overflow": (CastOverflowError, "Name a dtype that holds it."),
    "sequence": (SequenceError, ""),
    "device": (ExchangeError, "Memory isn't moved between devices: copy the array with its own library first."),
    "failed": (ExchangeError, "The error that was raised is chained to this one."),
    "invalid": (ExchangeError, ""),
}


def make_refusal(
    kind: str,
    obj: object,
    target: object,
    asked: str,
    reason: str,
    rows: tuple[tuple[Any, ...], ...],
    cause: BaseException | None,
) -> ExchangeError:
    """Make the error of an array that was taken, or could be, and not converted; called by the extension.

    Parameters
    ----------
    kind : str
        A key of _REFUSALS.
    obj : object
        What was given.
    target : object
        What was to be written to; None for new memory.
    asked : str
        What was asked for, in words; "" for nothing.
    reason : str
        Why not, in one or more sentences.
    rows : tuple of tuple
        The fields of each Attempt.
    cause : BaseException or None
        What code of others raised.
    """
    cls, advice = _REFUSALS[kind]
    if reason.startswith("ragged"):
        advice = "All sequences at one depth must have the same length."
    head = f"can't make an array of {type_name(obj)}" if target is None else f"can't copy {type_name(obj)} to "
    if target is not None:
        head += type_name(target)
    head += f" (asked for {asked})" if asked else ""
    error = cls(f"{head}: {reason}" + (f"\n  {advice}" if advice else ""), tuple(Attempt(*row) for row in rows))
    error.__cause__ = cause
    return error
