# SPDX-License-Identifier: Apache-2.0
"""Says at the end of a run which compilers and headers weren't here, so that nobody takes silence for a pass."""

from __future__ import annotations

from typing import Any

import toolchain


def pytest_terminal_summary(terminalreporter: Any) -> None:
    used = ", ".join(f"{one.name} ({' '.join(one.command)})" for one in toolchain.compilers())
    terminalreporter.write_line(f"compile tests ran with: {used}{'; make compilers runs all' * toolchain.FIRST_ALONE}")
    for name, what in toolchain.missing().items():
        terminalreporter.write_line(f"NOT RUN with {name}: no {what} on this machine")
