# SPDX-License-Identifier: Apache-2.0
"""asarray() of objects that aren't what they seem: what can't be an array is refused by name, nothing leaks, and code
of elements that changes what is being read, lies or raises, does no harm."""

from __future__ import annotations

import collections
import contextlib
import gc
import itertools
import os
import re
import signal
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs

np = needs("numpy")


def refused(x: Any, words: str, kind: type[BaseException] = aa.ExchangeError, **keywords: Any) -> BaseException:
    with pytest.raises(kind, match=words) as caught:
        aa.asarray(x, **keywords)
    return caught.value


# --- what is no array -------------------------------------------------------------------------------------------


class Keyed:
    """A mapping that says so by its methods alone."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)

    def keys(self) -> Any:
        return ["a"]


class Registered(Mapping):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter("a")


NOTHING: list[tuple[Callable[[], Any], str]] = [
    (lambda: "abc", "a str"),
    (lambda: {}, "a dict"),
    (lambda: collections.OrderedDict(a=1), "OrderedDict"),
    (lambda: {1, 2}, "a set"),
    (lambda: frozenset(), "a frozenset"),
    (lambda: {}.keys(), "a dict_keys"),
    (lambda: {}.values(), "a dict_values"),
    (lambda: {}.items(), "a dict_items"),
    (lambda: iter([1]), "a list_iterator"),
    (lambda: (i for i in [1]), "a generator"),
    (lambda: map(int, "1"), "a map"),
    (lambda: zip([1], [2], strict=True), "a zip"),
    (lambda: itertools.count(), "itertools.count"),
    (lambda: None, "None"),
    (lambda: int, "the class int"),
    (lambda: np.float64, "the class numpy.float64"),
    (lambda: len, "a builtin_function_or_method"),
    (object, "an object"),
    (Keyed, "Keyed"),
    (Registered, "Registered"),
    (lambda: slice(3), "a slice"),
    (lambda: re.match("a", "a"), "a re.Match"),
]


@pytest.mark.parametrize(("make", "name"), NOTHING, ids=[name for _, name in NOTHING])
def test_what_is_no_array_is_refused_by_name(make: Callable[[], Any], name: str) -> None:
    refused(make(), ".", aa.NotAnArrayError)
    refused(
        [[1.5, 2.5], [1.5, make()]],
        rf"element \[1\]\[1\] is {re.escape(name) if name[0] == 'a' or ' ' in name else '.*' + name}",
    )
    refused([make()], r"element \[0\]")


@pytest.mark.parametrize(
    "make", [make for make, name in NOTHING if "iterator" in name or name in ("a map", "a zip", "a generator")]
)
def test_a_refused_iterator_keeps_its_elements(make: Callable[[], Any]) -> None:
    x = make()
    refused(x, ".", aa.NotAnArrayError)
    refused([x], r"give list\(x\)")
    assert len(list(x)) == 1


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([[1, 2], [3]], r"ragged: element \[1\] has 1 element, element \[0\] has 2"),
        ([[1, 2], [3, 4, 5]], r"ragged: element \[1\] has 3 elements, element \[0\] has 2"),
        ([[1, 2], 3], r"ragged: element \[1\] is one element, element \[0\] has 2 elements"),
        ([1, [2]], r"ragged: element \[1\] is a sequence, element \[0\] is one element"),
        ([[], [1]], r"ragged: element \[1\] has 1 element, element \[0\] has 0"),
        ([[1], []], r"ragged: element \[1\] has 0 elements, element \[0\] has 1"),
        ([[[1], [2]], [[3], [4, 5]]], r"ragged: element \[1\]\[1\] has 2 elements, element \[0\]\[0\] has 1"),
        ([[[1]], [2]], r"ragged: element \[1\]\[0\] is one element, element \[0\]\[0\] has 1 element"),
        ([np.zeros(3), [1, 2]], r"ragged: element \[1\] has 2 elements, element \[0\] has 3"),
        ([[1, 2], np.zeros(3)], r"ragged: element \[1\] has 3 elements, element \[0\] has 2"),
        ([np.zeros((2, 2)), np.zeros((2, 3))], r"ragged: element \[1\]\[0\] has 3 elements, element \[0\]\[0\] has 2"),
        ([np.zeros((2, 2)), np.zeros(2)], r"ragged: element \[1\]\[0\] is one element"),
        ([np.zeros(2), np.zeros((2, 2))], r"ragged: element \[1\]\[0\] is a sequence"),
        ([np.zeros((0, 3)), []], "ragged"),
        ([[], np.zeros((0, 3))], "ragged"),
        ([range(3), range(2)], r"ragged: element \[1\] has 2 elements"),
        ([[1] * 1_000_000, *[[]] * 1_000_000], r"ragged: element \[1\] has 0 elements, element \[0\] has 1000000"),
        ([b"ab", b"c"], r"ragged: element \[1\] has 1 element"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_ragged(x: Any, words: str) -> None:
    refused(x, words, aa.SequenceError)


def test_depth() -> None:
    x: Any = 1
    for _ in range(64):
        x = [x]
    assert aa.asarray(x).shape == (1,) * 64
    refused([x], "more than 64 deep")
    own: list[Any] = []
    own.append(own)
    refused(own, "more than 64 deep in each other, or one contains itself")
    own[:] = [own, own]
    refused(own, "more than 64 deep")
    refused([[np.zeros((1,) * 63)]], r"element \[0\]\[0\] has 63 dimensions: more than 64 in all")


def test_more_elements_than_there_can_be() -> None:
    x: Any = [1]
    for _ in range(63):
        x = [x, x]
    with pytest.raises((MemoryError, aa.ExchangeError)):
        aa.asarray(x)
    with pytest.raises(MemoryError, match=f"the array needs {2**62} bytes"):
        aa.asarray(range(2**62), dtype="uint8", casting="unsafe")
    with pytest.raises(MemoryError, match="more bytes than 64 bits can count"):
        aa.asarray(range(2**60))


# --- code of elements -------------------------------------------------------------------------------------------


class Does:
    """A number that does something first."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act


