"""Print how many random cases ran: a number that is not shown can shrink unnoticed."""

from __future__ import annotations

import pytest

from tests.properties.coverage import seen


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ran = [f"{count} cases of {name.removeprefix('cases of ')}" for name, count in seen.items() if "cases of" in name]
    if ran:
        terminalreporter.write_line("random cases: " + ", ".join(ran))
