# SPDX-License-Identifier: Apache-2.0
"""The extensions of `extension/`, built both ways: against the installed package, and with the engine built in; and
those with a binding library, for the modules of tests that name it.

``ANYARRAY_BUILT_IN``: a folder with the latter; anyarray isn't imported then, nor is anything built.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from projects import HERE, Way, build

pytest.register_assert_rewrite("in_both")

BUILT_IN = os.environ.get("ANYARRAY_BUILT_IN")


def build_extensions(folder: Path, *options: str) -> Path:
    from projects import PACKAGE_PREFIX

    build(HERE / "extension", folder, PACKAGE_PREFIX, f"-DPython_EXECUTABLE={sys.executable}", *options)
    return folder


@pytest.fixture(scope="session")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extensions built against the package that is installed here."""
    return build_extensions(tmp_path_factory.mktemp("extension"))


@pytest.fixture(scope="session")
def built_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of those with the engine built in, which are in the package `inside`."""
    return Path(BUILT_IN) if BUILT_IN else build_extensions(tmp_path_factory.mktemp("built_in"), "-DENGINE_INSIDE=ON")


@pytest.fixture(params=["inside"] if BUILT_IN else ["package", "inside"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Way:
    inside = request.param == "inside"
    monkeypatch.syspath_prepend(str(request.getfixturevalue("built_in" if inside else "extension")))
    return Way(inside)


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the extensions with the module's binding library, built against the installed package."""
    from projects import PACKAGE_PREFIX

    library = request.module.LIBRARY
    folder = tmp_path_factory.mktemp(library)
    build(HERE / f"{library}_module", folder, PACKAGE_PREFIX, f"-DPython_EXECUTABLE={sys.executable}")
    return folder


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