class Acts(Does):
    def __float__(self) -> float:
        self.act()
        return 1.0


class Counts(Does):
    def __index__(self) -> int:
        self.act()
        return 1


@pytest.mark.parametrize("kind", [Acts, Counts])
@pytest.mark.parametrize("change", ["clear", "append", "pop", "replace", "reverse"])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_list_that_is_changed_while_it_is_read(kind: type[Does], change: str, depth: int) -> None:
    target: list[Any] = []
    actions = {
        "clear": target.clear,
        "append": lambda: target.append(1.5),
        "pop": target.pop,
        "replace": lambda: target.__setitem__(slice(None), [object() for _ in target]),
        "reverse": target.reverse,
    }
    number = kind(actions[change])
    row = [number, 2.5, *[3.5] * 100]
    target[:] = row if depth == 0 else [[number, *row[1:]], *[[*row[1:], 1] for _ in range(3)]]
    if change in ("clear", "append", "pop"):
        refused(target, "changed its length while it was read")
    elif change == "replace":
        refused(target, r"element \[1\] is an object")
    else:
        made = aa.asarray(target) if depth == 0 else None
        assert made is None or len(made) == 102


def test_a_row_that_frees_its_siblings() -> None:
    rows: list[Any] = [[Acts(lambda: rows.__setitem__(1, [7.5, 8.5])), 1], [2, 3]]
    assert aa.asarray(rows).tolist() == [[1, 1], [7.5, 8.5]]
    deque: Any = collections.deque([1.5])
    deque.append(Acts(deque.clear))
    deque.append(2.5)
    refused(deque, "RuntimeError: deque mutated during iteration")


class Lies:
    def __init__(self, length: Any, items: Any) -> None:
        self.length, self.items = length, items

    def __len__(self) -> int:
        if isinstance(self.length, BaseException):
            raise self.length
        return self.length

    def __getitem__(self, i: int) -> Any:
        return self.items[i]


class Iterates(Lies):
    def __iter__(self) -> Any:
        return iter(self.items)


@pytest.mark.parametrize("kind", [Lies, Iterates])
@pytest.mark.parametrize("nested", [False, True])
def test_lengths_that_lie(kind: type[Lies], nested: bool) -> None:
    def wrapped(*args: Any) -> Any:
        return [kind(*args)] if nested else kind(*args)

    refused(wrapped(5, [1, 2]), "said that its length is 5, and gave 2 elements")
    tracemalloc.start()
    refused(wrapped(2**40, [1, 2]), "said that its length is 1099511627776, and gave 2 elements")
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    refused(wrapped(2**62, []), "gave 0 elements")
    refused(wrapped(-1, [1]), "ValueError: __len__\\(\\) should return >= 0")
    refused(wrapped(2**70, [1]), "OverflowError")
    refused(wrapped("3", [1]), "TypeError")
    refused(wrapped(ZeroDivisionError("no"), [1]), "ZeroDivisionError: no")
    if kind is Iterates:
        refused(wrapped(1, [1, 2, 3]), "said that its length is 1, and gave more than 1 element:")
    assert aa.asarray(kind(2, [1, 2.5])).tolist() == [1, 2.5]


class Holds:
    def __init__(self, error: Any) -> None:
        self.error = error


class Raises(Holds):
    def __float__(self) -> float:
        raise self.error


class RaisesOnItem(Holds):
    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: int) -> Any:
        if i == 2:
            raise self.error
        return i


class RaisesOnOffer(Raises):
    @property
    def __array_interface__(self) -> Any:
        raise self.error


