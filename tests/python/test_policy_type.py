# SPDX-License-Identifier: Apache-2.0
"""Policy: made from rows or presets, immutable, compared by what it does."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import anyarray as aa

from .conftest import needs


def test_facts() -> None:
    p = aa.Policy(["dlpack", "buffer"])
    assert p.order == ("dlpack", "buffer")
    assert (p.lookup, p.on_failure, p.device_first) == ("type_first", "continue", False)
    q = aa.Policy(("buffer",), lookup="instance", on_failure="raise", device_first=True)
    assert (q.order, q.lookup, q.on_failure, q.device_first) == (("buffer",), "instance", "raise", True)
    assert eval(repr(q), {"Policy": aa.Policy}) == q


def test_equality_and_hash() -> None:
    a, b = aa.Policy(["dlpack", "buffer"]), aa.Policy(("dlpack", "buffer"))
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    different = [
        aa.Policy(["buffer", "dlpack"]),
        aa.Policy(["dlpack"]),
        aa.Policy(a, lookup="instance"),
        aa.Policy(a, on_failure="raise"),
        aa.Policy(a, device_first=True),
        aa.Policy(a, lookup="type"),
        aa.Policy(a, device_method="called"),
        aa.Policy(a, final={"call": ["dlpack"]}),
    ]
    assert all(a != d for d in different) and len({a, *different}) == 9 and a != "default"


@pytest.mark.parametrize("name", list(aa.presets()))
def test_presets(name: str) -> None:
    p, text = aa.presets()[name]
    assert text and p == aa.Policy(name) and p.order and set(p.order) <= {r[0] for r in aa.protocols()}
    assert aa.explain(b"abc", policy=name).policy == repr(p)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(p, protocol)) == p
    keeps_order = aa.Policy(name, on_failure="continue")
    assert keeps_order.order == p.order and keeps_order.on_failure == "continue"


def test_copy_and_pickle() -> None:
    for p in (
        aa.Policy(["dlpack"]),
        aa.Policy(["dlpack", "buffer"], lookup="instance", on_failure="raise", device_first=True),
        aa.Policy(
            ["dlpack", "buffer"],
            lookup="method",
            device_method="present",
            final={"none": ["dlpack"], "call": ["buffer"]},
        ),
    ):
        assert eval(repr(p), {"Policy": aa.Policy}) == p
        assert copy.deepcopy(p) == copy.copy(p) == pickle.loads(pickle.dumps(p)) == p


@pytest.mark.parametrize(
    ("order", "keywords", "kind", "words"),
    [
        ([], {}, ValueError, "array_interface"),
        (["dlpack", "nobody"], {}, ValueError, "array_interface"),
        (["dlpack", "buffer", "dlpack"], {}, ValueError, "twice"),
        ("nobody", {}, ValueError, "default"),
        (1, {}, TypeError, "a policy is"),
        ([b"dlpack"], {}, TypeError, "names"),
        (["dlpack"], {"lookup": "both"}, ValueError, "type_first"),
        (["dlpack"], {"on_failure": "ignore"}, ValueError, "continue"),
        (["dlpack"], {"on_failure": 1}, ValueError, "continue"),
        (["dlpack"], {"device_first": 1}, TypeError, "device_first"),
        (["dlpack"], {"other": 1}, TypeError, "other"),
        (["dlpack"], {"device_method": 1}, ValueError, "called"),
        (["dlpack"], {"final": 1}, TypeError, "mapping"),
        (["dlpack"], {"final": "call"}, TypeError, "mapping"),
        (["dlpack"], {"final": {"crash": ["dlpack"]}}, ValueError, "call, content"),
        (["dlpack"], {"final": {1: ["dlpack"]}}, ValueError, "call, content"),
        (["dlpack"], {"final": {"call": ["buffer"]}}, ValueError, "dlpack"),
        (["dlpack"], {"final": {"call": ["nobody"]}}, ValueError, "array_interface"),
        (["dlpack"], {"final": {"call": 5}}, TypeError, "iterable"),
        (["dlpack"], {"final": {"call": "dlpack"}}, TypeError, "list or tuple of names"),
        (["dlpack"], {"final": [("call", ["dlpack"])]}, TypeError, "mapping"),
    ],
)
def test_wrong_values(order: Any, keywords: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        aa.Policy(order, **keywords)


def test_immutable() -> None:
    p = aa.Policy(["dlpack"])
    with pytest.raises(AttributeError):
        p.order = ()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        p.other = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        type("Mine", (aa.Policy,), {})


class Two:
    """Two protocols that lead to different memory."""

    def __init__(self, fails: bool = False) -> None:
        np = needs("numpy")
        self.first, self.second, self.fails = np.array([1.0]), np.array([2.0]), fails

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self.fails:
            raise BufferError("no")
        return self.first.__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    @property
    def __array_interface__(self) -> Any:
        return self.second.__array_interface__


def test_order_decides() -> None:
    assert aa.view(Two(), policy=aa.Policy(["dlpack", "array_interface"])).item() == 1
    assert aa.view(Two(), policy=aa.Policy(["array_interface", "dlpack"])).item() == 2
    assert aa.view(Two(), policy=["array_interface"]).item() == 2


def test_failure_decides() -> None:
    order = ["dlpack", "array_interface"]
    assert aa.view(Two(True), policy=aa.Policy(order)).item() == 2
    with pytest.raises(aa.ExchangeError, match="no"):
        aa.view(Two(True), policy=aa.Policy(order, on_failure="raise"))


def test_lookup_decides() -> None:
    np = needs("numpy")

    class Type:
        __array_interface__ = property(lambda self: self.two.__array_interface__)

        def __init__(self) -> None:
            self.one, self.two = np.array([1.0]), np.array([2.0])
            self.__dlpack__ = self.one.__dlpack__

    order = ["dlpack", "array_interface"]
    assert aa.view(Type(), policy=aa.Policy(order)).item() == 2
    assert aa.view(Type(), policy=aa.Policy(order, lookup="instance")).item() == 1


def test_protocols_are_the_registry() -> None:
    rows = aa.protocols()
    assert len({r[0] for r in rows}) == len(rows)
    by_name = {r[0]: r for r in rows}
    assert by_name["dlpack"][1] == "__dlpack__" and by_name["array_interface"][2] is True
    assert by_name["buffer"][1] == "" and by_name["buffer"][3] is True and all(r[4] for r in rows)


def test_final_is_what_was_given() -> None:
    p = aa.Policy(["dlpack", "buffer"], final={"call": ["buffer", "dlpack"], "none": ("dlpack",)})
    assert p.final == {"none": ("dlpack",), "call": ("dlpack", "buffer")} and p.device_method == "ignored"
    assert aa.Policy(p).final == p.final and aa.Policy(p, final={}).final == {}
    assert aa.Policy(p, on_failure="continue").final == {}


class Offers:
    """__dlpack__ in a state, and an array interface that works."""

    def __init__(self, state: str) -> None:
        np = needs("numpy")
        self.state, self.array, self.other = state, np.array([1.0]), np.array([2.0])
        self.__array_interface__ = self.other.__array_interface__

    @property
    def __dlpack__(self) -> Any:
        kind = {"read": RuntimeError, "missing": AttributeError}.get(self.state)
        if kind is not None:
            raise kind(self.state)
        return None if self.state == "none" else self._dlpack

    def _dlpack(self, **_: Any) -> Any:
        kinds = {"attribute_error": AttributeError, "type_error": TypeError, "buffer_error": BufferError}
        if self.state in (*kinds, "call"):
            raise kinds.get(self.state, ValueError)(self.state)
        return 7 if self.state == "content" else self.array.__dlpack__()


CAUSES = ("none", "read", "attribute_error", "type_error", "buffer_error", "call", "content")


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("state", [*CAUSES, "missing"])
@pytest.mark.parametrize("lookup", ["type_first", "instance"])
def test_a_cause_ends_the_search_alone(cause: str, state: str, lookup: Any) -> None:
    policy = aa.Policy(["dlpack", "array_interface"], lookup=lookup, final={cause: ["dlpack"]})
    for _ in range(3):
        if state == cause:
            with pytest.raises(aa.ExchangeError) as error:
                aa.view(Offers(state), policy=policy)
            (attempt,) = error.value.attempts
            assert attempt.protocol == "dlpack" and attempt.status == (
                "invalid" if cause in ("none", "content") else "failed"
            )
        else:
            assert aa.view(Offers(state), policy=policy).item() == 2
        assert aa.view(Offers("works"), policy=policy).item() == 1


BY_ATTRIBUTE = [(row, name) for row, name, _, type_only, _ in aa.protocols() if name and not type_only]


@pytest.mark.parametrize(("row", "attribute"), BY_ATTRIBUTE)
def test_reading_is_a_cause_of_every_attribute(row: str, attribute: str) -> None:
    def refuses(_: Any) -> Any:
        raise RuntimeError("not today")

    made = type("Made", (bytearray,), {attribute: property(refuses)})(b"abc")
    for cause in ("read", "call"):
        policy = aa.Policy([row, "buffer"], final={cause: [row]})
        if cause == "read":
            with pytest.raises(aa.ExchangeError, match="not today"):
                aa.view(made, policy=policy)
        else:
            assert aa.view(made, policy=policy).protocol == "buffer"


@pytest.mark.parametrize("causes", [("read_only", "none"), ("none", "read_only"), ("call", "none"), ("none", "call")])
@pytest.mark.parametrize("slots", [False, True])
def test_none_on_the_type_whatever_policy_came_before(causes: tuple[str, str], slots: bool) -> None:
    class Hidden:
        __dlpack__ = None
        if slots:
            __slots__ = ()

        @property
        def __array_interface__(self) -> Any:
            return {"shape": (0,), "typestr": "|u1", "data": (0, False), "version": 3}

    for cause in causes * 2:
        policy = aa.Policy(["dlpack", "array_interface"], final={cause: ["dlpack"]})
        if cause == "none":
            with pytest.raises(aa.ExchangeError, match="None"):
                aa.view(Hidden(), policy=policy)
        else:
            assert aa.view(Hidden(), policy=policy).protocol == "array_interface"


def test_read_only_can_be_final() -> None:
    np = needs("numpy")
    a = np.arange(3)
    policy = aa.Policy(["buffer", "array_interface"], final={"read_only": ["buffer"]})
    assert aa.view(a, policy=policy).protocol == "buffer"
    a.flags.writeable = False
    with pytest.raises(aa.ExchangeError, match="read-only"):
        aa.view(a, policy=policy)
    assert aa.view(a, policy=aa.Policy(policy, final={})).readonly


def test_device_method() -> None:
    np = needs("numpy")
    a, b = np.array([1.0]), np.array([2.0])

    class Without:
        def __dlpack__(self, **_: Any) -> Any:
            return a.__dlpack__()

        __array_interface__ = property(lambda self: b.__array_interface__)

    class With(Without):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    class Raises(Without):
        def __dlpack_device__(self) -> tuple[int, int]:
            raise BufferError("which?")

    for use in ("ignored", "present", "called", "checked"):
        policy = aa.Policy(["dlpack", "array_interface"], device_method=use)
        assert aa.view(With(), policy=policy).item() == 1
        assert aa.view(Without(), policy=policy).item() == (1 if use == "ignored" else 2)
        assert aa.view(Raises(), policy=policy).item() == (1 if use in ("ignored", "present") else 2)
    asking = aa.Policy(["dlpack", "array_interface"], device_method="called", final={"buffer_error": ["dlpack"]})
    with pytest.raises(aa.ExchangeError, match="which"):
        aa.view(Raises(), policy=asking)
    assert "__dlpack_device__" in str(aa.explain(Without(), policy=asking))


def test_lookup_on_the_type_alone() -> None:
    np = needs("numpy")

    class Bare:
        pass

    bare = Bare()
    bare.__array_interface__ = np.ones(2).__array_interface__  # type: ignore[attr-defined]
    assert aa.view(bare, policy=["array_interface"]).shape == (2,)
    with pytest.raises(aa.NotAnArrayError):
        aa.view(bare, policy=aa.Policy(["array_interface"], lookup="type"))
