# SPDX-License-Identifier: Apache-2.0
"""The extensions of `extension/`, built both ways: against the installed package, and with the engine built in; and
those with a binding library, for the modules of tests that name it.

``ANYARRAY_BUILT_IN``: a folder with the latter; anyarray isn't imported then, nor is anything built.
"""

from __future__ import annotations

import gc
import importlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from projects import HERE, Way, build_here

pytest.register_assert_rewrite("in_both")

BUILT_IN = os.environ.get("ANYARRAY_BUILT_IN")


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extensions built against the package that is installed here."""
    return build_here(HERE / "extension", tmp_path_factory.mktemp("extension"))


@pytest.fixture(scope="session")
def built_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of those with the engine built in, which are in the package `inside`."""
    if BUILT_IN:
        return Path(BUILT_IN)
    return build_here(HERE / "extension", tmp_path_factory.mktemp("built_in"), "-DENGINE_INSIDE=ON")


@pytest.fixture(params=["inside"] if BUILT_IN else ["package", "inside"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Way:
    inside = request.param == "inside"
    monkeypatch.syspath_prepend(str(request.getfixturevalue("built_in" if inside else "extension")))
    return Way(inside)


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extensions with the module's binding library, built against the installed package."""
    library = request.module.LIBRARY
    return build_here(HERE / f"{library}_module", tmp_path_factory.mktemp(library))


@pytest.fixture
def bound(built: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Imports one of them."""
    monkeypatch.syspath_prepend(str(built))
    return lambda name: importlib.import_module(f"{name}_{request.module.SUFFIX}")


@pytest.fixture
def m(bound: Callable[[str], Any]) -> Any:
    return bound("arrays")


@pytest.fixture
def plain(bound: Callable[[str], Any]) -> Any:
    """The extension that doesn't call anyarray::casters::install()."""
    return bound("plain")


@pytest.fixture
def nothing_held() -> Iterator[None]:
    import anyarray as aa

    gc.collect()
    before = aa._core._live()
    yield
    gc.collect()
    assert aa._core._live() == before