def test_what_elements_raise_is_kept() -> None:
    error = ZeroDivisionError("by design")
    cases = [
        ([[1.5], [Raises(error)]], r"element \[1\]\[0\]: ZeroDivisionError: by design"),
        ([RaisesOnItem(error)], r"element \[0\]: ZeroDivisionError: by design"),
        ([1, RaisesOnOffer(error)], r"element \[1\] can't be taken over array_interface: ZeroDivisionError: by design"),
    ]
    for x, words in cases:
        assert refused(x, words).__cause__ is error


@pytest.mark.parametrize("kind", [Raises, RaisesOnItem, RaisesOnOffer])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RecursionError, SystemExit, GeneratorExit])
def test_some_exceptions_are_never_passed_over(kind: type[Holds], error: type[BaseException]) -> None:
    with pytest.raises(error, match="mine"):
        aa.asarray([kind(error("mine"))])


def test_a_protocol_that_was_offered_and_failed_is_the_error() -> None:
    class Broken:
        @property
        def __array_interface__(self) -> Any:
            return {"version": 3, "shape": (1,), "typestr": "<f8", "data": (0, False)}

        def __float__(self) -> float:
            raise AssertionError("not asked")

        def __len__(self) -> int:
            raise AssertionError("not asked")

        def __getitem__(self, i: int) -> Any:
            raise AssertionError("not asked")

    refused([Broken()], r"element \[0\] can't be taken over array_interface")


def test_what_a_number_makes_of_itself() -> None:
    class Odd:
        def __complex__(self) -> Any:
            return "text"

    class Wrong:
        def __index__(self) -> Any:
            return 1.5

    refused([Odd()], r"element \[0\] made a str of itself")
    refused([Wrong()], r"element \[0\]: TypeError")


def test_deep_recursion_in_elements_is_pythons_error() -> None:
    class Again:
        def __float__(self) -> float:
            return float(aa.asarray([self]).tolist()[0])

    with pytest.raises(RecursionError):
        aa.asarray([Again()])


# --- signals ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize(
    "make",
    [lambda: [[1.5] * 1000] * 30_000, lambda: [1.5] * 30_000_000, lambda: [[]] * 30_000_000],
    ids=["rows", "flat", "empty"],
)
def test_signals_are_heard(make: Callable[[], Any]) -> None:
    x = make()

    def handler(*_: Any) -> None:
        raise KeyboardInterrupt("heard")

    old = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        with pytest.raises(KeyboardInterrupt, match="heard"):
            while True:
                aa.asarray(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def test_a_signal_handler_that_changes_the_list() -> None:
    x: list[Any] = [[1.5] * 10 for _ in range(400_000)]

    def handler(*_: Any) -> None:
        x.clear()

    old = signal.signal(signal.SIGUSR1, handler)
    sender = threading.Timer(0.001, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    try:
        sender.start()
        with contextlib.suppress(aa.SequenceError):  # the signal may come before or after
            assert len(aa.asarray(x)) in (0, 400_000)
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, old)


# --- leaks ------------------------------------------------------------------------------------------------------


def all_kinds() -> list[Any]:
    return [
        [1.5, 2, True, 1j],
        [[1.5] * 3] * 3,
        [np.float64(1), np.float32(2), np.arange(1)[0]],
        [np.arange(3), [1, 2, 3]],
        [[1, 2], [3]],
        [1, "a"],
        [2**63, -1],
        2**64,
        [Acts(int), Counts(int)],
        [Raises(ZeroDivisionError)],
        Lies(5, [1]),
        Iterates(1, [1, 2]),
        collections.deque([1, 2]),
        range(10),
        [object()],
        [None],
    ]


def attempt(x: Any, **keywords: Any) -> None:
    with contextlib.suppress(aa.ExchangeError, OverflowError, ValueError):
        aa.asarray(x, **keywords)


@pytest.mark.parametrize("i", range(len(all_kinds())))
def test_references_are_given_back(i: int) -> None:
    x = all_kinds()[i]
    watched = [x, *(x if isinstance(x, (list, tuple)) else [])]
    keywords: list[dict[str, Any]] = [
        {},
        {"dtype": "float32"},
        {"dtype": "uint8", "casting": "unsafe"},
        {"dtype": "U4"},
    ]
    for k in keywords:
        attempt(x, **k)
    gc.collect()
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(20):
        for k in keywords:
            attempt(x, **k)
    gc.collect()
    assert [sys.getrefcount(o) for o in watched] == before


def test_memory_is_given_back() -> None:
    """Of results, and of what was filled before an error."""

    def resident() -> int:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")
    row = [1.5] * 1_000_000
    bad = [*row, "x"]
    narrow = [*[1] * 2_000_000, 2**40]

    def once() -> None:
        aa.asarray(row)
        attempt(bad)
        attempt(narrow, dtype="int32")
        aa.asarray([*row, 1j])
        aa.asarray([1, *row])

    for _ in range(3):
        once()
    before = resident()
    for _ in range(60):
        once()
    # Each of them that isn't freed adds 60 times 8 MB; sanitizers keep what was freed, up to 256 MB.
    assert resident() - before < 320 << 20
