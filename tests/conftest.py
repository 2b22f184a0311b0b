"""Settings for all tests."""

from __future__ import annotations

import sys

import pytest
from hypothesis import settings

from tests.amount import EXPLORE

# No deadline: the first call of a numpy or Arrow function is slow. No database: a run leaves nothing behind.
settings.register_profile("thalweg", deadline=None, database=None, print_blob=True)
settings.load_profile("thalweg")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A run of hours shows a failure at once: it may be ended before its summary, and its cases do not come again."""
    if EXPLORE and report.failed:
        print(f"\n{report.nodeid}\n{report.longreprtext}", file=sys.__stderr__, flush=True)
