"""How long a test waits for what must come. Far longer than it takes: a machine may be busy with other work."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 300


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
