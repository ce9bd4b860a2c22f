# SPDX-License-Identifier: Apache-2.0
"""The quick way and the one with the account come to the same, under every preset: an object of a type that the cache
knows is taken without an account, which `explain` always keeps."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import anyarray as aa
from anyarray.cli.order import probes

from .conftest import needs

needs("numpy")

KNOWN = ("buffer", "dlpack", "array_struct", "array_interface", "cuda_array_interface", "array_method")
PRESETS = tuple(aa.presets())


def by_account(obj: Any, policy: Any) -> tuple[str, str]:
    story = aa.explain(obj, policy=policy)
    tried = [a for a in story.attempts if a.status not in ("not offered", "not tried", "skipped")]
    return (tried[-1].protocol, tried[-1].status) if tried else ("", "not offered")


def by_view(obj: Any, policy: Any) -> tuple[str, str]:
    try:
        with aa.view(obj, policy=policy) as v:
            return str(v.protocol), "ok"
    except aa.ExchangeError as error:
        tried = [a for a in error.attempts if a.status not in ("not offered", "not tried", "skipped")]
        return (tried[-1].protocol, tried[-1].status) if tried else ("", "not offered")


def sample(part: int, parts: int = 6) -> list[dict[str, str]]:
    return list(itertools.islice(probes.descriptions(KNOWN, KNOWN), part, None, parts * 3))


@pytest.mark.parametrize("part", range(6))
def test_each_preset_twice_over(part: int) -> None:
    for states in sample(part):
        obj = probes.build(states)
        expected = {name: by_account(obj, name) for name in PRESETS}
        for _ in range(2):  # what one preset leaves in the cache is there for the next
            for name in PRESETS:
                assert by_view(obj, name) == expected[name], (states, name)


@pytest.mark.parametrize("cause", ["none", "read_only"])
@pytest.mark.parametrize("state", ["offered", "none", "readonly", "read:AttributeError"])
def test_policies_that_differ_in_one_cause_alone(cause: str, state: str) -> None:
    """They have one key in the cache but for what it must tell apart."""
    obj = probes.build({"dlpack": state, "array_interface": "offered"})
    order = ["dlpack", "array_interface"]
    policies = [aa.Policy(order), *(aa.Policy(order, final={cause: rows}) for rows in (order[:1], order[1:], order))]
    expected = [by_account(obj, p) for p in policies]
    for first, second in itertools.permutations(range(len(policies)), 2):
        fresh = probes.build({"dlpack": state, "array_interface": "offered"})
        for i in (first, second, first):
            assert by_view(fresh, policies[i]) == expected[i], (first, second, i)
