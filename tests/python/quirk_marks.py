# SPDX-License-Identifier: Apache-2.0
"""Which rows of the quirks table a test is about, and how refusals are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

import anyarray as aa

F = TypeVar("F", bound=Callable[..., Any])
covered: set[str] = set()


def quirk(*ids: str) -> Callable[[F], F]:
    """Marks the tests of a row."""

    def mark(function: F) -> F:
        covered.update(ids)
        return function

    return mark


def refusal(obj: Any, *words: str, **request: Any) -> aa.ExchangeError:
    """The error of a view, whose text must hold the words."""
    with pytest.raises(aa.ExchangeError) as caught:
        aa.view(obj, **request)
    for word in words:
        assert word in str(caught.value)
    return caught.value


def statuses(error: Any) -> dict[str, str]:
    return {a.protocol: a.status for a in error.attempts}
