# SPDX-License-Identifier: Apache-2.0
"""The parts of a page that are written by a generator, between marks that name them."""

from __future__ import annotations

import re


def between(text: str, name: str) -> str:
    """The generated part of this name.

    Raises
    ------
    ValueError
        It isn't there.
    """
    found = re.search(rf"<!-- {name}: begin.*?-->\n\n(.*?)\n<!-- {name}: end -->", text, re.S)
    if found is None:
        raise ValueError(f"the page has no part {name!r}")
    return found[1]


def replaced(text: str, name: str, part: str) -> str:
    """The text with that part in the place of the old one."""
    old = between(text, name)
    return text.replace(f"-->\n\n{old}\n<!-- {name}: end -->", f"-->\n\n{part}\n<!-- {name}: end -->")
