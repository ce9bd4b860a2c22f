# SPDX-License-Identifier: Apache-2.0
"""The extensions of `extension/`, built both ways: against the installed package, and with the engine built in.

``ANYARRAY_BUILT_IN``: a folder with the latter; anyarray isn't imported then, nor is anything built.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from projects import HERE, Way, build

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
