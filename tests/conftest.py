# SPDX-License-Identifier: Apache-2.0
"""A failed test is shown when it has failed: a run that is ended from outside then leaves more than dots."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:  # a worker of pytest-xdist has none
        config.pluginmanager.register(FailuresAtOnce(reporter))


class FailuresAtOnce:
    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._reporter.write_line("")  # after the dots
            self._reporter.write_line(f"FAILED {report.nodeid} ({report.when})")
            self._reporter.write_line(report.longreprtext[-4000:])
