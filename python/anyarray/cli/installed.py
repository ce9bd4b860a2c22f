# SPDX-License-Identifier: Apache-2.0
"""Whether a library is installed, and in which version, without importing it."""

from __future__ import annotations

import importlib.util
from importlib import metadata


def installed(module: str) -> bool:
    """Whether the module can be found; imports nothing but the parents of a dotted name."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def version(distribution: str) -> str:
    """The version of the distribution, "unknown" where there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"
