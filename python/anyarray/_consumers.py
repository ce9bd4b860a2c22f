# SPDX-License-Identifier: Apache-2.0
"""What is known of the consumers that presets imitate, in words: for `explain`, the command line and the docs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from . import _core

if TYPE_CHECKING:
    from ._core import Policy


@dataclasses.dataclass(frozen=True)
class Call:
    """One call of `__dlpack__`: its keywords, those that are given for memory of a device alone, and whether an answer
    that ignores `max_version` is refused.
    """

    keywords: frozenset[str]
    for_devices: frozenset[str]
    refuses_legacy: bool


class Handshake:
    """The calls of `__dlpack__`, each tried after a TypeError of the one before.

    Parameters
    ----------
    text : str
        Calls separated by "/", their keywords by ",". "?stream" is given for memory of a device alone; after
        "max_version!" a legacy capsule is refused.
    """

    def __init__(self, text: str) -> None:
        self.calls = tuple(_call(words) for words in text.split("/"))

    def fitting(self, takes: Iterable[str], on_host: bool = True) -> Call | None:
        """The first call that a producer answers whose `__dlpack__` takes these keywords; None where there is none."""
        taken = frozenset(takes)
        for call in self.calls:
            if (call.keywords if on_host else call.keywords | call.for_devices) <= taken:
                return call
        return None

    def __str__(self) -> str:
        return ", then ".join(_call_words(call) for call in self.calls)


def _call(text: str) -> Call:
    words = [word for word in text.split(",") if word]
    bare = [word.removesuffix("!") for word in words]
    return Call(
        frozenset(word for word in bare if not word.startswith("?")),
        frozenset(word[1:] for word in bare if word.startswith("?")),
        any(word.endswith("!") for word in words),
    )


_KEYWORDS = ("stream", "max_version", "dl_device", "copy")


def _call_words(call: Call) -> str:
    words = [w if w in call.keywords else f"[{w}]" for w in _KEYWORDS if w in call.keywords | call.for_devices]
    return f"({', '.join(words)})"


# --- what ends a search -----------------------------------------------------------------------------------------

_CALLS = ("attribute_error", "type_error", "buffer_error", "not_implemented", "call")
#: The causes that can come up in a row, by the kind of offer; all others have all of them.
_OF_STRUCT = ("content",)
_OF_BUFFER = (*_CALLS, "content")
_OF_DICT = ("read", "not_implemented", "content")
_OF_METHOD = ("read", *_CALLS, "content")
_CAUSES = {
    "numpy": _OF_STRUCT,
    "builtin": _OF_STRUCT,
    "buffer": _OF_BUFFER,
    "array_struct": _OF_DICT,
    "array_interface": _OF_DICT,
    "cuda_array_interface": _OF_DICT,
    "sycl_usm_array_interface": _OF_DICT,
}


def _cells(policy: Policy) -> dict[tuple[str, str], bool]:
    """Whether a row's failure by a cause ends the search."""
    final = policy.final
    return {
        (row, cause): policy.on_failure == "raise" or row in final.get(cause, ())
        for row in policy.order
        for cause in _CAUSES.get(row, _OF_METHOD)
    }


def listed(words: Sequence[str], last: str = "and") -> str:
    """The words in a sentence: "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


_WORDS = {
    "read": "an error in reading",
    "attribute_error": "AttributeError",
    "type_error": "TypeError",
    "buffer_error": "BufferError",
    "not_implemented": "NotImplementedError",
    "call": "another error",
    "content": "wrong data",
}


def _exception(causes: frozenset[str], rows: Sequence[str]) -> str:
    """What differs from the rule, in words."""
    rest, words = set(causes), []
    if rest == set(_CALLS) and list(rows) == ["buffer"]:
        return "a buffer that can't be had"
    if rest >= set(_CALLS):
        words.append("whatever is raised" if "read" in rest else "a call that raises")
        rest -= {*_CALLS, "read"}
    words += [word for cause, word in _WORDS.items() if cause in rest]
    return f"{listed(words, 'or')} of {listed(rows, 'or')}"


def after_failure(policy: Policy) -> str:
    """What an offer that fails leads to, in short words: the rule, and what differs from it."""
    cells = _cells(policy)
    ends = 2 * sum(cells.values()) >= len(cells)
    other: dict[str, set[str]] = {}
    for (row, cause), final in cells.items():
        if final is not ends:
            other.setdefault(row, set()).add(cause)
    by_causes: dict[frozenset[str], list[str]] = {}
    for row, causes in other.items():
        if _CAUSES.get(row) == _OF_DICT and "read" in causes:
            causes.discard("not_implemented")  # reading is all that is done there
        by_causes.setdefault(frozenset(causes), []).append(row)
    rule, otherwise = ("ends it", "goes on") if ends else ("goes on", "ends")
    what = [_exception(causes, rows) for causes, rows in by_causes.items()]
    return f"{rule}, but {otherwise} after {listed(what, 'or')}" if what else rule


def rows_that_end(policy: Policy, cause: str) -> tuple[str, ...]:
    """The rows where this cause ends the search."""
    return tuple(row for row in policy.order if row in policy.final.get(cause, ()))


def for_none(policy: Policy) -> str:
    """What an attribute that is None is taken for. Rows that have no attribute aren't looked at."""
    rows = [row for row in policy.order if row not in ("numpy", "builtin", "buffer")]
    ending = [row for row in rows_that_end(policy, "none") if row in rows]
    if not rows:
        return "–"
    if not ending:
        return "absent"
    return "a failure" if ending == rows else f"a failure ({listed(ending)})"


LOOKUP = {
    "type_first": "type, then instance",
    "instance": "instance",
    "type": "type",
    "method": "type, callables alone",
}
DEVICE = {
    "ignored": "not asked",
    "present": "must be there",
    "called": "asked first, any answer",
    "checked": "asked first, must be a pair",
}


def device_question(policy: Policy) -> str:
    """What a consumer wants of `__dlpack_device__`."""
    if policy.device_first:
        return "asked first, decides"
    return DEVICE[policy.device_method] if "dlpack" in policy.order else "–"


# --- in a sentence ----------------------------------------------------------------------------------------------


def checked(consumer: dict[str, Any]) -> str:
    """How sure it is: "checked", or "from source" where the library couldn't be run."""
    return "checked" if consumer["runs"] else "from source"


def describe(name: str) -> str:
    """The consumer that a preset imitates, in a sentence; "" for a preset that imitates none."""
    consumer = _core.consumers().get(name)
    if consumer is None:
        return ""
    return (
        f"as {consumer['consumer']} {consumer['versions']}: {consumer['text']} "
        f"({checked(consumer)}: {consumer['source']})"
    )
